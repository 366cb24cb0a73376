"""Boxes beside the benchmark's, [..., 4 or more]: corners or centres, pixels or shares, order of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...run import Floats
from .fitting import CLOSE, line, listed
from .model import Difference

_Form = Callable[[Floats], Floats]


def is_boxes(name: str, shape: tuple[int, ...]) -> bool:
    """Whether a field is called like boxes and has four columns at least."""
    return "box" in name.lower() and len(shape) >= 2 and 4 <= shape[-1] <= 6


def _corners(b: Floats) -> Floats:
    return b


def _sizes(b: Floats) -> Floats:
    return np.concatenate([b[..., :2], b[..., 2:] - b[..., :2]], axis=-1)


def _centres(b: Floats) -> Floats:
    return np.concatenate([(b[..., :2] + b[..., 2:]) / 2, b[..., 2:] - b[..., :2]], axis=-1)


def _swapped(b: Floats) -> Floats:
    return b[..., [1, 0, 3, 2]]


_FORMS: dict[str, _Form] = {
    "corners (x1, y1, x2, y2)": _corners,
    "corner and size (x, y, w, h)": _sizes,
    "centre and size (cx, cy, w, h)": _centres,
}


def _ways() -> Iterator[tuple[str, str, _Form, _Form]]:
    """(here, there, form of here from corners, form of there)."""
    names = list(_FORMS)
    for here in names:
        for there in names:
            yield here, there, _FORMS[here], _FORMS[there]


def _to_corners(b: Floats, form: str) -> Floats:
    if form.startswith("corners"):
        return b
    if form.startswith("corner "):
        return np.concatenate([b[..., :2], b[..., :2] + b[..., 2:]], axis=-1)
    return np.concatenate([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], axis=-1)


def explain(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Explain boxes of one shape; what stands behind the fourth column is left aside."""
    filled = (np.abs(y[..., :4]).sum(axis=-1) > 0) & (np.abs(x[..., :4]).sum(axis=-1) > 0)
    a, b = x[..., :4][filled], y[..., :4][filled]
    if len(a) < 2:
        return []
    best: tuple[int, list[Difference]] | None = None
    for here, there, _, there_form in _ways():
        if here == there != "corners (x1, y1, x2, y2)":
            continue
        made = there_form(_to_corners(a, here))
        for swap in (False, True):
            found = _same(name, _swapped(made) if swap else made, b, here, there, swap)
            if found and (best is None or len(found[0].words) < best[0]):
                best = len(found[0].words), found
    return best[1] if best else []


def _same(name: str, made: Floats, b: Floats, here: str, there: str, swap: bool) -> list[Difference]:
    said = [] if here == there else [f"{here} here, {there} in the benchmark"]
    if swap:
        said.append("x and y are exchanged")
    fit = line(made, b, keep=(1,))
    slope, offset = 1 / np.where(fit.slope == 0, 1, fit.slope), fit.offset
    if fit.residual > CLOSE or not np.allclose(slope[:2], slope[2:], rtol=5e-3):
        return []
    size = float(np.abs(b).max()) or 1.0
    if not np.allclose(offset, 0, atol=1e-4 * size):
        if not np.allclose(slope, 1, rtol=1e-3):
            return []
        said.append(f"{listed(-offset)} is added here")
    elif not np.allclose(slope, 1, rtol=1e-3):
        shares = float(np.abs(b * slope).max()) <= 1.5 < size
        pixels = size <= 1.5 < float(np.abs(b * slope).max())
        how = (
            "shares of the picture here, pixels there"
            if shares
            else "pixels here, shares of the picture there"
        )
        what = f"{how}: " if shares or pixels else ""
        said.append(f"{what}{listed(slope)} times the benchmark's")
    return [Difference(name, "boxes", f"{name}: {'; '.join(said)}")] if said else []
