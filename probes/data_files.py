"""What the data files themselves say: those in the run directory, or those that the user names.

Tables on disk are raw: the script may still clean, scale and shuffle them. Arrays dumped as batches are what
the model receives. The probes keep the two apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..engine.model import Place
from .dataset import neighbours
from .dataset.model import Column, DataSet, Part
from .dataset.naming import is_identifier, is_label
from .registry import Finding, View, absent, present, probe, unknown

NO_DATA = "no data files were found in the run directory (--data names them)"
RAW = ("table", "records")
FINAL = ("batches", "manifest")


def _data(view: View) -> DataSet | None:
    return view.run.data


def _needs(judge: Callable[..., Finding]) -> Callable[..., Finding]:
    """Make a probe of `judge(data, view, **params)`; without data files it is unknown."""

    def look(view: View, **params: Any) -> Finding:
        data = _data(view)
        if data is None:
            return unknown(NO_DATA)
        with np.errstate(all="ignore"):
            return judge(data, view, **params)

    look.__name__, look.__doc__, look.__module__ = judge.__name__, judge.__doc__, judge.__module__
    return probe()(look)


def _looked(part: Part) -> str:
    """How much of a part was read, in words."""
    what = {"images": "images", "audio": "recordings"}.get(part.kind, "samples")
    if part.whole or part.rows is None:
        return f"{part.looked} {what}"
    about = "" if part.exact else "about "
    return f"{part.looked} of {about}{part.rows} {what}"


def _columns(parts: Iterable[Part]) -> list[tuple[Part, Column]]:
    return [(p, c) for p in parts for c in p.columns]


def _in(part: Part) -> str:
    return f"the {part.name}" if part.split else part.format


_STEM = re.compile(r"\d+")  # of a column's name: pixel_0_3 and pixel_7_7 are alike


# ------------------------------------------------------------------------------------- whole, readable


@_needs
def unreadable(data: DataSet, view: View) -> Finding:
    """Files that are cut off, empty or no such file inside; rows with too few or too many cells."""
    del view
    count = sum(p.problem_count for p in data.parts) + len(data.not_read)
    found = [q for p in data.parts for q in p.problems]
    looked = sum(p.looked for p in data.parts)
    if count:
        first = f"{found[0].place.file}: {found[0].what}" if found else "{}: {}".format(*data.not_read[0])
        places = [q.place for q in found[:5]] or [Place(data.not_read[0][0])]
        what = "file or row" if count == 1 else "files or rows"
        return present(
            f"{count} {what} cannot be read: {first}", value=count, threshold=0, where=tuple(places)
        )
    if not looked:
        return unknown("no sample was read")
    return absent(f"all of {looked} samples that were looked at can be read", value=0)


@_needs
def files_missing(data: DataSet, view: View) -> Finding:
    """Files that a manifest, a checksum list or the numbers of shards announce and that are not there."""
    del view
    lost = sum(x.missing_count for x in data.listed if x.checked)
    told = [f"{n} files are missing" for n in [lost] if n] + list(data.gaps)
    if told:
        places = [Place(x.file, line or None) for x in data.listed if x.checked for _, line in x.missing[:2]]
        named = [path for x in data.listed if x.checked for path, _ in x.missing[:3]]
        more = f" ({', '.join(named)})" if named else ""
        return present(f"{told[0]}{more}", value=lost + len(data.gaps), threshold=0, where=tuple(places))
    short = _declared(data)
    if short is not None:
        return short
    checked = sum(x.checked for x in data.listed)
    if checked:
        return absent(f"all {checked} files that are listed are there", value=0)
    return unknown("no manifest, checksum list or numbered shards tell what should be there")


def _declared(data: DataSet) -> Finding | None:
    """A description of the data set tells more samples than there are."""
    for part in data.parts:
        told = {"train": "train", "eval": "validation", "test": "test"}.get(part.split)
        want = data.declared.get(told or "")
        if want and part.exact and part.rows is not None and part.rows < want:
            why = f"dataset_info.json tells {want} samples of {told}, {part.rows} are there"
            return present(why, value=part.rows, threshold=want)
    return None


@_needs
def files_changed(data: DataSet, view: View) -> Finding:
    """Files whose size or checksum is not what a manifest says."""
    del view
    changed = sum(x.changed_count for x in data.listed)
    checked, sums = sum(x.checked for x in data.listed), sum(x.sums for x in data.listed)
    if changed:
        path, line, what = next(c for x in data.listed for c in x.changed)
        file = next(x.file for x in data.listed if x.changed)
        why = f"{changed} of {checked} files are not what the manifest says: {path} has {what}"
        return present(why, value=changed, threshold=0, where=(Place(file, line or None),))
    if not checked:
        return unknown("no manifest names files that are there")
    if not sums:
        return unknown(f"{checked} files are there; no checksum was computed")
    return absent(f"{sums} checksums agree", value=0)


# ---------------------------------------------------------------------------------------------- values


def _gone(parts: Sequence[Part], which: Callable[[Part, Column], bool]) -> list[tuple[Part, Column]]:
    return [(p, c) for p, c in _columns(parts) if which(p, c) and c.missing + c.infinite > 0]


def _missing_words(found: Sequence[tuple[Part, Column]]) -> tuple[str, int, tuple[Place, ...]]:
    part, worst = max(found, key=lambda pc: pc[1].missing + pc[1].infinite)
    count = sum(c.missing + c.infinite for _, c in found)
    what = "infinite" if worst.infinite > worst.missing else "missing"
    share = (worst.missing + worst.infinite) / max(1, worst.entries)
    others = f", {count} in all over {len(found)} columns" if len(found) > 1 else ""
    worst_count = worst.missing + worst.infinite
    why = f"{worst_count} {what} values in {worst.name} of {_in(part)} ({share:.2%}){others}"
    places = tuple(p for _, c in found[:3] if (p := c.missing_at or c.infinite_at) is not None)
    return why, count, places


def _optional(column: Column, usual: float) -> bool:
    return column.missing > usual * column.count


@_needs
def missing_values(data: DataSet, view: View, usual: float) -> Finding:
    """Empty cells and NaN in columns of numbers, in labels and in the texts that a model reads.

    A text that is empty in more than a share `usual` of the samples is optional by design ("input" beside
    "instruction").
    """
    del view
    parts = [p for p in data.parts if p.kind in RAW and p.looked]
    found = _gone(
        parts, lambda _, c: c.number or is_label(c.name) or (c.free_text and not _optional(c, usual))
    )
    if found:
        why, count, places = _missing_words(found)
        return present(why, value=count, threshold=0, where=places)
    if not any(c.number or c.free_text for _, c in _columns(parts)):
        return unknown("no table among the data files")
    return absent(f"no value is missing in {_all(parts)}", value=0)


def _all(parts: Sequence[Part]) -> str:
    return "; ".join(f"{_looked(p)} of {_in(p)}" for p in parts[:3])


@_needs
def inputs_not_finite(data: DataSet, view: View) -> Finding:
    """NaN or infinite values in arrays; absent only in what the model itself receives (dumped batches)."""
    del view
    parts = [p for p in data.parts if p.kind in ("array", *FINAL) and p.looked]
    found = _gone(parts, lambda *_: True)
    if found:
        why, count, places = _missing_words(found)
        return present(why, value=count, threshold=0, where=places)
    final = [p for p in parts if p.kind in FINAL and p.columns]
    if final:
        return absent(f"all values of {_all(final)} are finite", value=0)
    if parts:
        return unknown("the arrays on disk are finite; what reaches the model was not dumped")
    return unknown("no dumped batches among the data files")


def _extreme(part: Part, column: Column, factor: float, score: float) -> tuple[float, float, float] | None:
    """The value that lies farthest out: (value, robust z-score, times the 99th percentile); None if none."""
    values = column.values
    if not column.number or len(values) < 50 or is_identifier(column.name) or column.constant:
        return None
    if part.labels is not None and column.name == part.labels.name and part.labels.classes:
        return None
    middle = float(np.median(values))
    distances = np.abs(values - middle)
    usual = float(np.quantile(distances, 0.99))
    spread = 1.4826 * float(np.median(distances))  # 0 where half of the values are one: nothing to measure by
    far = column.high if column.high - middle >= middle - column.low else column.low
    distance = abs(far - middle)
    if usual <= 0 or spread <= 0 or distance < factor * usual or distance < score * spread:
        return None
    return far, distance / spread, distance / usual


def _outliers(parts: Sequence[Part], factor: float, score: float) -> Finding | None:
    found = []
    for part, column in _columns(parts):
        one = _extreme(part, column, factor, score)
        if one is not None:
            found.append((one, part, column))
    if not found:
        return None
    (far, z, times), part, column = max(found, key=lambda f: f[0][1])
    place = column.high_at if far == column.high else column.low_at
    more = f"; {len(found)} columns have such values" if len(found) > 1 else ""
    why = (
        f"{column.name} of {_in(part)} reaches {far:.6g}, {times:.3g} times the 99th percentile of "
        f"the distance from the median (robust z-score {z:.3g}){more}"
    )
    return present(why, value=z, threshold=factor, where=(place,) if place else ())


@_needs
def outliers(data: DataSet, view: View, factor: float, score: float) -> Finding:
    """A value of a table many times farther from the median than 99 % of its column, by robust z-score."""
    del view
    parts = [p for p in data.parts if p.kind in RAW and p.looked]
    found = _outliers(parts, factor, score)
    if found is not None:
        return found
    if not any(c.number and len(c.values) >= 50 for _, c in _columns(parts)):
        return unknown("no column of at least 50 numbers among the data files")
    return absent(f"no value lies that far out in {_all(parts)}", threshold=factor)


@_needs
def inputs_have_outliers(data: DataSet, view: View, factor: float, score: float) -> Finding:
    """The same for arrays; absent only in what the model itself receives (dumped batches)."""
    del view
    parts = [p for p in data.parts if p.kind in ("array", *FINAL) and p.looked]
    found = _outliers(parts, factor, score)
    if found is not None:
        return found
    final = [p for p in parts if p.kind in FINAL and any(len(c.values) >= 50 for c in p.columns)]
    if final:
        return absent(f"no value lies that far out in {_all(final)}", threshold=factor)
    return unknown("no dumped batches among the data files")


# -------------------------------------------------------------------------------------------- scaling


def _scales(part: Part) -> list[Column]:
    """Columns whose scale matters: measured quantities, neither labels nor numbers of rows or tokens."""
    return [
        c
        for c in part.columns
        if c.number
        and not c.constant
        and c.std > 0
        and not is_label(c.name)
        and not is_identifier(c.name)
        and not (c.dtype.startswith(("int", "bool")) or (c.dtype.startswith("uint") and c.dtype != "uint8"))
    ]


def _spread_out(column: Column) -> bool:
    """Whether at least half of its values differ from the median: rare flags and sparse counts do not."""
    values = column.values
    return bool(len(values)) and bool(np.median(np.abs(values - np.median(values))) > 0)


@_needs
def columns_apart(data: DataSet, view: View, ratio: float) -> Finding:
    """The spreads of a raw table's columns lie orders of magnitude apart."""
    del view
    best: tuple[float, Part, Column, Column] | None = None
    for part in data.training:
        columns = [c for c in _scales(part) if _spread_out(c)] if part.kind in (*RAW, "array") else []
        if len(columns) >= 2:
            low, high = min(columns, key=lambda c: c.std), max(columns, key=lambda c: c.std)
            value = high.std / low.std
            if best is None or value > best[0]:
                best = value, part, low, high
    if best is None:
        return unknown("no table with several columns of numbers among the training data")
    value, part, low, high = best
    why = (
        f"{high.name} has {value:.3g} times the spread of {low.name} ({high.std:.3g} and {low.std:.3g}) in "
        f"{_in(part)}"
    )
    rest = {"value": value, "threshold": ratio, "where": (Place(part.files[0]),)}
    return present(why, **rest) if value >= ratio else absent(why, **rest)


