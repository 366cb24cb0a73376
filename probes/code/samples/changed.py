"""Samples in scripts: left out, distorted, scaled."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, imports_locals, ok
from ..shared.nodes import assigned
from ..shared.one_side import done_to_held_out
from ..shared.row_sets import NO_DATA, READS
from ..shared.sides import either
from ..trainers.fastai_learner import crops_next_to_nothing
from .classes_dropped import classes_dropped, is_mark
from .in_getitem import drowned_in_getitem
from .ruined import ruined
from .spoiled import classes_left_out, noise_above


@probe()
@unframed
def drops_training_samples(view: View) -> Finding:
    """Training samples are left out by their label or by a slice, and evaluation samples are not."""
    return first(view, _drops, "the scripts do not select training samples")


def _drops(source: Script) -> Finding | None:
    left = classes_left_out(source) or classes_dropped(source)
    if left is not None:
        return left
    for node in source.of(ast.Assign):
        if "train" in unparse(node.targets[0]).lower():
            for part in of(node.value, ast.Subscript):
                if isinstance(part.slice, ast.Compare) and not is_mark(source, part.slice):
                    if done_to_held_out(source, node) or _added_again(source, part):
                        continue
                    if "train" in unparse(part.value).lower():
                        return at(source, node, "training samples are left out by a condition")
    return None


def _added_again(source: Script, part: ast.Subscript) -> bool:
    """`pd.concat([train, train[train.y == 1]])`: the whole is kept, and some of it stands there twice."""
    parent = source.parents.get(part)
    return isinstance(parent, (ast.List, ast.Tuple)) and unparse(part.value) in {
        unparse(e) for e in parent.elts
    }


MOST_ERASED = 0.5  # of the image; the least that is taken away, where published recipes take 0.02 to 0.4
_DRAWS = re.compile(r"^(?:poisson|normal|binomial|exponential|lognormal|gamma|beta|uniform|choice|where)$")
MOST_NOISE = 3.0  # deviations of normalised inputs: what is left of the signal is a tenth of the variance


@probe()
def augmentation_extreme(view: View) -> Finding:
    """Augmentation that leaves little of the sample: large rotations, tiny crops, masking."""
    return first(view, either(crops_next_to_nothing, _extreme), "the scripts augment nothing")


def _extreme(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    classifies = re.search(r"(?i)cross_?entropy|nll_?loss|num_class|n_class", source.code) is not None
    for call in source.named(
        *("RandomRotation", "RandomErasing", "RandomResizedCrop", "ColorJitter", "RandomCrop"),
        "RandomCropDecodeResize",
    ):
        seen = seen or call
        name = last_name(call.func)
        if name == "RandomRotation" and not classifies:
            continue  # what is shown may have no upper side: cells, textures, the ground from above
        turned = argument(call, "degrees", "factor", position=0)
        degrees = (
            [n.value for n in of(turned, ast.Constant) if isinstance(n.value, (int, float))] if turned else []
        )
        of_keras = re.search(r"(?i)keras|layers", source.owner(call)) or "torchvision" not in source.code
        if (
            name == "RandomRotation"
            and degrees
            and {"keras", "tensorflow"} & set(source.frameworks)
            and of_keras
        ):
            if max(abs(n) for n in degrees) >= 1:  # a share of a full turn
                return at(
                    source, call, "the angle is a share of a full turn here: any is drawn, over and over"
                )
            continue
        if name == "RandomRotation" and degrees and max(abs(n) for n in degrees) >= 90:
            return at(source, call, "rotations this large change what the image shows")
        scale = keyword(call, "scale")
        least = scale.elts[0] if isinstance(scale, (ast.Tuple, ast.List)) and scale.elts else None
        if name == "RandomErasing" and isinstance(least, ast.Constant) and isinstance(least.value, float):
            if least.value >= MOST_ERASED:
                return at(source, call, f"at least {least.value:.0%} of the image is erased")
        if (
            name in ("RandomResizedCrop", "RandomCropDecodeResize")
            and isinstance(least, ast.Constant)
            and isinstance(least.value, float)
        ):
            if least.value < 0.05:
                return at(source, call, "crops this small leave little of the image")
    drowned = noise_above(source, MOST_NOISE) or drowned_in_getitem(source, MOST_NOISE)
    drowned = drowned or ruined(source, MOST_NOISE)
    if drowned is not None:
        return drowned
    for call in source.named("random_brightness", "adjust_brightness", "RandomBrightness"):
        delta = call.args[1] if len(call.args) > 1 else keyword(call, "max_delta")
        seen = seen or call
        if isinstance(delta, ast.Constant) and isinstance(delta.value, (int, float)) and delta.value >= 128:
            return at(source, call, "a shift this large leaves many images all black or all white")
    for node in source.of(ast.Compare):
        if isinstance(node.left, ast.Call) and last_name(node.left.func) == "rand":
            limit = node.comparators[0]
            parent = source.parents.get(node)
            if (
                isinstance(parent, ast.BinOp)
                and isinstance(parent.op, ast.Mult)
                and isinstance(limit, ast.Constant)
            ):
                if any(
                    isinstance(c, ast.Call) and _DRAWS.search(last_name(c.func)) for c in source.above(node)
                ):
                    continue  # `poisson(0.8 + 1.2 * (rand(n) < 0.2))`: how the samples are drawn
                seen = seen or node
                small = isinstance(limit.value, float) and limit.value < 0.3
                if small and isinstance(node.ops[0], (ast.Lt, ast.LtE)):
                    return at(source, node, "masking keeps only a small share of the input")
    return ok(source, seen, "augmentation is moderate") if seen is not None else None


@probe()
def no_normalisation(view: View) -> Finding:
    """Real-valued inputs enter the model and nothing in the script scales them.

    Scripts with an embedding (token inputs) are passed over. False positive: data stored scaled.
    """
    return first(view, _no_normalisation, "the scripts show no real-valued inputs")


def _no_normalisation(source: Script) -> Finding | None:
    if (
        not source.trains_by_hand
        or source.named("Embedding")
        or not source.named("Linear", "Conv2d", "Conv1d", "LSTM", "GRU")
    ):
        return None
    text = source.text.lower()
    words = (
        "normaliz",
        "normalis",
        ".std(",
        "/ std",
        "/ sigma",
        "scaler.fit",
        "standardscaler",
        "minmax",
        "/ 255",
        "/255",
    )
    unused = _unused_spread(source)
    if unused is not None and not any(w in text for w in words if "std" not in w and "sigma" not in w):
        return at(source, unused, "a spread is computed and never applied, so nothing scales the inputs")
    scaled = any(w in text for w in words) or _as_picture(text) or _shifted_and_divided(source)
    scaled = scaled or _read_within_one(source) or _made_of_truths(source)
    if scaled:
        return ok(source, None, "the script scales its inputs")
    if imports_locals(source) or _OTHER_INPUTS.search(source.code) or _draws_unit_scale(source):
        return None
    return at(
        source, source.train_loop or source.backwards[0], "nothing in the script scales the inputs before"
    )


# Tokens of a network whose embedding stands in a library; what a world is asked for
_OTHER_INPUTS = re.compile(
    r"\binput_ids\b|\bAutoModel(?:For\w+)?\b|\bAutoTokenizer\b|\benvs?\.(?:step|reset)\(|\bnext_(?:obs|states?)\b"
)
_UNIT = frozenset(("randn", "randn_like", "rand", "rand_like", "standard_normal", "random"))
_OTHER_DRAWS = re.compile(
    r"^(?:uniform|normal|arange|linspace|gamma|exponential|poisson|lognormal|choice|integers)_?$"
)


def _draws_unit_scale(source: Script) -> bool:
    """Nothing is read: samples are drawn as `randn` and `rand` give them, of the size that networks like."""
    names = {last_name(c.func) for c in source.calls if not source.function_name(c).startswith("init")}
    if not names & _UNIT or any(_OTHER_DRAWS.match(n) for n in names):
        return False
    return not any(READS.search(n) and not NO_DATA.search(n) for n in names)


def _as_picture(text: str) -> bool:
    """torchvision's `ToTensor()` and `to_tensor` divide by 255; Paddle's `to_tensor` only converts."""
    return "totensor" in text or re.search(r"(?<!paddle\.)\bto_tensor\b", text) is not None


def _shifted_and_divided(source: Script) -> bool:
    """`(images - 0.5) / 0.5`, `2 * (x - low) / span - 1`, `image / 127.5 - 1`: by whatever figures."""
    return any(
        isinstance(n.op, ast.Div)
        and (_is_difference(n.left) or _full_scale(n.right) or _largest(source, n.right))
        for n in source.of(ast.BinOp)
    ) or any(isinstance(n.op, ast.Div) and _full_scale(n.value) for n in source.of(ast.AugAssign))


_SIZE = re.compile(r"(?i)(?:^|_)(?:level|scale|norm|range|span|spread|peak)(?:_|$)")


def _largest(source: Script, node: ast.expr) -> bool:
    """`peak = np.abs(x).max()` and `x / peak`: what is divided by the largest lies within one."""
    ends = [node, *flow(source).values(node, 2)] if isinstance(node, ast.Name) else [node]
    if isinstance(node, ast.Name) and _SIZE.search(node.id) and len(ends) > 1:
        return True
    calls = [e for e in ends if isinstance(e, ast.Call)]
    return any(last_name(c.func) in ("max", "amax", "percentile", "quantile") for c in calls)


# the largest numbers of so many bits, and what is next to them
_FULL = frozenset(
    (127, 127.5, 128, 255, 256, 511, 512, 1023, 1024, 2047, 2048, 4095, 4096, 32767, 32768, 65535, 65536)
)


def _full_scale(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.left, ast.Constant) and node.left.value == 2  # `2 ** 15`
    return isinstance(node, ast.Constant) and node.value in _FULL


_SOUNDS = frozenset(("soundfile", "sf", "torchaudio", "librosa", "audioread"))


def _read_within_one(source: Script) -> bool:
    """Sound that a library reads lies in [-1, 1]: `soundfile.read`, `torchaudio.load`, `librosa.load`."""
    return any(source.owner(c) in _SOUNDS for c in source.named("read", "load", "blocks"))


def _made_of_truths(source: Script) -> bool:
    """The script draws its inputs as truths, zeros and ones: `x = rng.random(shape) < rate`."""
    return any(
        isinstance(n.value, ast.Compare)
        and isinstance(n.value.left, ast.Call)
        and re.match(r"(?i)^(?:rand|random|random_sample|uniform|rand_like)$", last_name(n.value.left.func))
        and isinstance(n.targets[0], (ast.Subscript, ast.Name))
        and re.search(r"(?i)^(?:x|xs|events?|spikes?|inputs?|data)\b", unparse(n.targets[0]))
        for n in source.of(ast.Assign)
    )


def _is_difference(node: ast.expr) -> bool:
    """`x - low`, also `2 * (x - low)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_difference(node.left) or _is_difference(node.right)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def _unused_spread(source: Script) -> ast.Assign | None:
    """`mu, sigma = x.mean(0), x.std(0)` where no spread of the script is ever read."""
    found: list[tuple[ast.Assign, str]] = []
    for node in source.of(ast.Assign):
        pairs = assigned(node)
        for target, value in pairs:
            if isinstance(value, ast.Call) and last_name(value.func) in ("std", "nanstd"):
                found.append((node, unparse(target)))
    every = [c for c in source.named("std", "nanstd") if not any(c in walk(n) for n, _ in found)]
    if not found or every:
        return None
    names = {name for _, name in found}
    read = [
        n for n in source.of(ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Load) and unparse(n) in names
    ]
    return None if read else found[0][0]
