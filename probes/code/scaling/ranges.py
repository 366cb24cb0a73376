"""The range of numbers that inputs have in scripts, against the range that a mean and a step are for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..mindspore.ports import normalised_along_other_axis
from ..shared.checks import at, first, ok
from ..shared.sides import either
from ..tensorflow.keras_model import prepared_for_other
from ..trainers.fastai_learner import pixels_of_another_range
from .again import divided_again, normalised_again, rescaled_again, step_made
from .by_hand import range_by_hand
from .exchanged import figures_exchanged
from .in_training_mode import mean_for_deviation
from .left_over import divided_before_taken_off
from .mapped_sides import scaled_and_prepared
from .read_raw import figures_of_unit_on_bytes
from .slipped_signs import standardised_astray
from .trained_bodies import prepared_after_division

_KERAS_UNIT = re.compile(r"preprocess_input")


@probe()
def range_does_not_fit(view: View) -> Finding:
    """Mean and deviation, or a scaling function, are for another range of values than they get."""
    return first(
        view,
        either(
            *(_after_unit, _before_unit, _twice, normalised_again, divided_again, rescaled_again),
            *(prepared_for_other, scaled_and_prepared, prepared_after_division, normalised_along_other_axis),
            *(divided_before_taken_off, _by_hand, _shown_from_both_sides, mean_for_deviation),
            *(figures_exchanged, standardised_astray, pixels_of_another_range, figures_of_unit_on_bytes),
        ),
        "the scripts do not normalise by given figures",
    )


@lru_cache(maxsize=16)
def _pipelines(source: Script) -> tuple[list[ast.expr], ...]:
    """The steps of each pipeline, as far as it is written out."""
    return tuple(_each_pipeline(source))


def _each_pipeline(source: Script) -> Iterator[list[ast.expr]]:
    for node in source.of(ast.List, ast.Tuple, ast.Call):
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
            steps = [step_made(source, e) for e in node.elts]
            if sum(isinstance(e, ast.Call) for e in steps) > 1:
                yield steps
        elif (
            isinstance(node, ast.Call)
            and last_name(node.func) in ("Compose", "Sequential")
            and len(node.args) > 1
        ):
            yield node.args
    for both in source.of(ast.BinOp):
        if isinstance(both.op, ast.Add) and isinstance(both.right, ast.List):
            yield from _added_up(source, both.left, both.right)


def _added_up(source: Script, first_: ast.expr, last: ast.List) -> Iterator[list[ast.expr]]:
    """`steps + [Normalize(...)]`: a pipeline for each list that may stand behind the name."""
    lists = [first_] if isinstance(first_, ast.List) else [g.value for g in flow(source).all_given(first_)]
    for one in lists:
        if isinstance(one, ast.List):
            yield [step_made(source, e) for e in (*one.elts, *last.elts)]


def _by_hand(source: Script) -> Finding | None:
    return range_by_hand(source, _figures)


_BOTH_SIDES = re.compile(
    r"^\(?\w+ \+ 1(?:\.0)?\)? (?:/ 2(?:\.0)?|\* 0\.5)$|^\w+ (?:/ 2(?:\.0)?|\* 0\.5) \+ 0\.5$"
)
_CENTRED = re.compile(
    r"ormali[sz]e\(|\* 2(?:\.0)? - 1|\b2(?:\.0)? \* [\w.\[\]()]+ - 1|127\.5|- 0\.5\)|/ 0\.5"
    r"|mul_?\(2|sub_?\(0?\.5|image_processor"
)
_DRAWN = (
    "save_image",
    "make_grid",
    "imshow",
    "imsave",
    "to_pil_image",
    "ToPILImage",
    "add_images",
    "add_image",
)


def _shown_from_both_sides(source: Script) -> Finding | None:
    """What the model makes is shown as (x + 1) / 2, and the pictures it learns are from 0 to 1."""
    if "ToTensor" not in source.code or source.loose or not source.backwards:
        return None
    if _CENTRED.search(source.code):
        return None
    for call in source.named(*_DRAWN):
        if call.args and _BOTH_SIDES.match(unparse(call.args[0])):
            steps = source.named("ToTensor")
            why = "pictures go from 0 to 1, and what is made is shown as from -1 to 1"
            return at(source, steps[0], why)
    return None


def _mean_of(source: Script, step: ast.expr) -> float | None:
    """The largest mean that a Normalize step is given."""
    if not isinstance(step, ast.Call) or last_name(step.func).lower() not in ("normalize", "normalise"):
        return None
    value = argument(step, "mean", position=0)
    numbers = _figures(source, value)
    return max(numbers) if numbers else None


def _figures(source: Script, value: ast.expr | None, depth: int = 4) -> list[float]:
    if value is None or depth == 0:
        return []
    if isinstance(value, (ast.List, ast.Tuple)):
        found = [number_written(e) for e in value.elts]
        return [f for f in found if f is not None] if None not in found else []
    if (
        isinstance(value, ast.Call)
        and value.args
        and last_name(value.func)
        in ("tuple", "list", "array", "tensor", "asarray", "constant", "Tensor", "float32")
    ):
        return _figures(source, value.args[0], depth - 1)
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("view", "reshape", "to", "astype", "cuda", "unsqueeze", "float")
    ):
        return _figures(source, value.func.value, depth)
    if isinstance(value, (ast.Name, ast.Attribute)):
        ends = [v for v in flow(source).values(value, 4) if v is not value]
        if not ends and isinstance(value, ast.Attribute):
            ends = [
                k.value
                for c in source.calls
                for k in c.keywords
                if k.arg == value.attr and k.value is not value
            ]
            ends = [e for e in ends if unparse(e) != unparse(value)] or _fields(source, value)
        given_ = [f for v in ends if (f := _figures(source, v, depth - 1))]
        return given_[0] if len(given_) == 1 else []
    return []


def _fields(source: Script, value: ast.Attribute) -> list[ast.expr]:
    """What classes of the script hold under the name: `CFG.mean`, or the default of a dataclass's field."""
    found: list[ast.expr] = []
    for name, owner in source.classes.items():
        for node in owner.body:
            if isinstance(node, ast.Assign) and unparse(value.value) == name:
                found += [node.value] if unparse(node.targets[0]) == value.attr else []
            if (
                not isinstance(node, ast.AnnAssign)
                or unparse(node.target) != value.attr
                or node.value is None
            ):
                continue
            made = keyword(node.value, "default_factory") if isinstance(node.value, ast.Call) else None
            plain = keyword(node.value, "default") if isinstance(node.value, ast.Call) else node.value
            found += [made.body] if isinstance(made, ast.Lambda) else [plain] if plain is not None else []
    return found