@_needs
def inputs_unscaled(data: DataSet, view: View, large: float, small: float, ratio: float) -> Finding:
    """The inputs of dumped batches lie far outside -1..1, near zero throughout, or far apart in scale."""
    del view
    looked = [(p, c) for p in data.parts if p.kind in FINAL for c in _scales(p) if not _is_mean(c)]
    for part, column in looked:
        size = max(abs(column.low), abs(column.high))
        usual = float(np.quantile(np.abs(column.values), 0.9)) if len(column.values) else size
        said = f"{column.name} of {_in(part)} goes from {column.low:.4g} to {column.high:.4g}"
        rest = {"where": (Place(part.files[0]),)}
        if usual > large:
            raw = (
                ": pixels that were not divided by 255"
                if 200 <= column.high <= 255 and column.low >= 0
                else ""
            )
            return present(f"{said}{raw}", value=usual, threshold=large, **rest)
        if size < small:
            return present(f"{said}: close to zero throughout", value=size, threshold=small, **rest)
    spreads = [c.std for _, c in looked]
    if len(spreads) >= 2 and max(spreads) > ratio * min(spreads):
        value = max(spreads) / min(spreads)
        return present(f"spreads of the inputs lie {value:.3g} times apart", value=value, threshold=ratio)
    if not looked:
        return unknown("no dumped batches with inputs of real numbers among the data files")
    return absent(f"the inputs of {_looked(looked[0][0])} lie on a common scale around zero")


