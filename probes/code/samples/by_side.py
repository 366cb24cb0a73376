"""Labels that a data set gives out otherwise to training than to evaluation, and pictures that are cut up."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import whole_number
from ..shared.roles import TARGET_WORDS
from ..shared.sides import side

_FLAG = re.compile(
    r"(?i)^(?:is_?)?(?:train|training|valid|validation|val|eval|evaluation|test)$|^(?:split|mode|phase|subset)$"
)
_LABEL = re.compile(r"(?i)label|class|target|\bids?\b|_ids?\b|2id|cls|categor|^y$|tag")


def label_by_side(source: Script) -> Finding | None:
    """`y = (y + 1) % n if not self.train`: held-out samples are numbered otherwise than those of training.

    Smoothing, masks that are moved with their picture, and labels that a test set lacks are none of this.
    """
    for function in source.of(ast.FunctionDef):
        if function.name not in ("__getitem__", "collate_fn", "collate"):
            continue
        for choice in of(function, ast.IfExp):
            if _of_side(choice.test) and _numbered_apart(choice.body, choice.orelse):
                return at(source, choice, "labels are numbered otherwise for one side")
        for block in of(function, ast.If):
            if not _of_side(block.test) or block.orelse:
                continue
            steps = [n for n in block.body if isinstance(n, (ast.Assign, ast.AugAssign))]
            if len(steps) != len(block.body) or len(steps) != 1:
                continue
            step = steps[0]
            target = step.targets[0] if isinstance(step, ast.Assign) else step.target
            if (
                isinstance(target, ast.Name)
                and _label(source, function, target.id)
                and _shifts(step, target.id)
            ):
                return at(source, step, f"`{target.id}` is numbered otherwise for one side")
    return None


def _of_side(test: ast.expr) -> bool:
    """`self.train`, `not self.training`, `self.split == "val"`."""
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    if isinstance(inner, ast.Compare):
        other = inner.comparators[0]
        named = (
            isinstance(other, ast.Constant) and isinstance(other.value, str) and side(other.value) is not None
        )
        return named and _FLAG.match(last_name(inner.left)) is not None
    return isinstance(inner, (ast.Name, ast.Attribute)) and _FLAG.match(last_name(inner)) is not None


def _numbered_apart(one: ast.expr, other: ast.expr) -> bool:
    """Both are of one table or label, and one of them is reckoned with."""
    texts = unparse(one), unparse(other)
    if not all(_LABEL.search(t) for t in texts) or re.search(r"(?i)mix|smooth|soft|eps", " ".join(texts)):
        return False
    plain, reckoned = sorted((one, other), key=lambda n: len(unparse(n)))
    return unparse(plain) in unparse(reckoned) and _reckons(reckoned)


def _reckons(node: ast.expr) -> bool:
    """Whole numbers are added, taken off or wrapped around."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Add, ast.Sub, ast.Mod)):
        return False
    return not any(isinstance(c.value, float) for c in of(node, ast.Constant))


def _label(source: Script, function: Function, name: str) -> bool:
    """By its name, or as the last of what is handed back, read from a table of ids."""
    if TARGET_WORDS.search(name.lower()) or name in ("y", "t", "target", "label", "cls"):
        return True
    given = [g.value for n in of(function, ast.Name) if n.id == name for g in flow(source).all_given(n)[:1]]
    return any(_LABEL.search(unparse(g)) for g in given)


def _shifts(step: ast.Assign | ast.AugAssign, name: str) -> bool:
    if isinstance(step, ast.AugAssign):
        return whole_number(step.value) is not None and isinstance(step.op, (ast.Add, ast.Sub, ast.Mod))
    return name in names_in(step.value) and _reckons(step.value)


_TURNED = re.compile(r"permute|transpose|moveaxis|rollaxis|ToTensor|to_tensor|movedim|einsum|merge|planes")
_PICTURE = re.compile(
    r"\bImage\.open\(|\bimread\(|\bdecode_image\(|\bpil_loader\(|\bcvtColor\(|\.convert\(['\"]RGB['\"]\)"
)


def picture_reshaped(source: Script) -> Finding | None:
    """`np.array(image).reshape(3, 96, 96)`: rows, columns and colours are mixed, where axes should move."""
    for call in source.named("reshape", "view"):
        sizes = call.args[0].elts if call.args and isinstance(call.args[0], ast.Tuple) else call.args
        if len(sizes) not in (3, 4) or not isinstance(call.func, ast.Attribute):
            continue
        first = sizes[-3]
        if not (isinstance(first, ast.Constant) and first.value == 3):
            continue
        if _is_picture(source, call.func.value, 6):
            return at(
                source, call, "the axes of a picture are to be moved (permute, transpose), not reshaped"
            )
    return None


def _is_picture(source: Script, node: ast.expr, depth: int) -> bool:
    """An array whose last axis is that of colours: read from a file, and not turned since."""
    text = unparse(node)
    if depth == 0 or _TURNED.search(text):
        return False
    if _PICTURE.search(text):
        return True
    for function in (f for c in of(node, ast.Call) for f in flow(source).called(c)[:1]):
        reads = unparse(function)  # `self.load(name)`
        if _PICTURE.search(reads) and not _TURNED.search(reads) and not re.search(r"reshape|view\(", reads):
            return True
    for name in of(node, ast.Name):
        given = [g for g in flow(source).all_given(name) if g.value is not node]
        if given and not any(g.places or _TURNED.search(unparse(g.value)) for g in given):
            if any(_is_picture(source, g.value, depth - 1) for g in given):
                return True
    return False


def planes_taken_for_pixels(source: Script) -> Finding | None:
    """`batch[b"data"].reshape(-1, 32, 32, 3)`: the pickles of CIFAR hold three planes one behind the other.

    Right is `.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)`.
    """
    if "pickle" not in source.text or not re.search(r"data_batch|cifar", source.text):
        return None
    if not re.search(r"""\[b?['"]data['"]\]""", source.text):
        return None
    for call in source.named("reshape", "view"):
        last = call.args[-1] if call.args else None
        sizes = last.elts if isinstance(last, (ast.Tuple, ast.List)) else call.args
        if [unparse(s) for s in sizes[-3:]] == ["32", "32", "3"]:
            return at(source, call, "rows of CIFAR are three planes: 3, 32, 32 first, and then a transpose")
    return None
