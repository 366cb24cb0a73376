"""Pictures that reach a network in their raw range, 0 to 255."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.syntax import Script
from ..shared.checks import at, first, imports_locals, ok
from ..shared.sides import either
from .read_raw import decoded_and_left
from .trained_bodies import body_unprepared

_LOADED = re.compile(r"(?:^|\.)(?:mnist|fashion_mnist|cifar10|cifar100)$")
# whatever may bring pixels into another range, or make their range not matter: then nothing is told
_SCALES = re.compile(
    r"(?i)255|127\.5|256\.|rescal|normali[sz]|preprocess|standardi[sz]|per_image|image_dtype|scaler|featurewise"
    r"|samplewise|hub\.|truediv|divide|multiply|transform|albument|\.max\(|\.std\(|/=|ToTensor|Lambda\(|decode_"
)
_BODIES = re.compile(
    r"^(?:VGG|ResNet|MobileNet|DenseNet|Inception|Xception|NASNet|EfficientNet|ConvNeXt|RegNet|ViT|Swin)"
)


@probe()
def raw_pixels(view: View) -> Finding:
    """Readers of pictures give 0 to 255, and nothing in the script brings them elsewhere.

    Passed over where a trained body is used: what it wants is its own matter, and some scale by themselves.
    """
    return first(
        view,
        either(_raw, body_unprepared, decoded_and_left),
        "the scripts read no pictures and train on them",
    )


def _raw(source: Script) -> Finding | None:
    if not {"keras", "tensorflow"} & set(source.frameworks) or not source.named("fit", "fit_generator"):
        return None
    reads = sorted(_readers(source), key=lambda c: c.lineno)
    layers = source.named("Conv2D", "Dense", "SeparableConv2D")
    if not reads or not layers or any(_BODIES.match(last_name(c.func)) for c in source.calls):
        return None
    if _SCALES.search(source.text):
        return ok(source, reads[0], "something in the script scales pixels")
    if imports_locals(source):
        return None
    return at(source, reads[0], "this gives pixels of 0 to 255, and nothing scales them before the network")


def _readers(source: Script) -> Iterator[ast.Call]:
    yield from source.named("image_dataset_from_directory")
    for call in source.named("flow_from_directory", "flow_from_dataframe"):
        if all(keyword(c, "preprocessing_function") is None for c in source.named("ImageDataGenerator")):
            yield call
    for call in source.named("load_data"):
        if _LOADED.search(source.owner(call)):
            yield call