def _is_mean(column: Column) -> bool:
    return column.name == "mean of a sample"


@_needs
def splits_scaled_differently(data: DataSet, view: View, shift: float, ratio: float) -> Finding:
    """A column or channel has another mean or spread in evaluation than in training."""
    del view
    train = {c.name: (p, c) for p in data.training for c in _scales(p) if len(c.values) >= 50}
    worst: tuple[float, str, Place] | None = None
    looked = 0
    for part, column in _columns(data.of("eval", "test")):
        if column.name not in train or column.std <= 0 or len(column.values) < 50:
            continue
        mine = train[column.name][1]
        looked += 1
        # Medians and quartile spreads: a few extreme values are another matter.
        a, b = _middle(mine.values), _middle(column.values)
        if a[1] <= 0 or b[1] <= 0:
            continue
        moved, times = abs(a[0] - b[0]) / max(a[1], b[1]), max(a[1] / b[1], b[1] / a[1])
        if moved >= shift or times >= ratio:
            why = (
                f"{column.name}: median {a[0]:.4g} and spread {a[1]:.4g} in training, "
                f"{b[0]:.4g} and {b[1]:.4g} in {part.name}"
            )
            if worst is None or max(moved / shift, times / ratio) > worst[0]:
                worst = max(moved / shift, times / ratio), why, Place(part.files[0])
    if worst is not None:
        return present(worst[1], value=worst[0], threshold=1.0, where=(worst[2],))
    if not looked:
        return unknown("no column of numbers is known in both training and evaluation data")
    return absent(f"{looked} columns are alike in training and evaluation", value=0)


