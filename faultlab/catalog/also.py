"""Causes that are right as well, with the reasons that several projects share."""

from __future__ import annotations

from generate import Also, literally, unseen

_WEAK, _FEW_SAMPLES = "hyperparameter.regularization-too-weak", "data.insufficient-samples"
_MANY = "hyperparameter.epochs-too-many"

SLOW = unseen(
    "the curve falls steadily to its end: a larger rate or more epochs would do",
    "hyperparameter.epochs-too-few",
    benchmark=False,
    script=None,
)
SHORT = unseen(
    "the run ends on a falling curve: a larger rate would have got further",
    "hyperparameter.learning-rate-too-small",
    benchmark=False,
    script=None,
)
HOT = unseen(
    "as it stands the rate is too large for it",
    "hyperparameter.learning-rate-too-large",
    benchmark=False,
    script=None,
)
LOW = unseen(
    "the logged rate is far too low from the first step to the last",
    "hyperparameter.learning-rate-too-small",
    benchmark=False,
    script=None,
)
BY_HEART = unseen(
    "validation turns up and the training set is learned by heart", _WEAK, benchmark=False, script=None
)
_LONG = unseen("training goes on after validation turned up", _MANY, benchmark=False, script=None)
TOO_WIDE = (
    literally("a model too large for the data is one with too few samples", _FEW_SAMPLES, benchmark=False)
    + _LONG
)
TOO_FEW = (
    literally("a set too small for the model is a model too large for the data", _WEAK, benchmark=False)
    + _LONG
    + literally("a subset of the benchmark's set", "porting.dataset-differs", benchmark=True)
)
NOTHING = unseen("nothing trains, for whatever reason", "graph.weight-frozen", "graph.optimizer")
CUT_OFF = unseen("what lies before the cut gets no gradient, as if it were frozen", "graph.weight-frozen")
KEPT = literally("state not cleared between steps, its definition says", "porting.training-procedure")
STALE = unseen(
    "validation does not follow the training: other weights or another path",
    "evaluation.logic",
    "processing.train-eval-mismatch",
)
_PORTED = unseen("the same, held against the benchmark", "porting.preprocessing-differs", benchmark=True)
SHIFTED = (
    unseen(
        "held-out inputs are unlike the training inputs: by their making or by their processing",
        "processing.train-eval-mismatch",
    )
    + _PORTED
    + literally("the validation set is not the benchmark's", "porting.dataset-differs", benchmark=True)
)
MISMATCHED = (
    unseen(
        "held-out inputs are unlike the training inputs: by their making or by their processing",
        "data.distribution-shift",
    )
    + _PORTED
)
MAPPED = unseen(
    "the metric of validation is wrong while training is right, whatever makes it so", "evaluation.logic"
)
RARE = literally(
    "validation has other shares of the classes than training", "data.distribution-shift"
) + unseen("samples of a class are few or were lost", "data.incomplete", benchmark=False)
HARDENED = unseen(
    "training stays hard: its inputs are made so, or the model is held back",
    "hyperparameter.regularization-too-strong",
    "processing.algorithm",
)
WRONG_LABELS = unseen("a share of the samples does not fit its labels", "data.label-errors")
OTHER_OPTIMIZER = literally("the update rule is another one than the benchmark's", "graph.optimizer")
SMALL_STEPS = unseen("every update is smaller than the benchmark's", "hyperparameter.learning-rate-too-small")
SUBSET = literally(
    "a part of the benchmark's samples is missing", "data.incomplete", "data.insufficient-samples"
)
SET_OTHERWISE = literally(
    "its setting is not the benchmark's", "porting.preprocessing-differs", benchmark=True
)
_MUTE = unseen(
    "class shares from the first epoch on, whatever the input, and no gradient is logged that would tell why",
    "init.zeros",
    "graph.dead-activation",
    "processing.algorithm",
    "data.label-errors",
)
_OPERATOR = unseen(
    "a backward pass deviates: of an operator or of its fusion, no log says",
    "operator.accuracy-error",
    "operator.fusion-error",
)


def mute(cause: str, *known: str) -> tuple[Also, ...]:
    """The other causes of a model that only guesses, where no gradient is logged; without those known."""
    return tuple(a for a in _MUTE if a.cause not in (cause, *known))


def operator(cause: str) -> tuple[Also, ...]:
    """The other cause of a deviating backward pass."""
    return tuple(a for a in _OPERATOR if a.cause != cause)
