"""Pixels and masks in scripts that a change of type spoils: classes divided by 255, bytes that wrap."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_MASK = re.compile(r"(?i)(?:^|[^a-z])(?:seg_?)?(?:masks?|labels?|lbl|seg|annot|gt)(?:_|\W|$)")
_WHOLE = ("long", "int", "type", "to", "astype")
_WHOLE_TYPES = re.compile(r"long|int64|int32|uint8|\bint\b")
_PIXELS = re.compile(r"(?i)^(?:img|image|im|picture|pic|frame|photo|x|arr|array|patch|tile)s?$")
_WRAPS = re.compile(r"clip|clamp|minimum|saturate|convertScaleAbs|% 256|round_to|addWeighted")


def classes_divided(source: Script) -> Finding | None:
    """`TF.to_tensor(mask).long()`: the numbers of the classes are divided by 255, and all become 0."""
    for call in source.calls:
        if last_name(call.func) not in _WHOLE or not isinstance(call.func, ast.Attribute):
            continue
        if last_name(call.func) not in ("long", "int") and not any(
            _WHOLE_TYPES.search(unparse(a)) for a in (*call.args, *(k.value for k in call.keywords))
        ):
            continue
        inner: ast.expr = call.func.value
        while isinstance(inner, (ast.Call, ast.Subscript)):
            if isinstance(inner, ast.Subscript):
                inner = inner.value
                continue
            if _to_unit(source, inner):
                what = unparse(inner.args[0]) if len(inner.args) == 1 else ""
                if _MASK.search(what) and not re.search(r"int(?:32|64)|dtype|long", what):
                    return at(source, inner, "class numbers are divided by 255 here, and cut to 0")
                break
            if last_name(inner.func) not in ("squeeze", "unsqueeze", "contiguous"):
                break
            if not isinstance(inner.func, ast.Attribute):
                break
            inner = inner.func.value
    return None


def _to_unit(source: Script, call: ast.Call) -> bool:
    """`to_tensor(x)` of torchvision, `ToTensor()(x)`, or what was given the name of one."""
    if last_name(call.func) == "to_tensor":
        return "torchvision" in source.code
    if isinstance(call.func, ast.Call):
        return last_name(call.func.func) == "ToTensor"
    made = flow(source).values(call.func, 3) if isinstance(call.func, (ast.Name, ast.Attribute)) else []
    return any(isinstance(m, ast.Call) and last_name(m.func) == "ToTensor" for m in made)


def bytes_wrap(source: Script) -> Finding | None:
    """`(image * gain).astype(np.uint8)` with a drawn gain: what is brighter than 255 becomes dark."""
    for call in source.named("astype"):
        given = " ".join(map(unparse, (*call.args, *(k.value for k in call.keywords))))
        value = receiver(call)
        if "uint8" not in given or not isinstance(value, ast.BinOp):
            continue
        if not isinstance(value.op, (ast.Mult, ast.Add)) or _WRAPS.search(unparse(value)):
            continue
        base = value.left
        while isinstance(base, (ast.Call, ast.BinOp)):
            base = base.left if isinstance(base, ast.BinOp) else getattr(base.func, "value", ast.Constant(0))
        if not isinstance(base, ast.Name) or not _PIXELS.match(base.id):
            continue
        drawn = [d for n in of(value.right, ast.Name) for d in flow(source).values(n, 2)] + [value.right]
        if any(last_name(c.func) in ("uniform", "normal", "randint") for d in drawn for c in of(d, ast.Call)):
            return at(source, call, "what is above 255 wraps round to dark: nothing limits it")
    return None