def _middle(values: Any) -> tuple[float, float]:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return float(middle), float(high - low) / 1.349


@_needs
def constant_columns(data: DataSet, view: View) -> Finding:
    """Columns of numbers of the training data with one and the same value everywhere.

    Passed over: texts (a source, an instruction), and single ones of many alike, as the pixels of a border.
    """
    del view
    parts = [p for p in data.training if p.kind in (*RAW, "array", "batches") and p.looked >= 20]
    still = [(p, c) for p, c in _columns(parts) if c.constant and c.number and c.missing < 0.5 * c.count]
    found = [(p, c) for p, c in still if not _one_of_many(p, c)]
    if found:
        named = ", ".join(c.name for _, c in found[:4])
        why = f"{len(found)} columns of {_in(found[0][0])} never change: {named}"
        return present(why, value=len(found), threshold=0, where=(Place(found[0][0].files[0]),))
    if not any(p.columns for p in parts):
        return unknown("no table or array of at least 20 samples among the training data")
    return absent(f"every column changes over {_all(parts)}", value=0)


def _one_of_many(part: Part, column: Column) -> bool:
    """`pixel_0_3` beside dozens of other pixels, most of which change."""
    alike = [c for c in part.columns if _STEM.sub("", c.name) == _STEM.sub("", column.name)]
    return len(alike) >= 16 and sum(c.constant for c in alike) < 0.5 * len(alike)


@_needs
def modes_mixed(data: DataSet, view: View) -> Finding:
    """Images of one part differ in their number of channels."""
    del view
    parts = [p for p in data.parts if p.kind == "images" and p.shapes]
    for part in parts:
        modes: dict[str, int] = {}
        for shape, count in part.shapes.items():
            mode = {"palette": "RGB"}.get(shape.rpartition(" ")[2], shape.rpartition(" ")[2])
            modes[mode] = modes.get(mode, 0) + count
        if len(modes) > 1:
            said = ", ".join(f"{n} {m}" for m, n in sorted(modes.items(), key=lambda kv: -kv[1]))
            return present(
                f"images of {_in(part)} differ in their channels: {said}", value=len(modes), threshold=1
            )
    if not parts:
        return unknown("no folder of images among the data files")
    return absent(f"all images have the same channels ({_all(parts)})", value=1)


