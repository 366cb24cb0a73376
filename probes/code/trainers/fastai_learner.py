"""Learners of fastai: what their callbacks keep, what is frozen, losses, pixels, parts and orders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false
from ..shared.sides import literal

_FITS = ("fit_one_cycle", "fit", "fit_flat_cos", "fine_tune", "fit_sgdr")
_BETTER_LOW = re.compile(r"(?i)loss|error|rmse|mse|mae|perplex")
_BETTER_HIGH = re.compile(
    r"(?i)acc|f1|f_?beta|auc|roc|dice|jaccard|iou|precision|recall|kappa|bleu|r2|pearson|corr"
)
_OF_NUMBERS = ("MSELossFlat", "L1LossFlat", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
_OF_CLASSES = ("CrossEntropyLossFlat", "CrossEntropyLoss", "LabelSmoothingCrossEntropyFlat", "FocalLossFlat")
_OF_MARKS = ("BCEWithLogitsLossFlat", "BCEWithLogitsLoss", "BCELossFlat")
_PIXELS = 5.0  # pictures come as 0 to 1: no mean and no deviation is near it


def _is_fastai(source: Script) -> bool:
    return bool(re.search(r"^\s*(?:from|import) fastai\b", source.text, re.M))


def keeps_the_worst(source: Script) -> Finding | None:
    """`SaveModelCallback(monitor="valid_loss", comp=np.greater)`: what is kept is the worst."""
    if not _is_fastai(source):
        return None
    for call in source.named("SaveModelCallback", "EarlyStoppingCallback", "ReduceLROnPlateau"):
        monitor, way = keyword(call, "monitor"), keyword(call, "comp")
        told = literal(source, monitor) if monitor is not None else "valid_loss"
        if way is None or not isinstance(told, str):
            continue
        up = {"greater": True, "less": False}.get(last_name(way))
        low, high = _BETTER_LOW.search(told) is not None, _BETTER_HIGH.search(told) is not None
        if up is not None and low != high and up is low:
            return at(source, call, f"of {told} the {'largest' if up else 'smallest'} is taken for the best")
    return None


def loads_another_file(source: Script) -> Finding | None:
    """`SaveModelCallback(fname="best")`, and then `learn.load("old")`, which nothing writes."""
    if not _is_fastai(source):
        return None
    kept = {
        literal(source, v)
        for c in source.named("SaveModelCallback")
        if (v := keyword(c, "fname")) is not None
    }
    kept |= {literal(source, c.args[0]) for c in source.named("save") if c.args}
    for call in source.named("load"):
        name = literal(source, call.args[0]) if len(call.args) == 1 else None
        fits = [c for c in source.named(*_FITS) if c.lineno < call.lineno]
        learner = (
            fits
            and isinstance(call.func, ast.Attribute)
            and unparse(call.func.value) == source.owner(fits[-1])
        )
        if learner and kept and None not in kept and isinstance(name, str) and name not in kept:
            return at(source, call, f"the best weights are kept as {', '.join(map(str, kept))}")
    return None


def stays_frozen(source: Script) -> Finding | None:
    """The learner is frozen, and trained with rates for each part of the net, and never unfrozen."""
    if not _is_fastai(source) or source.named("unfreeze", "fine_tune", "freeze_to"):
        return None
    frozen = [c for c in source.named("freeze") if not c.args]
    fits = source.named("fit_one_cycle", "fit_flat_cos", "fit")
    for call in fits:
        rates = [*call.args, *(k.value for k in call.keywords)]
        parted = any(isinstance(r, ast.Call) and last_name(r.func) == "slice" for r in rates)
        before = any(f.lineno < call.lineno for f in frozen)
        if (
            parted
            and len(fits) > 1
            and (before or source.named("vision_learner", "cnn_learner", "unet_learner"))
        ):
            return at(source, call, "the body of the net gets a rate of its own and is still frozen")
    return None


def frozen_at_random(source: Script) -> Finding | None:
    """`vision_learner(..., pretrained=False)` and `learn.freeze()`: what is frozen was never learnt."""
    if not _is_fastai(source):
        return None
    for call in source.named("vision_learner", "cnn_learner", "unet_learner", "create_body"):
        told = keyword(call, "pretrained")
        if told is not None and is_false(told) and source.named("freeze", "fine_tune"):
            return at(
                source, call, "the body starts at random, and is trained like one that was learnt before"
            )
    return None


def loss_of_another_block(source: Script) -> Finding | None:
    """The loss is for another kind of target than the block gives: numbers, one class, several marks."""
    blocks = {last_name(n) for n in source.of(ast.Name)} if _is_fastai(source) else set()
    kinds = [
        (("CategoryBlock",), (*_OF_NUMBERS, *_OF_MARKS), "one class of several"),
        (("MultiCategoryBlock",), (*_OF_NUMBERS, *_OF_CLASSES), "several marks at once"),
        (("RegressionBlock",), (*_OF_CLASSES, *_OF_MARKS), "numbers"),
    ]
    there = [k for k in kinds if blocks & set(k[0])]
    if len(there) != 1:
        return None
    for call in source.named(
        "Learner", "vision_learner", "cnn_learner", "tabular_learner", "text_classifier_learner"
    ):
        told = keyword(call, "loss_func")
        made = flow(source).whole_given(told) or told if isinstance(told, ast.Name) else told
        if made is not None and last_name(made.func if isinstance(made, ast.Call) else made) in there[0][1]:
            return at(source, made, f"the targets are {there[0][2]}, which this loss is not for")
    return None


def pixels_of_another_range(source: Script) -> Finding | None:
    """`Normalize.from_stats([123.7, ...], ...)` of pictures of 0 to 1, or figures of digits."""
    if not _is_fastai(source):
        return None
    for call in source.named("from_stats"):
        numbers = [
            n.value for a in call.args for n in of(a, ast.Constant) if isinstance(n.value, (int, float))
        ]
        if numbers and max(numbers) > _PIXELS:
            return at(source, call, "pictures come as 0 to 1 here, and these figures are of 0 to 255")
        digits = "mnist_stats" in unparse(call) and not re.search(r"(?i)mnist\b(?!_)|digit", source.code)
        if digits and source.named("vision_learner", "cnn_learner", "unet_learner"):
            return at(source, call, "these are the mean and the deviation of digits")
    return None


def crops_next_to_nothing(source: Script) -> Finding | None:
    """`aug_transforms(min_scale=0.01)`: a hundredth of the picture is left."""
    for call in (
        source.named("aug_transforms", "RandomResizedCrop", "RandomResizedCropGPU")
        if _is_fastai(source)
        else ()
    ):
        told = keyword(call, "min_scale")
        share = literal(source, told) if told is not None else None
        if isinstance(share, float) and share < 0.05:
            return at(source, call, f"crops may leave {share:.0%} of the picture")
    return None


def split_not_asked(source: Script) -> Finding | None:
    """The table says which rows are held out (`is_valid`), and the split is drawn at random."""
    if not _is_fastai(source) or source.named(
        "ColSplitter", "IndexSplitter", "FuncSplitter", "GrandparentSplitter"
    ):
        return None
    said = [
        n
        for n in source.of(ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Constant) and t.slice.value == "is_valid"
    ]
    drawn = source.named("RandomSplitter", "RandomSubsetSplitter")
    if said and drawn and "valid_col" not in source.code:
        return at(source, drawn[0], "rows are parted at random, and the table says which are held out")
    return None


def told_of_training(source: Script) -> Finding | None:
    """`learn.get_preds(dl=dls.train)`, `learn.tta(ds_idx=0)`, `learn.validate(ds_idx=0)`: of training."""
    for call in source.named("get_preds", "tta", "validate") if _is_fastai(source) else ():
        part, loader = keyword(call, "ds_idx"), keyword(call, "dl")
        of_training = part is not None and literal(source, part) == 0
        if of_training or (loader is not None and re.search(r"\.train(?:_ds|_dl)?$", unparse(loader))):
            statement = source.statement(call)
            scope = source.function_around(call) or source.tree
            told = " ".join(_texts(scope)) if statement is not None else ""
            if re.search(r"(?i)test|held|valid", told) and not re.search(
                r"(?i)train(?:ing)? (?:acc|score|err)", told
            ):
                return at(source, call, "what is told of held-out data is of the training rows")
    return None


def _texts(scope: ast.AST) -> Iterator[str]:
    for call in of(scope, ast.Call):
        if last_name(call.func) in ("print", "info", "to_csv", "log"):
            yield from (str(c.value) for c in of(call, ast.Constant) if isinstance(c.value, str))


def order_kept_by_learner(source: Script) -> Finding | None:
    """`block.dataloaders(rows, shuffle=False)`, which is of the training rows alone."""
    for call in source.named("dataloaders", "from_df", "from_folder", "from_csv", "from_name_func"):
        told = keyword(call, "shuffle") if _is_fastai(source) else None
        if told is not None and is_false(told):
            return at(source, call, "the training rows keep their stored order")
    return None


def answers_over_rows(source: Script) -> Finding | None:
    """`probs.argmax(dim=0) == targets` of `probs, targets = learn.get_preds()`: a row of each class."""
    if not _is_fastai(source):
        return None
    names = {
        unparse(n.targets[0].elts[0])
        for n in source.of(ast.Assign)
        if isinstance(n.targets[0], ast.Tuple)
        and isinstance(n.value, ast.Call)
        and last_name(n.value.func) in ("get_preds", "tta")
    }
    for call in source.named("argmax", "max"):
        axis = (
            keyword(call, "dim") or keyword(call, "axis") or (call.args[0] if len(call.args) == 1 else None)
        )
        if source.owner(call) in names and axis is not None and literal(source, axis) == 0:
            return at(source, call, "the largest is looked for over the rows, not over the classes")
    return None
