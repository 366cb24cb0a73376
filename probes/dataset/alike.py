"""Pictures that stand twice, saved anew in another size, format or compression: over splits or within one.

Told by pictures reduced to a few squares, then by their detail. What is turned, cropped or only of the same
scene is not told; nor are pictures that are too small or too plain to be told apart.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from ..run import Floats
from .folders import classes_of
from .gather import Budget
from .model import Alike, Part, Seen, Squares

MOST_HELD, MOST_TRAIN = 600, 3000  # pictures that are looked at, drawn with the seed
SECONDS = 8.0  # for all of them
COARSE, FINE = 16, 64  # rows and columns of the reduced pictures
SMALLEST = 32  # rows or columns of a picture that can be told
PLAIN = 12.0  # grey levels of deviation below which a picture is too plain
TOGETHER = 0.99  # correlation of coarse pictures
NEAR = 10.0  # grey levels between any two squares of them: one that moves in a still scene makes more
DETAIL = 0.9  # correlation of what the fine pictures have beyond the coarse ones
MOST_PIXELS = 50_000_000
GREY = 1.0  # levels between the channels of a square of a picture without colour
MOST_PAIRS = 20_000  # pictures that are much alike, beyond which they tell nothing
FOLLOW = 3  # numbers between two frames that follow each other
_NUMBER = re.compile(r"\d+")
_WORDS = "aug|blur|nois|bright|dark|contrast|gamma|jpe?g|compress|crop|flip|rot|mix|shift|zoom"
_MADE = re.compile(rf"[-_ ]?(?:{_WORDS})[a-z]*\d*", re.I)


def with_alike(parts: Sequence[Part], files: Mapping[str, RunFile], budget: Budget) -> list[Part]:
    """Hold pictures against each other, training ones among themselves; other parts stay as they are."""
    train = [p for p in parts if p.kind == "images" and p.split == "train"]
    held = [p for p in parts if p.kind == "images" and p.split in ("eval", "test")]
    train = train or [p for p in parts if p.kind == "images" and p.split == ""]
    if not train:
        return list(parts)
    try:
        from PIL import Image
    except ImportError:
        return list(parts)
    look = _Look(Image, files, budget)
    look.until -= SECONDS / 3  # of the time the rest is left for evaluation pictures
    many = sum(len(p.files) for p in train)
    drawn = {id(p): _drawn(p.files, max(1, MOST_TRAIN * len(p.files) // many), budget) for p in train}
    known: dict[str, Floats] = {}
    found: dict[int, Part] = {}
    for part in train:
        mine = look.coarse(drawn[id(part)])
        known |= mine
        found[id(part)] = look.judged(part, mine)
    look.until += SECONDS / 3
    for part in held:
        mine = look.coarse(_drawn(part.files, MOST_HELD, budget))
        again = look.alike(mine, known) if len(mine) and len(known) and part.split else None
        found[id(part)] = replace(part, alike=again, seen=look.seen(part))
    return [found.get(id(p), p) for p in parts]


def _drawn(paths: Sequence[str], most: int, budget: Budget) -> list[str]:
    if len(paths) <= most:
        return list(paths)
    chosen = np.random.default_rng(budget.bounds.seed).choice(len(paths), most, replace=False)
    return [paths[i] for i in sorted(chosen.tolist())]


class _Look:
    """Opens pictures until bytes or seconds are spent."""

    def __init__(self, images: Any, files: Mapping[str, RunFile], budget: Budget) -> None:
        self.images = images
        self.files = files
        self.budget = budget
        self.until = time.monotonic() + SECONDS
        self.shapes: dict[str, float] = {}  # width over height
        self.tones: dict[str, Floats] = {}  # mean of each channel [3]
        self.stored: dict[str, bool] = {}  # colours or none, of pictures stored with colours
        self.squares: dict[str, Floats] = {}  # grey [COARSE * COARSE]

    def coarse(self, paths: Sequence[str]) -> dict[str, Floats]:
        """Return the pictures that can be told, reduced: [COARSE * COARSE * 3] each."""
        found = {}
        for path in paths:
            file = self.files[path]
            if time.monotonic() > self.until or not self.budget.take(min(file.size, 1024**2)):
                break
            picture = self._reduced(file, COARSE)
            if picture is None:
                continue
            self.tones[path] = picture.mean(axis=(0, 1))
            self.squares[path] = picture.mean(axis=2).reshape(-1)
            if path in self.shapes and picture.std() >= PLAIN:
                found[path] = picture.reshape(-1)
        return found

    def _reduced(self, file: RunFile, edge: int) -> Floats | None:
        try:
            with warnings.catch_warnings(), file.open() as handle, self.images.open(handle) as picture:
                warnings.simplefilter("ignore")
                width, height = picture.size
                if width * height > MOST_PIXELS or picture.mode.startswith(("I", "F")):
                    return None
                if min(width, height) >= SMALLEST:
                    self.shapes[file.path] = width / height
                coloured = picture.mode == "RGB"
                picture.draft("RGB", (2 * FINE, 2 * FINE))
                small = picture.convert("RGB").resize((edge, edge), self.images.Resampling.BOX)
                found: Floats = np.asarray(small, dtype=np.float32)
                if coloured:
                    self.stored[file.path] = bool(np.ptp(found, axis=2).max() > GREY)
                return found
        except Exception:  # Pillow raises whatever its decoders meet; such a file is judged elsewhere
            return None

    def seen(self, part: Part) -> Seen:
        """Return what the pictures of one split are like."""
        tones = [self.tones[p] for p in part.files if p in self.tones]
        stored = [p for p in part.files if p in self.stored]
        grey = [p for p in stored if not self.stored[p]]
        at = tuple(Place(p) for p in grey[:3])
        return Seen(np.array(tones).reshape(-1, 3), len(grey), len(stored), at)

    def judged(self, part: Part, mine: Mapping[str, Floats]) -> Part:
        """Return a training part with what its pictures are like, and which of them stand twice."""
        classes = classes_of([self.files[p] for p in part.files]) if part.labels is not None else {}
        twins = self._twins(mine)
        torn = [(a, b) for a, b in twins if classes and classes[a] != classes[b]]
        known = [p for p in part.files if p in self.squares and p in classes]
        squares = None
        if known:
            rows = np.stack([self.squares[p] for p in known]).astype(np.float64)
            squares = Squares(rows, tuple(classes[p] for p in known), tuple(Place(p) for p in known))
        seen = replace(self.seen(part), told=len(mine), twins=_places(twins), torn=_places(torn))
        return replace(part, seen=seen, squares=squares)

    def _twins(self, mine: Mapping[str, Floats]) -> list[tuple[str, str]]:
        """Pictures with the earlier one that they are, saved anew or copied; none of a series of frames."""
        names = list(mine)
        if len(names) < 2:
            return []
        rows = np.stack([mine[n] for n in names])
        normed = _normed(rows)
        pairs = []
        for start in range(0, len(names), 512):
            together = normed[start : start + 512] @ normed.T
            for i, j in zip(*np.nonzero(together >= TOGETHER), strict=True):
                one, other = start + int(i), int(j)
                if other < one and np.abs(rows[one] - rows[other]).reshape(-1, 3).mean(axis=1).max() <= NEAR:
                    pairs.append((one, other))
            if len(pairs) > MOST_PAIRS:
                return []  # one thing seen again and again
        frames = {n for a, b in pairs if _follow(names[a], names[b]) for n in (a, b)}
        found: dict[str, str] = {}
        for one, other in pairs:
            if one in frames or other in frames or names[one] in found or _made_of(names[one], names[other]):
                continue
            if time.monotonic() <= self.until + SECONDS and self._same(names[one], names[other]):
                found[names[one]] = names[other]
        beside = [(a, b) for a, b in found.items() if _beside(a, b)]
        if len(beside) >= 0.5 * len(found):  # two versions of each sample, in folders of their own
            return [pair for pair in found.items() if pair not in beside]
        return list(found.items())

    def alike(self, mine: Mapping[str, Floats], known: Mapping[str, Floats]) -> Alike:
        """Return which of `mine` are one of `known`, saved anew."""
        names, others = list(mine), list(known)
        rows, columns = (np.stack([s[n] for n in some]) for s, some in ((mine, names), (known, others)))
        together = _normed(rows) @ _normed(columns).T
        pairs = []
        for i, name in enumerate(names):
            for j in np.argsort(together[i])[::-1][:3]:
                if together[i, j] < TOGETHER:
                    break
                apart = np.abs(rows[i] - columns[j]).reshape(-1, 3).mean(axis=1)
                if apart.max() <= NEAR and self._same(name, others[int(j)]):
                    pairs.append((Place(name), Place(others[int(j)])))
                    break
        return Alike(len(names), len(others), len(pairs), tuple(pairs[:5]))

    def _same(self, one: str, other: str) -> bool:
        """Whether two pictures have one shape, and one detail."""
        if abs(self.shapes[one] / self.shapes[other] - 1) > 0.03:
            return False
        a, b = (self._reduced(self.files[p], FINE) for p in (one, other))
        if a is None or b is None:
            return False
        left, right = _detail(a), _detail(b)
        size = float(np.sqrt((left**2).sum() * (right**2).sum()))
        return size > 0 and float((left * right).sum()) / size >= DETAIL


def _places(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[Place, Place], ...]:
    return tuple((Place(a), Place(b)) for a, b in pairs)


def _follow(one: str, other: str) -> bool:
    """Whether two names are a few numbers apart: frames of one film, slices of one volume."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    both = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    apart = [abs(int(a) - int(b)) for a, b in both if a != b]
    return len(apart) == 1 and apart[0] <= FOLLOW


