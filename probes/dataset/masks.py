"""Masks looked into: which values they hold, whether borders are smoothed, and whether they fit their image.

A mask fits where its borders lie on edges of the picture. Of a mask of another picture, of one that was
turned or moved, they lie on the edges of that picture, and here on whatever is there.
"""

from __future__ import annotations

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from ..run import Floats
from .gather import Budget
from .model import Masked, Part

MOST = 150  # masks of a part that are looked at
SECONDS = 6.0  # for all of them
STEP = 384  # pixels of a side that are looked at: others are passed over, never blended
EDGE = 128  # rows and columns on which borders are held against edges
MOST_PIXELS = 50_000_000
BETWEEN, MOST_BETWEEN = 8, 0.15  # values between the two ends of a smoothed mask, and the share of its pixels
SINGLE = 0.02  # share of the pixels up to which one of these values is no class
LEAST = 15  # pairs by which it is told
BORDER = 30  # pixels of border that tell
TIMES, MOSTLY, SHARP = 1.5, 0.8, 1.6  # times the edges of its own place; share of pairs; times the mean edge
# The same for masks that were moved: drawn loosely around a thing they lie on half of its edges when moved.
SHIFTED = (2.0, 3.0)
ONE_WAY = 2.5  # times that borders lie better on edges when moved one way than the other
_MEANT = re.compile(r"alpha|matt|trimap|depth|heat|prob|soft|salien|dispar", re.I)
_OF_MASKS = re.compile(
    r"[-_. ]?(?:mask|masks|label|labels|labelids|labeltrainids|gt|seg|segmentation|gtfine)$", re.I
)


def stem(path: str) -> str:
    """The name that an image and its mask share: "city_01_leftImg8bit" and "city_01_gtFine_labelIds"."""
    found = path.rpartition("/")[2].rpartition(".")[0].lower().removesuffix("_leftimg8bit")
    while (cut := _OF_MASKS.sub("", found)) != found and cut:
        found = cut
    return found


def with_masks(parts: Sequence[Part], files: Mapping[str, RunFile], budget: Budget) -> list[Part]:
    """Look into a few masks of each part, through Pillow if it is there; other parts stay as they are."""
    if not any(p.kind == "masks" for p in parts):
        return list(parts)
    try:
        from PIL import Image
    except ImportError:
        return list(parts)
    look = _Look(Image, files, budget)
    found = []
    for part in parts:
        beside = [p for p in parts if p.kind == "images" and p.split == part.split]
        found.append(replace(part, masked=look.at(part, beside)) if part.kind == "masks" else part)
    return found


