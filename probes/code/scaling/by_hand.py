"""Pixels that a script brings to its own mean and deviation by arithmetic: the range the figures are for.

`(image / 255 - MEAN) / STD`: where the pixels come from is followed back to the call that reads them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

Figures = Callable[[Script, ast.expr | None], list[float]]

_READS = re.compile(r"^(?:decode_(?:jpeg|png|image|bmp|gif|webp)|imread|imdecode|read_image|img_to_array)$")
_UNIT = re.compile(r"^(?:to_tensor|ToTensor|convert_image_dtype|ToDtype|to_float|img_as_float\w*|rescale)$")
_KEEPS = re.compile(
    r"^(?:float|astype|to|array|asarray|from_numpy|tensor|as_tensor|contiguous|cast|copy|resize|cvtColor|convert"
    r"|transpose|permute|flip|fliplr|flipud|ascontiguousarray|float32|constant|convert_to_tensor|crop|expand_dims"
    r"|ensure_shape|set_shape|resize_with_(?:pad|crop_or_pad)|central_crop|rot90|unsqueeze|moveaxis|copyMakeBorder"
    r"|random_crop|random_flip_\w+|flip_left_right|flip_up_down|imread|decode_\w+|hflip|vflip|center_crop|clip)$"
)
_LIBRARIES = {
    *("np", "numpy", "torch", "tf", "tf.image", "cv2", "F", "TF", "tf.io", "io", "imageio", "jnp", "ops"),
    *("torchvision.io", "transforms.functional", "torchvision.transforms.functional", "skimage.transform"),
}
_DEPTH = 14


def range_by_hand(source: Script, figures: Figures) -> Finding | None:
    """A mean of 0 to 1 that is taken off bytes, or a mean of bytes off pixels of 0 to 1."""
    seen: ast.AST | None = None
    for node, pixels, mean in _standardised(source):
        if isinstance(mean, ast.Constant):
            if _range(source, pixels) == "unit":
                return at(source, node, f"pixels are 0 to 1 here, and the mean is {mean.value!r}")
            continue
        known = figures(source, mean)
        if len(known) not in (1, 3) or (len(known) == 1 and not isinstance(mean, (ast.Name, ast.Attribute))):
            continue
        ranges = _range(source, pixels)
        if ranges is None:
            continue
        seen = seen or node
        largest = max(known)
        if ranges == "unit" and largest > 1.5:
            return at(source, node, f"pixels are 0 to 1 here, and the mean is {largest:g}")
        if ranges == "bytes" and len(known) == 3 and min(known) > 0.0 and largest <= 1.0:
            return at(source, node, f"pixels are 0 to 255 here, and the mean is {largest:g}")
    return (
        ok(source, seen, "mean and deviation are for the range of the pixels") if seen is not None else None
    )


def _standardised(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
    """`(pixels - mean) / deviation`: the whole, the pixels, the mean."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, (ast.Div, ast.Mult)) or not isinstance(node.left, ast.BinOp):
            continue
        mean = node.left.right
        if isinstance(mean, ast.Constant) and not (isinstance(mean.value, (int, float)) and mean.value > 10):
            continue  # a figure of either range
        if isinstance(node.left.op, ast.Sub):
            yield node, node.left.left, mean


def _range(source: Script, node: ast.expr, depth: int = _DEPTH) -> str | None:
    """Where pixels come from: "bytes" as they are read, "unit" once divided; None where the way is lost."""
    if depth == 0:
        return None
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Div) and unparse(node.right) in ("255", "255.0", "256", "256.0"):
            return "unit"
        inverse = re.sub(r"[()]", "", unparse(node.right))
        if isinstance(node.op, ast.Mult) and re.fullmatch(r"1(?:\.0?)? / 255(?:\.0?)?", inverse):
            return "unit"
        return None
    if isinstance(node, ast.Name):
        ways = flow(source).all_given(node)
        if not ways or any(g.places for g in ways) or _changed_in_place(source, node):
            return None
        # `if train: image = augment(image)`: of the range that it gets
        ways = [g for g in ways if not _keeps_range(source, g.value, node.id)] or ways
        found = {_range(source, g.value, depth - 1) for g in ways}
        return next(iter(found)) if len(found) == 1 else None
    if isinstance(node, ast.Subscript):
        return _range(source, node.value, depth - 1)
    return _of_call(source, node, depth) if isinstance(node, ast.Call) else None


def _keeps_range(source: Script, value: ast.expr, name: str) -> bool:
    """A function of the program makes the pixels of themselves, and no number of 100 and more is in it."""
    if not (isinstance(value, ast.Call) and value.args and unparse(value.args[0]) == name):
        return False
    called = flow(source).called(value) if isinstance(value.func, ast.Name) else []
    numbers = [n.value for f in called for n in of(f, ast.Constant) if isinstance(n.value, (int, float))]
    return len(called) == 1 and not any(abs(n) >= 100 for n in numbers)


def _of_call(source: Script, node: ast.Call, depth: int) -> str | None:
    name = last_name(node.func)
    if _UNIT.match(name) or any(k.arg in ("scale", "rescale", "rgb_float") for k in node.keywords):
        return "unit" if _UNIT.match(name) else None
    owner = unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if _READS.match(name) or (name == "open" and owner in ("Image", "PIL.Image")):
        known = owner not in ("plt", "mpimg", "matplotlib.image") and not re.search(r"float", unparse(node))
        return "bytes" if known else None
    if not _KEEPS.match(name):
        return None
    if isinstance(node.func, ast.Attribute) and owner not in _LIBRARIES and "." not in owner.rstrip(")"):
        return _range(source, node.func.value, depth - 1)
    if isinstance(node.func, ast.Attribute) and isinstance(
        node.func.value, (ast.Call, ast.Subscript, ast.BinOp)
    ):
        return _range(source, node.func.value, depth - 1)
    return _range(source, node.args[0], depth - 1) if node.args else None


def _changed_in_place(source: Script, node: ast.Name) -> bool:
    """`image /= 255`, `image.div_(255)` anywhere in the function."""
    scope = source.function_around(node) or source.tree
    return re.search(rf"\b{node.id} [*/-]= |\b{node.id}\.(?:div_|mul_|sub_)\(", unparse(scope)) is not None