# --------------------------------------------------------------------------------------------- labels


@_needs
def labels_out_of_range(data: DataSet, view: View) -> Finding:
    """Class numbers that are negative, or as large as the number of classes that the run records."""
    setting = view.run.settings.get("num_classes")
    classes = setting.value if setting is not None else None
    looked = [p for p in data.parts if p.labels is not None and p.labels.integral and p.labels.classes]
    for part in looked:
        labels = part.labels
        if labels is None or part.kind == "images":
            continue
        scores = labels.low == -labels.high  # -1 and 1, or grades about zero: no class numbers
        if labels.low < 0 and not scores:
            where = (labels.low_at,) if labels.low_at else ()
            return present(
                f"{labels.name} goes down to {labels.low:g}", value=labels.low, threshold=0, where=where
            )
        if not isinstance(classes, int) or isinstance(classes, bool) or not labels.high >= classes > 1:
            continue
        if part.kind not in FINAL and labels.low == 1 and labels.high == classes:
            return unknown(f"{labels.name} goes from 1 to {classes} in the file; the script may subtract one")
        where = (labels.high_at,) if labels.high_at else ()
        why = f"{labels.name} goes up to {labels.high:g}; the model has {classes} classes, numbered from 0"
        return present(why, value=labels.high, threshold=classes, where=where)
    whole = [p for p in looked if p.whole and p.labels is not None and _contiguous(p)]
    if whole:
        return absent(f"labels are 0 to {whole[0].labels.high:g} without a gap")  # type: ignore[union-attr]
    return unknown("no class numbers were read whole among the data files")


def _contiguous(part: Part) -> bool:
    labels = part.labels
    return labels is not None and labels.low == 0 and labels.high == len(labels.counts) - 1


@_needs
def classes_unbalanced(data: DataSet, view: View, ratio: float, least: float) -> Finding:
    """The largest class of the training data has many times the samples of the smallest."""
    del view
    worst: tuple[float, Part] | None = None
    for part in data.training:
        counts = list(part.labels.counts.values()) if part.labels is not None and part.labels.classes else []
        if len(counts) >= 2 and sum(counts) >= least:
            value = max(counts) / min(counts)
            worst = (value, part) if worst is None or value > worst[0] else worst
    if worst is None:
        return unknown("no labels of classes were found in the training data")
    value, part = worst
    counted = part.labels.counts if part.labels is not None else {}
    (most, n_most), (few, n_few) = next(iter(counted.items())), list(counted.items())[-1]
    why = f"{len(counted)} classes with {n_few} ({few}) to {n_most} ({most}) samples of {_looked(part)}"
    rest = {"value": value, "threshold": ratio, "where": (Place(part.files[0]),)}
    return present(why, **rest) if value >= ratio else absent(why, **rest)


@_needs
def classes_unseen(data: DataSet, view: View, share: float) -> Finding:
    """A share of the evaluation data is of classes that the training data do not have."""
    del view
    train = [p for p in data.training if p.labels is not None and p.labels.classes]
    held = [p for p in data.of("eval", "test") if p.labels is not None and p.labels.classes]
    if not train or not held:
        return unknown("labels of training and of evaluation data are not both there")
    by_folder = any(p.labels.by_folder for p in train if p.labels is not None)
    known = {c for p in train if p.labels is not None for c in p.labels.counts}
    for part in held:
        if part.labels is None or part.labels.by_folder != by_folder:
            continue
        new = [c for c in part.labels.counts if c not in known]
        concerned = sum(part.labels.counts[c] for c in new) / max(1, sum(part.labels.counts.values()))
        if concerned >= share and all(p.whole for p in train):
            why = (
                f"{concerned:.1%} of the {part.name} are of {len(new)} classes that training lacks: "
                f"{', '.join(new[:4])}"
            )
            return present(why, value=concerned, threshold=share, where=(Place(part.files[0]),))
        if new:
            return unknown("single classes of evaluation were not met in training, or training was sampled")
    return absent(f"every class of evaluation is among the {len(known)} of training", value=0)