def number_written(node: ast.expr) -> float | None:
    """A number as it is written, also as a product or a quotient of numbers; None for what is none."""
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        return float(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        left, right = number_written(node.left), number_written(node.right)
        if left is None or right in (None, 0.0):
            return None
        return left * right if isinstance(node.op, ast.Mult) else left / right
    return None


def _after_unit(source: Script) -> Finding | None:
    """ToTensor gives 0 to 1; a mean above 1 is one of bytes."""
    seen: ast.AST | None = None
    for steps in _pipelines(source):
        names = [last_name(s.func) if isinstance(s, ast.Call) else "" for s in steps]
        for i, step in enumerate(steps):
            mean = _mean_of(source, step)
            of_torch = "ToTensor" in names[:i] and "torchvision" in source.code
            of_torch = of_torch and "ffcv" not in source.code  # whose ToTensor leaves bytes as they are
            if mean is None or not (of_torch or _to_unit(source, steps[:i])):
                continue
            seen = seen or (step if of_torch else None)
            if mean > 1.5:
                return at(source, step, f"pixels are 0 to 1 here, and the mean is {mean:g}")
    return (
        ok(source, seen, "mean and deviation are for 0 to 1, as the pixels are") if seen is not None else None
    )


def _to_unit(source: Script, steps: list[ast.expr]) -> bool:
    """MindSpore's `ToTensor()` or `Rescale(1 / 255, 0)`."""
    if "mindspore" not in source.code or "torchvision" in source.code:
        return False
    for step in steps:
        name = last_name(step.func) if isinstance(step, ast.Call) else ""
        if name == "ToTensor":
            return True
        if name == "Rescale" and isinstance(step, ast.Call) and step.args:
            factor = number_written(step.args[0])
            if factor is not None and 0 < factor < 0.01:
                return True
    return False


def _before_unit(source: Script) -> Finding | None:
    """MindSpore decodes to 0 to 255; a mean below 1 without Rescale or ToTensor is one of 0 to 1."""
    if "mindspore" not in source.code:
        return None
    seen: ast.AST | None = None
    for steps in _pipelines(source):
        names = [last_name(s.func) if isinstance(s, ast.Call) else "" for s in steps]
        for i, step in enumerate(steps):
            mean = _mean_of(source, step)
            decodes = any("Decode" in n for n in names[:i]) or _read_as_bytes(source, step)
            if mean is None or not decodes or {"Rescale", "ToTensor"} & set(names[:i]):
                continue
            seen = seen or step
            if mean <= 1.0:
                return at(source, step, f"pixels are 0 to 255 here, and the mean is {mean:g}")
    return (
        ok(source, seen, "mean and deviation are for bytes, as the pixels are") if seen is not None else None
    )


_IMAGES = re.compile(
    r"^(?:Cifar10|Cifar100|Mnist|FashionMnist|EMnist|QMnist|KMnist|ImageFolder|CelebA|SVHN|STL10)Dataset$"
)


def _read_as_bytes(source: Script, step: ast.expr) -> bool:
    """A published set of images is read, or the data set opens files, and nothing brings them to 0 to 1."""
    scope = source.function_around(step) or source.tree
    reads = any(_IMAGES.match(last_name(c.func)) for c in of(scope, ast.Call))
    if not reads and source.named("GeneratorDataset") and not source.loose:
        opened = [
            c for c in source.named("open", "imread") if source.owner(c) in ("Image", "PIL.Image", "cv2")
        ]
        reads = bool(opened) and all(_in_data_set(source, c) for c in opened)
        reads = reads and not re.search(
            r"astype\(|/ ?\(?[0-9.]+|\* ?0\.00|float\(|normali[sz]e\(", _of_data_sets(source)
        )
    return reads and not re.search(r"Rescale|ToTensor|/ ?255|127\.5|rescale|to_tensor", source.code)


def _in_data_set(source: Script, call: ast.Call) -> bool:
    owner = source.class_around(call)
    return owner is not None and "__getitem__" in {getattr(n, "name", "") for n in owner.body}


def _of_data_sets(source: Script) -> str:
    """The code of the classes that give samples."""
    owners = [
        c for c in source.classes.values() if any(getattr(n, "name", "") == "__getitem__" for n in c.body)
    ]
    return "\n".join(unparse(c) for c in owners)


_SCALES_ITSELF = re.compile(
    r"mobilenet|resnet_v2|inception|xception|nasnet|efficientnet|convnext|densenet|vgg|resnet"
)


def _twice(source: Script) -> Finding | None:
    """`preprocess_input(x / 255)`: the function wants 0 to 255."""
    seen: ast.AST | None = None
    for call in source.named("preprocess_input"):
        if not call.args:
            continue
        seen = seen or call
        value = call.args[0]
        for _ in range(3):
            if isinstance(value, ast.Name):
                found = flow(source).whole_given(value)
                if found is None:
                    break
                value = found
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
            if (number_written(value.right) or 0.0) >= 127.0:
                return at(source, call, "preprocess_input wants pixels of 0 to 255, and gets them divided")
    return ok(source, seen, "preprocess_input gets pixels as they are") if seen is not None else None
