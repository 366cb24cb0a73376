"""The gradient norm against the benchmark's: larger by a factor, smaller, or apart from some step on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config.values import number_of
from ..curves import situation
from ..registry import Finding, View, absent, present, probe, unknown
from .common import adapters_apart, losses_agree, other_rate, places_of, rates_part, same_batches
from .compare import pair

LEAST_COUNT = 3  # batches: what is twice the benchmark's may have many reasons
NEAR = 0.1  # of the logarithm of a ratio: what is meant is the number itself


@probe("grad_norm", "benchmark:grad_norm")
def grad_norm_scaled(view: View, ratio: float, points: int = 6) -> Finding:
    """The gradient norm is a steady multiple of the benchmark's while the losses agree.

    Unknown where the learning rates differ: other steps take another path.
    """
    found = pair(view, "grad_norm", points)
    if isinstance(found, str):
        return unknown(found)
    other = other_rate(view) or situation.reinforced(view.run) or adapters_apart(view)
    if other:
        return unknown(other)
    positive = (found.run > 0) & (found.bench > 0)
    if np.sum(positive) < points:
        return unknown(f"fewer than {points} common positive gradient norms")
    logs = np.log(found.run[positive] / found.bench[positive])
    early = logs[: max(points, len(logs) // 3)]
    middle = float(np.median(early))
    spread = 1.4826 * float(np.median(np.abs(early - middle)))
    factor = float(np.exp(middle))
    text = (
        f"the gradient norm is {factor:.2f} times the benchmark's (median of the first {len(early)} points)"
    )
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "series": ("grad_norm", "train/loss")}
    error = spread / np.sqrt(len(early))
    if abs(middle) <= np.log(ratio) or abs(middle) < 4 * error:
        return absent(text, **rest)
    if spread > 0.5 * abs(middle):
        return absent(f"{text}, but the ratio is not steady", **rest)
    count = _count_of(view, factor)
    if count and error < NEAR / 2:
        return present(f"{text}, and {count}", step=float(found.x[0]), where=places_of(found, 0), **rest)
    agree = losses_agree(view, 0.3, 0.1)
    if agree is None:
        return unknown(f"{text}; the losses cannot be compared", **rest)
    if not agree:
        return absent(f"{text}, and the losses differ too", **rest)
    return present(f"{text}; the losses agree", step=float(found.x[0]), where=places_of(found, 0), **rest)


def _count_of(view: View, factor: float) -> str:
    """In words, that the factor is the count of accumulated batches: such steps leave no loss that agrees."""
    count = number_of(view.run, "gradient_accumulation_steps")
    if count is None or count < LEAST_COUNT or abs(np.log(factor / count)) >= NEAR:
        return ""
    return f"the gradients of {count:g} batches are accumulated"


@probe("grad_norm", "benchmark:grad_norm", "train/loss", "benchmark:train/loss")
def grad_norm_below_at_start(
    view: View, ratio: float, loss: float, far: float = 0.0, points: int = 5
) -> Finding:
    """Over the first `points` common points the gradient norm is below `ratio` of the benchmark's.

    The losses there have to agree within `loss` in the median: then the same error sends less gradient
    through the model, because part of it takes none. At most one norm may lie above the benchmark's.
    Below `far` it is a finding of another symptom, and unknown here: one observation counts once.
    """
    found = pair(view, "grad_norm", points)
    losses = pair(view, "train/loss", points)
    if isinstance(found, str) or isinstance(losses, str):
        return unknown(found if isinstance(found, str) else str(losses))
    if np.any(found.bench[:points] <= 0) or np.any(losses.bench[:points] <= 0):
        return unknown("the benchmark's first gradient norms or losses are not positive")
    shares = found.run[:points] / found.bench[:points]
    share = float(np.median(shares))
    apart = float(np.median(np.abs(losses.run / losses.bench - 1)[:points]))
    text = (
        f"the first {points} gradient norms are {share:.2f} times the benchmark's,"
        f" the losses there differ by {apart:.1%}"
    )
    rest: dict[str, Any] = {"value": share, "threshold": ratio, "series": ("grad_norm", "train/loss")}
    if apart > loss:
        return unknown(f"{text}: too far apart to compare gradients")
    if said := adapters_apart(view):
        return unknown(f"{text}; {said}", **rest)
    if share < far:
        return unknown(f"{text}: more than a part of the model", **rest)
    if share <= ratio and float(np.sort(shares)[-2]) < 1.0:
        return present(text, step=float(found.x[0]), where=places_of(found, 0), **rest)
    return absent(text, **rest)


@probe("grad_norm", "benchmark:grad_norm", "train/loss", "benchmark:train/loss")
def grad_norm_departs(view: View, relative: float, loss: float, multiple: float, points: int = 30) -> Finding:
    """On the same batches losses agree within `loss`, and the gradient norm is steadily off by `relative`.

    The median of the log-ratio over the last two thirds counts, beyond four of its standard errors. A steady
    multiple beyond `multiple` is no coarse gradient but one that is summed or scaled: `grad_norm_scaled`
    tells it, and one observation counts once.
    """
    found, losses = pair(view, "grad_norm", points), pair(view, "train/loss", points)
    if isinstance(found, str) or isinstance(losses, str):
        return unknown(found if isinstance(found, str) else str(losses))
    if not same_batches(view, losses):
        return unknown("seed or data order are not known to be equal: other batches have other gradients")
    if said := rates_part(view):
        return unknown(said)
    positive = (found.run > 0) & (found.bench > 0)
    if np.sum(positive) < points or np.any(losses.bench <= 0):
        return unknown("too few positive gradient norms or losses")
    apart = np.abs(losses.run / losses.bench - 1)
    logs = np.log(found.run[positive] / found.bench[positive])
    late = logs[len(logs) // 3 :]
    middle = float(np.median(late))
    error = 1.4826 * float(np.median(np.abs(late - middle))) * 1.2533 / len(late) ** 0.5
    text = (
        f"the gradient norm is {np.exp(middle):.3f} times the benchmark's on the same batches,"
        f" the losses differ by {float(np.median(apart)):.1%}"
    )
    rest: dict[str, Any] = {
        "value": float(np.exp(middle)),
        "threshold": 1 + relative,
        "series": ("grad_norm", "train/loss"),
    }
    if float(np.median(apart)) > loss:
        return unknown(f"{text}: too far apart to compare gradients", **rest)
    steady = 1.4826 * float(np.median(np.abs(late - middle))) < 0.5 * abs(middle)
    if abs(middle) > np.log(multiple) and steady:
        return unknown(f"{text}: a steady multiple, which is a finding of its own", **rest)
    if abs(middle) > np.log(1 + relative) and abs(middle) > 4 * error:
        return present(text, where=places_of(found, len(found) - 1), **rest)
    return absent(text, **rest)
