"""Waveforms, spectrograms and time series beside the benchmark's: [n, time] or [n, time, features]."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ...run import Floats
from .fitting import CLOSE, alike, clipped, function, line, listed, scaled
from .model import Difference
from .pictures import first, per_sample
from .shifted import ALIKE, EXACT

WAVE = ("audio", "wav", "speech", "signal", "pcm", "sound")
SERIES = (*WAVE, "mel", "spec", "fbank", "mfcc", "series", "seq", "window", "history")
LONG = 512  # columns above which rows are taken for a signal, whatever they are called
TAPS = 3


def is_series(name: str, shape: tuple[int, ...]) -> bool:
    """Whether a field holds signals: three axes, very long rows, or a name that says so."""
    named = any(w in name.lower() for w in SERIES)
    return len(shape) == 3 or (len(shape) == 2 and (shape[1] > LONG or (named and shape[1] >= 8)))


# ------------------------------------------------------------------------------------ another shape


def shapes(name: str, said: str, x: Floats, y: Floats) -> tuple[list[Difference], Floats, Floats]:
    """Explain other shapes of [n, ...]; what comes back with equal shapes can be compared further."""
    if x.ndim == y.ndim and sorted(x.shape) == sorted(y.shape):
        turned = _transposed(x, y)
        if turned is not None:
            order, made = turned
            batch = "batch and time are exchanged" if order[0] != 0 else "the axes stand in another order"
            return [Difference(name, "layout", f"{said}: {batch}")], made, y
    if abs(x.ndim - y.ndim) == 1:
        found = _channels(name, said, x, y)
        if found is not None:
            return found
    if x.ndim == y.ndim and x.shape[2:] == y.shape[2:]:
        return [_lengths(name, said, x, y)], x, y
    return [Difference(name, "size", said)], x, y


def _transposed(x: Floats, y: Floats) -> tuple[tuple[int, ...], Floats] | None:
    """The order of axes that brings x nearest to y; where numbers do not tell, one that keeps the first."""
    fits = [(o, x.transpose(o)) for o in permutations(range(x.ndim)) if x.transpose(o).shape == y.shape]
    fits = [(o, t) for o, t in fits if o != tuple(range(x.ndim))]
    scores = [abs(alike(t, y)) for _, t in fits]
    if not fits:
        return None
    best = int(np.argmax(scores))
    if scores[best] >= ALIKE:
        return fits[best]
    kept = [f for f in fits if f[0][0] == 0]
    return kept[0] if len(kept) == 1 and x.shape[0] == y.shape[0] else None


def _channels(name: str, said: str, x: Floats, y: Floats) -> tuple[list[Difference], Floats, Floats] | None:
    """One side has channels, the other has not: mono and stereo, or an axis of one."""
    more, less, side = (x, y, "here") if x.ndim > y.ndim else (y, x, "in the benchmark")
    n = min(len(more), len(less))
    for axis in range(1, more.ndim):
        if more.shape[axis] > 8 or (more.shape[:axis] + more.shape[axis + 1 :])[1:] != less.shape[1:]:
            continue
        channels = more.shape[axis]
        if channels == 1:
            found = [Difference(name, "layout", f"{said}: an axis of one channel {side} alone")]
            rest = np.asarray(more.take(0, axis=axis))
        else:
            versions = [("their mean", np.asarray(more.mean(axis=axis)))]
            versions += [(f"channel {i}", np.asarray(more.take(i, axis=axis))) for i in range(channels)]
            fitting = [v for v in versions if np.allclose(v[1][:n], less[:n], 1e-4, 1e-6)]
            how, rest = fitting[0] if fitting else ("", versions[0][1])
            what = f" (the other side holds {how})" if how else ""
            word = "stereo" if channels == 2 else f"{channels} channels"
            found = [
                Difference(name, "layout", f"{said}: {word} {side}, one channel on the other side{what}")
            ]
            if not how:
                return found, x, y
        return (found, rest, y) if side == "here" else (found, x, rest)
    return None


def _lengths(name: str, said: str, x: Floats, y: Floats) -> Difference:
    """Another length of axis 1: cut at one end, or another sampling rate."""
    n = min(len(x), len(y))
    a, b = first(x[:n], y[:n])
    short, long, side = (a, b, "here") if a.shape[1] < b.shape[1] else (b, a, "in the benchmark")
    room = long.shape[1] - short.shape[1]
    for start, words in (
        (0, "the beginning is kept"),
        (room, "the end is kept"),
        (room // 2, "the middle is kept"),
    ):
        if alike(short, long[:, start : start + short.shape[1]]) >= EXACT:
            return Difference(name, "truncation", f"{said}: cut {side}, {words}", float(x.shape[1]))
    for start in range(1, min(room, 64)):
        if alike(short, long[:, start : start + short.shape[1]]) >= EXACT:
            words = f"{said}: cut {side}, from position {start} on"
            return Difference(name, "truncation", words, float(x.shape[1]))
    at = np.linspace(0, long.shape[1], short.shape[1], endpoint=False)
    low = at.astype(int)
    high = np.minimum(low + 1, long.shape[1] - 1)
    share = (at - low).reshape(1, -1, *[1] * (x.ndim - 2))
    made = long[:, low] * (1 - share) + long[:, high] * share
    if alike(short, made) >= ALIKE:
        ratio = a.shape[1] / b.shape[1]
        words = f"{said}: the whole signal at {ratio:.4g} times the benchmark's sampling rate"
        return Difference(name, "resampling", words, ratio)
    return Difference(name, "size", f"{said}: another length", float(x.shape[1]))


# ------------------------------------------------------------------------------------ the same shape


def explain(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Explain two sides of one shape [n, time] or [n, time, features]."""
    for find in (_lined, _flipped, clipped, function, _each, _lagged, _filtered):
        found = find(name, *first(x, y))
        if found:
            return found
    return []


