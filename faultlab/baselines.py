"""Published detectors, as far as a logged run lets them speak, with their published thresholds.

Re-implemented from their documentation (shared knowledge notes PEERS and PEERS-ASCEND name the sources): the
conditions on loss, metrics and gradient norm. What they measure inside the network (activations, weights,
gradients per layer) is not in a log, so those rules stay silent here; that is said in docs/quality.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from traindoctor.probes.run import Floats, Run

_NONE = np.empty(0)


def values(run: Run, *names: str) -> Floats:
    """The logged values of the first of these series that the run has."""
    return next((run.series[n].values for n in names if n in run.series), _NONE)


def non_finite(run: Run) -> bool:
    """SageMaker Debugger ExplodingTensor: a non-finite value."""
    return any(
        not np.isfinite(s.values).all() for n, s in run.series.items() if "loss" in n or n == "grad_norm"
    )


def loss_not_decreasing(run: Run, steps: int = 10, percent: float = 0.1, increase: float = 5.0) -> bool:
    """SageMaker Debugger LossNotDecreasing: not down by 0.1 % over 10 logged steps, or up by over 5 %."""
    loss = values(run, "train/loss")
    if len(loss) <= steps:
        return False
    change = 100 * (loss[steps:] - loss[:-steps]) / np.abs(loss[:-steps]).clip(1e-12)
    return bool((change > -percent).any() or (change > increase).any())


def overfit(run: Run, ratio: float = 0.1, patience: int = 1) -> bool:
    """SageMaker Debugger Overfit: (validation - train) / train above 0.1 for more than one check."""
    train, held_out = run.series.get("train/loss"), run.series.get("eval/loss")
    if train is None or held_out is None or len(train) < 2:
        return False
    beside = np.interp(held_out.steps, train.steps, train.values)
    above = (held_out.values - beside) / np.abs(beside).clip(1e-12) > ratio
    return bool(np.convolve(above, np.ones(patience + 1), "valid").max(initial=0) > patience)


def overtraining(
    run: Run, train_patience: int = 5, validation_patience: int = 10, delta: float = 0.01
) -> bool:
    """SageMaker Debugger Overtraining: no improvement by 0.01 for 5 (train) or 10 (validation) checks."""
    return _stalled(values(run, "train/loss"), train_patience, delta) or _stalled(
        values(run, "eval/loss"), validation_patience, delta
    )


def _stalled(loss: Floats, patience: int, delta: float) -> bool:
    best, since = np.inf, 0
    for value in loss:
        since = 0 if value < best - delta else since + 1
        best = min(best, value)
        if since > patience:
            return True
    return False


def vanishing_gradient(run: Run, threshold: float = 1e-7) -> bool:
    """SageMaker Debugger VanishingGradient: below 1e-7 (on the norm, as the log has it)."""
    norms = values(run, "grad_norm")
    return bool(len(norms) and (norms < threshold).any())


def sagemaker(run: Run) -> bool:
    """Any of SageMaker Debugger's rules that a log can feed."""
    return any(
        rule(run) for rule in (non_finite, loss_not_decreasing, overfit, overtraining, vanishing_gradient)
    )


def autotrainer(run: Run) -> bool:
    """AutoTrainer: loss not finite, above 1000 or negative; accuracy not converged, slow or oscillating.

    The original judges every third epoch from 30 % of the run on; here once, at the end, which can only lower
    its alarms. Its accuracy is per epoch, so training accuracy counts only where it was logged per epoch.
    """
    loss = values(run, "train/loss")
    if len(loss) and (not np.isfinite(loss).all() or (loss >= 1e3).any() or (loss < 0).any()):
        return True
    train, held_out = values(run, "train/accuracy"), values(run, "eval/accuracy")
    both = [a for a in (train, held_out) if len(a) == len(held_out) > 1]
    if not both:
        return False
    low = all(a.max() < 0.6 for a in both)
    slow = all(np.diff(a).max() < 0.01 for a in both)
    return bool(low or slow or swings(both[0]) >= 0.2 * len(both[0]))


def swings(accuracy: Floats, zeta: float = 0.03) -> int:
    """How often the curve falls by at least zeta from a local maximum to the next local minimum."""
    count, top = 0, accuracy[0]
    for i, value in enumerate(accuracy[1:], 1):
        falling = value < accuracy[i - 1]
        lowest = i + 1 == len(accuracy) or accuracy[i + 1] > value
        count += bool(falling and lowest and top - value >= zeta)
        top = top if falling else value
    return count


def deeplocalize(run: Run, window: int = 5) -> bool:
    """DeepLocalize on loss and accuracy: not finite, zero in half of the points, or unchanged over five."""
    for name in ("train/loss", "train/accuracy", "eval/loss", "eval/accuracy"):
        series = values(run, name)
        if not len(series):
            continue
        if not np.isfinite(series).all() or (series == 0).mean() >= 0.5:
            return True
        if len(series) >= window and any(
            np.ptp(series[i : i + window]) == 0 for i in range(len(series) - window + 1)
        ):
            return True
    return False


def msprobe_monitor(run: Run, threshold: float = 0.5, decay: float = 0.99) -> bool:
    """The msprobe monitor's alerts on loss and gradient norm: not finite, or 50 % above their average."""
    for name in ("train/loss", "grad_norm"):
        series = values(run, name)
        if not len(series):
            continue
        average = abs(series[0])
        for value in series[1:]:
            if not np.isfinite(value) or abs(value) > (1 + threshold) * average:
                return True
            average = decay * average + (1 - decay) * abs(value)
    return False


DETECTORS: dict[str, Callable[[Run], bool]] = {
    "SageMaker Debugger (5 of its rules)": sagemaker,
    "  ExplodingTensor": non_finite,
    "  LossNotDecreasing": loss_not_decreasing,
    "  Overfit": overfit,
    "  Overtraining": overtraining,
    "  VanishingGradient": vanishing_gradient,
    "AutoTrainer (conditions on loss and accuracy)": autotrainer,
    "DeepLocalize (conditions on loss and accuracy)": deeplocalize,
    "msprobe monitor alerts (threshold 0.5)": msprobe_monitor,
}
