"""Two pictures of one sample in scripts, read and given back together, of which one is moved otherwise."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.nodes import paired
from ..shared.roles import is_random

_READS = re.compile(
    r"\bImage\.open\(|\bimread\(|\bread_image\(|\bdecode_(?:png|jpeg|image|bmp)\(|\bpil_loader\("
)
_MOVES = re.compile(
    r"(?:^|_)(?:h_?flip|v_?flip|flip|fliplr|flipud|flip_left_right|flip_up_down|rot90|rotate|crop|resized_crop"
    r"|affine|perspective|crop_to_bounding_box)$"
)
_RANDOM_MOVES = re.compile(
    r"\bRandom(?:Horizontal|Vertical)Flip\(|\bRandom(?:Rotation|Crop|ResizedCrop|Affine|Perspective)\("
)
_SAME_DRAW = re.compile(
    r"manual_seed|random\.seed|set_rng_state|set_state|get_params|tv_tensors|v2\b|torch\.cat|np\.concat"
)


def one_of_two_moved(source: Script) -> Finding | None:
    """One picture of a pair is mirrored or cut, or each where its own draw says: `t(image), t(mask)`.

    A pair is what a sample gives back and nothing else: a third part would tell how the two belong together.
    """
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        pair = _pair(source, function) if function.name == "__getitem__" else None
        if pair is None:
            continue
        seen = seen or function
        names = set(pair)
        for block in of(function, ast.If):
            moved = _moved(block, names)
            text = " ".join(unparse(s) for s in block.body)
            alone = len(moved) == 1 and not any(re.search(rf"\b{n}\b", text) for n in names - set(moved))
            if alone and not block.orelse and is_random(block.test) and not _again(function, block):
                name, node = next(iter(moved.items()))
                return at(source, node, f"`{name}` is moved, and the other picture of the sample is not")
        if (twice := _drawn_twice(function, names)) is not None:
            return at(source, twice, "the two pictures of a sample are moved by draws of their own")
        if (found := _each_by_chance(source, function, pair)) is not None:
            return at(source, found, "the random steps are drawn for each of the two pictures of a sample")
    return ok(source, seen, "both pictures of a sample are moved alike") if seen is not None else None


def mirrored_on_another_axis(source: Script) -> Finding | None:
    """`x, m = x.flip(-1), m.flip(-2)`, `image[::-1], mask[:, ::-1]`: a picture and its mask, unlike."""
    for function in source.of(ast.FunctionDef):
        if function.name != "__getitem__" and not re.search(r"(?i)aug|flip|transform", function.name):
            continue
        for node in of(function, ast.Assign):
            target, value = node.targets[0], node.value
            if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(value.elts) != 2:
                continue
            if (unlike := _moved_unlike(target, value)) is not None:
                return at(source, node, unlike)
            axes = [_mirrored(v) for v in value.elts]
            named = [unparse(t) for t in target.elts]
            own = all(axis is not None and axis[0] == name for axis, name in zip(axes, named, strict=True))
            if own and axes[0] is not None and axes[1] is not None and axes[0][1] != axes[1][1]:
                return at(source, node, f"`{named[0]}` and `{named[1]}` are mirrored on different axes")
    return None


_LABELS = re.compile(r"^(?:label|labels|lbl|mask|masks|seg|target|gt)$")


def labels_scaled_by_chance(source: Script) -> Finding | None:
    """`image, label = image * gain, label * gain` with a drawn gain: the numbers of the classes change."""
    for function in source.of(ast.FunctionDef):
        if not re.search(r"(?i)aug|transform|jitter|__getitem__|bright|contrast", function.name):
            continue
        for node in of(function, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = paired(target, value)
            for name, made in pairs:
                if isinstance(name, ast.Name) and _LABELS.match(name.id) and _scaled(source, name.id, made):
                    return at(source, node, f"`{name.id}` holds classes, and is changed by a drawn number")
    return None


def _scaled(source: Script, name: str, made: ast.expr) -> bool:
    for node in of(made, ast.BinOp):
        if not isinstance(node.op, (ast.Mult, ast.Add)) or unparse(node.left) != name:
            continue
        drawn = [node.right, *flow(source).values(node.right, 2)]
        plain = isinstance(node.right, (ast.Name, ast.Call)) and not isinstance(node.right, ast.Subscript)
        if plain and any(
            isinstance(d, ast.Call) and last_name(d.func) in ("uniform", "normal") for d in drawn
        ):
            if not any(keyword(d, "size") for d in drawn if isinstance(d, ast.Call)):
                return True
    return False


def _moved_unlike(target: ast.Tuple, value: ast.Tuple) -> str | None:
    """`rot90(image, k, (0, 1)), rot90(mask, k, (1, 0))`: one move of two pictures, with unlike settings."""
    calls = [v for v in value.elts if isinstance(v, ast.Call) and v.args]
    names = [unparse(t) for t in target.elts]
    if len(calls) != 2 or [unparse(c.args[0]) for c in calls] != names:
        return None
    if last_name(calls[0].func) != "rot90" or unparse(calls[0].func) != unparse(calls[1].func):
        return None
    rest = [[unparse(a) for a in c.args[1:]] + [unparse(k.value) for k in c.keywords] for c in calls]
    alike = len(rest[0]) == len(rest[1]) and not any("dom" in r or "rng" in r for r in rest[0] + rest[1])
    return f"`{names[0]}` and `{names[1]}` are turned unlike" if alike and rest[0] != rest[1] else None


def _mirrored(node: ast.expr) -> tuple[str, str] | None:
    """What is mirrored, and on which axis, counted from the end or as numpy counts rows and columns."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "flip":
        said = unparse(node.args[0]).strip("[]()") if len(node.args) == 1 else ""
        return (unparse(node.func.value), said) if re.fullmatch(r"-\d", said) else None
    if (
        isinstance(node, ast.Call)
        and last_name(node.func) in ("fliplr", "flipud", "hflip", "vflip")
        and node.args
    ):
        name = last_name(node.func)
        return unparse(node.args[0]), "rows" if name in ("flipud", "vflip") else "columns"
    if isinstance(node, ast.Subscript):
        cut = unparse(node.slice)
        way = {"::-1": "rows", ":, ::-1": "columns", "(slice(None), ::-1)": "columns"}.get(cut.strip("()"))
        return (unparse(node.value), way) if way else None
    return None