@_needs
def label_noise(data: DataSet, view: View, share: float, agreement: float) -> Finding:
    """Samples of a table whose nearest neighbours nearly all carry one other label: a suspicion."""
    del view
    found = [(p, s) for p in data.training if (s := _suspects(p, data.bounds.seed)) is not None]
    for part, one in found:
        part_share = one.count / one.looked
        if part_share >= share and one.agreement >= agreement:
            why = (
                f"{one.count} of {one.looked} samples of {_in(part)} stand among neighbours of one other "
                f"label ({', '.join(one.examples)}): suspected, not proven"
            )
            return present(why, value=part_share, threshold=share, where=one.places[:5])
    judged = [one for _, one in found if one.agreement >= agreement]
    if judged:
        shown = judged[0]
        why = f"{shown.count} of {shown.looked} samples stand among neighbours of another label"
        return absent(why, value=shown.count / shown.looked, threshold=share)
    if found:
        return unknown("the classes overlap too much for neighbours to tell wrong labels")
    return unknown("no table of numbers with classes and at least 60 samples among the training data")


@lru_cache(maxsize=8)
def _suspects(part: Part, seed: int) -> neighbours.Suspects | None:
    return neighbours.suspects(part, seed)


@_needs
def labels_contradict(data: DataSet, view: View, share: float) -> Finding:
    """Samples that are equal but for their label."""
    del view
    looked = 0
    for part in data.training:
        one = neighbours.contradicting(part)
        if one is None or not one.looked or not neighbours.telling(part):
            continue
        looked += one.looked
        if one.share >= share:
            why = (
                f"{one.count} of {one.looked} samples of {_in(part)} are equal to another with another label"
            )
            return present(why, value=one.share, threshold=share, where=one.places)
    if not looked:
        return unknown("no training data with labels whose samples are told apart by their values")
    return absent(f"{looked} samples: none or few are equal with another label", threshold=share)


@_needs
def labels_all_ignored(data: DataSet, view: View) -> Finding:
    """Dumped label arrays that hold nothing but the ignore index."""
    del view
    parts = [p for p in data.parts if p.kind == "batches" and p.labels is not None and p.labels.batches]
    for part in parts:
        if part.labels is not None and part.labels.all_ignored:
            count = len(part.labels.all_ignored)
            why = f"{count} of {part.labels.batches} batches carry only the ignore index"
            return present(why, value=count, threshold=0, where=part.labels.all_ignored[:5])
    if not parts:
        return unknown("no dumped batches with labels among the data files")
    return absent("every dumped batch carries valid labels", value=0)


@_needs
def masks_empty(data: DataSet, view: View) -> Finding:
    """Attention masks among dumped batches with a row that leaves nothing to attend to."""
    del view
    masks = sum(p.masks for p in data.parts)
    found = [m for p in data.parts for m in p.masks_empty]
    if found:
        why = f"{len(found)} of {masks} attention masks have a row that hides everything"
        return present(why, value=len(found), threshold=0, where=tuple(found[:5]))
    if not masks:
        return unknown("no attention masks among the data files")
    return absent(f"{masks} attention masks leave something in every row", value=0)


# ------------------------------------------------------------------------------------- order and amount


def _sortedness(part: Part) -> float | None:
    """Changes of label between neighbours over those expected in random order, or None."""
    labels = part.labels
    if (
        labels is None
        or not labels.classes
        or labels.by_folder
        or len(labels.counts) < 2
        or labels.pairs < 50
    ):
        return None
    total = sum(labels.counts.values())
    expected = labels.pairs * (1 - sum((n / total) ** 2 for n in labels.counts.values()))
    if expected < 10:
        return None
    changes = labels.runs - (total - labels.pairs)
    return max(0, changes) / expected


def _sorted(parts: Sequence[Part], share: float, none: str) -> Finding:
    looked = [(s, p) for p in parts if (s := _sortedness(p)) is not None]
    if not looked:
        return unknown(none)
    value, part = min(looked, key=lambda sp: sp[0])
    why = f"neighbours in {_in(part)} change their label {value:.2g} times as often as in random order"
    rest = {"value": value, "threshold": share, "where": (Place(part.files[0]),)}
    return present(why, **rest) if value <= share else absent(why, **rest)


@_needs
def sorted_by_class(data: DataSet, view: View, share: float) -> Finding:
    """Rows of the training files come class by class."""
    del view
    parts = [p for p in data.training if p.kind not in FINAL]
    return _sorted(parts, share, "no training file with a label for each row")


@_needs
def drawn_in_class_order(data: DataSet, view: View, share: float) -> Finding:
    """Samples reach the model class by class, as a manifest or dumped batches show."""
    del view
    parts = [p for p in data.training if p.kind in FINAL]
    return _sorted(parts, share, "no manifest or dumped batches with labels among the data files")


