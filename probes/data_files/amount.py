"""Order and number of the samples in data files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...engine.model import Place
from ..dataset.model import DataSet, Part
from ..dataset.naming import is_input
from ..registry import Finding, View, absent, present, unknown
from .common import FINAL, many, needs_data, said_of


def _sortedness(part: Part) -> float | None:
    """Changes of label between neighbours over those expected in random order, or None."""
    labels = part.labels
    if (
        labels is None
        or not labels.classes
        or labels.by_folder
        or labels.maps
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


LEAST_GROUPS = 5


def _ordered_by(part: Part) -> str:
    """The column of groups or times by which rows stand, where classes come back; "" where there is none."""
    labels = part.labels
    if labels is None or labels.runs - (sum(labels.counts.values()) - labels.pairs) < len(labels.counts):
        return ""  # each class stands in one place
    for one in part.groups:
        changes = int(np.count_nonzero(one.values[1:] != one.values[:-1]))
        groups = len(np.unique(one.values))
        if LEAST_GROUPS <= groups == changes + 1 < len(one.values) / 2:
            return one.name
    if part.times is not None and bool((np.diff(part.times.values) >= 0).all()):
        return part.times.name
    return ""


def _sorted(parts: Sequence[Part], share: float, none: str) -> Finding:
    looked = [(s, p) for p in parts if (s := _sortedness(p)) is not None]
    if not looked:
        return unknown(none)
    value, part = min(looked, key=lambda sp: sp[0])
    if value <= share and (order := _ordered_by(part)):
        return unknown(f"rows of {said_of(part)} stand by {order}, and labels with them")
    why = f"neighbours in {said_of(part)} change their label {value:.2g} times as often as in random order"
    rest = {"value": value, "threshold": share, "where": (Place(part.files[0]),)}
    return present(why, **rest) if value <= share else absent(why, **rest)


@needs_data
def sorted_by_class(data: DataSet, view: View, share: float) -> Finding:
    """Rows of the training files come class by class."""
    del view
    parts = [p for p in data.training if p.kind not in FINAL]
    return _sorted(parts, share, "no training file with a label for each row")


@needs_data
def drawn_in_class_order(data: DataSet, view: View, share: float) -> Finding:
    """Samples reach the model class by class, as a manifest or dumped batches show."""
    del view
    parts = [p for p in data.training if p.kind in FINAL]
    return _sorted(parts, share, "no manifest or dumped batches with labels among the data files")


@needs_data
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


@needs_data
def counts_disagree(data: DataSet, view: View) -> Finding:
    """The arrays of one split hold another number of labels than of inputs.

    A multiple (labels of every token, several views of an image) is no fault that counts alone can show.
    """
    del view
    looked = []
    for part in data.parts:
        if part.kind not in ("array", "table") or not part.label_rows:
            continue
        named = {n: r for n, r in part.field_rows.items() if is_input(n)}
        inputs = named or (part.field_rows if len(part.field_rows) == 1 else {})
        if not inputs:
            continue
        looked.append(part)
        for name, labels in part.label_rows.items():
            several = part.kind == "array" and any(_multiple(labels, n) for n in inputs.values())
            if labels in inputs.values() or several:
                continue
            field, rows = min(inputs.items(), key=lambda nr: abs(nr[1] - labels))
            what = ("sample", "label") if part.kind == "array" else ("line", "line")
            why = f"{said_of(part)}: {many(rows, what[0])} in {field}, {many(labels, what[1])} in {name}"
            return present(why, value=abs(rows - labels), threshold=0, where=(Place(part.files[0]),))
    if not looked:
        return unknown("no arrays of inputs with one label each among the data files")
    if any(r not in p.field_rows.values() for p in looked for r in p.label_rows.values()):
        return unknown("the number of labels is a multiple of that of the inputs, or the other way round")
    return absent("every sample of the arrays has one label", value=0)


def _multiple(a: int, b: int) -> bool:
    low, high = min(a, b), max(a, b)
    return low > 1 and high % low == 0


@needs_data
def samples_few(data: DataSet, view: View, samples: float, each: float) -> Finding:
    """Fewer training samples than `samples`, and more than `each` parameters of the model for each."""
    parts = [p for p in data.training if p.kind not in ("batches", "manifest")]
    known = [p.rows for p in parts if p.rows is not None]
    if not known or len(known) < len(parts):
        return unknown("the number of training samples is not known")
    # The same samples in two formats are not counted twice.
    count = max(sum(p.rows or 0 for p in parts if p.format == form) for form in {p.format for p in parts})
    said = many(count, "training sample")
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