def _drawn_twice(function: Function, names: set[str]) -> ast.Call | None:
    """`crop(a, randint(0, 9))` and `crop(b, randint(0, 9))`: where the second one of them stands."""
    calls = [c for c in of(function, ast.Call) if _MOVES.search(last_name(c.func)) and len(c.args) > 1]
    for call in calls:
        for other in calls:
            alike = last_name(call.func) == last_name(other.func) and call is not other
            if not alike or {unparse(call.args[0]), unparse(other.args[0])} != names:
                continue
            drawn = [any(is_random(a) for a in c.args[1:]) for c in (call, other)]
            if any(drawn):
                return other
    return None


def _pair(source: Script, function: Function) -> tuple[str, str] | None:
    """The names of two pictures that are read here and are all that is given back."""
    read = {
        t.id
        for n in of(function, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Name) and _READS.search(unparse(n.value))
    }
    returns = [r.value for r in of(function, ast.Return) if r.value is not None]
    if len(read) != 2 or not returns:
        return None
    for value in returns:
        parts = value.values if isinstance(value, ast.Dict) else getattr(value, "elts", [])
        if len(parts) != 2 or {_root(source, p, read) for p in parts} != read:
            return None
    one, other = sorted(read)
    return one, other


def _root(source: Script, node: ast.expr, read: set[str]) -> str:
    """Which of the pictures an expression is made of."""
    names = names_in(node)
    for _ in range(3):
        if found := names & read:
            return found.pop() if len(found) == 1 else ""
        given = [g.value for n in of(node, ast.Name) for g in flow(source).all_given(n)[:1]]
        names = {n.id for g in given for n in of(g, ast.Name)}
    return ""


def _moved(scope: ast.AST, names: set[str]) -> dict[str, ast.Call]:
    """Calls that move one of the pictures, by its name."""
    found: dict[str, ast.Call] = {}
    for call in of(scope, ast.Call):
        if not _MOVES.search(last_name(call.func)):
            continue
        owner = receiver(call)
        first = argument(call, position=0)
        for node in (first, owner):
            if isinstance(node, ast.Name) and node.id in names:
                found[node.id] = call
    return found


def _again(function: Function, block: ast.If) -> bool:
    """The same condition, by name, is asked again for the other one."""
    return any(
        b is not block and unparse(b.test) == unparse(block.test) and "(" not in unparse(b.test)
        for b in of(function, ast.If)
    )


def _each_by_chance(source: Script, function: Function, pair: tuple[str, str]) -> ast.Call | None:
    """`self.transform(image)` and `self.transform(mask)` of a pipeline that mirrors or cuts at random."""
    if _SAME_DRAW.search(unparse(function)):
        return None
    calls: dict[str, ast.Call] = {}
    for call in of(function, ast.Call):
        if len(call.args) == 1 and isinstance(call.args[0], ast.Name) and call.args[0].id in pair:
            if isinstance(call.func, (ast.Attribute, ast.Name)) and not call.keywords:
                made = [v for v in flow(source).values(call.func, 6) if isinstance(v, ast.Call)]
                if made and any(_RANDOM_MOVES.search(unparse(m)) for m in made):
                    calls[call.args[0].id] = call
    same = len(calls) == 2 and len({unparse(c.func) for c in calls.values()}) == 1
    return calls[pair[1]] if same else None
