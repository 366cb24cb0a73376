"""Masks and lengths in scripts that are made or handed over and go nowhere, or come back as they were."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import whole_number
from ..shared.origins import origins

_TRIANGLES = ("triu", "tril", "band_part", "generate_square_subsequent_mask", "triu_", "tril_")


def triangle_unread(source: Script) -> Finding | None:
    """`causal = triu(...)` is made in a function, and nothing there asks for it: what follows is seen."""
    for function in source.of(ast.FunctionDef):
        for node in of(function, ast.Assign):
            target = node.targets[0]
            if not isinstance(target, ast.Name) or source.function_around(node) is not function:
                continue
            if not any(last_name(c.func) in _TRIANGLES for c in of(node.value, ast.Call)):
                continue
            if not any(n.id == target.id and isinstance(n.ctx, ast.Load) for n in of(function, ast.Name)):
                if not any(isinstance(n.ctx, ast.Load) and n.id == "locals" for n in of(function, ast.Name)):
                    return at(
                        source, node, f"`{target.id}` is made and never handed on: what follows is seen"
                    )
    return None


def mask_handed_and_unread(source: Script) -> Finding | None:
    """`block(x, future, padding)` of a block that never reads one of its masks."""
    for forward in source.forwards:
        names = [a.arg for a in forward.args.args if a.arg != "self"]
        read = {n.id for n in of(forward, ast.Name) if isinstance(n.ctx, ast.Load)}
        for name in (n for n in names if n not in read and not n.startswith("_")):
            owner = source.class_around(forward)
            if owner is None or not _reads_another(forward, names, read):
                continue
            given = flow(source).arguments(ast.copy_location(ast.Name(name, ast.Load()), forward.body[0]))
            given = given or _given(source, owner, forward, name)
            if given and all(_is_mask(source, g) for g in given):
                return at(source, forward, f"`{name}` is handed over, and the layer never looks at it")
    return None


def _reads_another(forward: ast.AST, names: list[str], read: set[str]) -> bool:
    """Attention is computed here, with the inputs that are read."""
    text = unparse(forward)
    return bool(set(names) & read) and re.search(r"(?i)att|softmax|transformer|encoder|mha", text) is not None


def _given(
    source: Script, owner: ast.ClassDef, forward: ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> list[ast.expr]:
    """What layers of a list are handed: `for block in self.blocks: x = block(x, future)`."""
    names = [a.arg for a in forward.args.args if a.arg != "self"]
    lists = {
        unparse(t)
        for n in source.of(ast.Assign)
        if any(last_name(c.func) == owner.name for c in of(n.value, ast.Call))
        for t in n.targets
    }
    found = []
    for loop in source.of(ast.For):
        if unparse(loop.iter) not in lists or not isinstance(loop.target, ast.Name):
            continue
        for call in of(loop, ast.Call):
            if isinstance(call.func, ast.Name) and call.func.id == loop.target.id:
                found.append(argument(call, name, position=names.index(name)))
    return [f for f in found if f is not None]


def _is_mask(source: Script, node: ast.expr) -> bool:
    made = origins(source, node, 6)
    return any(
        (isinstance(o, ast.Compare) and isinstance(o.ops[0], (ast.Eq, ast.NotEq)))
        or (isinstance(o, ast.Call) and last_name(o.func) in (*_TRIANGLES, "eq", "ne"))
        for o in made
    )


def padding_is_seen(source: Script) -> Finding | None:
    """`key_padding_mask=shown` with `shown = ids != 0`, made or changed on the way: it hides the words."""
    for call in source.calls:
        for word in (
            "key_padding_mask",
            "src_key_padding_mask",
            "tgt_key_padding_mask",
            "memory_key_padding_mask",
        ):
            given = keyword(call, word)
            if given is None or "pytorch" not in source.frameworks:
                continue
            given = _behind(source, given)
            made = origins(source, given, 8)
            if any(isinstance(o, ast.UnaryOp) and isinstance(o.op, (ast.Invert, ast.Not)) for o in made[:3]):
                continue
            tests = [o for o in made if isinstance(o, ast.Compare) and len(o.ops) == 1]
            tests = [
                t
                for t in tests
                if whole_number(t.comparators[0]) == 0 or "pad" in unparse(t.comparators[0]).lower()
            ]
            turned = {id(n) for o in made if isinstance(o, ast.UnaryOp) for n in of(o, ast.Compare)}
            tests = [t for t in tests if id(t) not in turned]
            if tests and all(isinstance(t.ops[0], ast.NotEq) for t in tests) and _alone(source, given, tests):
                return at(
                    source,
                    tests[0],
                    f"`{word}` is true where something is to be hidden, and these are the words",
                )
    return None


def _behind(source: Script, given: ast.expr) -> ast.expr:
    """What a layer is handed, where the mask is a parameter of its forward."""
    forward, owner = source.function_around(given), source.class_around(given)
    if not isinstance(given, ast.Name) or forward is None or owner is None or forward not in source.forwards:
        return given
    if given.id not in {a.arg for a in forward.args.args} or flow(source).all_given(given):
        return given
    found = flow(source).arguments(given) or _given(source, owner, forward, given.id)
    return found[0] if len(found) == 1 else given


def _alone(source: Script, given: ast.expr, tests: list[ast.Compare]) -> bool:
    """Nothing on the way may turn the mask round."""
    return not any(
        isinstance(o, ast.Call) and last_name(o.func) in ("logical_not", "where", "bitwise_not", "eq")
        for o in origins(source, given, 8)
    ) and bool(tests)


def first_of_causal(source: Script) -> Finding | None:
    """`self.encode(x)[:, 0]` of an encoder whose places see only what stands before them."""
    for node in source.of(ast.Subscript):
        call = node.value
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if not isinstance(call, ast.Call) or len(places) < 2 or not isinstance(places[0], ast.Slice):
            continue
        if whole_number(places[1]) != 0 or unparse(places[0]) != ":" or len(places) > 2:
            continue
        if any(
            isinstance(p, ast.Call) and last_name(p.func) in ("cat", "stack")
            for p in list(source.above(node))[:2]
        ):
            continue
        for function in flow(source).called(call):
            if any(last_name(c.func) == "triu" for c in of(function, ast.Call)):
                return at(
                    source, node, "the first place sees nothing but itself, and stands for the whole here"
                )
    return None


# --------------------------------------------------------------------------------------------------- lengths


def lengths_not_kept(source: Script) -> Finding | None:
    """A forward that takes lengths gives back the width of the batch, or those before its strides."""
    if not re.search(r"(?i)ctc|rnnt|transduc", source.code):
        return None
    for forward in source.forwards:
        names = {a.arg for a in forward.args.args if a.arg != "self"}
        ends = [r for r in returns(forward) if isinstance(r, ast.Tuple) and len(r.elts) == 2]
        for end in ends:
            length = end.elts[1]
            if isinstance(length, ast.Call) and last_name(length.func) in ("full_like", "full", "new_full"):
                told = " ".join(unparse(a) for a in (*length.args, *(k.value for k in length.keywords)))
                if (
                    re.search(r"\.size\(1\)|\.shape\[1\]|\.size\(-?2\)|\.shape\[-2\]", told)
                    and len(names) > 1
                ):
                    return at(
                        source, end, "each row gets the width of the batch for its length, padding included"
                    )
            if isinstance(length, ast.Name) and length.id in names and _strided(source, forward):
                stores = [
                    n for n in of(forward, ast.Name) if n.id == length.id and isinstance(n.ctx, ast.Store)
                ]
                if not stores:
                    return at(
                        source, end, "the lengths are those before the strides, and the rows are shorter now"
                    )
    return None


def _strided(source: Script, forward: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """The class makes a convolution over time that leaves places out, and the forward uses it."""
    owner = source.class_around(forward)
    if owner is None:
        return False
    for node in of(owner, ast.Assign):
        target = node.targets[0]
        strides = [
            whole_number(keyword(c, "stride"))
            for c in of(node.value, ast.Call)
            if last_name(c.func) == "Conv1d"
        ]
        if isinstance(target, ast.Attribute) and any(s is not None and s > 1 for s in strides):
            if any(n.attr == target.attr and isinstance(n.ctx, ast.Load) for n in of(forward, ast.Attribute)):
                return True
    return False


def one_side_sorted(source: Script) -> Finding | None:
    """`pad(sorted(x for x, _ in batch))` beside `pad([y for _, y in batch])`: the rows are paired anew."""
    for function in source.of(ast.FunctionDef):
        own = {a.arg for a in function.args.args}
        sides: dict[bool, list[ast.Call]] = {True: [], False: []}
        for call in of(function, ast.Call):
            if (
                last_name(call.func) not in ("pad_sequence", "stack", "cat", "tensor", "as_tensor")
                or not call.args
            ):
                continue
            rows = call.args[0]
            ordered = isinstance(rows, ast.Call) and last_name(rows.func) == "sorted" and bool(rows.args)
            inner = rows.args[0] if ordered and isinstance(rows, ast.Call) else rows
            if (
                isinstance(inner, (ast.ListComp, ast.GeneratorExp))
                and unparse(inner.generators[0].iter) in own
            ):
                target = inner.generators[0].target
                if isinstance(target, ast.Tuple) and isinstance(inner.elt, ast.Name):
                    sides[ordered].append(call)
        if sides[True] and sides[False]:
            return at(
                source, sides[True][0], "the rows of one side are sorted, and those of the other are not"
            )
    return None
