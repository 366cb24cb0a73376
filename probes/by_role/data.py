"""What the model is fed: order, augmentation, scaling, interpolation, lengths."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..code.shared.roles import split_of
from ..readers._tree import of
from ..readers.script import argument, keyword, last_name
from ..scripts.flow import flow
from .side import Side, Told

_MIXES = (
    r"shuffl|perm(?:ut|$)|WeightedRandom|randint|randperm|sample$|choice|Sampler$"
    r"|train_test_split|image_dataset"
)


def _shuffled(side: Side) -> tuple[bool, ast.AST | None] | None:
    """Whether the training data come in a random order; None where that is not seen."""
    if side.by_trainer:
        return True, None
    for fit in side.calls("fit"):
        if len(fit.args) > 1 and keyword(fit, "shuffle") is None and keyword(fit, "batch_size") is not None:
            return True, fit  # Keras' default for arrays
    for made in side.calls("DistributedSampler", "DistributedSamplerV2"):
        if keyword(made, "shuffle") is None and len(made.args) < 4 and not _held_out(side, made):
            return True, made  # its default
    asked: list[tuple[object, ast.AST]] = []
    for word in side.keywords.get("shuffle", []):
        call = side.source.parents.get(word)
        if isinstance(call, ast.Call):
            if last_name(call.func) in ("train_test_split", "KFold", "StratifiedKFold") or _held_out(
                side, call
            ):
                continue
            for one in _handed(side, word.value):
                value = side.value(one)
                asked.append((True if value is None else value, one))
    if any(v is True for v, _ in asked):
        return True, next(n for v, n in asked if v is True)
    if asked and all(v is False for v, _ in asked):
        others = side.matching(r"^shuffle$|permutation|randperm|RandomSampler|randint")
        return None if others else (False, asked[0][1])
    if not asked and not side.source.loose and not side.mentions(_MIXES):
        return False, None
    return _cut_by_hand(side) if not asked else None


def _handed(side: Side, node: ast.expr) -> list[ast.expr]:
    """What a setting stands for: of a parameter what makers of training data hand over, or its default."""
    function = side.source.function_around(node)
    if not isinstance(node, ast.Name) or not isinstance(function, ast.FunctionDef):
        return [node]
    names = [a.arg for a in function.args.args]
    calls = flow(side.source).calls_of(function)
    if node.id not in names or not calls or names[:1] in (["self"], ["cls"]):
        return [node]
    at, given = names.index(node.id), function.args.defaults
    default = given[at - len(names)] if at >= len(names) - len(given) else None
    found: list[ast.expr] = []
    for call in calls:
        if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            return [node]
        if not _held_out(side, call):
            found.append(argument(call, node.id, position=at) or default or node)
    return found or [node]


def _cut_by_hand(side: Side) -> tuple[bool, ast.AST] | None:
    """`for start in range(0, n, size)` in each epoch: whether something in the epoch draws an order."""
    loop = side.source.train_loop
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or len(loop.iter.args) != 3:
        return None
    epochs = side.source.loops_around(loop)
    if last_name(loop.iter.func) != "range" or not epochs or side.source.loose:
        return None
    inside = {last_name(c.func) for c in of(epochs[-1], ast.Call)}
    for function in side.source.of(ast.FunctionDef):
        if function.name in inside:
            inside = inside | {last_name(c.func) for c in of(function, ast.Call)}
    drawn = any(re.search(r"shuffl|perm|rand|sample|choice|integers", name) for name in inside)
    return drawn, loop


def _held_out(side: Side, call: ast.Call) -> bool:
    """A call that makes data for evaluation, by what it is assigned to or what it is given."""
    statement = side.source.statement(call)
    names = [
        last_name(t) for t in getattr(statement, "targets", []) if isinstance(t, (ast.Name, ast.Attribute))
    ]
    names += [last_name(a) for a in call.args[:1] if isinstance(a, (ast.Name, ast.Attribute))]
    names += [str(a.value) for a in call.args[:1] if isinstance(a, ast.Constant)]
    found = {split_of(n) for n in names} - {None}
    return bool(found) and found.isdisjoint({"train", "training"})


def order_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark shuffles its training data, and nothing does here."""
    here, there = _shuffled(mine), _shuffled(theirs)
    if here is not None and there is not None and there[0] and not here[0]:
        text = "the benchmark shuffles the training data, this script takes them in the order they have"
        yield Told("shuffling", text, mine.place(here[1]), theirs.place(there[1]))


