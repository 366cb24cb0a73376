"""Inputs that are scaled a second time: two normalisations in one pipeline, a division on top of another."""

from __future__ import annotations

import ast

from ...readers._tree import unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_KEEPS = ("float", "astype", "to", "array", "asarray", "from_numpy", "tensor", "as_tensor", "contiguous")
_MOVES = (
    "resize",
    "resize_with_pad",
    "crop_to_bounding_box",
    "central_crop",
    "random_crop",
    "random_flip_left_right",
)
_BYTES = 255.0  # the largest value of a pixel


def step_made(source: Script, step: ast.expr) -> ast.expr:
    """The call behind the name of a step: of `normalize` that `normalize = T.Normalize(...)`."""
    if not isinstance(step, (ast.Name, ast.Attribute)):
        return step
    calls = [v for v in flow(source).values(step, 3) if isinstance(v, ast.Call)]
    return calls[0] if len(calls) == 1 else step


def normalised_again(source: Script) -> Finding | None:
    """One pipeline has the same `Normalize` twice."""
    for call in source.named("Compose", "Sequential"):
        steps = (
            call.args[0].elts if call.args and isinstance(call.args[0], (ast.List, ast.Tuple)) else call.args
        )
        found: list[str] = []
        for written in steps:
            step = step_made(source, written)
            if isinstance(step, ast.Call) and last_name(step.func).lower() in ("normalize", "normalise"):
                text = unparse(step)
                if text in found:
                    return at(source, written, "the inputs are normalised a second time")
                found.append(text)
    return None  # once says nothing about the figures


def rescaled_again(source: Script) -> Finding | None:
    """Steps of one pipeline, or of one model, that divide pixels by 255 stand in it twice.

    `Rescale(1 / 255, 0)` twice or beside `ToTensor()` in MindSpore, `Rescaling(1 / 255)` twice in Keras.
    """
    mindspore = "mindspore" in source.frameworks
    for node in source.of(ast.List, ast.Tuple):
        steps = [step_made(source, e) for e in node.elts]
        found = [s for s in steps if isinstance(s, ast.Call) and _to_unit(s, mindspore)]
        if len(found) > 1:
            return at(source, found[-1], "the pixels are divided by 255 a second time")
    return None


def _to_unit(step: ast.Call, mindspore: bool) -> bool:
    name = last_name(step.func)
    if name == "ToTensor":
        return mindspore
    if name not in ("Rescale", "Rescaling"):
        return False
    given = (
        step.args[0]
        if step.args
        else next((k.value for k in step.keywords if k.arg in ("rescale", "scale")), None)
    )
    text = unparse(given) if given is not None else ""
    return text.replace(" ", "") in ("1/255", "1.0/255.0", "1.0/255", "1/255.0")


def divided_again(source: Script) -> Finding | None:
    """`x / 255` of what was divided by 255 before."""
    for node in source.nodes:
        if not _divides(node):
            continue
        inner: ast.expr = node.left if isinstance(node, ast.BinOp) else ast.Constant(0)
        for _ in range(6):
            if isinstance(inner, ast.Call) and last_name(inner.func) in _KEEPS:
                held = receiver(inner)
                library = held is None or unparse(held) in ("np", "torch", "numpy", "tf", "jnp")
                if library and not inner.args:
                    break
                inner = inner.args[0] if library or held is None else held
            elif isinstance(inner, ast.Name) and (given := flow(source).given(inner)) and not given.places:
                inner = given.value
            else:
                break
        if _divides(inner) or (isinstance(inner, ast.Call) and _to_float(source, inner)):
            return at(source, node, "the pixels are divided by 255 a second time")
    return None


def _to_float(source: Script, call: ast.Call) -> bool:
    """`tf.image.convert_image_dtype(x, tf.float32)` divides by 255, also before it is resized."""
    for _ in range(3):
        if last_name(call.func) == "convert_image_dtype":
            of_what = (
                flow(source).given(call.args[0]) if call.args and isinstance(call.args[0], ast.Name) else None
            )
            made = of_what.value if of_what is not None else call.args[0] if call.args else call
            if isinstance(made, ast.Call) and last_name(made.func) in ("cast", "resize", "float"):
                return False  # is a float already, which it leaves as it is
            return any("float" in unparse(a) for a in (*call.args[1:], *(k.value for k in call.keywords)))
        inner = call.args[0] if last_name(call.func) in _MOVES and call.args else None
        if isinstance(inner, ast.Name) and (given := flow(source).given(inner)) and not given.places:
            inner = given.value
        if not isinstance(inner, ast.Call):
            return False
        call = inner
    return False


def _divides(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and isinstance(node.right, ast.Constant)
        and node.right.value == _BYTES
        and not isinstance(node.left, ast.Constant)
    )
