"""Trained bodies of Keras and the pixels that they get: never prepared, or scaled before they are."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, imports_locals
from ..shared.nodes import is_none

# EfficientNet, MobileNetV3, ConvNeXt and RegNet scale their pixels themselves
_PREPARED = re.compile(
    r"^(?:VGG1[69]|ResNet\d+(?:V2)?|MobileNet(?:V2)?|DenseNet\d+|InceptionV3|InceptionResNetV2|Xception|NASNet\w+)$"
)
_SCALES = re.compile(
    r"(?i)\b255|127\.5|preprocess|rescal|(?<!batch)(?<!layer)(?<!group)normali[sz]|standardi[sz]|per_image|image_dtype"
    r"|scaler|featurewise|samplewise|/=|img_to_float|imagenet_utils|transform"
)
_READS = re.compile(r"decode_(?:png|jpeg|image)|image_dataset_from_directory|load_img|imread|Image\.open")


def body_unprepared(source: Script) -> Finding | None:
    """`MobileNetV2(weights="imagenet")` on pixels of 0 to 255: it learnt from scaled ones."""
    if not {"keras", "tensorflow"} & set(source.frameworks) or imports_locals(source) or source.loose:
        return None
    if _SCALES.search(source.code) or not _READS.search(source.code):
        return None
    for call in source.of(ast.Call):
        weights = keyword(call, "weights")
        trained = weights is None or not is_none(weights)
        if _PREPARED.match(last_name(call.func)) and "applications" in source.code and trained:
            return at(
                source, call, "this body learnt from scaled pixels, and nothing scales those of 0 to 255"
            )
    return None


def prepared_after_division(source: Script) -> Finding | None:
    """Pictures are divided by 255 as they are read; the model begins with `preprocess_input`."""
    divided = [
        n
        for f in source.of(ast.FunctionDef)
        if _READS.search(unparse(f))
        for n in of(f, ast.BinOp)
        if isinstance(n.op, ast.Div)
        and isinstance(n.right, ast.Constant)
        and n.right.value in (255, 255.0, 127.5)
    ]
    for call in source.named("preprocess_input") if divided else ():
        given = call.args[0] if call.args else None
        begun = isinstance(given, ast.Name) and any(
            isinstance(n.value, ast.Call) and last_name(n.value.func) in ("Input", "InputLayer")
            for n in source.of(ast.Assign)
            for t in n.targets
            if unparse(t) == unparse(given)
        )
        if begun:
            return at(
                source, divided[0], "pixels are scaled here, and preprocess_input takes those of 0 to 255"
            )
    return None