# ---------------------------------------------------------------------------------------------- augmentation

_STEPS = {
    "mirroring": (
        r"^(?:Random)?(?:Horizontal|Vertical)Flip(?:WithBBox)?$|^random_(?:horizontal_|vertical_)?flip|^RandomFlip$"
        r"|^[hv]flip$|^flip(?:lr|ud)$|^(?:horizontal|vertical)_flip$"
    ),
    "random crops": (
        r"^RandomResizedCrop|^RandomCrop(?:Decode|With|$)|^random_(?:resized_)?crop$|^RandomSizedCrop"
        r"|^CropNonEmptyMaskIfExists$|^RandomSizedBBoxSafeCrop$|^BBoxSafeRandomCrop$"
    ),
    "colours": (
        r"^(?:Random)?ColorJitter$|^RandomColorAdjust$|^random_(?:brightness|contrast|saturation|hue)$"
        r"|^RandomBrightness|^RandomContrast$|^RandomHue|^HueSaturation"
    ),
    "rotations": r"^RandomRotation$|^RandomRotate|^RandomAffine$|^ShiftScaleRotate$",
    "erasing": r"^RandomErasing$|^Cutout$|^CoarseDropout$|^CutOut$",
    "mixed samples": r"(?i)^mix_?up\w*$|^cut_?mix\w*$|^MixUpBatch$|^CutMixBatch$",
    "masks over spectrograms": r"^(?:Time|Frequency)Mask(?:ing)?$",
    "a policy of random steps": r"^RandAugment$|^AutoAugment$|^TrivialAugmentWide$|^AugMix$|^RandomAugment$",
}
_RANDOM = (
    r"(?i)^random$|^rand\w*$|uniform|bernoulli|augment|jitter|flip|albument|^A$|imgaug|kornia|^choice$|noise"
)


def augmentation_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """A random step of the benchmark's training inputs is not done here."""
    if mine.source.loose:
        return
    here = {name for name, ask in _STEPS.items() if mine.matching(ask) or mine.mentions(ask)}
    for name, ask in _STEPS.items():
        there = theirs.matching(ask)
        if there and name not in here and (here or not mine.mentions(_RANDOM)) and not _by_hand(mine, name):
            call = last_name(there[0].func)
            text = f"training inputs are changed by chance in the benchmark ({name}: {call}), and not here"
            yield Told("regularisation-lowered", text, None, theirs.place(there[0]))
            return
    first, second = (_switch(s) for s in (mine, theirs))
    if first is not None and second is not None and second[0] and not first[0]:
        text = "augmentation is switched on in the benchmark, and off here"
        yield Told("regularisation-lowered", text, mine.place(first[1]), theirs.place(second[1]))


def _by_hand(side: Side, name: str) -> bool:
    """Written out: `image[:, ::-1]`, a draw within the samples."""
    if name != "mirroring":
        return side.mentions(r"^random$|^rand(?:int|n|om_sample)?$|^uniform$|^albument")
    return any(
        isinstance(n.step, ast.UnaryOp) or getattr(n.step, "value", 0) == -1
        for n in side.source.of(ast.Slice)
        if n.step
    ) or side.mentions(r"(?i)flip|mirror")


