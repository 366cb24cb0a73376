"""What operator dumps show of the batch: the range of what enters the model, and the targets' classes."""

from __future__ import annotations

import numpy as np

from ...engine.model import Place
from ..benchmark.compare import pair
from ..readers.text.first_batch import DATA
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Event, Run
from ..tensors.model import Operator, Tensor
from .dumps import NO_DUMP, dumps

EQUAL = 0.01  # relative: losses of one course
ALIKE = 0.05  # the same of two seeds
SAME = 1e-3  # relative: figures of weights that both sides start from
IGNORED = -100
_LOSSES = ("crossentropy", "nllloss")


def _first(run: Run) -> Operator | None:
    """The first operator of the forward pass that computes with weights, of the earliest step and rank."""
    for dump in sorted(dumps(run), key=lambda d: (d.step or 0, d.rank or 0)):
        for operator in dump.operators:
            if operator.direction == "forward" and operator.inputs and _weights(operator):
                return operator
    return None


def _weights(operator: Operator) -> tuple[Tensor, ...]:
    """Of a module its parameters, of a function what it is given behind its input."""
    return operator.parameters or tuple(t for t in operator.inputs[1:] if len(t.shape) > 1)


def _agree(a: Tensor, b: Tensor) -> bool:
    pairs = ((a.statistics.max, b.statistics.max), (a.statistics.min, b.statistics.min))
    return a.shape == b.shape and all(
        x is not None and y is not None and abs(x - y) <= SAME * max(abs(x), abs(y), 1e-12) for x, y in pairs
    )


def batch_of_other_scale(view: View, ratio: float) -> Finding:
    """The input of the first operator spans `ratio` times the benchmark's, and its weights are the same."""
    mine = _first(view.run)
    theirs = None if view.benchmark is None else _first(view.benchmark)
    if mine is None or theirs is None:
        told = _printed(view.run), None if view.benchmark is None else _printed(view.benchmark)
        if told[0] is not None and told[1] is not None:
            return _held(view, told[0], told[1], ratio)
        return unknown("no figures of the first batches lie on both sides (msprobe config_check, or a dump)")
    a, b = mine.inputs[0], theirs.inputs[0]
    if mine.name != theirs.name or a.shape[1:] != b.shape[1:] or "int" in a.dtype or "int" in b.dtype:
        return unknown(f"the dumps begin with {mine.name} and {theirs.name}, which are not given alike")
    if not all(_agree(x, y) for x, y in zip(_weights(mine), _weights(theirs), strict=False)):
        return unknown(f"{mine.name} has other weights in the benchmark's dump")
    ends = [(t.statistics.min, t.statistics.max) for t in (a, b)]
    spans = [high - low for low, high in ends if low is not None and high is not None]
    if len(spans) < 2 or not min(spans) > 0 or not max(spans) < float("inf"):
        return unknown(f"the range of what {mine.name} is given is not known on both sides")
    text = f"{mine.name} is given values from {ends[0][0]:.4g} to {ends[0][1]:.4g}"
    words = f"{text}, in the benchmark from {ends[1][0]:.4g} to {ends[1][1]:.4g}"
    if max(spans) / min(spans) >= ratio:
        losses = pair(view, "train/loss", 8)
        if not isinstance(losses, str) and np.median(np.abs(losses.run / losses.bench - 1)) < ALIKE:
            return unknown(f"{words}; the losses are like the benchmark's all the same: another batch?")
        where = (Place(a.file or mine.name, step=mine.step, rank=mine.rank),)
        return present(words, value=spans[0] / spans[1], threshold=ratio, where=where)
    return absent(words, threshold=ratio)


def _printed(run: Run) -> Event | None:
    return next((e for e in run.events_of("worked-out") if e.data == DATA), None)


def _held(view: View, mine: Event, theirs: Event, ratio: float) -> Finding:
    """The ranges that the logs of both sides print."""
    spans = [mine.value or 0.0, theirs.value or 0.0]
    words = f"{mine.text}, in the benchmark {theirs.text.partition(' that is printed ')[2]}"
    where = (Place(mine.file, mine.line), Place(theirs.file, theirs.line, side="benchmark"))
    if min(spans) > 0 and max(spans) / min(spans) >= ratio:
        losses = pair(view, "train/loss", 8)  # equal: what is printed is normalised further on
        if not isinstance(losses, str) and np.median(np.abs(losses.run / losses.bench - 1)) < EQUAL:
            return unknown(f"{words}; the losses are the benchmark's all the same", threshold=ratio)
        return present(words, value=spans[0] / spans[1], threshold=ratio, where=where)
    return absent(words, threshold=ratio)


@probe()
def targets_out_of_range(view: View) -> Finding:
    """A loss over classes is given a class that its scores have no column for."""
    looked = 0
    for dump in dumps(view.run):
        for operator in dump.operators:
            told = _classes(operator)
            if told is None:
                continue
            looked += 1
            count, low, high = told
            if high >= count or (low < 0 and low != operator.arguments.get("ignore_index", IGNORED)):
                return present(
                    f"{operator.name} is given classes from {low:g} to {high:g}, and scores of {count}",
                    value=high,
                    threshold=count,
                    step=operator.step,
                    where=(
                        Place(
                            operator.inputs[1].file or operator.name, step=operator.step, rank=operator.rank
                        ),
                    ),
                )
    if looked:
        return absent(f"the classes that {looked} losses are given have scores", value=looked)
    return unknown("no loss over classes is in the dumps" if dumps(view.run) else NO_DUMP)


def _classes(operator: Operator) -> tuple[int, float, float] | None:
    """How many classes have scores, and the lowest and the highest class that is asked for."""
    kind = "".join(c for c in operator.kind.lower() if c.isalpha())
    if operator.direction != "forward" or len(operator.inputs) < 2 or not kind.endswith(_LOSSES):
        return None
    scores, targets = operator.inputs[:2]
    low, high = targets.statistics.min, targets.statistics.max
    if "int" not in targets.dtype or len(scores.shape) < 1 or low is None or high is None:
        return None
    return scores.shape[1 if len(scores.shape) > 1 else 0], low, high
