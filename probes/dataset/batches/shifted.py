"""Pictures that show another part than the benchmark's: moved by whole pixels, or enlarged from the middle.

Arrays are [n, c, h, w], float64, of one shape on both sides.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...run import Floats
from .fitting import alike
from .model import Difference

ALIKE = 0.9  # correlation above which two pictures show the same thing
EXACT = 0.999
PLAIN = 0.25  # of the spread of all samples: a picture with less is too plain to tell where it was cut out
GRID, STEP, SMALLEST = 64, 0.025, 0.5  # squares by which a zoom is told; its steps, and the smallest
ZOOMED, LEAST_ZOOMED = 8, 5  # samples by which it is told, at most and at least
LEFT = 0.4  # of what differs, the share that a zoom may leave


def averaged(x: Floats, cells: int) -> Floats:
    """[n, c, cells, cells]: means over a coarse grid, the same part of the picture at any size."""
    for axis in (2, 3):
        edges = np.linspace(0, x.shape[axis], cells + 1).astype(int)[:-1]
        sizes = np.diff([*edges, x.shape[axis]])
        shape = [1, 1, 1, 1]
        shape[axis] = -1
        x = np.add.reduceat(x, edges, axis=axis) / sizes.reshape(shape)
    return x


def like(x: Floats, y: Floats) -> float:
    """How alike two pictures are; of [c, h, w] the least alike channel counts."""
    return min(alike(p, q) for p, q in zip(x, y, strict=True)) if x.ndim == 3 else alike(x, y)


def moved(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Moved by whole pixels: all samples alike, or each by its own (a random crop)."""
    moves: list[tuple[int, int] | None] = []
    for p, q in zip(x[:16], y[:16], strict=True):
        moves.append(_move(p, q))
        if moves.count(None) > 4:
            return []
    known = [m for m in moves if m is not None]  # of what is plain nothing can be told
    if len(known) < max(2, 0.75 * len(moves)) or set(known) == {(0, 0)}:
        return []
    if any(
        m is None and min(p.std(), q.std()) > PLAIN * x.std() for m, p, q in zip(moves, x, y, strict=False)
    ):
        return []
    if len(set(known)) == 1:
        down, right = known[0]
        words = (
            f"{name}: moved by {down} rows and {right} columns: another part of the picture is cut "
            "out, or it is padded otherwise"
        )
        return [Difference(name, "crop", words, float(max(abs(down), abs(right))))]
    if _from_corner(known):
        words = (
            f"{name}: another crop, by the size of each picture: from a corner on one side, from the middle "
            "on the other"
        )
        return [Difference(name, "crop", words, float(len(set(known))))]
    words = f"{name}: another part of the picture in each sample: a random crop or shift is on"
    return [Difference(name, "augmentation", words, float(len(set(known))))]


def _from_corner(known: list[tuple[int, int]]) -> bool:
    """Whether all are moved one way: by a fixed step along the shorter side, by more along the longer one."""
    downs, rights = zip(*known, strict=True)
    steps = {min(abs(d), abs(r)) for d, r in known}
    one_way = all(min(s) >= 0 or max(s) <= 0 for s in (downs, rights))
    return one_way and len(steps) == 1 and len(known) >= 5 and len(set(known)) >= 3


def _move(x: Floats, y: Floats) -> tuple[int, int] | None:
    """Rows and columns by which y [c, h, w] lies further in x, where what overlaps is the same picture."""
    a, b = (s.mean(axis=0) for s in (x, y))
    for detail in (False, True):
        found = _overlap(x, y, a, b, detail=detail)
        if found is not None:
            return found
    return None


