"""Edits that change nothing one can see: seeds, paths, devices, what is logged, saved or told."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from ...script_diff.edit import Edit
from ...settings import is_harmless
from ..shared.roles import split_of
from .paired import core


def light(edit: Edit) -> bool:
    """A seed, a path, an interval of logging: what changes nothing that one run in ten would not change."""
    if edit.split == "eval" and any(w.endswith(".batch_size") for w in edit.within[:2]):
        return True  # evaluation does not depend on how many samples it takes at a time
    if edit.kind == "constant" and edit.ratio is not None and _OF_EVALUATION.match(edit.key):
        return True
    if edit.kind == "constant" and edit.setting == "eval_samples" and edit.ratio is not None:
        return 1 / 30 <= edit.ratio <= 30  # the same data, and more or less noise in what they tell
    if edit.kind in ("replaced", "name", "constant") and edit.gone and edit.new:
        if {_act(w) for w in edit.gone | edit.new} <= _SMOOTH and "output" not in edit.roles[:1]:
            return True
    if _of_one_range(edit) or _last_of_three(edit):
        return True
    if edit.within and is_loud(edit.within[0].rpartition(".")[2]):
        return True
    if edit.kind in ("added", "wrapped", "replaced") and "compile()" in edit.new and _only_faster(edit):
        return True
    if _of_ascend_session(edit):
        return True
    if edit.kind == "added" and edit.new & _SEEDS and not any("rank" in w for w in edit.new):
        return True
    if edit.kind.startswith("argument-") and edit.within and edit.within[0].endswith(_DEVICES):
        return True
    if edit.within[:1] == ("device.#0",) and {"choice", "is_available()"} <= edit.gone | edit.new:
        return True  # the first device that is there
    if edit.kind == "name" and all(_DEVICE.match(w) for w in edit.gone | edit.new):
        return True
    if edit.kind == "constant" and edit.within and edit.within[0].endswith(".name"):
        return not edit.within[0].startswith(("load", "get_", "create_", "from_"))  # what a layer is called
    if edit.roles[:1] == ("seed",) and not _LEARNT & set(edit.roles):
        return True  # and no rows of folds whose number is the seed
    if "seed" in edit.key.lower() or edit.setting == "seed":
        return True
    if edit.within and not edit.within[0][0].isalnum():
        return False  # a number that is counted or compared with is no setting of that name
    if edit.kind == "constant" and (_chooses(edit) or _sides(edit.gone) != _sides(edit.new)):
        return False
    argument = edit.within[0].rpartition(".")[2] if edit.within else ""
    named = (
        argument.isidentifier() and edit.within[0] != "assign.value"
    )  # `out = tokenizer(text, max_length=8)`
    name = argument if named else edit.key
    return bool(name) and edit.kind == "constant" and is_harmless(name)


def _of_ascend_session(edit: Edit) -> bool:
    """What every port of TensorFlow 1 to Ascend has: options of the session, NPU before a class's name.

    What the options say of the number format is read as a setting.
    """
    if edit.kind == "added":
        return "rewrite_options" in edit.new and "graph_options" in edit.new
    if edit.kind == "removed":
        return edit.theirs_code == "hvd.init()"
    gone, new = ({w for w in words if w.endswith("()")} for words in (edit.gone, edit.new))
    if edit.kind != "replaced" or len(gone) != 1:
        return False
    one = min(gone)
    return f"NPU{one}" in new or (one, min(new, default="")) in _RANKS


_RANKS = (("size()", "get_rank_size()"), ("rank()", "get_rank_id()"))
_LEARNT = frozenset({"inputs", "labels", "loss", "loss.prediction", "loss.target"})
_OF_EVALUATION = re.compile(r"(?i)^(?:val|valid|eval|test|dev|infer)\w*_(?:bs|batch|batch_?size)$")


# activations of one family: which of them it is changes no result that a second seed would not change
_SMOOTH = frozenset({"relu", "gelu", "silu", "swish", "mish"})


_POSITIVE = frozenset({"softplus", "exponential", "exp"})


def _of_one_range(edit: Edit) -> bool:
    """A layer's activation for another one, and both give all positive numbers: a rate, a variance."""
    if edit.kind != "constant" or not edit.within or not edit.within[0].endswith(".activation"):
        return False
    words = {_act(w) for w in edit.gone | edit.new}
    return len(words) == 2 and words <= _POSITIVE


def _last_of_three(edit: Edit) -> bool:
    """`argmax(axis=-1)` and `argmax(axis=2)`: the same of scores by row, position and class."""
    if edit.kind != "constant" or edit.within[:1] not in (("argmax.dim",), ("argmin.dim",)):
        return False
    return edit.gone | edit.new == {"-1.0", "2.0"}


def _act(word: str) -> str:
    return word.strip("'$:").removesuffix("()").lower()


def _only_faster(edit: Edit) -> bool:
    """`model = torch.compile(model)`: the same operations; Keras' `compile` has a loss and an optimizer."""
    told = {w.partition(".")[2] for w in edit.new if w.startswith("compile.")}
    done = {w for w in edit.new if w.endswith("()")} - {"compile()", "to()", "own()"}
    return told <= {"mode", "backend", "dynamic", "fullgraph", "model"} and not done and not core(edit.gone)


_DEVICES = (".device", ".accelerator", ".fabric")


_DEVICE = re.compile(r"\$(?::Accelerator|:device|(?:\w*_)?(?:device|dev|accelerator|fabric))$")


def _chooses(edit: Edit) -> bool:
    """What a state is kept or training is stopped by: `EarlyStopping(monitor="loss")`."""
    if {"'step'", "'epoch'"} & (edit.gone | edit.new) and edit.within[:1] == ("mapping.interval",):
        return True
    return any(fnmatchcase(w, pattern) for w in edit.within[:1] for pattern in _CHOOSERS)


_CHOOSERS = ("*Checkpoint.m*", "EarlyStopping.m*", "*.metric_for_best_model", "ReduceLROnPlateau.m*")


def _sides(words: frozenset[str]) -> set[str | None]:
    """The parts of the data that are named: {"'train.csv'"} -> {"train"}."""
    return {split_of(w.strip("'")) for w in words}


_SEEDS = {
    "manual_seed()",
    "seed()",
    "set_seed()",
    "seed_everything()",
    "set_random_seed()",
    "manual_seed_all()",
}


_LOUD = (
    "log*",
    "save_*",
    "*_dir",
    "eval_steps",
    "*_num_workers",
    "num_proc",
    "num_workers",
    "report_to",
    "run_name",
)


def is_loud(argument: str) -> bool:
    """An argument that says what is logged, saved or read at once."""
    return argument not in _OF_LOSSES and any(fnmatchcase(argument, pattern) for pattern in _LOUD)


_OF_LOSSES = ("log_input", "log_target")  # what a loss takes as a logarithm
