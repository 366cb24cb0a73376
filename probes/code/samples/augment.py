"""Samples in scripts whose parts are changed apart: image without mask, inputs without targets."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.branches import never_together
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..labels.apart import ordered_apart
from ..labels.masking import tags_by_position
from ..labels.paired_lists import paired_by_listing
from ..labels.rows_by_slice import rows_by_order_and_by_place
from ..labels.together import one_part_reordered
from ..model.sequence import target_further_on
from ..shared.checks import at, first, ok
from ..shared.roles import is_random
from ..shared.sides import either
from ..tensorflow.data import flipped_apart
from ..tensorflow.graph import rows_fed_apart
from ..tensorflow.turned_apart import turned_alone
from .batch_apart import mixed_alone
from .cut_apart import cut_at_exchanged_corners, turned_by_another_draw
from .in_getitem import answer_is_the_input, label_of_the_one_before
from .mixed_pairs import shares_exchanged
from .moved_together import left_where_it_was
from .pixel_types import bytes_wrap, classes_divided
from .rows_unlike import inputs_and_targets_by_other_rows, sides_of_picture_exchanged
from .twin_pictures import labels_scaled_by_chance, mirrored_on_another_axis, one_of_two_moved


@probe()
@unframed
def sample_torn_apart(view: View) -> Finding:
    """What belongs together in a sample is moved, mixed, paired or stored apart."""
    return first(
        view,
        either(
            _image_alone,
            _mixed_apart,
            shares_exchanged,
            mixed_alone,
            _stored_at_random,
            _paired_by_listing,
            paired_by_listing,
            _drawn_for_each,
            _channels_turned,
            tags_by_position,
            _spectrum_mirrored,
            ordered_apart,
            one_part_reordered,
            rows_fed_apart,
            flipped_apart,
            turned_alone,
            *(left_where_it_was, inputs_and_targets_by_other_rows, sides_of_picture_exchanged),
            cut_at_exchanged_corners,
            turned_by_another_draw,
            one_of_two_moved,
            mirrored_on_another_axis,
            labels_scaled_by_chance,
            *(classes_divided, bytes_wrap),
            target_further_on,
            *(label_of_the_one_before, rows_by_order_and_by_place, answer_is_the_input),
            shows("moved-apart"),
        ),
        "the scripts change no samples that have several parts",
    )


# ------------------------------------------------------------------------------------- image and mask

_IMAGE = re.compile(r"^(?:img|image|im|picture|pic|frame|photo|x)s?$")
_BESIDE = re.compile(
    r"^(?:(?:gt_?)?masks?|seg|segm|label_?map|targets?|boxes|bboxes|keypoints|kpts?|points|joints|annot\w*)$"
)
_MOVES = (
    "flip",
    "fliplr",
    "flipud",
    "hflip",
    "vflip",
    "rot90",
    "rotate",
    "roll",
    "transpose",
    "affine",
    "warpAffine",
)


def _moved(node: ast.Assign) -> dict[str, bool]:
    """Names that a statement assigns -> it moves them (mirrors, turns, rolls)."""
    pairs: list[tuple[ast.expr, ast.expr]] = [(t, node.value) for t in node.targets]
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(target.elts, node.value.elts, strict=False))
    elif isinstance(target, ast.Tuple):
        pairs = [(t, node.value) for t in target.elts]
    return {t.id: _moves(v) for t, v in pairs if isinstance(t, ast.Name)}


def _moves(node: ast.expr) -> bool:
    for part in walk(node):
        if isinstance(part, ast.Call) and last_name(part.func) in _MOVES:
            return not (last_name(part.func) == "transpose" and not _FLIPS.search(unparse(part)))
        if isinstance(part, ast.Slice) and part.step is not None and unparse(part.step) == "-1":
            return True
    return False


_FLIPS = re.compile(r"FLIP|ROTATE|Transpose\.")


def _image_alone(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        names = names_in(function) | {a.arg for a in function.args.args}
        beside = {n for n in names if _BESIDE.match(n)} or _maps_of_labels(function)
        if not beside or not any(_IMAGE.match(n) for n in names):
            continue
        for block in of(function, ast.If):
            if not _at_random(source, block.test):
                continue
            assigned = [a for s in block.body for a in of(s, ast.Assign)]
            moved = {n for a in assigned for n, m in _moved(a).items() if m and _IMAGE.match(n)}
            if not moved:
                continue
            text = " ".join(unparse(s) for s in block.body)
            seen = seen or block
            along = any(re.search(rf"\b{n}\b", text) for n in beside)
            if along or not _same_function(function, beside):
                continue
            turned = next(a for a in assigned if any(m and _IMAGE.match(n) for n, m in _moved(a).items()))
            if not _one_axis_of_colours(turned):
                return at(source, turned, f"the image is moved and `{min(beside)}` is not")
        if (alone := _turned_alone(source, function, beside)) is not None:
            return alone
    return ok(source, seen, "what belongs to an image is moved along") if seen is not None else None


_LABEL = re.compile(r"^(?:labels?|lbl|lab|tgt|y)$")


def _maps_of_labels(function: Function) -> set[str]:
    """Labels that are moved here in another step, so that they are one for each place of the picture."""
    moved = {n for a in of(function, ast.Assign) for n, m in _moved(a).items() if m}
    return {n for n in moved if _LABEL.match(n)}


def _turned_alone(source: Script, function: Function, beside: set[str]) -> Finding | None:
    """`img = np.rot90(img, k)` with a random `k`, and the mask is not turned."""
    if not _same_function(function, beside):
        return None
    moves: dict[str, list[ast.Assign]] = {}
    for node in of(function, ast.Assign):
        if not any(isinstance(p, (ast.If, ast.IfExp)) and p in walk(function) for p in source.above(node)):
            for name, moved in _moved(node).items():
                drawn = moved and _at_random(source, node.value)
                if drawn and (_IMAGE.match(name) or name in beside):
                    moves.setdefault(_how(node), []).append(node)
    for how, nodes in moves.items():
        names = {n for a in nodes for n in _moved(a)}
        images = [a for a in nodes if any(_IMAGE.match(n) for n in _moved(a))]
        if images and how and not names & beside and not _one_axis_of_colours(images[0]):
            return at(source, images[0], f"the image is moved and `{min(beside)}` is not")
    return None


def _drawn_for_each(source: Script) -> Finding | None:
    """`image = rot90(image, randint(0, 3))` and `mask = rot90(mask, randint(0, 3))`: drawn anew for each."""
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        moves: dict[str, dict[bool, ast.Assign]] = {}
        for node in of(function, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Name) and _moves(node.value) and is_random(node.value):
                for beside in (False, True):
                    if (_BESIDE if beside else _IMAGE).match(target.id):
                        moves.setdefault(_how(node), {}).setdefault(beside, node)
        for pair in moves.values():
            seen = seen or next(iter(pair.values()))
            if len(pair) == 2:
                return at(
                    source, pair[True], "the image and what belongs to it are moved by draws of their own"
                )
    return ok(source, seen, "one draw moves what belongs together") if seen is not None else None


def _how(node: ast.Assign) -> str:
    """The name of what moves: rot90, flip."""
    names = [last_name(c.func) for c in of(node.value, ast.Call)]
    return next((n for n in names if n in _MOVES and n != "transpose"), "")


def _same_function(function: Function, beside: set[str]) -> bool:
    """The mask or the boxes are handed in or loaded here, in pixels of the image, and given back."""
    given = {a.arg for a in function.args.args}
    out = {n.id for r in of(function, ast.Return) if r.value for n in of(r.value, ast.Name)}
    spatial = {n for n in beside if not n.startswith("target") and n != "points"}
    return bool(spatial & out) and bool(spatial & (given | out))


def _at_random(source: Script, test: ast.expr) -> bool:
    if is_random(test):
        return True
    names = of(test, ast.Name)
    return any(is_random(v) for n in names for v in flow(source).values(n, 2))


def _one_axis_of_colours(node: ast.Assign) -> bool:
    """`img[..., ::-1]` turns channels, not pixels."""
    text = unparse(node.value)
    return "..., ::-1" in text or ":, :, ::-1" in text


# ------------------------------------------------------------------------------------- inputs and targets

_DRAWS = ("randperm", "permutation", "shuffle", "flip", "roll")


def _made_of(function: Function, name: str) -> set[str]:
    """A name, and those that are made of it: `onehot = eye[y]`, `soft.scatter_(1, y[:, None], 0.9)`."""
    found = {name}
    for _ in range(3):
        for node in of(function, ast.Assign, ast.Expr):
            call = node.value
            if isinstance(node, ast.Assign) and names_in(call) & found:
                found |= {n.id for t in node.targets for n in of(t, ast.Name) if isinstance(n.ctx, ast.Store)}
            elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                filled = call.func.attr in ("scatter_", "index_put_", "copy_")
                if filled and any(names_in(a) & found for a in call.args):
                    found |= names_in(call.func.value)
    return found


def _mixed_apart(source: Script) -> Finding | None:
    """`lam * x + (1 - lam) * x[a]` with targets `y[b]`, or with the targets as they were."""
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        if not re.search(r"(?i)mix", function.name):
            continue
        parameters = [a.arg for a in function.args.args if a.arg != "self"]
        if len(parameters) < 2:
            continue
        x, y = parameters[:2]
        partners: dict[str, set[str]] = {x: set(), y: set()}
        fresh: dict[str, int] = {x: 0, y: 0}
        targets = _made_of(function, y) - {x}
        for node in walk(function):
            held = node.value if isinstance(node, ast.Subscript) else None
            if isinstance(held, ast.Name) and held.id in {x, *targets} and isinstance(node, ast.Subscript):
                if isinstance(node.slice, (ast.Slice, ast.Tuple, ast.Constant)):
                    continue
                mine = y if held.id in targets else x
                partners[mine].add(unparse(node.slice))
                fresh[mine] += any(last_name(c.func) in _DRAWS for c in of(node.slice, ast.Call))
            elif isinstance(node, ast.Call) and last_name(node.func) in ("flip", "roll"):
                name = source.owner(node) if source.owner(node) in partners else ""
                if name:
                    partners[name].add(f"{last_name(node.func)}({', '.join(map(unparse, node.args))})")
        if not partners[x]:
            continue
        seen = seen or function
        if partners[y] and (partners[x].isdisjoint(partners[y]) or (fresh[x] and fresh[y])):
            return at(source, function, "inputs are mixed with other samples than their targets")
        if not partners[y] and not re.search(rf"\b{y}\b.*(?:flip|roll|index_select|\[)", unparse(function)):
            if not re.search(r"return .*(?:perm|index|idx|indices)", unparse(function)):
                return at(source, function, "inputs are mixed and their targets are not")
    return (
        ok(source, seen, "inputs and targets are mixed with the same samples") if seen is not None else None
    )


# ------------------------------------------------------------------------------------- storing, pairing


def _stored_at_random(source: Script) -> Finding | None:
    """tf.data: `.map(augment)` before `.cache()` keeps one random variant for good."""
    seen: ast.AST | None = None
    for call in source.named("cache"):
        if not isinstance(call.func, ast.Attribute):
            continue
        maps = [m for m in _before(source, call) if m.args and _draws(source, m.args[0])]
        seen = seen or call
        if maps:
            return at(
                source, call, "what was drawn at random before is stored and comes the same in each epoch"
            )
    return ok(source, seen, "nothing random is stored") if seen is not None else None


def _before(source: Script, call: ast.Call) -> list[ast.Call]:
    """The `.map(...)` calls that come before a call in its chain, or on the same name above."""
    found: list[ast.Call] = []
    node: ast.expr = call.func.value if isinstance(call.func, ast.Attribute) else call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if last_name(node.func) == "map":
            found.append(node)
        node = node.func.value
    if isinstance(node, ast.Name):
        scope = source.function_around(call)
        found += [
            m
            for m in source.named("map")
            if source.function_around(m) is scope and m.lineno < call.lineno and _root(m) == node.id
            if not never_together(source, m, call)
        ]
    return found


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else ""


def _draws(source: Script, node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    body: list[ast.AST] = (
        [node] if isinstance(node, ast.Lambda) else list(flow(source).functions.get(name, []))
    )
    return any(
        re.match(r"random_|stateless_random|uniform$", last_name(n.func))
        for b in body
        for n in of(b, ast.Call)
    )


def _paired_by_listing(source: Script) -> Finding | None:
    """Masks from an unsorted listing are taken by the number of the sample."""
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Attribute):
            continue
        calls = of(node.value, ast.Call)
        names = {last_name(c.func) for c in calls}
        if not names & {"glob", "listdir", "iterdir", "rglob", "scandir"}:
            continue
        seen = seen or node
        attr = node.targets[0].attr
        if "sorted" in names or any(source.owner(c).endswith(attr) for c in source.named("sort")):
            continue
        by_index = _indexed_by(source, attr)
        other = any(
            isinstance(n.value, ast.Attribute)
            and n.value.attr != attr
            and unparse(n.slice) in by_index
            and source.function_name(n) == "__getitem__"
            and source.class_around(n) is source.class_around(node)
            for n in source.of(ast.Subscript)
        )
        if by_index and other:
            return at(
                source, node, "this listing has no fixed order, and is paired with another list by number"
            )
    return ok(source, seen, "files are paired by name or sorted") if seen is not None else None


def _indexed_by(source: Script, attr: str) -> set[str]:
    return {
        unparse(n.slice)
        for n in source.of(ast.Subscript)
        if isinstance(n.value, ast.Attribute)
        and n.value.attr == attr
        and source.function_name(n) == "__getitem__"
        and isinstance(n.slice, ast.Name)
    }


def _channels_turned(source: Script) -> Finding | None:
    """PIL gives red first and cv2 blue first; published weights and statistics want red first."""
    known = re.search(r"0\.485|weights=|pretrained|imagenet|IMAGENET", source.code) is not None
    if not known:
        return None
    seen: ast.AST | None = None
    for node in source.of(ast.Subscript):
        if not isinstance(node.slice, ast.Tuple) or not node.slice.elts:
            continue
        *_, last = node.slice.elts
        turned = isinstance(last, ast.Slice) and last.step is not None and unparse(last.step) == "-1"
        if not turned or len(node.slice.elts) not in (2, 3):
            continue
        if len(node.slice.elts) == 2 and not (isinstance(node.slice.elts[0], ast.Constant)):
            continue
        function = source.function_around(node)
        text = unparse(function) if function is not None else source.code
        seen = seen or node
        if (
            re.search(r"Image\.open|read_image|imageio|skimage", text)
            and "cv2" not in text
            and not _back(text)
        ):
            return at(source, node, "channels are turned to blue first, and the weights want red first")
    reads = [
        c for c in source.named("imread") if source.owner(c) == "cv2" and len(c.args) < 2 and not c.keywords
    ]
    if reads and keyword(reads[0], "flags") is None:
        text = source.code
        turns = re.search(r"cvtColor|BGR2RGB|to_rgb|bgr_to_rgb|\[2, 1, 0\]|swapRB|(?<!cv2\.)\bflip\(", text)
        mirrors = [n for n in source.of(ast.Subscript) if _TURNS.search(unparse(n.slice))]
        columns = [n for n in mirrors if unparse(n.slice).strip("()") == ":, ::-1" and _is_sample(source, n)]
        if not turns and len(columns) == len(mirrors) and "0.485" in text and "0.406" in text:
            return at(
                source, reads[0], "cv2 reads blue first, and mean, deviation and weights are for red first"
            )
        return ok(source, reads[0], "channels are turned to red first")
    return ok(source, seen, "channels are red first") if seen is not None else None


_TURNS = re.compile(r"::-1")


def _is_sample(source: Script, node: ast.AST) -> bool:
    """`image[:, ::-1]` where a sample is made: the columns of one picture, and no channels of a batch."""
    return re.search(r"(?i)__getitem__|aug|flip|mirror|transform", source.function_name(node)) is not None


_TIME_BY_FREQUENCY = re.compile(
    r"(?i)(?:^|_)(?:log_?)?(?:mel|mels|spec|spectrogram|spectrum|stft|mfcc|melspec)(?:_|$)"
)


def _spectrum_mirrored(source: Script) -> Finding | None:
    """A spectrum that is mirrored along its frequencies, or played backwards, is another sound."""
    for call in source.named(
        "random_flip_left_right", "random_flip_up_down", "hflip", "vflip", "fliplr", "flipud"
    ):
        value = argument(call, position=0)
        while isinstance(value, ast.Subscript):
            value = value.value
        if isinstance(value, ast.Name) and _TIME_BY_FREQUENCY.search(value.id):
            return at(source, call, "a mirrored spectrum is another sound, and keeps its label")
    return None


def _back(text: str) -> bool:
    return len(re.findall(r"(?:\.\.\.|:, :), ::-1", text)) > 1