def _overlap(x: Floats, y: Floats, a: Floats, b: Floats, *, detail: bool) -> tuple[int, int] | None:
    """`_move` by the grey pictures `a` and `b` [h, w], or by their detail: soft ones fit anywhere."""
    h, w = a.shape
    if detail:
        a, b = (
            s - sum(np.roll(s, m, (0, 1)) for m in ((0, 1), (1, 0), (0, -1), (-1, 0))) / 4 for s in (a, b)
        )
        for s in (a, b):
            s[[0, -1]] = 0
            s[:, [0, -1]] = 0
    a, b = (np.pad(s - s.mean(), ((0, h), (0, w))) for s in (a, b))
    score = np.fft.irfft2(np.fft.rfft2(a) * np.conj(np.fft.rfft2(b)), a.shape)
    for at in np.argsort(score, axis=None)[::-1][: 8 if detail else 40]:
        down, right = (int(v) for v in np.unravel_index(at, score.shape))
        down, right = down - 2 * h * (down > h), right - 2 * w * (right > w)
        if abs(down) > 0.75 * h or abs(right) > 0.75 * w:
            continue
        p = x[:, max(0, down) : h + min(0, down), max(0, right) : w + min(0, right)]
        q = y[:, max(0, -down) : h + min(0, -down), max(0, -right) : w + min(0, -right)]
        inner = (slice(None), slice(1, -1), slice(1, -1))
        if min(p.shape[1:]) >= 6 and like(p[inner], q[inner]) >= EXACT:
            return down, right
    return None


def zoomed(name: str, x: Floats, y: Floats) -> list[Difference]:
    """One side shows the middle of the other, enlarged: not cropped, stretched, or padded to its shape."""
    small = [averaged(s, min(GRID, *s.shape[2:])).mean(axis=1) for s in (x[:ZOOMED], y[:ZOOMED])]
    told = [i for i in range(len(small[0])) if min(s[i].std() for s in small) > PLAIN * small[1].std()]
    if len(told) < LEAST_ZOOMED:
        return []
    best = []
    for whole, part in (small, small[::-1]):
        found = [_inner(whole[i], part[i]) for i in told]
        good = [f for f in found if f is not None]
        best.append(good if len(good) >= 0.75 * len(told) else [])
    if not any(best) or all(best):
        return []
    good, (more, less) = (best[0], ("here", "there")) if best[0] else (best[1], ("there", "here"))
    low, high = np.min(good, axis=0), np.max(good, axis=0)
    said = f"{name}: the pictures show more {more}: {less} they are its middle, enlarged"
    if (high - low).max() <= 2 * STEP + 1e-9:
        rows, columns = np.median(good, axis=0)
        words = f"{said} ({rows:.0%} of the rows, {columns:.0%} of the columns): resized to another size "
        words += "before the crop, or not cropped"
    else:
        words = f"{said}, by the shape of each: the whole is resized on one side, by its shorter side and "
        words += "then cropped (or by its longer side and then padded, letterbox) on the other"
    return [Difference(name, "crop", words, float(np.median(good)))]


def _inner(whole: Floats, part: Floats) -> tuple[float, float] | None:
    """The shares of rows and columns of `whole` [h, w] whose middle, enlarged, is `part`, or None."""
    h, w = whole.shape
    shares = np.arange(SMALLEST, 1 + STEP / 2, STEP)
    raw = alike(whole, part)
    across = [whole @ _enlarged(w, s).T for s in shares]
    close = [[alike(_enlarged(h, r) @ a, part) for a in across] for r in shares]
    best = np.unravel_index(int(np.argmax(close)), (len(shares), len(shares)))
    score = close[int(best[0])][int(best[1])]
    if score < ALIKE or 1 - score > LEFT * (1 - raw):
        return None
    return float(shares[best[0]]), float(shares[best[1]])


@lru_cache(maxsize=64)
def _enlarged(n: int, share: float) -> Floats:
    """The matrix [n, n] that enlarges the middle of n values, a share of them, to n values (linear)."""
    at = np.clip((np.arange(n) + 0.5 - n / 2) * share + n / 2 - 0.5, 0, n - 1)
    low = np.minimum(at.astype(int), n - 2)
    found = np.zeros((n, n))
    found[np.arange(n), low] = 1 - (at - low)
    found[np.arange(n), low + 1] += at - low
    return found
