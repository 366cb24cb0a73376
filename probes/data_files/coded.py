"""Pictures that are stored otherwise in one class, or one split, than in another: traces that tell it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ...engine.model import Place
from ..dataset.model import DataSet, Part
from ..registry import Finding, View, absent, present, unknown
from .common import many, needs_data, said_of

LEAST = 20  # pictures of a class, or of a split
STANDARD = 3686  # sum of the steps of JPEG's own table (ITU T.81, K.1), which is called quality 50
_WAYS = ("format", "size", "compression")


def _of(part: Part, path: str, way: str) -> object | None:
    """The format, the size or the steps of compression of a picture; None where it has none."""
    form, steps = part.coded.get(path, ("", 0))
    if way == "format":
        return form or None
    if way == "size":
        return part.sizes.get(path)
    return steps or None


def _usual(values: Iterable[object | None], share: float) -> object | None:
    """The value that nearly all have; None where there is none, or too few are known."""
    counts = Counter(values)
    if not counts:
        return None
    value, count = counts.most_common(1)[0]
    return (
        value if value is not None and counts.total() >= LEAST and count >= share * counts.total() else None
    )


def _said(way: str, value: object) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return f"JPEG of quality {_quality(value)}" if way == "compression" else str(value)


def _quality(steps: object) -> int:
    """The usual name of a table's coarseness, 1 to 100: libjpeg scales its own table by it."""
    scale = 100 * float(str(steps)) / STANDARD
    return max(1, min(100, round(5000 / scale if scale > 100 else (200 - scale) / 2)))


def _differ(way: str, values: Mapping[str, object], ratio: float) -> tuple[str, str] | None:
    """Two classes whose pictures are stored otherwise; of compressions those that lie far apart."""
    if way == "compression":
        low = min(values, key=lambda c: float(str(values[c])))
        high = max(values, key=lambda c: float(str(values[c])))
        return (low, high) if float(str(values[high])) >= ratio * float(str(values[low])) else None
    first = next(iter(values))
    other = next((c for c in values if values[c] != values[first]), None)
    return (first, other) if other is not None else None


_VERSION = re.compile(
    r"(?:.*[-_])?(?:hr|lr|hq|lq|gt|x\d|\d{3,4}p?|depth|rgb|ir|blur\w*|sharp|noisy|clean|inputs?|targets?|low|high)",
    re.I,
)


def _versions(by_class: Mapping[str, list[str]]) -> bool:
    """Whether folders hold versions of the same pictures, large and small, and no classes."""
    if any(_VERSION.fullmatch(name) for name in by_class):
        return True
    stems = [{p.rpartition("/")[2].rpartition(".")[0] for p in paths} for paths in by_class.values()]
    first, second = sorted(stems, key=len)[-2:]
    named = any(not s.isdigit() for s in first)  # 0001 is a number within each class
    return named and len(first & second) >= 0.5 * min(len(first), len(second))


@needs_data
def classes_stored_apart(data: DataSet, view: View, share: float, ratio: float) -> Finding:
    """Each class has one format, size or compression in a share of its pictures, and not all the same.

    Compressions count whose steps are `ratio` times as coarse.
    """
    del view
    judged = 0
    for part in data.training:
        by_class: dict[str, list[str]] = defaultdict(list)
        for path in part.coded if part.labels is not None else ():
            if path in part.folder_classes:
                by_class[part.folder_classes[path]].append(path)
        if len(by_class) < 2 or _versions(by_class):
            continue
        judged += len(part.coded)
        for way in _WAYS:
            usual = {c: _usual((_of(part, p, way) for p in paths), share) for c, paths in by_class.items()}
            values = {c: v for c, v in usual.items() if v is not None}
            apart = _differ(way, values, ratio) if len(values) == len(by_class) else None
            if apart is not None:
                one, other = apart
                why = (
                    f"of {said_of(part)} those of {one} are all but all {_said(way, values[one])}, "
                    f"those of {other} {_said(way, values[other])}: the {way} tells the class"
                )
                where = (Place(by_class[one][0]), Place(by_class[other][0]))
                return present(why, value=len(set(values.values())), threshold=1, where=where)
    if not judged:
        return unknown("no pictures in folders of classes among the data files")
    return absent(f"no format, size or compression tells the class of {many(judged, 'picture')}", value=1)


@needs_data
def splits_stored_apart(data: DataSet, view: View, share: float, ratio: float) -> Finding:
    """Nearly all pictures of training and of evaluation are JPEG, the ones much coarser than the others."""
    del view
    judged = ""
    for train in data.training:
        for held in data.of("eval", "test"):
            mine, theirs = (
                _usual((_of(p, path, "compression") for path in p.coded), share) for p in (train, held)
            )
            if mine is None or theirs is None:
                continue
            judged = f"{said_of(train)} and {said_of(held)} are compressed alike"
            if _differ("compression", {"train": mine, "held": theirs}, ratio) is not None:
                why = (
                    f"{said_of(train)} are {_said('compression', mine)}, "
                    f"{said_of(held)} {_said('compression', theirs)}"
                )
                where = (Place(train.files[0]), Place(held.files[0]))
                return present(why, value=_quality(theirs), threshold=_quality(mine), where=where)
    return absent(judged) if judged else unknown("no splits of JPEG pictures of one compression each")
