"""Pictures that a program decodes itself and that reach its network as bytes of 0 to 255."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, imports_locals
from ..shared.nodes import paired
from ..shared.roles import is_random

_READS = re.compile(
    r"^(?:decode_(?:png|jpeg|image|bmp|jpg)|imread|read_image|imdecode|pil_loader|load_img|decode_jpeg)$"
)
# whatever may bring pixels into another range, or make their range not matter: then nothing is told
_SCALES = re.compile(
    r"(?i)255|127\.5|128\.0|256\.|/ ?128|rescal|(?<!batch)(?<!layer)(?<!group)(?<!instance)normali[sz]"
    r"|preprocess|standardi[sz]|per_image|image_dtype|scaler|featurewise|hub\.|albument|to_?tensor\(|processor|feature_extractor"
    r"|to_dtype|scale=True|quanti[sz]|equaliz"
)
_OF_CLASSES = re.compile(r"(?i)(?:^|_)(?:masks?|msk|labels?|lab|lbl|seg|gt|target|annot)(?:_|$)|^y$")
_METHODS = (
    "div",
    "div_",
    "divide",
    "truediv",
    "true_divide",
    "max",
    "std",
    "amax",
    "reduce_max",
    "mul",
    "multiply",
)
_FLOATS = re.compile(r"(?i)float|tf\.cast|float32")
_LAYERS = ("Conv2D", "Conv2d", "SeparableConv2D", "Conv", "Conv3d", "Conv3D", "Conv2dNormActivation")
_BODIES = re.compile(
    r"(?i)^(?:vgg|resnet|resnext|wide_resnet|mobilenet|densenet|inception|xception|nasnet|efficientnet|convnext|regnet|vit"
    r"|swin|create_model|from_pretrained|segformer|deeplab\w*|fcn_|unet\+*$|fasterrcnn\w*|retinanet\w*|ssd\w*)"
)


def decoded_and_left(source: Script) -> Finding | None:
    """`img = tf.image.decode_png(...)`, `cv2.imread(...)`, and nothing in the program scales what it gives.

    Silent where anything may: a word of scaling, a division of what was read, a body that was trained before.
    """
    if imports_locals(source) or source.loose or not _trains(source):
        return None
    reads = [c for c in source.calls if _READS.match(last_name(c.func)) and not _as_floats(c)]
    reads += _opened(source)
    layers = [c for c in source.named(*_LAYERS) if last_name(c.func) not in source.classes]
    own = {*flow(source).functions, *source.classes}
    bodies = {n for c in source.calls if _BODIES.match(n := last_name(c.func))} - own
    if not reads or not layers or bodies:
        return None
    if _SCALES.search(source.code) or _begins_with_norm(source):
        return None
    pictures = _pictures(source, reads)
    if not pictures:
        return None
    for node in source.of(ast.BinOp, ast.AugAssign):
        if isinstance(node.op, (ast.Div, ast.Mult, ast.FloorDiv, ast.RShift)):
            over = node.left if isinstance(node, ast.BinOp) else node.target
            told = names_in(over) | (names_in(node.right) if isinstance(node, ast.BinOp) else set())
            if told & pictures and not (isinstance(node.op, ast.Mult) and is_random(node)):
                return None
    if any(names_in(c) & pictures for c in source.named(*_METHODS)):
        return None
    floats = any(names_in(c) & pictures and _FLOATS.search(unparse(c)) for c in source.calls)
    floats |= any(last_name(c.func) == "resize" and "tensorflow" in source.frameworks for c in source.calls)
    if not floats:
        return None
    return at(source, reads[0], "this gives pixels of 0 to 255, and nothing scales them before the network")


def _trains(source: Script) -> bool:
    tape = source.named("GradientTape", "value_and_grad", "fit")
    return source.trains or bool(tape)


def _as_floats(call: ast.Call) -> bool:
    """`decode_image(x, dtype=tf.float32)` scales by itself."""
    given = keyword(call, "dtype")
    return given is not None and "float" in unparse(given)


def _opened(source: Script) -> list[ast.Call]:
    """`np.array(Image.open(path))`."""
    return [
        c
        for c in source.named("array", "asarray")
        if c.args
        and any(unparse(d.func) in ("Image.open", "PIL.Image.open") for d in of(c.args[0], ast.Call))
    ]


def _begins_with_norm(source: Script) -> bool:
    """A normalisation stands before the first layer: `BatchNormalization()(inputs)`, first in a stack."""
    made = {
        unparse(n.targets[0])
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func) in ("Input", "InputLayer")
    }
    for call in source.calls:
        inner = call.func if isinstance(call.func, ast.Call) else None
        if inner is not None and re.match(r"(?:Batch|Layer)Norm", last_name(inner.func)) and call.args:
            if unparse(call.args[0]) in made:
                return True
    for stack in source.named("Sequential", "SequentialCell"):
        first = stack.args[0] if stack.args else None
        first = first.elts[0] if isinstance(first, ast.List) and first.elts else first
        if isinstance(first, ast.Call) and re.match(r"(?:Batch|Layer|Instance)Norm", last_name(first.func)):
            return True
    return False


def _pictures(source: Script, reads: list[ast.Call]) -> set[str]:
    """Names that hold what was read, in whatever function, as long as they are made of one another."""
    wanted = {id(c) for c in reads}
    found: set[str] = set()
    pairs = [
        pair
        for n in source.of(ast.Assign)
        for t in n.targets
        if isinstance(t, (ast.Name, ast.Tuple, ast.Attribute))
        for pair in paired(t, n.value)
    ]
    for _ in range(4):
        before = len(found)
        for target, value in pairs:
            inside = any(id(c) in wanted for c in of(value, ast.Call))
            if inside or (names_in(value) & found and _passes(value)):
                told = [n.id for n in of(target, ast.Name) if not _OF_CLASSES.search(n.id)]
                found |= set(told if len(told) == 1 else told[:1])
        if len(found) == before:
            break
    return found


def _passes(value: ast.expr) -> bool:
    """Cut, resized, turned or taken as floats."""
    return isinstance(value, (ast.Call, ast.Subscript, ast.Name, ast.Tuple))


# ----------------------------------------------------------------------------- figures of another range


def figures_of_unit_on_bytes(source: Script) -> Finding | None:
    """`x = pixels.astype(np.float32)`, then `(x - [0.485, ...]) / [0.229, ...]`, no division by 255."""
    if re.search(
        r"(?i)255|127\.5|256\.|image_dtype|rescal|totensor\(|to_tensor\(|to_dtype|scale=True", source.code
    ):
        return None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.BinOp):
            continue
        if not isinstance(node.left.op, ast.Sub) or not _of_unit(source, node.left.right, 0.05, 0.95):
            continue
        if _of_unit(source, node.right, 0.02, 0.6) and _was_whole(source, node.left.left):
            return at(source, node, "these are figures of pixels of 0 to 1, and the pixels are of 0 to 255")
    for call in source.named("normalize", "Normalize"):
        mean = argument(call, "mean", position=1 if call.func and last_name(call.func) == "normalize" else 0)
        about = argument(call, position=0)
        if last_name(call.func) == "normalize" and mean is not None and about is not None:
            if _of_unit(source, mean, 0.05, 0.95) and _was_whole(source, about):
                return at(
                    source, call, "these are figures of pixels of 0 to 1, and the pixels are of 0 to 255"
                )
    return None


def _of_unit(source: Script, node: ast.expr, low: float, high: float) -> bool:
    """Written figures, one for each colour, between two bounds: `np.array([0.485, 0.456, 0.406])`."""
    inner: ast.expr = node
    for _ in range(6):
        if isinstance(inner, (ast.Name, ast.Attribute)):
            given = flow(source).whole_given(inner)
            if given is None:
                return False
            inner = given
        elif isinstance(inner, ast.Call):
            owner = receiver(inner)
            library = owner is None or unparse(owner) in ("np", "torch", "tf", "jnp", "numpy")
            part = inner.args[0] if library and inner.args else owner
            if part is None:
                return False
            inner = part
        elif isinstance(inner, ast.Subscript):
            inner = inner.value
        else:
            break
    if not isinstance(inner, (ast.List, ast.Tuple)) or len(inner.elts) not in (1, 3):
        return False
    values = [e.value for e in inner.elts if isinstance(e, ast.Constant) and isinstance(e.value, float)]
    return len(values) == len(inner.elts) and all(low < v < high for v in values)


def _was_whole(source: Script, node: ast.expr) -> bool:
    """It was taken as floats just before, as nothing but whole numbers need be, and divided by nothing."""
    for _ in range(12):
        if isinstance(node, (ast.Name, ast.Attribute)):
            given = flow(source).whole_given(node) or _begun(source, node)
            if given is None:
                return False
            node = given
            continue
        if not isinstance(node, ast.Call):
            return False
        name = last_name(node.func)
        if name in ("astype", "float", "cast", "float32"):
            owner = receiver(node)
            library = owner is None or unparse(owner) in ("np", "tf", "torch", "ops", "jnp")
            inner = node.args[0] if library and node.args else owner
            scaled = inner is None or any(isinstance(b.op, (ast.Div, ast.Mult)) for b in of(inner, ast.BinOp))
            return not scaled
        if name not in ("permute", "transpose", "contiguous", "resize", "hflip", "flip", "unsqueeze", "copy"):
            return False
        owner = receiver(node)
        library = owner is None or unparse(owner) in ("np", "tf", "torch", "F", "TF", "cv2", "tf.image")
        part = node.args[0] if library and node.args else owner
        if part is None:
            return False
        node = part
    return False


_MOVED = (
    "resize",
    "hflip",
    "vflip",
    "flip",
    "crop",
    "permute",
    "contiguous",
    "normalize",
    "center_crop",
    "pad",
)


def _begun(source: Script, node: ast.expr) -> ast.expr | None:
    """What a picture was read as, where all else that its name is given only moves it: `img = hflip(img)`."""
    scope = source.function_around(node)
    if scope is None or not isinstance(node, ast.Name):
        return None
    given = [
        v for a in of(scope, ast.Assign) for t, v in paired(a.targets[0], a.value) if unparse(t) == node.id
    ]
    others = [a for a in of(scope, ast.AugAssign) if unparse(a.target) == node.id]
    starts = [v for v in given if node.id not in names_in(v)]
    moves = [v for v in given if node.id in names_in(v)]
    plain = all(isinstance(v, ast.Call) and last_name(v.func) in _MOVED for v in moves)
    return starts[0] if len(starts) == 1 and plain and not others else None