class _Look:
    """Opens masks and their pictures until bytes or seconds are spent."""

    def __init__(self, images: Any, files: Mapping[str, RunFile], budget: Budget) -> None:
        self.images = images
        self.files = files
        self.budget = budget
        self.until = time.monotonic() + SECONDS

    def at(self, part: Part, beside: Sequence[Part]) -> Masked | None:
        """Look at one part of masks, with the parts of images of its split."""
        images = {stem(p): p for b in beside for p in b.files}
        paths = list(part.files)
        if len(paths) > MOST:  # neighbours stay together: masks are shifted by one
            start = int(np.random.default_rng(self.budget.bounds.seed).integers(0, len(paths) - MOST))
            paths = paths[start : start + MOST]
        values: Counter[int] = Counter()
        smoothed: list[Place] = []
        pairs: list[tuple[Floats, Floats]] = []
        looked = 0
        for path in paths:
            mask = self._mask(path)
            if mask is None:
                continue
            looked += 1
            kinds, counts = np.unique(mask, return_counts=True)
            values.update(kinds.tolist())
            packed = path.lower().endswith((".jpg", ".jpeg"))
            if _smoothed(kinds, counts, packed) and not _MEANT.search(path):
                smoothed.append(Place(path))
            picture = self._edges(images.get(stem(path)))
            if picture is not None:
                pairs.append((picture, _border(mask)))
        if not looked:
            return None
        return Masked(looked, dict(values), tuple(smoothed), len(pairs), _elsewhere(pairs))

    def _open(self, path: str) -> Any:
        file = self.files[path]
        if time.monotonic() > self.until or not self.budget.take(file.size):
            return None
        try:
            with warnings.catch_warnings(), file.open() as handle, self.images.open(handle) as picture:
                warnings.simplefilter("ignore")
                if picture.width * picture.height > MOST_PIXELS:
                    return None
                picture.load()
                return picture.copy()
        except Exception:  # Pillow raises whatever its decoders meet; such a file is judged elsewhere
            return None

    def _mask(self, path: str) -> Any:
        """The values of a mask [rows, columns], some pixels passed over; colours as one number each."""
        picture = self._open(path)
        if picture is None:
            return None
        found = np.asarray(picture)
        step = max(1, max(found.shape[:2]) // STEP)
        found = found[::step, ::step].astype(np.int64)
        if found.ndim == 2:
            return found
        if found.shape[2] >= 3 and not (found[..., 0] == found[..., 1]).all():
            return found[..., 0] << 16 | found[..., 1] << 8 | found[..., 2]
        return found[..., 0]

    def _edges(self, path: str | None) -> Floats | None:
        """How strongly a picture changes at each of EDGE x EDGE places, 1 on average."""
        picture = self._open(path) if path is not None else None
        if picture is None:
            return None
        small = picture.convert("L").resize((EDGE, EDGE), self.images.Resampling.BOX)
        grey = np.asarray(small, dtype=np.float64)
        found = _change(grey)
        return found / found.mean() if found.mean() > 0 else None


def _change(grey: Floats) -> Floats:
    found = np.zeros_like(grey)
    found[:, 1:] += np.abs(np.diff(grey, axis=1))
    found[1:, :] += np.abs(np.diff(grey, axis=0))
    return found


def _border(mask: Any) -> Floats:
    """Where the mask, reduced to EDGE x EDGE places, changes: 1, elsewhere 0."""
    rows, columns = (np.linspace(0, n - 1, EDGE).round().astype(int) for n in mask.shape)
    return np.asarray(_change(mask[rows][:, columns].astype(np.float64)) > 0, dtype=np.float64)


def _smoothed(kinds: Any, counts: Any, packed: bool) -> bool:
    """Whether a mask of two values holds many others between them, each on a few pixels.

    `packed`: of JPEG, whose values lie about the two ends.
    """
    if len(kinds) < BETWEEN + 2 or kinds[-1] - kinds[0] < 50 or kinds[-1] > 65535:
        return False
    share = counts / counts.sum()
    inner = (kinds > kinds[0] + 0.2 * np.ptp(kinds)) & (kinds < kinds[0] + 0.8 * np.ptp(kinds))
    near = share[kinds <= kinds[0] + 0.1 * np.ptp(kinds)].sum()
    far = share[kinds >= kinds[0] + 0.9 * np.ptp(kinds)].sum()
    middle = share[1:-1]
    return bool(
        (packed or inner.sum() >= BETWEEN / 2)
        and far >= 0.02
        and near >= 0.02
        and share[inner].sum() <= MOST_BETWEEN
        and 1 - near - far <= MOST_BETWEEN
        and middle[inner[1:-1]].max(initial=0.0) <= SINGLE
    )


_TURNS: dict[str, Callable[[Floats], Floats]] = {
    "flipped left to right": lambda b: b[:, ::-1],
    "flipped upside down": lambda b: b[::-1],
    "turned by 180 degrees": lambda b: b[::-1, ::-1],
    "with rows and columns exchanged": lambda b: b.T,
}


def _on(edges: Floats, border: Floats) -> float:
    return float(edges[border > 0].mean())


def _elsewhere(pairs: Sequence[tuple[Floats, Floats]]) -> str:
    """Where the masks lie on edges if not in place: "" where they do in place, or nothing tells."""
    good = [b.sum() >= BORDER and b.mean() <= 0.2 for _, b in pairs]
    if sum(good) < LEAST:
        return ""

    def judged(others: Sequence[Floats | None], shifted: bool = False) -> tuple[float, bool]:
        told = [
            (_on(e, b), _on(e, o))
            for (e, b), o, g in zip(pairs, others, good, strict=True)
            if g and o is not None and o.sum() >= BORDER
        ]
        if len(told) < LEAST:
            return 0.0, False
        own, other = np.array(told).T
        times = np.median(other) / max(1e-9, float(np.median(own)))
        least, sharp = SHIFTED if shifted else (TIMES, SHARP)
        clear = times >= least and np.median(other) >= sharp and (other > own).mean() >= MOSTLY
        return float(times), bool(clear)

    borders = [b for _, b in pairs]
    ways: dict[str, Sequence[Floats | None]] = {
        "of the next image": [None, *borders[:-1]],
        "of the image before": [*borders[1:], None],
    }
    ways |= {what: [turn(b) for b in borders] for what, turn in _TURNS.items()}
    moved = _moved([p for p, g in zip(pairs, good, strict=True) if g])
    if moved != (0, 0):
        said = (
            f"moved by {abs(moved[1]) / EDGE:.0%} of the width and {abs(moved[0]) / EDGE:.0%} of the height"
        )
        ways[said] = [np.roll(b, moved, (0, 1)) for b in borders]
    found = {what: judged(others, what.startswith("moved")) for what, others in ways.items()}
    clear = {what: times for what, (times, sure) in found.items() if sure}
    return max(clear, key=clear.__getitem__) if clear else ""


def _moved(pairs: Sequence[tuple[Floats, Floats]]) -> tuple[int, int]:
    """The shift (rows, columns) by which borders lie best on edges, at most a fifth of the side; 0, 0: none.

    None, too, where they lie nearly as well when moved the other way: so does a mask that leaves room around.
    """
    total = np.zeros((EDGE, EDGE))
    for edges, border in pairs:
        total += np.fft.ifft2(np.fft.fft2(edges) * np.conj(np.fft.fft2(border / border.sum()))).real
    most = EDGE // 5
    shifts = [*range(-most, most + 1)]
    near = total[np.ix_(shifts, shifts)]
    at = np.unravel_index(int(near.argmax()), near.shape)
    found = int(at[0]) - most, int(at[1]) - most
    along = np.add.outer(found[0] * np.array(shifts), found[1] * np.array(shifts))
    least = 1.0 * len(pairs)  # what borders that lie anywhere come to
    other = near[along < 0].max(initial=least)
    alone = near.max() - least >= ONE_WAY * (other - least)
    return found if max(map(abs, found)) > 2 and alone else (0, 0)