def _switch(side: Side) -> tuple[bool, ast.AST] | None:
    """Whether `augment=` is on anywhere; None where nobody says it."""
    found = [
        (side.value(w.value), w.value)
        for n in ("augment", "augmentation", "aug", "use_augmentation")
        for w in side.keywords.get(n, [])
    ]
    if not found or any(not isinstance(v, bool) for v, _ in found):
        return None
    on = [n for v, n in found if v is True]
    return (True, on[0]) if on else (False, found[0][1])


# --------------------------------------------------------------------------------------------- interpolation

_KINDS = {
    "bilinear": "bilinear", "linear": "bilinear", "inter_linear": "bilinear", "nearest": "nearest",
    "inter_nearest": "nearest", "bicubic": "bicubic", "inter_cubic": "bicubic", "cubic": "bicubic",
    "pilcubic": "bicubic", "lanczos": "lanczos", "lanczos3": "lanczos", "inter_area": "area", "area": "area",
    "nearest_neighbor": "nearest", "nearest_exact": "nearest", "box": "box",
}  # fmt: skip
_RESIZES = (
    r"^(?:Random)?Resize(?:d?Crop)?$|^resize\w*$|^RandomResizedCrop\w*$|^Resizing$"
    r"|^image_dataset_from_directory$|^interpolate$"
)


def _interpolations(side: Side) -> dict[str, ast.AST]:
    """How images are resized, where it is said."""
    found: dict[str, ast.AST] = {}
    for call in side.matching(_RESIZES):
        for name in ("interpolation", "method", "mode", "resample"):
            asked = keyword(call, name)
            value = side.value(asked) if asked is not None else None
            word = value if isinstance(value, str) else (last_name(asked) if asked is not None else "")
            if str(word).lower() in _KINDS:
                found[_KINDS[str(word).lower()]] = call
    return found


def interpolation_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Images are resized in a way that the benchmark does not use."""
    here, there = _interpolations(mine), _interpolations(theirs)
    new = sorted(set(here) - set(there))
    if there and new:
        was = " and ".join(sorted(there))
        text = f"images are resized by {new[0]} interpolation here, by {was} in the benchmark"
        yield Told("interpolation", text, mine.place(here[new[0]]), theirs.place(next(iter(there.values()))))


# --------------------------------------------------------------------------------------------------- lengths

_LENGTHS = ("max_length", "maxlen", "max_len", "max_seq_length", "max_source_length", "max_target_length")


def _lengths(side: Side) -> dict[float, ast.AST]:
    found: dict[float, ast.AST] = {}
    for name in _LENGTHS:
        for word in side.keywords.get(name, []):
            call = side.source.parents.get(word)
            if isinstance(call, ast.Call) and last_name(call.func) in (
                "generate",
                "add_argument",
                "GenerationConfig",
            ):
                continue
            value = side.number(word.value)
            if value is not None and value > 1:
                found[value] = word.value
    return found


def lengths_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """Sequences are cut at another length."""
    here, there = _lengths(mine), _lengths(theirs)
    new, gone = sorted(set(here) - set(there)), sorted(set(there) - set(here))
    if len(here) == len(there) and len(new) == len(gone) == 1 and not 0.9 < new[0] / gone[0] < 1.1:
        text = f"sequences are cut at {new[0]:g} here, at {gone[0]:g} in the benchmark"
        yield Told("sequence-length", text, mine.place(here[new[0]]), theirs.place(there[gone[0]]))


# --------------------------------------------------------------------------------------------------- scaling

_TO_ONE = (
    r"^ToTensor$|^convert_image_dtype$|^Rescale$|^Rescaling$|^to_tensor$|^img_to_tensor$|^PILToTensor$"
    r"|^Convert(?:Image)?Dtype$|^ToDtype$|^to_dtype$|^ToFloat$|^img_as_float(?:32|64)?$"
)


def scaling_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Images of 0 to 255 meet a mean and a deviation that are meant for 0 to 1."""
    here, there = _of_one(mine), _of_one(theirs)
    if here is None or there is None or mine.source.loose:
        return
    if there[0] and not here[0]:
        text = (
            "mean and deviation are those of values from 0 to 1, and nothing divides the images by 255 here"
        )
        yield Told("normalisation-values", text, mine.place(here[1]), theirs.place(there[1]))


