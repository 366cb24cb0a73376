"""A picture that a function mirrors, turns or cuts, and what lies over it and is handed on as it came.

Masks, boxes and key points are told by their names, or by being read or resized as pictures beside it; what a
function does with them by the values that it gives their names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import block_of, paired
from ..shared.roles import is_random

_MOVES = re.compile(
    r"^(?:(?:stateless_)?random_)?(?:h_?flip|v_?flip|flip|flip_?lr|flip_?ud|horizontal_flip|vertical_flip"
    r"|flip_left_right|flip_up_down|mirror|rot90|rotate|rotation|resized_crop|crop|affine|warp_?affine"
    r"|perspective|warp_?perspective|elastic_transform|reverse)$",
    re.IGNORECASE,
)
_CARRIED = (
    *("copy", "ascontiguousarray", "contiguous", "clone", "array", "asarray", "from_numpy", "as_tensor"),
    *(
        "tensor",
        "ToTensor",
        "to_tensor",
        "float",
        "long",
        "astype",
        "int",
        "cast",
        "unsqueeze",
        "expand_dims",
    ),
)
_OVER = re.compile(
    r"(?i)^(?:\w+_)?(?:masks?|msks?|segs?|segmentations?|seg_?maps?|annotations?|boxes|bboxes|box_list|points|pts|"
    r"key_?points|kpts?|kps|landmarks?|joints|outlines?|contours?|depth_?maps?|heat_?maps?)(?:_\w+)?$"
)
_NUMBERS = re.compile(
    r"(?i)^(?:\w+_)?(?:boxes|bboxes|box_list|points|pts|key_?points|kpts?|kps|landmarks?|joints)(?:_\w+)?$"
)
_PICTURE = re.compile(
    r"(?i)^(?:\w+_)?(?:img|image|im|picture|pic|frame|photo|pixels|scan|slice|volume|vol|x|inputs?|rgb|hr|lr)s?(?:_\w+)?$"
)
_ASKED = re.compile(r"(?i)\b(?:train\w*|is_train\w*|augment\w*|self\.train\w*|self\.aug\w*)\b")
_RANDOM_STEPS = re.compile(
    r"\b(?:Random(?:Horizontal|Vertical)Flip|Random(?:Rotation|Crop|ResizedCrop|Affine|Perspective|Rotate90)"
    r"|RandomResizedCropWithBBox|HorizontalFlip|VerticalFlip|ShiftScaleRotate|Affine|Rotate)\("
)
_SHARED = re.compile(r"manual_seed|random\.seed|set_rng_state|set_state|get_params|tv_tensors|seed")


def left_where_it_was(source: Script) -> Finding | None:
    """`if rand() < 0.5: image = image[:, ::-1]`, and the mask beside it is handed on as it came."""
    for function in source.of(ast.FunctionDef):
        if len(function.body) < 2 or _SHARED.search(unparse(function)):
            continue
        together = _handed_on(function)
        if len(together) < 2:
            continue
        also = {moved for _, moved in _moved(function)}  # moved elsewhere, it lies over the picture
        for node, name in _moved(function):
            if name not in together or _OVER.match(_word(name)) or not _PICTURE.match(_word(name)):
                continue
            others = sorted(o for o in together if o != name and (_OVER.match(_word(o)) or o in also))
            if not others:
                continue
            block = block_of(source, node)
            by_chance = _by_chance(source, function, node)
            if not by_chance and not _turns_points(function, node, others):
                continue
            inside = block if block is not function.body else function.body
            for other in others:
                if _moves_along(source, function, node, inside, other):
                    continue
                return at(source, node, f"`{name}` is moved here, and `{other}` beside it is not")
    return _by_steps_alone(source) or _column_alone(source)


def handed_on_together(function: Function) -> set[str]:
    """The parts of a sample that a function gives back."""
    return _handed_on(function)


def lies_over(name: str) -> bool:
    """It is named after a mask, boxes or points."""
    return _OVER.match(_word(name)) is not None


def _word(name: str) -> str:
    """What a part is called: `mask` of `sample["mask"]`, of `self.mask`."""
    told = re.search(r"\[['\"](\w+)['\"]\]$", name)
    return told.group(1) if told else name.rpartition(".")[2]


def _handed_on(function: Function) -> set[str]:
    """Names, and entries of one mapping, that every return gives back together."""
    found: set[str] | None = None
    for value in returns(function):
        parts: list[ast.expr] = []
        if isinstance(value, ast.Tuple):
            parts = [p for e in value.elts for p in (e.elts if isinstance(e, ast.Tuple) else [e])]
        elif isinstance(value, ast.Dict):
            parts = list(value.values)
        elif isinstance(value, ast.Name):
            base = value.id
            keys = {unparse(n) for n in of(function, ast.Subscript) if _is_entry(n, base)}
            found = keys if found is None else found & keys
            continue
        names = {n for p in parts for n in _root(p)}
        found = names if found is None else found & names
    return found or set()


def _is_entry(node: ast.Subscript, base: str) -> bool:
    text = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    return text and isinstance(node.value, ast.Name) and node.value.id == base


def _root(node: ast.expr) -> Iterator[str]:
    """The name that is handed on, bare or through what changes its type alone."""
    for _ in range(4):
        if isinstance(node, ast.Name):
            yield node.id
            return
        if isinstance(node, ast.Subscript) and _adds_axis(node.slice):
            node = node.value  # `mask[None]`
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield unparse(node)
            return
        if not isinstance(node, ast.Call) or last_name(node.func) not in (*_CARRIED, "transpose", "permute"):
            return
        owner = receiver(node)
        library = owner is None or unparse(owner) in ("np", "torch", "tf", "F", "jnp", "TF", "numpy")
        inner = node.args[0] if library and node.args else owner
        if inner is None:
            return
        node = inner


def _adds_axis(index: ast.expr) -> bool:
    """Nothing is taken out: `[None]`, `[..., np.newaxis]`, `[None, :, :]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    texts = [unparse(p) for p in parts]
    new = [t for t in texts if t in ("None", "np.newaxis", "tf.newaxis", "jnp.newaxis", "numpy.newaxis")]
    return bool(new) and all(t in new or t in ("...", "Ellipsis", ":") for t in texts)


def _moved(function: Function) -> Iterator[tuple[ast.Assign, str]]:
    """Statements that give a name what it was, mirrored, turned or cut."""
    for node in of(function, ast.Assign):
        for target, value in paired(node.targets[0], node.value):
            name = unparse(target)
            if isinstance(target, (ast.Name, ast.Subscript)) and _is_move(value, name):
                yield node, name


def _is_move(value: ast.expr, name: str) -> bool:
    for _ in range(3):
        if isinstance(value, ast.Call) and last_name(value.func) in _CARRIED:
            owner = receiver(value)
            library = owner is None or unparse(owner) in ("np", "torch", "tf", "jnp", "numpy")
            inner = value.args[0] if library and value.args else owner
            if inner is None:
                return False
            value = inner
    if isinstance(value, ast.Call):
        first = argument(value, position=0)
        owner = receiver(value)
        about = {unparse(n) for n in (first, owner) if n is not None}
        text = unparse(value)
        turned = last_name(value.func) == "transpose" and re.search(r"FLIP_|ROTATE_", text) is not None
        return name in about and (turned or _MOVES.match(last_name(value.func)) is not None)
    return isinstance(value, ast.Subscript) and unparse(value.value) == name and _mirrors(value.slice)


def _mirrors(cut: ast.expr) -> bool:
    """Rows or columns in reverse, and not the colours: `[::-1]`, `[:, ::-1]`, not `[..., ::-1]`."""
    parts = cut.elts if isinstance(cut, ast.Tuple) else [cut]
    turned = [
        i for i, p in enumerate(parts) if isinstance(p, ast.Slice) and p.step and unparse(p.step) == "-1"
    ]
    dotted = any(isinstance(p, ast.Constant) and p.value is Ellipsis for p in parts)
    return bool(turned) and not dotted and turned != [2] and not (turned == [0] and len(parts) == 3)


def _by_chance(source: Script, function: Function, node: ast.Assign) -> bool:
    """It is drawn whether, or how, it is moved."""
    call = node.value
    if any(re.search(r"(?i)random_", last_name(c.func)) for c in of(call, ast.Call)) or is_random(call):
        return True
    drawn = {
        unparse(t)
        for a in of(function, ast.Assign)
        if is_random(a.value)
        for one in a.targets
        for t, _ in paired(one, a.value)
    }
    for parent in source.above(node):
        if parent is function:
            break
        if isinstance(parent, ast.If) and (is_random(parent.test) or drawn & names_in(parent.test)):
            return True
    return bool(drawn & (names_in(call) - {unparse(node.targets[0])}))


def _turns_points(function: Function, node: ast.Assign, others: list[str]) -> bool:
    """A picture is warped in a function that is handed its boxes or key points, and gives them back."""
    warped = any(
        re.match(r"(?i)warp_?(?:affine|perspective)$", last_name(c.func)) for c in of(node.value, ast.Call)
    )
    handed = {a.arg for a in function.args.args}
    return warped and any(o in handed and _NUMBERS.match(_word(o)) for o in others)


def _moves_along(
    source: Script, function: Function, node: ast.Assign, block: list[ast.stmt], other: str
) -> bool:
    """What lies over the picture is given another value where it is moved, or where the same is asked."""
    if block is function.body:
        own = {id(n) for n, moved in _moved(function) if moved == other}
        scope: list[ast.AST] = [
            s
            for s in function.body
            if s.lineno >= node.lineno or any(id(n) in own for n in of(s, ast.Assign))
        ]
    else:
        scope = [*block, *_asked_again(source, function, node)]
    base = other.split("[")[0]
    for part in scope:
        if _another_move(function, part, node, other):
            continue
        for one in of(part, ast.Call):
            given = [*one.args, *(k.value for k in one.keywords)]
            whole = [unparse(g) for g in given]
            wide = any(base in names_in(g) for g in given)
            if base != other and base in whole:
                return True
            if wide and not _is_type_alone(one) and not _is_handed_back(source, function, one):
                return True
        for two in of(part, ast.Assign):
            for target, value in paired(two.targets[0], two.value):
                if base in names_in(target) and not _picks_rows(value, base):
                    return True
        for three in of(part, ast.AugAssign):
            if base in names_in(three.target):
                return True
        for loop in of(part, ast.For):
            if base in names_in(loop.iter):
                return True
    return False


def _another_move(function: Function, part: ast.AST, node: ast.Assign, other: str) -> bool:
    """`if rand() < 0.5: image, mask = image[:, ::-1], mask[:, ::-1]`: another step, which moves both."""
    inside = {id(n) for n in of(part, ast.Assign)}
    picture = next((name for n, name in _moved(function) if n is node), "")
    both = {moved for n, moved in _moved(function) if id(n) in inside}
    return id(node) not in inside and {picture, other} <= both


def _is_type_alone(call: ast.Call) -> bool:
    return last_name(call.func) in (
        *_CARRIED,
        "len",
        "print",
        "isinstance",
        "zeros_like",
        "shape",
        "unique",
        "any",
    )


def _is_handed_back(source: Script, function: Function, call: ast.Call) -> bool:
    """It stands in a return, where what it makes of the part is seen by itself."""
    held = source.statement(call)
    return (
        isinstance(held, ast.Return)
        and last_name(call.func) in _CARRIED
        and held in list(of(function, ast.Return))
    )


def _picks_rows(value: ast.expr, name: str) -> bool:
    """Its rows in another order, or in another type: `points[PAIRS]`, `mask.copy()`, which moves nothing."""
    for _ in range(3):
        if isinstance(value, ast.Name):
            return value.id == name
        if isinstance(value, ast.Subscript):
            return unparse(value.value) == name and isinstance(value.slice, ast.Name)
        if not isinstance(value, ast.Call) or last_name(value.func) not in _CARRIED:
            return False
        owner = receiver(value)
        library = owner is None or unparse(owner) in ("np", "torch", "tf", "jnp", "numpy")
        inner = value.args[0] if library and value.args else owner
        if inner is None:
            return False
        value = inner
    return False


def _asked_again(source: Script, function: Function, node: ast.Assign) -> Iterator[ast.AST]:
    """Blocks that stand under the same condition, by a name."""
    for parent in source.above(node):
        if isinstance(parent, ast.If):
            told = set(names_in(parent.test))
            for other in of(function, ast.If, ast.IfExp):
                same = unparse(other.test) == unparse(parent.test) or told & names_in(other.test)
                if other is not parent and same and not is_random(other.test):
                    yield other
            yield from parent.orelse
        if parent is function:
            return


# ----------------------------------------------------------------------------------- steps of a library


def _by_steps_alone(source: Script) -> Finding | None:
    """`self.transform(image)` of steps that mirror or cut at random, and the mask goes past them."""
    for function in source.of(ast.FunctionDef):
        text = unparse(function)
        if _SHARED.search(text) or function.name not in ("__getitem__", "__call__"):
            continue
        together = _handed_on(function)
        others = [o for o in together if _OVER.match(_word(o))]
        if not others:
            continue
        for call in of(function, ast.Call):
            given = [*call.args, *(k.value for k in call.keywords)]
            if len(given) != 1 or not isinstance(given[0], ast.Name) or not _PICTURE.match(given[0].id):
                continue
            if given[0].id in others or not isinstance(call.func, (ast.Name, ast.Attribute)):
                continue
            made = [v for v in flow(source).values(call.func, 6) if isinstance(v, ast.Call)]
            if len(made) != 1 or not _RANDOM_STEPS.search(unparse(made[0])):
                continue
            handed = [
                c
                for c in of(function, ast.Call)
                if c is not call and any(o.split("[")[0] in names_in(c) for o in others)
                if not _is_type_alone(c) and not _reads(c)
            ]
            if not handed:
                why = f"the random steps move `{given[0].id}` alone, and `{others[0]}` lies over it"
                return at(source, call, why)
    return _columns_alone(source)


def _reads(call: ast.Call) -> bool:
    return re.search(r"(?i)open|read|load|decode|convert|resize", last_name(call.func)) is not None


def _columns_alone(source: Script) -> Finding | None:
    """MindSpore: `data.map([RandomHorizontalFlip()], input_columns="image")` of a set with masks."""
    if "mindspore" not in source.frameworks:
        return None
    columns: set[str] = set()
    for made in source.named("GeneratorDataset", "NumpySlicesDataset", "MindDataset"):
        given = argument(made, "column_names", position=1) or keyword(made, "columns_list")
        for value in flow(source).values(given, 3) if given is not None else ():
            columns |= {n.value for n in of(value, ast.Constant) if isinstance(n.value, str)}
    over = sorted(c for c in columns if _OVER.match(c))
    if not over:
        return None
    for call in source.named("map"):
        asked = keyword(call, "input_columns") or argument(call, position=1)
        steps = keyword(call, "operations") or argument(call, position=0)
        if asked is None or steps is None:
            continue
        named = {n.value for n in of(asked, ast.Constant) if isinstance(n.value, str)}
        if len(named) != 1 or not all(_PICTURE.match(n) for n in named):
            continue
        texts = [unparse(steps), *(unparse(v) for v in flow(source).values(steps, 4))]
        if any(_RANDOM_STEPS.search(t) for t in texts) and not _mapped(source, over):
            return at(
                source, call, f"the random steps move `{min(named)}` alone, and `{over[0]}` lies over it"
            )
    return None


def _mapped(source: Script, over: list[str]) -> bool:
    """A random step goes over the mask as well, or over both at once."""
    for call in source.named("map"):
        asked = keyword(call, "input_columns") or argument(call, position=1)
        named = {n.value for n in of(asked, ast.Constant)} if asked is not None else set()
        steps = keyword(call, "operations") or argument(call, position=0)
        if named & set(over) and steps is not None:
            texts = [unparse(steps), *(unparse(v) for v in flow(source).values(steps, 4))]
            if len(named) > 1 or any(_RANDOM_STEPS.search(t) for t in texts):
                return True
    return False


# --------------------------------------------------------------------------------- columns of key points


def _column_alone(source: Script) -> Finding | None:
    """A picture is mirrored left to right, and of the boxes or points beside it the heights are turned."""
    for function in source.of(ast.FunctionDef):
        for node, name in _moved(function):
            side = _side_mirrored(node, name)
            block = block_of(source, node)
            if side is None or block is function.body:
                continue
            columns = [c for s in block for c in _columns_turned(s)]
            if columns and all(c == 1 - side for c in columns):
                told = "left to right" if side == 0 else "upside down"
                turned = "heights" if side == 0 else "widths"
                return at(
                    source, node, f"the picture is mirrored {told}, and the {turned} beside it are turned"
                )
    return None


def _side_mirrored(node: ast.Assign, name: str) -> int | None:
    """0 where columns of the picture are in reverse, 1 where its rows are."""
    for target, value in paired(node.targets[0], node.value):
        if unparse(target) != name:
            continue
        text = unparse(value)
        if re.search(r"\[:, ::-1(?:, :)?\]|hflip\(|fliplr\(|flip_left_right|FLIP_LEFT_RIGHT|mirror\(", text):
            return 0
        if re.search(
            rf"{re.escape(name)}\[::-1(?:, :)*\]|vflip\(|flipud\(|flip_up_down|FLIP_TOP_BOTTOM", text
        ):
            return 1
    return None


def _columns_turned(statement: ast.stmt) -> Iterator[int]:
    """The column that is taken from a size: `points[:, 0] = w - points[:, 0]`."""
    for node in of(statement, ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Subscript) or not isinstance(value, ast.BinOp):
            continue
        if not isinstance(value.op, ast.Sub) or unparse(target) not in unparse(value):
            continue
        last = target.slice.elts[-1] if isinstance(target.slice, ast.Tuple) else None
        if (
            isinstance(last, ast.Constant)
            and last.value in (0, 1)
            and _NUMBERS.match(_word(unparse(target.value)))
        ):
            yield 0 if last.value == 0 else 1
