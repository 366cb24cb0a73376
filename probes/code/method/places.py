"""Places in pictures (boxes, points) that move with the picture: mirrored, scaled, turned, or left behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.nodes import is_handed_to
from ..shared.sides import literal

_X = re.compile(r"(?i)^(?:x|xs|left|right|x_?min|x_?max|x[01234]|[lr]x|cx|x_?c|\w+_x[12]?|x_\w+)$")
_Y = re.compile(r"(?i)^(?:y_?min|y_?max|top|bottom|y[01234]|cy|y_?c|[tb]y|\w+_y[12]?)$")
_LOW = re.compile(r"(?i)1$|min|left|top|low|^l$|0$")
_POINTS = re.compile(
    r"(?i)^(?:box(?:es)?|bbox(?:es)?|points?|pts|landmarks?|key_?points?|kpts?|joints?|coords?|corners?|marks?)$"
)
_SIDEWAYS = re.compile(
    r"FLIP_LEFT_RIGHT|ImageOps\.mirror\(|\bhflip\(|horizontal_flip\(|\bfliplr\(|flip_left_right\("
    r"|\[:, ::-1\]|\[:, ::-1, :\]|flip\(\w+, 1\)"
)
_DOWN = re.compile(
    r"FLIP_TOP_BOTTOM|ImageOps\.flip\(|\bvflip\(|vertical_flip\(|\bflipud\(|flip_up_down\("
    r"|\[::-1\]|\[::-1, :\]|flip\(\w+, 0\)"
)


def _stored(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, ast.Assign]]:
    """(target, value, statement) of assignments, tuples taken apart."""
    for one in of(node, ast.Assign):
        target = one.targets[0]
        if (
            isinstance(target, ast.Tuple)
            and isinstance(one.value, ast.Tuple)
            and len(target.elts) == len(one.value.elts)
        ):
            yield from ((t, v, one) for t, v in zip(target.elts, one.value.elts, strict=True))
        else:
            yield target, one.value, one


def mirrored_ends_kept(source: Script) -> Finding | None:
    """`x1, x2 = width - x1, width - x2`, `b[:, [0, 2]] = width - b[:, [0, 2]]`: left is right of right.

    Right where the ends are exchanged or sorted afterwards.
    """
    seen = None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            ends = [
                (unparse(t), unparse(v.right), unparse(v.left))
                for t, v in zip(target.elts, value.elts, strict=True)
                if isinstance(v, ast.BinOp) and isinstance(v.op, ast.Sub)
            ]
            axes = [e for e in ends if _X.match(e[0]) or _Y.match(e[0])]
            if len(axes) == 2 and axes[0][2] == axes[1][2] and len({e[0] for e in axes}) == 2:
                seen = seen or node
                kept = all(t == v for t, v, _ in axes) and bool(_LOW.search(axes[0][0])) != bool(
                    _LOW.search(axes[1][0])
                )
                if kept and not _sorted_later(source, node, [e[0] for e in axes]):
                    return at(
                        source,
                        node,
                        "mirrored, the left end lies right of the right one: they are not exchanged",
                    )
        if (
            isinstance(target, ast.Subscript)
            and isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Sub)
        ):
            if unparse(target) == unparse(value.right) and re.search(
                r"\[(?:0, 2|1, 3)\]|\b[01]::2\b", unparse(target.slice)
            ):
                if re.search(r"(?i)box|rect|bb", unparse(target.value)) and not _sorted_later(
                    source, node, [unparse(target.value)]
                ):
                    return at(
                        source,
                        node,
                        "mirrored, the left ends lie right of the right ones: they are not exchanged",
                    )
    return ok(source, seen, "mirrored ends are exchanged") if seen is not None else None


def _sorted_later(source: Script, node: ast.Assign, names: list[str]) -> bool:
    scope = source.function_around(node) or source.tree
    for later in of(scope, ast.Assign):
        if later.lineno > node.lineno and {
            unparse(t) for t in of(later.targets[0], ast.Name, ast.Subscript)
        } & {*names, *(f"{n}[:, [0, 2]]" for n in names), *(f"{n}[:, [2, 0]]" for n in names)}:
            return True
    roots = {re.split(r"[.\[]", n)[0] for n in names}
    return any(
        last_name(c.func) in ("min", "max", "minimum", "maximum", "amin", "amax", "sort", "sorted")
        and roots & names_in(c)
        for c in of(scope, ast.Call)
    )


def _flips(source: Script) -> Iterator[tuple[ast.If, str]]:
    """Blocks that mirror a picture now and then: the block, and the direction."""
    for block in source.of(ast.If):
        if not re.search(r"(?i)rand|prob|flip|uniform|coin|mirror|turn", unparse(block.test)):
            continue
        text = " ".join(unparse(s) for s in block.body)
        sideways, down = _SIDEWAYS.search(text), _DOWN.search(text)
        if bool(sideways) != bool(down):
            yield block, "x" if sideways else "y"


def _moved(block: ast.If) -> dict[str, list[ast.Assign]]:
    """Assignments of a block that take places to their mirror image, by axis."""
    found: dict[str, list[ast.Assign]] = {"x": [], "y": []}
    for target, value, node in ((t, v, n) for s in block.body for t, v, n in _stored(s)):
        if not (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub)):
            continue
        text = unparse(target)
        column = re.search(r"\[(?:\.\.\.|:)?,? ?(?:\[)?([01])(?:, [23])?(?:\])?\]$", text)
        if isinstance(target, ast.Name) and _X.match(text):
            found["x"].append(node)
        elif isinstance(target, ast.Name) and _Y.match(text):
            found["y"].append(node)
        elif isinstance(target, ast.Subscript) and column and _POINTS.match(last_name(target.value)):
            found["xy"[int(column.group(1))]].append(node)
    return found


def mirrored_along_other_axis(source: Script) -> Finding | None:
    """The picture is mirrored left to right and its places up and down, or the other way round."""
    seen = None
    for block, axis in _flips(source):
        moved = _moved(block)
        other = "y" if axis == "x" else "x"
        if moved[axis] or moved[other]:
            seen = seen or block
        if moved[other] and not moved[axis]:
            way = "left to right" if axis == "x" else "up and down"
            return at(
                source, moved[other][0], f"the picture is mirrored {way}, its places along the other axis"
            )
    return ok(source, seen, "places are mirrored as their picture is") if seen is not None else None


def mirrored_alone(source: Script) -> Finding | None:
    """A picture is mirrored now and then in a function that gives back its places, which stay."""
    seen = None
    for block, axis in _flips(source):
        scope = source.function_around(block)
        if scope is None:
            continue
        back = {n for r in returns(scope) for n in _given_back(source, r)}
        along = _X if axis == "x" else _Y
        places = {n for n in back if _POINTS.match(n) or (along.match(n) and n not in ("x", "xs"))}
        if not places:
            continue
        changed = {n for s in block.body for t, _, _ in _stored(s) for n in names_in(t)}
        changed |= {n for s in block.body for c in of(s, ast.Call) if _places_handed(c) for n in names_in(c)}
        changed |= {n for s in block.body for a in of(s, ast.AugAssign, ast.For) for n in names_in(a.target)}
        if places & {*_numbered_or_permuted(block)} == places:
            named = sorted(places)
            if not _subtracts(block):
                return at(
                    source,
                    block.body[0],
                    f"the picture is mirrored, and {', '.join(named)} only put in another order",
                )
        seen = seen or block
        if not _made_after(scope, block, places) & changed and not _later(scope, block, places):
            return at(
                source,
                block.body[0],
                f"the picture is mirrored, and {', '.join(sorted(places))} stay where they were",
            )
    return ok(source, seen, "places go with their mirrored picture") if seen is not None else None


def mirrored_in_helper(source: Script) -> Finding | None:
    """`def flip(image, boxes): return image[:, ::-1], boxes`: it mirrors one and hands the other back."""
    for function in source.of(ast.FunctionDef):
        names = {a.arg for a in function.args.args}
        ends = [r for r in returns(function) if isinstance(r, ast.Tuple)]
        if of(function, ast.If, ast.IfExp) or len(ends) != 1 or not flow(source).calls_of(function):
            continue
        text = unparse(function)
        if not _SIDEWAYS.search(text) and not _DOWN.search(text):
            continue
        given_back = {e.id for e in ends[0].elts if isinstance(e, ast.Name)}
        for name in sorted(n for n in names & given_back if _POINTS.match(n)):
            stored = [(t, v) for t, v, _ in _stored(function) if name in names_in(t)]
            others = [c for c in of(function, ast.Call) if _places_handed(c) and not _only_copies(c)]
            if all(isinstance(t, ast.Name) and _only_copies(v) for t, v in stored) and not others:
                if not any(name in names_in(a.target) for a in of(function, ast.AugAssign)):
                    return at(source, function, f"it mirrors the picture, and `{name}` stay where they were")
    return None


def _only_copies(node: ast.expr) -> bool:
    """`boxes.copy()`, `np.array(boxes)`, `boxes.clone()`: the same places."""
    return isinstance(node, ast.Call) and last_name(node.func) in (
        *("copy", "clone", "array", "asarray", "deepcopy", "list", "tensor", "as_tensor"),
    )


def _numbered_or_permuted(block: ast.If) -> set[str]:
    """Names that are only put in another order: `points = points[PAIRS]`."""
    order: set[str] = set()
    other: set[str] = set()
    for s in block.body:
        for t, v, _ in _stored(s):
            name = last_name(t.value) if isinstance(t, ast.Subscript) else unparse(t)
            permuted = (
                isinstance(v, ast.Subscript)
                and unparse(v.value) == name
                and isinstance(v.slice, (ast.Name, ast.Attribute))
            )
            (order if permuted else other).add(name)
    return order - other


def _subtracts(block: ast.If) -> bool:
    return any(isinstance(b.op, ast.Sub) for s in block.body for b in of(s, ast.BinOp)) or any(
        isinstance(a.op, (ast.Sub, ast.Mult)) for s in block.body for a in of(s, ast.AugAssign)
    )


def _places_handed(call: ast.Call) -> bool:
    return any(_POINTS.match(n) for a in call.args for n in names_in(a)) and last_name(call.func) not in (
        "len",
        "print",
    )


def _later(scope: Function, block: ast.If, places: set[str]) -> bool:
    """After the block the places are changed under a condition of their own."""
    return any(
        names_in(a.targets[0]) & places
        for i in of(scope, ast.If)
        if i.lineno > block.lineno
        for a in of(i, ast.Assign)
    )


def _made_after(scope: Function, block: ast.If, places: set[str]) -> set[str]:
    """The places, and what they are made of below the block: `box = [(x1 + x2) / 2, x2 - x1]`."""
    found = set(places)
    for target, value, node in sorted(_stored(scope), key=lambda s: -s[2].lineno):
        if node.lineno > block.lineno and names_in(target) & found:
            found |= names_in(value)
    return found


def _given_back(source: Script, node: ast.expr) -> set[str]:
    """Names that a function gives back: of a tuple, a dict, or a tensor made of a list of names."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return {n for e in node.elts for n in _given_back(source, e)}
    if isinstance(node, ast.Dict):
        return {n for e in node.values for n in _given_back(source, e)}
    if isinstance(node, ast.Call):
        return {n for e in node.args for n in _given_back(source, e)}
    return {node.id} if isinstance(node, ast.Name) else set()