def _of_one(side: Side) -> tuple[bool, ast.AST] | None:
    """Of a mean below 1: whether images are brought to its range, or it to theirs; None: no such mean."""
    means = [
        n
        for n in side.source.of(ast.List, ast.Tuple)
        if len(n.elts) in (1, 3)
        and all(
            isinstance(e, ast.Constant) and isinstance(e.value, float) and 0.05 < e.value < 0.95
            for e in n.elts
        )
    ]
    if not means or not (side.matching("(?i)normali[sz]e") or side.mentions("(?i)normali[sz]e|^mean$")):
        return None
    scaled = bool(side.matching(_TO_ONE)) or any(
        side.value(w.value) is True for w in side.keywords.get("scale", [])
    )
    numbers = {n.value for n in side.source.of(ast.Constant) if isinstance(n.value, (int, float))}
    scaled = scaled or bool(numbers & {255, 127.5})
    others = "^decode_image$|as_float(?:32|64)?$|^imread$|^ToTensorV2$|max_pixel|MinMax|rescal|scaler"
    others += "|ImageProcessor|FeatureExtractor"
    if not scaled and side.mentions(others):
        return None
    return scaled, means[0]


def range_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Images run from 0 to 1 here and from -1 to 1 in the benchmark, or the other way round."""
    here, there = _range(mine), _range(theirs)
    if here is not None and there is not None and here[0] != there[0]:
        text = f"images are brought to {here[0]} here, to {there[0]} in the benchmark"
        yield Told("normalisation-values", text, mine.place(here[1]), theirs.place(there[1]))


def _range(side: Side) -> tuple[str, ast.AST] | None:
    """What range images are brought to by one division, where nothing else scales them."""
    if side.mentions(r"(?i)normali[sz]e|standardi|^mean$|^std$|preprocess_input"):
        return None
    divided: dict[float, ast.AST] = {
        value: n
        for n in side.source.of(ast.BinOp)
        if isinstance(n.op, ast.Div) and (value := side.number(n.right)) in (255.0, 127.5)
    }
    for call in side.calls("Rescale", "Rescaling"):
        scale, shift = (
            side.number(argument(call, "rescale", "scale", position=0)),
            argument(call, "shift", "offset", position=1),
        )
        if scale:
            divided[round(1 / scale, 3)] = call
            if side.number(shift) not in (None, 0.0, -1.0):
                return None
    if len(divided) != 1 or side.source.loose:
        return None
    value, node = next(iter(divided.items()))
    if value == 127.5:
        return "-1 to 1", node
    doubled = any(
        isinstance(n.op, ast.Sub) and side.number(n.right) in (1.0, 0.5) for n in side.source.of(ast.BinOp)
    )
    return ("0 to 1", node) if value == 255.0 and not doubled else None


_FILLS = ("median", "mean", "mode", "ffill", "bfill", "interpolate")


def filling_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Empty fields are filled with something else."""
    here, there = _fills(mine), _fills(theirs)
    if len(here) == len(there) == 1 and set(here) != set(there):
        (a, at), (b, beside) = *here.items(), *there.items()
        text = f"empty fields are filled with {a} here, with {b} in the benchmark"
        yield Told("missing-values", text, mine.place(at), theirs.place(beside))


def _fills(side: Side) -> dict[str, ast.AST]:
    found: dict[str, ast.AST] = {}
    for call in side.calls("fillna"):
        if not call.args:
            continue
        words = [w for w in _FILLS if w in side.said(call.args[0])]
        number = side.number(call.args[0])
        if words or number is not None:
            found[f"the {words[0]}" if words else f"{number:g}"] = call
    for call in side.calls("SimpleImputer"):
        said = side.value(argument(call, "strategy"))
        if isinstance(said, str) and said in ("median", "mean"):
            found[f"the {said}"] = call
    return found