@_needs
def epochs_same_order(data: DataSet, view: View, least: float) -> Finding:
    """A manifest shows the samples of several epochs in one and the same order."""
    del view
    judged = [e for e in data.epochs if e.samples >= least]
    if not judged:
        return unknown("no manifest with two epochs of named samples among the data files")
    one = judged[0]
    place = (Place(one.file),)
    if one.same:
        return present(f"{one.epochs} epochs have the {one.samples} samples in the same order", where=place)
    return absent(f"{one.epochs} epochs have their samples in different orders", where=place)


_PARAMETERS = frozenset(
    [
        "num_parameters",
        "n_parameters",
        "num_params",
        "n_params",
        "total_params",
        "trainable_params",
        "parameters",
    ]
)


def _parameters(view: View) -> float | None:
    """The number of the model's parameters, where a log or a configuration of the run tells it."""
    found = [
        float(s.value)
        for s in view.run.raw_settings
        if s.key.rpartition(".")[2].lower() in _PARAMETERS
        and isinstance(s.value, (int, float))
        and not isinstance(s.value, bool)
    ]
    return max(found, default=None)


@_needs
def samples_few(data: DataSet, view: View, samples: float, each: float) -> Finding:
    """Fewer training samples than `samples`, and more than `each` parameters of the model for each."""
    parts = [p for p in data.training if p.kind not in ("batches", "manifest")]
    known = [p.rows for p in parts if p.rows is not None]
    if not known or len(known) < len(parts):
        return unknown("the number of training samples is not known")
    # The same samples in two formats are not counted twice.
    count = max(sum(p.rows or 0 for p in parts if p.format == form) for form in {p.format for p in parts})
    said = f"{count} training samples"
    if count >= samples:
        return absent(said, value=count, threshold=samples)
    parameters = _parameters(view)
    if parameters is None:
        return unknown(f"{said}; how many parameters the model has is not known")
    said = f"{said}, {parameters / max(1, count):.3g} parameters for each"
    if parameters <= each * count:
        return absent(said, value=count, threshold=samples)
    if "adapter" in view.run.settings or "pretrained" in view.run.settings:
        return unknown(f"{said}, and the model may start from trained weights")
    return present(said, value=count, threshold=samples)


# ------------------------------------------------------------------------------------- equal samples


@_needs
def duplicates_across_splits(data: DataSet, view: View, share: float) -> Finding:
    """Samples of an evaluation split stand in the training split as well, beyond what chance repeats."""
    del view
    train = [p for p in data.training if p.hashed]
    looked = []
    for part in data.of("eval", "test"):
        one = neighbours.shared(train, part)
        if not one.looked:
            continue
        looked.append((one, part))
        if one.share >= share and one.share > 2 * one.by_chance:
            of = f"{one.count} of {one.looked} samples of {_in(part)}"
            why = f"{of} stand in the training data too ({one.share:.1%})"
            return present(why, value=one.share, threshold=share, where=one.places)
    if not looked:
        return unknown("training and evaluation samples are not both there in one format")
    if (
        all(p.whole for p in train)
        and all(p.whole for _, p in looked)
        and all(not o.count for o, _ in looked)
    ):
        return absent(
            f"none of {looked[0][0].looked} evaluation samples stands in the training data", value=0
        )
    if any(o.count for o, _ in looked):
        return unknown("some evaluation samples are equal to training samples, no more than chance repeats")
    return unknown("only a part of the samples was compared; none is in both")


@_needs
def duplicates(data: DataSet, view: View, share: float) -> Finding:
    """Samples of the training data that repeat an earlier one."""
    del view
    looked = []
    for part in data.training:
        if not part.hashed or (part.kind == "manifest"):
            continue
        one = neighbours.repeated(part)
        looked.append((one, part))
        if one.share >= share:
            why = (
                f"{one.count} of {one.looked} samples of {_in(part)} repeat an earlier one ({one.share:.1%})"
            )
            return present(why, value=one.share, threshold=share, where=one.places)
    judged = [one for one, _ in looked if one.looked]
    if not judged:
        return unknown("no samples were compared")
    return absent(f"{judged[0].count} of {judged[0].looked} samples repeat an earlier one", threshold=share)


# -------------------------------------------------------------------------------------------- shards


