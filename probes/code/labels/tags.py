"""Tags of words in scripts, aligned to the pieces that a tokenizer cuts words into."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_true, signed_terms, whole_number


def pieces_of_one_row(source: Script) -> Finding | None:
    """`for i, tags in enumerate(rows)` with `words = enc.word_ids(0)`: those of the first row for all."""
    for call in source.named("word_ids", "sequence_ids"):
        row = argument(call, "batch_index", position=0)
        loops = _loops(source, call)
        if not loops or not isinstance(call.func, ast.Attribute):
            continue
        if row is not None and whole_number(row) is None:
            continue
        made = flow(source).whole_given(call.func.value)
        scope = source.function_around(call)
        if made is None or scope is None or any(made in set(ast.walk(lp)) for lp in loops):
            continue  # one row is cut in each round
        if isinstance(made, ast.Call) and any(_counts(lp) for lp in loops):
            return at(source, call, "each row is given the pieces of the first row of the batch")
    return None


def _loops(source: Script, node: ast.AST) -> list[ast.AST]:
    """Loops and comprehensions around a call, in whose body it stands or over which the inner one goes."""
    found: list[ast.AST] = []
    inner = node
    for parent in source.above(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        if isinstance(parent, ast.For) and inner is not parent.iter:
            found.append(parent)
        inner = parent
    return found


def _counts(loop: ast.AST) -> bool:
    """`for i, tags in enumerate(...)`, `for i in range(len(...))`, `for tags in examples["tags"]`."""
    if not isinstance(loop, ast.For):
        return False
    over = loop.iter
    return isinstance(over, ast.Subscript) or (
        isinstance(over, ast.Call) and last_name(over.func) in ("enumerate", "range", "zip", "tqdm")
    )


_OF_CHARACTERS = re.compile(
    r"(?i)\bchars?\b|\bcharacters?\b|chinese|[-_]zh\b|\bernie|list\(\w*text\w*\)|[\u4e00-\u9fff]"
)


def tags_by_place(source: Script) -> Finding | None:
    """Words are cut into pieces, and nothing asks which word a piece is of."""
    if source.named("word_ids", "word_to_tokens", "token_to_word", "words", "char_to_token"):
        return None
    if _OF_CHARACTERS.search(source.text):
        return None  # each of them is one piece
    for function in source.of(ast.FunctionDef):
        calls = [c for c in of(function, ast.Call) if is_true(keyword(c, "is_split_into_words"))]
        if not calls or "offset" in unparse(function) or ".words" in unparse(function):
            continue
        for node in of(function, ast.Assign):
            for target in node.targets:
                if _is_labels(target) and not isinstance(node.value, ast.Constant):
                    return at(source, node, "tags of words stand beside pieces of words, which are more")
    return None


def _is_labels(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value in ("labels", "label_ids")
    )


def words_taken_for_texts(source: Script) -> Finding | None:
    """`enc = tokenizer(rows["tokens"])` without `is_split_into_words`, and then `enc.word_ids(i)`."""
    for call in source.named("word_ids"):
        made = flow(source).whole_given(call.func.value) if isinstance(call.func, ast.Attribute) else None
        if not isinstance(made, ast.Call) or any(k.arg is None for k in made.keywords) or not made.args:
            continue
        first = made.args[0]
        if keyword(made, "is_split_into_words") is None and "tok" in last_name(made.func).lower():
            column = (
                first.slice.value
                if isinstance(first, ast.Subscript) and isinstance(first.slice, ast.Constant)
                else ""
            )
            if column in ("tokens", "words") and not isinstance(source.parents.get(first), ast.Starred):
                return at(source, made, "lists of words are taken for texts: each word is numbered 0")
    return None


def mask_left_behind(source: Script) -> Finding | None:
    """`[names[p] for p, t in zip(said, true)]` beside `[names[t] for t in true if t != -100]`."""
    for function in (*source.of(ast.FunctionDef), source.tree):
        asks = [t for t in of(function, ast.Compare) if _of_mark(t)]
        if not asks:
            continue
        for comp in _comprehensions(function):
            for part in comp.generators:
                over = part.iter
                if not (
                    isinstance(over, ast.Call)
                    and last_name(over.func) == "zip"
                    and isinstance(part.target, ast.Tuple)
                ):
                    continue
                names = [t.id for t in part.target.elts if isinstance(t, ast.Name)]
                if len(names) != 2 or part.ifs:
                    continue
                read = names_in(comp.elt)
                left = [n for n in names if n not in read and not n.startswith("_")]
                others = [
                    n
                    for n in _comprehensions(function)
                    if any(_of_mark(t) for g in n.generators for t in g.ifs)
                ]
                if len(left) == 1 and names[1] == left[0] and others and comp not in others:
                    return at(
                        source, comp, f"`{left[0]}` is not asked: answers to padding stay among the others"
                    )
    return None


def _of_mark(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.NotEq)
        and whole_number(test.comparators[0]) == -100
    )


def _comprehensions(scope: ast.AST) -> Iterator[ast.ListComp]:
    yield from of(scope, ast.ListComp)


def tables_of_two_kinds(source: Script) -> Finding | None:
    """`id2label=dict(enumerate(names))` beside `label2id={n: i + 1 for i, n in enumerate(names)}`."""
    for call in source.calls:
        there, back = keyword(call, "id2label"), keyword(call, "label2id")
        if there is None or back is None:
            continue
        firsts = [_first_number(source, v) for v in (there, back)]
        if None not in firsts and firsts[0] != firsts[1]:
            return at(source, call, "the two tables of the labels number them from different places on")
    return None


def _first_number(source: Script, node: ast.expr) -> int | None:
    """The number of the first label, of `dict(enumerate(names))` and comprehensions over `enumerate`."""
    for value in (node, *flow(source).values(node, 2)):
        if isinstance(value, ast.Call) and last_name(value.func) == "dict" and len(value.args) == 1:
            inner = value.args[0]
            if isinstance(inner, ast.Call) and last_name(inner.func) == "enumerate":
                return _start(inner)
        if isinstance(value, ast.DictComp) and len(value.generators) == 1:
            over, target = value.generators[0].iter, value.generators[0].target
            if not (isinstance(over, ast.Call) and last_name(over.func) == "enumerate"):
                continue
            if not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
                continue
            number, start = target.elts[0].id, _start(over)
            for side in (value.key, value.value):
                if unparse(side) == number:
                    return start
                if (
                    isinstance(side, ast.BinOp)
                    and isinstance(side.op, ast.Add)
                    and unparse(side.left) == number
                ):
                    added = whole_number(side.right)
                    return None if added is None or start is None else start + added
    return None


def _start(call: ast.Call) -> int | None:
    given = argument(call, "start", position=1)
    return 0 if given is None else whole_number(given)


def mask_made_and_left(source: Script) -> Finding | None:
    """`real = target != 0` is made where a loss is learnt from, and nothing asks for it: padding counts."""
    for scope in source.of(ast.FunctionDef):
        for node in of(scope, ast.Assign):
            target = node.targets[0]
            if not isinstance(target, ast.Name) or source.function_around(node) is not scope:
                continue
            if not _tells_padding(node.value):
                continue
            if any(n.id == target.id and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name)):
                continue
            if _computes_loss(source, scope, node):
                return at(
                    source,
                    node,
                    f"`{target.id}` is made, and nothing asks for it: padding counts in the loss",
                )
    return None


def _tells_padding(value: ast.expr) -> bool:
    """`y != PAD`, `y.ne(0)`, `(y != -100).float()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr != "ne":
        value = value.func.value
    if isinstance(value, ast.Call):
        asks = last_name(value.func) == "ne" and len(value.args) == 1
        return asks and isinstance(value.args[0], (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp))
    if not isinstance(value, ast.Compare) or len(value.ops) != 1 or not isinstance(value.ops[0], ast.NotEq):
        return False
    mark = value.comparators[0]
    return whole_number(mark) in (0, -100, -1) or "pad" in unparse(mark).lower()


def _computes_loss(source: Script, scope: Function, node: ast.AST) -> bool:
    """A loss stands behind the line in its function, which is learnt from."""
    return any(
        c.lineno > getattr(node, "lineno", 0) and source.function_around(c) is scope for c, _ in source.losses
    )


def tags_off_by_a_mark(source: Script) -> Finding | None:
    """`[CLS, *words, SEP]` beside `[*tags, -100, -100]`: as long, and each tag stands at another word.

    Told of two lists that are made in one function of two parts of a row, where all that stands around the
    tags counts for nothing.
    """
    for function in source.of(ast.FunctionDef):
        lists = [c for v in _whole_sums(source, function) if (c := _around_one(v)) is not None]
        for labels in lists:
            for inputs in lists:
                around = labels.before + labels.after
                if labels.over == inputs.over or len(labels.marks) != around or inputs.marks:
                    continue
                if inputs.before != labels.before and inputs.before + inputs.after == around:
                    return at(
                        source, labels.node, "the tags stand at other places than the words they are of"
                    )
    return None


@dataclass(frozen=True)
class _Around:
    """A list with what is one for one made of `over`, and how many entries stand before and after it."""

    node: ast.expr
    over: str
    before: int
    after: int
    marks: tuple[int, ...]  # entries around it that are negative numbers


def _whole_sums(source: Script, function: Function) -> Iterator[ast.expr]:
    """Sums of lists, and lists with stars, that are part of no other sum."""
    for node in of(function, ast.BinOp, ast.List):
        parent = source.parents.get(node)
        if not (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)):
            if source.function_around(node) is function:
                yield node


def _around_one(node: ast.expr) -> _Around | None:
    parts: list[ast.expr] = []
    for _, one in signed_terms(node, 1):
        parts += one.elts if isinstance(one, ast.List) else [ast.Starred(one, ast.Load())]
    whole = [i for i, p in enumerate(parts) if isinstance(p, ast.Starred)]
    if len(whole) != 1 or len(parts) < 2:
        return None
    held = parts[whole[0]]
    comp = held.value if isinstance(held, ast.Starred) else held
    if not isinstance(comp, ast.ListComp) or len(comp.generators) != 1 or comp.generators[0].ifs:
        return None
    rest = [p for p in parts if p is not held]
    marks = tuple(n for p in rest if (n := whole_number(p)) is not None and n < 0)
    return _Around(node, unparse(comp.generators[0].iter), whole[0], len(parts) - whole[0] - 1, marks)