# ---------------------------------------------------------------------------------------------- the scale


def _sizes(scope: ast.AST) -> dict[str, str]:
    """`w, h = image.size`, `h, w = image.shape[:2]` -> {"w": "x", "h": "y"}."""
    found: dict[str, str] = {}
    for node in of(scope, ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or not all(isinstance(t, ast.Name) for t in target.elts):
            continue
        names, text = [unparse(t) for t in target.elts], unparse(node.value)
        if text.endswith(".size") and len(names) == 2:
            found |= {names[0]: "x", names[1]: "y"}
        elif re.search(r"\.shape(?:\[:2\]|\[-2:\]|\[1:\])?$", text) and 2 <= len(names) <= 3:
            ahead = len(names) == 3 and re.search(r"(?i)^(?:n|b|bs|c|ch|chans?|channels|_+)$", names[0])
            if ahead:
                names = names[1:]  # channels first
            if not re.search(r"(?i)^(?:n|b|c|bs)$", names[0]):
                found |= {names[0]: "y", names[1]: "x"}
    return found


def scaled_by_other_side(source: Script) -> Finding | None:
    """`x1 * size / h` of the height: x goes with the width of the picture, y with its height."""
    seen = None
    for function in source.of(ast.FunctionDef):
        sizes = _sizes(function)
        if len(sizes) != 2:
            continue
        for target, value, node in _stored(function):
            if not isinstance(target, ast.Name) or target.id not in names_in(value):
                continue
            axis = "x" if _X.match(target.id) else "y" if _Y.match(target.id) or target.id == "y" else None
            by = {
                sizes[n]
                for d in of(value, ast.BinOp)
                if isinstance(d.op, ast.Div)
                for n in names_in(d.right)
                if n in sizes
            }
            if axis is None or len(by) != 1:
                continue
            seen = seen or node
            if by != {axis}:
                side = "height" if axis == "x" else "width"
                return at(source, node, f"{target.id} is scaled by the {side} of the picture")
        found = _list_scaled(source, function, sizes) or _columns_scaled(source, function, sizes)
        if found is not None:
            return found
    return ok(source, seen, "x goes with the width, y with the height") if seen is not None else None


def _columns_scaled(source: Script, function: Function, sizes: dict[str, str]) -> Finding | None:
    """`boxes[:, [0, 2]] *= side / height` of boxes whose first and third columns are x."""
    for node in of(function, ast.AugAssign):
        target = node.target
        if not isinstance(target, ast.Subscript) or not isinstance(node.op, (ast.Mult, ast.Div)):
            continue
        axis, by = _axis_of(target.slice), {sizes[n] for n in names_in(node.value) if n in sizes}
        if axis is not None and len(by) == 1 and by != {axis} and _POINTS.match(_points(target.value)):
            side = "height" if axis == "x" else "width"
            return at(source, node, f"`{unparse(target)}` is scaled by the {side} of the picture")
    return None


def _axis_of(index: ast.expr) -> str | None:
    """The columns that are picked last: `[:, [0, 2]]`, `[..., 1::2]`."""
    last = index.elts[-1] if isinstance(index, ast.Tuple) and index.elts else index
    text = unparse(last).replace(" ", "")
    return {"[0,2]": "x", "[1,3]": "y", "::2": "x", "0::2": "x", "1::2": "y"}.get(text)


def places_exchanged(source: Script) -> Finding | None:
    """`heat[ix, iy] = 1` beside `size[:, iy, ix]`: one of two maps has rows and columns exchanged."""
    for function in source.of(ast.FunctionDef):
        read: dict[tuple[str, str], ast.Subscript] = {}
        for node in of(function, ast.Subscript):
            parts = node.slice.elts[-2:] if isinstance(node.slice, ast.Tuple) else []
            if len(parts) == 2 and all(isinstance(p, ast.Name) for p in parts):
                read.setdefault((unparse(parts[0]), unparse(parts[1])), node)
        for (first, second), node in read.items():
            named = re.sub(r"x", "y", first) == second and "x" in first
            if (
                named
                and (second, first) in read
                and unparse(node.value) != unparse(read[second, first].value)
            ):
                return at(
                    source, node, f"`{first}` and `{second}` stand in another order than in the other map"
                )
    return None


def _list_scaled(source: Script, function: Function, sizes: dict[str, str]) -> Finding | None:
    """`points * np.array([side / height, side / width])` of points whose first column is x."""
    for node in of(function, ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            lists = [e for e in of(side, ast.List, ast.Tuple) if len(e.elts) in (2, 4)]
            if not _POINTS.match(_points(other)) or len(lists) != 1:
                continue
            by = [
                {sizes[n] for n in names_in(e.right) if n in sizes}
                if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Div)
                else set()
                for e in lists[0].elts
            ]
            if by in ([{"y"}, {"x"}], [{"y"}, {"x"}] * 2) and _x_first(source):
                return at(source, node, "the first column is x, and is scaled by the height of the picture")
    return None


def _points(node: ast.expr) -> str:
    """The name of what is scaled; of `tensor(item["boxes"])` the item."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return _points(node.args[0])
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return last_name(node)


def _x_first(source: Script) -> bool:
    """Somewhere the script takes points apart as (x, y), or hands boxes to torchvision."""
    if source.named("box_iou", "nms", "batched_nms", "roi_align", "generalized_box_iou"):
        return re.search(r"(?i)yxyx|y_?min, ?x_?min|\by[01], ?x[01]", source.code) is None
    for loop in source.of(ast.For, ast.comprehension):
        for pair in of(loop.target, ast.Tuple):
            names = [unparse(e) for e in pair.elts]
            if names in (["x", "y"], ["px", "py"], ["cx", "cy"]):
                return True
    return any(_moved(block)["x"] for block, axis in _flips(source) if axis == "x")


def one_axis_scaled(source: Script) -> Finding | None:
    """Of `x1, y1, x2, y2 = row["box"]` one axis is scaled with the resized picture and the other is not."""
    for function in source.of(ast.FunctionDef):
        if not re.search(r"\bresize\(|Resize\(|imresize\(", unparse(function)):
            continue
        for node in of(function, ast.Assign):
            target = node.targets[0]
            if (
                not isinstance(target, ast.Tuple)
                or len(target.elts) != 4
                or isinstance(node.value, ast.Tuple)
            ):
                continue
            names = [unparse(t) for t in target.elts]
            axes = {"x": [n for n in names if _X.match(n)], "y": [n for n in names if _Y.match(n)]}
            if len(axes["x"]) != 2 or len(axes["y"]) != 2:
                continue
            scaled = {
                unparse(t): n
                for t, v, n in _stored(function)
                if n is not node
                and isinstance(t, ast.Name)
                and t.id in names_in(v)
                and any(isinstance(b.op, (ast.Mult, ast.Div)) for b in of(v, ast.BinOp))
            }
            touched = {n for t, _, s in _stored(function) if s is not node for n in names_in(t)}
            touched |= {n for a in of(function, ast.AugAssign) for n in names_in(a.target)}
            for one, other in (("x", "y"), ("y", "x")):
                whole = all(n in scaled for n in axes[one]) and not touched & set(axes[other])
                divided = re.search(
                    r" / ", " ".join(unparse(scaled[n].value) for n in axes[one] if n in scaled)
                )
                if whole and divided and not _scaled_where_used(function, axes[other]):
                    return at(
                        source, scaled[axes[one][0]], f"{one} is scaled with the picture, and {other} is not"
                    )
    return None


def _scaled_where_used(function: Function, names: list[str]) -> bool:
    return any(
        isinstance(b.op, (ast.Mult, ast.Div)) and names_in(b) & set(names) for b in of(function, ast.BinOp)
    )


def mirrored_about_old_side(source: Script) -> Finding | None:
    """`w - x2` of the width before resizing, where x2 was scaled to the new one."""
    for function in source.of(ast.FunctionDef):
        sizes = _sizes(function)
        for target, value, node in _stored(function):
            if not (
                isinstance(value, ast.BinOp)
                and isinstance(value.op, ast.Sub)
                and isinstance(value.right, ast.Name)
            ):
                continue
            if not (
                isinstance(value.left, ast.Name) and value.left.id in sizes and isinstance(target, ast.Name)
            ):
                continue
            before = [
                (v, n)
                for t, v, n in _stored(function)
                if n.lineno < node.lineno and unparse(t) == value.right.id
            ]
            last = before[-1][0] if before else None
            if (
                last is not None
                and any(
                    isinstance(d.op, ast.Div) and value.left.id in names_in(d.right)
                    for d in of(last, ast.BinOp)
                )
                and not isinstance(source.parents.get(before[-1][1]), ast.If)
            ):
                if re.search(r"\* ?\w+ / |/ .*\* ?\w+", unparse(last)):
                    return at(
                        source,
                        node,
                        f"mirrored about {value.left.id}, the side before the picture was resized",
                    )
    return None


# -------------------------------------------------------------------------------------- what is thrown away


def moved_part_thrown_away(source: Script) -> Finding | None:
    """`image, _ = turn(image, points)`: the function moves both, and the old points are used on."""
    mine = flow(source)
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call) or len(target.elts) < 2:
            continue
        empty = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == "_"]
        functions = mine.called(call)
        if not empty or len(functions) != 1 or call.keywords:
            continue
        names = [a.arg for a in functions[0].args.args if a.arg not in ("self", "cls")]
        scope = source.function_around(node)
        for place in empty:
            back = {
                n
                for r in returns(functions[0])
                if isinstance(r, ast.Tuple) and len(r.elts) == len(target.elts)
                for n in names_in(r.elts[place])
            }
            stored = {n for t, _, _ in _stored(functions[0]) for n in names_in(t)}
            for given, name in zip(call.args, names, strict=False):
                if name not in back or name not in stored or not isinstance(given, ast.Name) or scope is None:
                    continue
                if not _POINTS.match(name) and not re.search(r"(?i)mask|label|target|box", name):
                    continue
                if any(
                    n.id == given.id and isinstance(n.ctx, ast.Load) and n.lineno > node.lineno
                    for n in of(scope, ast.Name)
                ):
                    return at(source, node, f"the moved {name} are thrown away, and the old ones used on")
    return None


def exchange_never_used(source: Script) -> Finding | None:
    """`MIRRORED = [1, 0, 3, 2]` is never read: a mirrored picture has left and right exchanged."""
    if not any(axis == "x" for _, axis in _flips(source)):
        return None
    seen = None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not re.search(
            r"(?i)mirror|flip|swap|pair|perm|exchang", target.id
        ):
            continue
        if (
            not isinstance(value, (ast.List, ast.Tuple))
            or len(value.elts) < 2
            or source.function_around(node) is not None
        ):
            continue
        numbers = [literal(source, e) for e in value.elts]
        if sorted(map(str, numbers)) != sorted(map(str, range(len(numbers)))) or numbers == sorted(
            map(str, numbers)
        ):
            continue
        seen = seen or node
        read = [n for n in source.of(ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]
        if all(is_handed_to(source, n, "len") for n in read) and not source.loose:
            return at(
                source,
                node,
                "left and right points keep their numbers in a mirrored picture: this order is never used",
            )
    return ok(source, seen, "points are exchanged in mirrored pictures") if seen is not None else None
