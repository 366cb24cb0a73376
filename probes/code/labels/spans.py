"""Answers marked by a start and an end in scripts: question answering, features that overlap.

A tokenizer that is asked for overflowing parts makes several features of a sample, an
offset table tells where each token stands, and two positions of a feature are learnt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_true
from ..shared.origins import origins

_MAP = "overflow_to_sample_mapping"


def features_for_samples(source: Script) -> Finding | None:
    """`examples["answers"][i]` for feature `i`, where `mapping[i]` tells the sample it was cut from."""
    return _features_for_samples(source, learns=True)


def features_for_scored_samples(source: Script) -> Finding | None:
    """`examples["id"][i]` for the feature `i` that is only scored: answers are told of other samples."""
    return _features_for_samples(source, learns=False)


def _features_for_samples(source: Script, learns: bool) -> Finding | None:
    for function in _cutting(source):
        if bool(_kept_by_key(function)) is not learns:
            continue
        tables = _sample_tables(function)
        for loop in of(function, ast.For, ast.ListComp, ast.GeneratorExp):
            counter = _counter_of_features(source, function, loop)
            if counter is None:
                continue
            for node in of(loop, ast.Subscript):
                if isinstance(node.slice, ast.Name) and node.slice.id == counter:
                    column = node.value
                    if isinstance(column, ast.Subscript) and isinstance(column.slice, ast.Constant):
                        if unparse(column.value) in tables:
                            return at(
                                source, node, "the samples are asked for the place of a feature cut from them"
                            )
    return None


def _cutting(source: Script) -> Iterator[Function]:
    """Functions in which a tokenizer cuts samples into overlapping features."""
    for function in source.of(ast.FunctionDef):
        calls = [c for c in of(function, ast.Call) if is_true(keyword(c, "return_overflowing_tokens"))]
        if calls and any(isinstance(n, ast.Constant) and n.value == _MAP for n in of(function, ast.Constant)):
            yield function


def _sample_tables(function: Function) -> set[str]:
    """Names whose columns the tokenizer is given: the samples."""
    own = {a.arg for a in function.args.args}
    return {n for n in own if any(unparse(s.value) == n for s in of(function, ast.Subscript))}


def _counter_of_features(source: Script, function: Function, loop: ast.AST) -> str | None:
    """`for i, offsets in enumerate(offset_mapping)`, `for i in range(len(features["input_ids"]))`."""
    target, over = (
        (loop.target, loop.iter)
        if isinstance(loop, ast.For)
        else (loop.generators[0].target, loop.generators[0].iter)  # type: ignore[attr-defined]
    )
    made = {
        unparse(t)
        for n in of(function, ast.Assign)
        if any(is_true(keyword(c, "return_overflowing_tokens")) for c in of(n.value, ast.Call))
        for t in n.targets
    }
    if not isinstance(over, ast.Call):
        return None
    if last_name(over.func) == "enumerate" and isinstance(target, ast.Tuple) and over.args:
        first, rows = target.elts[0], over.args[0]
    elif last_name(over.func) == "range" and isinstance(target, ast.Name) and len(over.args) == 1:
        first, size = target, over.args[0]
        if not (isinstance(size, ast.Call) and last_name(size.func) == "len" and size.args):
            return None
        rows = size.args[0]
    else:
        return None
    told = " ".join(unparse(o) for o in origins(source, rows, 4))
    features = any(names_in(o) & made for o in origins(source, rows, 4)) or "offset_mapping" in told
    return first.id if isinstance(first, ast.Name) and features else None


def part_truncated_and_asked(source: Script) -> Finding | None:
    """`truncation="only_first"` where answers are looked for in sequence 1: the second is what is cut."""
    for function in _cutting(source):
        sides = {
            k.value.value
            for c in of(function, ast.Call)
            for k in c.keywords
            if k.arg == "truncation" and isinstance(k.value, ast.Constant)
        }
        if len(sides) != 1 or not sides <= {"only_first", "only_second"}:
            continue
        cut = 1 if sides == {"only_second"} else 0
        asked = list(_sequences_asked(function))
        off = [n for which, n in asked if which != cut]
        if off and (len(off) == len(asked) or any(isinstance(n, ast.Call) for n in off)):
            return at(
                source, off[0], f"sequence {cut} is cut into features, and sequence {1 - cut} is searched"
            )
    return None


def _sequences_asked(function: Function) -> Iterator[tuple[int, ast.AST]]:
    """The sequence (0 or 1) that ids of sequences are held against."""
    names = {
        unparse(t)
        for n in of(function, ast.Assign)
        if any(last_name(c.func) == "sequence_ids" for c in of(n.value, ast.Call))
        for t in n.targets
    }
    for call in of(function, ast.Call):
        if last_name(call.func) == "index" and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            root = call.func.value
            root = root.value if isinstance(root, ast.Subscript) else root
            if unparse(root) in names and isinstance(call.args[0], ast.Constant):
                if call.args[0].value in (0, 1):
                    yield int(bool(call.args[0].value)), call
    for test in of(function, ast.Compare):
        left = test.left.value if isinstance(test.left, ast.Subscript) else test.left
        bound = test.comparators[0]
        if unparse(left) in names and len(test.ops) == 1 and isinstance(bound, ast.Constant):
            if bound.value in (0, 1) and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
                yield int(bool(bound.value)), test


def length_of_the_list(source: Script) -> Finding | None:
    """`start + len(answer["text"])` where `answer["answer_start"][0]` shows that each field is a list."""
    for node in source.of(ast.BinOp):
        size = node.right
        if not (
            isinstance(node.op, ast.Add) and isinstance(size, ast.Call) and last_name(size.func) == "len"
        ):
            continue
        field = size.args[0] if size.args else None
        if not isinstance(field, ast.Subscript) or not isinstance(field.slice, ast.Constant):
            continue
        if field.slice.value != "text":
            continue
        for start in (node.left, *flow(source).values(node.left, 2)):
            if (
                isinstance(start, ast.Subscript)
                and isinstance(start.slice, ast.Constant)
                and start.slice.value == 0
                and isinstance(start.value, ast.Subscript)
                and unparse(start.value.value) == unparse(field.value)
            ):
                return at(source, size, "this is how many answers there are, not how long the answer is")
    return None


def one_past_the_token(source: Script) -> Finding | None:
    """`while offsets[k][0] <= start: k += 1`, and `k`, which is one too far, is kept as the start."""
    for loop in source.of(ast.While):
        moved = [n for n in loop.body if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
        if len(loop.body) != 1 or len(moved) != 1 or unparse(moved[0].value) != "1":
            continue
        name, up = unparse(moved[0].target), isinstance(moved[0].op, ast.Add)
        wanted = ast.LtE if up else ast.GtE
        tests = [
            t
            for t in of(loop.test, ast.Compare)
            if len(t.ops) == 1
            and isinstance(t.ops[0], wanted)
            and isinstance(t.left, ast.Subscript)
            and isinstance(t.left.value, ast.Subscript)
            and unparse(t.left.value.slice) == name
        ]
        if not tests or "offset" not in " ".join(_told(source, tests[0].left)):
            continue
        block = _block(source, loop)
        following = block[block.index(loop) + 1] if loop in block and loop is not block[-1] else None
        if following is None:
            continue
        kept = [c.args[0] for c in of(following, ast.Call) if last_name(c.func) == "append" and c.args]
        kept += (
            [following.value] if isinstance(following, (ast.Assign, ast.Return)) and following.value else []
        )
        if any(isinstance(k, ast.Name) and k.id == name for k in kept):
            return at(source, following, "the loop ends one token past the one that is looked for")
    return None


def _told(source: Script, node: ast.expr) -> list[str]:
    root = node
    while isinstance(root, ast.Subscript):
        root = root.value
    return [unparse(o).lower() for o in origins(source, root, 5)]


def _block(source: Script, statement: ast.stmt) -> list[ast.stmt]:
    parent = source.parents.get(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, [])
        if isinstance(block, list) and statement in block:
            return block
    return []


_ENDS = re.compile(r"(?i)^(start|end)(_(?:positions?|logits?|labels?|index|token|probs?))$")


def one_end_twice(source: Script) -> Finding | None:
    """The start is learnt as the end too: `features["end_positions"] = starts`."""
    if "end_" not in source.code:
        return None
    for function in (*source.of(ast.FunctionDef), source.tree):
        kept = _kept_by_key(function)
        for key, node in kept.items():
            other = re.sub(r"^end", "start", key)
            if key.startswith("end_") and other in kept and unparse(kept[other][1]) == unparse(node[1]):
                if isinstance(node[1], (ast.Name, ast.Attribute, ast.Subscript)):
                    return at(source, node[0], f"`{key}` is given what `{other}` is given")
    return None


def one_end_read_twice(source: Script) -> Finding | None:
    """Scores of starts are read where those of ends are meant: `out.start_logits` twice."""
    if "start_logits" not in source.code:
        return None
    for function in source.of(ast.FunctionDef):
        read: dict[str, list[ast.Attribute]] = {}
        for node in of(function, ast.Attribute):
            if node.attr in ("start_logits", "end_logits") and isinstance(node.ctx, ast.Load):
                read.setdefault(f"{unparse(node.value)}.{node.attr}", []).append(node)
        for key, nodes in read.items():
            owner, _, which = key.rpartition(".")
            other = f"{owner}.{'end' if which.startswith('start') else 'start'}_logits"
            if len(nodes) == 2 and other not in read:
                return at(
                    source, nodes[1], f"`{which}` is read twice, and `{other.rpartition('.')[2]}` never"
                )
    return None


def _kept_by_key(function: ast.AST) -> dict[str, tuple[ast.AST, ast.expr]]:
    found: dict[str, tuple[ast.AST, ast.expr]] = {}
    for node in of(function, ast.Assign):
        for target in node.targets:
            key = target.slice if isinstance(target, ast.Subscript) else None
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and _ENDS.match(key.value):
                found[key.value] = (node, node.value)
    for table in of(function, ast.Dict):
        for name, value in zip(table.keys, table.values, strict=True):
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and _ENDS.match(name.value):
                found[name.value] = (value, value)
    for call in of(function, ast.Call):
        for word in call.keywords:
            if word.arg and _ENDS.match(word.arg) and word.arg.endswith(("positions", "position")):
                found[word.arg] = (word.value, word.value)
    return found


# ------------------------------------------------------------------------------------ answers taken apart


def spans_misread(source: Script) -> Finding | None:
    """A span is scored by one end, may end before its start, or both are handed crosswise."""
    return _end_before_start(source) or _scored_by_one_end(source) or _handed_crosswise(source)


def _spans(source: Script) -> Iterator[tuple[ast.AST, str, str]]:
    """`text[offsets[s][0] : offsets[e][1]]`: the places that begin and end a span, with the scope."""
    for node in source.of(ast.Subscript):
        cut = node.slice
        if (
            isinstance(cut, ast.Slice)
            and isinstance(cut.lower, ast.Subscript)
            and isinstance(cut.upper, ast.Subscript)
        ):
            ends = (cut.lower.value, cut.upper.value)
            if all(isinstance(e, ast.Subscript) and isinstance(e.slice, ast.Name) for e in ends):
                first, last = (e.slice.id for e in ends)  # type: ignore[attr-defined]
                if first != last and unparse(ends[0].value) == unparse(ends[1].value):  # type: ignore[attr-defined]
                    yield source.function_around(node) or source.tree, first, last


def _end_before_start(source: Script) -> Finding | None:
    for scope, first, last in _spans(source):
        for branch in of(scope, ast.If):
            if not isinstance(branch.body[-1], ast.Continue):
                continue
            tests = branch.test.values if isinstance(branch.test, ast.BoolOp) else [branch.test]
            for test in tests:
                if not isinstance(test, ast.Compare) or len(test.ops) != 1:
                    continue
                pair = unparse(test.left), unparse(test.comparators[0])
                later = isinstance(test.ops[0], (ast.Gt, ast.GtE))
                if (pair == (last, first) and later) or (
                    pair == (first, last) and isinstance(test.ops[0], (ast.Lt, ast.LtE))
                ):
                    return at(
                        source, test, "spans that end behind their start are left out, and the others kept"
                    )
    return None


def _scored_by_one_end(source: Script) -> Finding | None:
    for scope, first, last in _spans(source):
        for node in of(scope, ast.BinOp):
            sides = node.left, node.right
            if not isinstance(node.op, (ast.Add, ast.Mult)) or not all(
                isinstance(s, ast.Subscript) for s in sides
            ):
                continue
            places = [unparse(s.slice) for s in sides]  # type: ignore[attr-defined]
            tables = [unparse(s.value) for s in sides]  # type: ignore[attr-defined]
            if tables[0] != tables[1] and places[0] == places[1] and places[0] in (first, last):
                return at(source, node, "both scores of a span are read at one of its ends")
    return None


def _handed_crosswise(source: Script) -> Finding | None:
    """`score(starts, ends)` of `def score(end_logits, start_logits)`: by what fills the lists."""
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in function.args.args]
        places = {
            w: names.index(n) for n in names for w in ("start", "end") if re.match(rf"{w}_?logits?$", n)
        }
        if len(places) != 2:
            continue
        for call in flow(source).calls_of(function):
            if len(call.args) <= max(places.values()):
                continue
            made = {
                w: {o.attr for o in origins(source, call.args[p]) if isinstance(o, ast.Attribute)}
                for w, p in places.items()
            }
            if made["start"] & {"end_logits"} and made["end"] & {"start_logits"}:
                if "start_logits" not in made["start"] and "end_logits" not in made["end"]:
                    return at(source, call, "the scores of starts are handed as those of ends")
    return None