def _beside(one: str, other: str) -> bool:
    """Whether two files of other folders begin with one name: `HR/0001.png` and `LR/0001x2.png`."""
    (above, _, name), (over, _, called) = (p.rpartition(".")[0].rpartition("/") for p in (one, other))
    return above != over and (name.startswith(called) or called.startswith(name))


def _made_of(one: str, other: str) -> bool:
    """Whether a name says that its picture was made of the other one, to have more ("12_blur" of "12")."""
    if ".rf." in one and one.partition(".rf.")[0] == other.partition(".rf.")[0]:
        return True  # as Roboflow names them
    short, long = sorted((p.rpartition("/")[2].rpartition(".")[0] for p in (one, other)), key=len)
    short, words = _MADE.sub("", short), _MADE.findall(long)
    return bool(words) and bool(short) and short in long


def _normed(rows: Floats) -> Floats:
    moved = rows - rows.mean(axis=1, keepdims=True)
    found: Floats = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return found


def _detail(picture: Floats) -> Floats:
    """What a fine picture has beyond its coarse one."""
    step = FINE // COARSE
    coarse = picture.reshape(COARSE, step, COARSE, step, 3).mean(axis=(1, 3))
    found: Floats = picture - coarse.repeat(step, axis=0).repeat(step, axis=1)
    return found