def _lined(name: str, x: Floats, y: Floats) -> list[Difference]:
    fit = line(x, y)
    if fit.residual <= CLOSE:
        return scaled(name, x, y, fit)
    for axis in range(1, x.ndim):
        if x.ndim > 2 and x.shape[axis] <= 512:
            fit = line(x, y, keep=(axis,))
            if fit.residual <= CLOSE:
                return scaled(name, x, y, fit)
    return []


def _flipped(name: str, x: Floats, y: Floats) -> list[Difference]:
    for axis in range(1, x.ndim):
        turned = np.flip(x, axis)
        fit = line(turned, y)
        if fit.residual <= CLOSE:
            which = (
                "rows run backwards" if x.ndim == 2 else f"axis {axis} ({x.shape[axis]} long) runs backwards"
            )
            return [Difference(name, "flip", f"{name}: {which}"), *scaled(name, turned, y, fit)]
    return []


def _each(name: str, x: Floats, y: Floats) -> list[Difference]:
    found = per_sample(name, x, y)
    return found or (per_sample(name, x, y, axis=x.ndim - 1) if x.ndim == 3 else [])


def _lagged(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Moved along the first axis behind the samples'."""
    for lag in range(1, min(65, x.shape[1] // 2)):
        for by in (lag, -lag):
            a, b = (x[:, by:], y[:, :-by]) if by > 0 else (x[:, :by], y[:, -by:])
            if np.isclose(a[:, ::7], b[:, ::7], 1e-5, 1e-6).mean() >= 0.98 and alike(a, b) >= EXACT:
                way = "later" if by > 0 else "earlier"
                words = (
                    f"{name}: windows begin {lag} step{'s' * (lag > 1)} "
                    f"{'earlier' if way == 'later' else 'later'} here than in the benchmark"
                )
                return [Difference(name, "crop", words, float(-by))]
    return []


def _filtered(name: str, x: Floats, y: Floats) -> list[Difference]:
    """x = k0 y[t] + k1 y[t-1] + k2 y[t-2], or the other way round: pre-emphasis, differences."""
    for target, source, side in ((x, y, "here"), (y, x, "in the benchmark")):
        length = source.shape[1]
        if length <= 2 * TAPS:
            continue
        parts = [source[:, TAPS - 1 - k : length - k].reshape(-1) for k in range(TAPS)]
        wanted = target[:, TAPS - 1 :].reshape(-1)
        step = max(1, wanted.size // 200_000)
        columns = np.stack([p[::step] for p in parts], 1)
        taps, *_ = np.linalg.lstsq(columns, wanted[::step], rcond=None)
        left = float((wanted[::step] - columns @ taps).std())
        if left <= CLOSE * (float(wanted.std()) or 1.0):
            taps = np.where(np.abs(taps) < 1e-4, 0, taps)
            change = np.allclose(taps, (1, -1, 0), atol=1e-3)
            how = "differences from step to step" if change else f"a filter with the taps {listed(taps)}"
            emphasis = not change and taps[0] and -1 < taps[1] / taps[0] < -0.8 and not taps[2]
            how += " (pre-emphasis)" if emphasis else ""
            words = f"{name}: {how} {side} and not on the other side"
            return [Difference(name, "function", words, float(taps[1]))]
    return []