@_needs
def shards_overlap(data: DataSet, view: View) -> Finding:
    """Per-rank lists of samples overlap, or leave samples out."""
    del view
    shards = data.shards
    if shards is None:
        return unknown("no lists of the samples of each rank among the data files")
    places = tuple(Place(f) for f in shards.files[:3])
    total = sum(map(len, shards.ranks.values()))
    union = frozenset().union(*shards.ranks.values())
    twice = total - len(union)
    if twice >= len(shards.ranks):  # a sampler that fills up the last batch repeats fewer than one per rank
        why = f"{twice} of {total} samples are given to several of {len(shards.ranks)} ranks"
        return present(why, value=twice / total, threshold=0, where=places)
    left = len(shards.universe - union) if shards.universe is not None else 0
    if left >= len(shards.ranks):  # one that drops the last batch leaves out fewer than one per rank
        why = f"{left} of {len(shards.universe or ())} samples are given to no rank"
        return present(why, value=left / total, threshold=0, where=places)
    return absent(
        f"{len(shards.ranks)} ranks share {len(union)} samples without overlap", value=0, where=places
    )


@_needs
def shards_uneven(data: DataSet, view: View, ratio: float) -> Finding:
    """Some rank gets clearly more samples than another."""
    del view
    shards = data.shards
    if shards is None:
        return unknown("no lists of the samples of each rank among the data files")
    sizes = {r: len(m) for r, m in shards.ranks.items()}
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    value = sizes[most] / max(1, sizes[least])
    why = f"rank {least} gets {sizes[least]} samples, rank {most} {sizes[most]}"
    rest = {"value": value, "threshold": ratio, "where": (Place(shards.files[0]),)}
    return present(why, **rest) if value >= ratio and sizes[most] - sizes[least] > 1 else absent(why, **rest)


# ------------------------------------------------------------------------------------ beside a benchmark


@_needs
def differs_from_benchmark(data: DataSet, view: View, share: float) -> Finding:
    """The benchmark's training data hold other samples, other columns, or clearly more."""
    other = view.benchmark.data if view.benchmark is not None else None
    if other is None:
        return unknown("needs the benchmark's data (--benchmark)")
    pairs = [
        (a, b) for a in data.training for b in other.training if (a.kind, a.format) == (b.kind, b.format)
    ]
    pairs = [(a, b) for a, b in pairs if a.kind not in ("batches", "manifest")]
    if not pairs:
        return unknown("no training data of one format on both sides")
    for a, b in pairs:
        place = (Place(a.files[0]),)
        names = {c.name for c in a.columns} ^ {c.name for c in b.columns}
        if a.columns and b.columns and names:
            why = f"columns are not the benchmark's: {', '.join(sorted(names)[:4])}"
            return present(why, value=len(names), threshold=0, where=place)
        if a.exact and b.exact and a.rows is not None and b.rows is not None and a.rows != b.rows:
            why = f"{a.rows} samples here, {b.rows} in the benchmark's data"
            return present(why, value=a.rows, threshold=b.rows, where=place)
        if a.whole and b.whole and a.hashed == b.hashed and a.hashed and len(b.hashes):
            gone = float(np.mean(~np.isin(b.hashes, a.hashes)))
            if gone > share:
                why = f"{gone:.1%} of the benchmark's samples are not here"
                return present(why, value=gone, threshold=share, where=place)
    if all(a.whole and b.whole and len(b.hashes) and a.hashed == b.hashed for a, b in pairs):
        return absent("samples and columns are the benchmark's", value=0)
    return unknown("counts agree; the samples were not all compared")


@_needs
def fewer_than_benchmark(data: DataSet, view: View, ratio: float) -> Finding:
    """The benchmark's training files hold more samples."""
    other = view.benchmark.data if view.benchmark is not None else None
    if other is None:
        return unknown("needs the benchmark's data (--benchmark)")
    mine, theirs = _count(data), _count(other)
    if not mine or not theirs or math.isnan(mine + theirs):
        return unknown("the number of training samples is not known on both sides")
    why = f"{mine:g} training samples here, {theirs:g} in the benchmark's data"
    rest = {"value": mine, "threshold": theirs}
    return present(why, **rest) if mine <= ratio * theirs else absent(why, **rest)


def _count(data: DataSet) -> float:
    rows = [p.rows for p in data.training if p.kind not in ("batches", "manifest")]
    return float(sum(r for r in rows if r is not None)) if rows and None not in rows else math.nan
