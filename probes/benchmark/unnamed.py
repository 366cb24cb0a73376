"""Settings without a canonical name: those that differ, and the role that their name tells."""

from __future__ import annotations

import re
from typing import Any

from ...engine.model import Place, State
from .. import settings as names
from ..registry import Finding, View, absent, place_of, present, probe, unknown
from ..run import Run
from ..settings.roles import amount, far_apart, is_word, role_of
from .both import BY_CHANCE, both, both_numbers, counted_in_passing, ratio_of, told_sides, where_told
from .chosen import by_choice


def _plain(run: Run) -> dict[str, tuple[Any, Place]]:
    """Settings that have no canonical name and could matter, by their raw key."""
    found: dict[str, tuple[Any, Place]] = {}
    for setting in sorted(run.raw_settings, key=lambda s: -s.trust):
        counted = setting.key.startswith("class_counts.")  # class_shares_differ compares them
        if counted or names.canonical_key(setting.key) is not None or names.is_harmless(setting.key):
            continue
        value = setting.value
        text = str(value)
        if (
            value is None
            or "/" in text
            or "\\" in text
            or text == "***"
            or re.search(r"\d{4}-?\d{2}-?\d{2}", text)
        ):
            continue
        key = ".".join(names.parts_of(setting.key))
        found.setdefault(key, (value, Place(setting.file, setting.line)))
    return found


Other = tuple[str, Any, Any, Place]  # raw key, the run's value, the benchmark's, where the run has it


def other_settings(view: View) -> tuple[list[Other], list[Other]]:
    """Settings without a canonical name that both sides record: those that differ, and the equal ones."""
    if view.benchmark is None:
        return [], []
    mine, theirs = _plain(view.run), _plain(view.benchmark)
    differ: list[Other] = []
    equals: list[Other] = []
    for key in sorted(mine.keys() & theirs.keys()):
        (a, at), b = mine[key], theirs[key][0]
        if "auto" in (a, b) and not (is_word(a) and is_word(b)):
            continue  # what the library then took may be the other's value
        (equals if names.same(a, b) else differ).append((key, a, b, at))
    return differ, equals


def role_told(found: Other) -> str | None:
    """What a setting is about, by its name and its two values."""
    return role_of(*found[:3])


def say_others(differ: list[Other]) -> Finding:
    """Present: the first four of these differences with their values."""
    text = "; ".join(f"{k} = {a}, in the benchmark {b}" for k, a, b, _ in differ[:4])
    more = f"; and {len(differ) - 4} more" if len(differ) > 4 else ""
    where = tuple(p for *_, p in differ[:4])
    return present(text + more, value=str(differ[0][1]), threshold=str(differ[0][2]), where=where)


@probe("benchmark")
def other_setting_differs(view: View, minimum: int = 3) -> Finding:
    """A setting without a canonical name, and without a name that says what it is about, has two values."""
    differ, equals = ([d for d in found if role_told(d) is None] for found in other_settings(view))
    if differ:
        return say_others(differ)
    if len(equals) < minimum:
        return unknown("both sides record fewer than three further settings")
    return absent(f"{len(equals)} further settings are equal", value=0)


@probe("benchmark")
def role_differs(view: View, role: str) -> Finding:
    """A setting without a canonical name differs whose name says that it is about `role` (setting_roles)."""
    differ, equals = ([d for d in found if role_told(d) == role] for found in other_settings(view))
    if role == "evaluation":  # how many samples are judged at a time changes nothing
        differ = [d for d in differ if not _AT_A_TIME.search(str(d[0]))]
        files = _files_of_evaluation(view)
        differ += [f for f in files if f[1] != f[2]]
        equals += [f for f in files if f[1] == f[2]]
    differ = [d for d in differ if not _one_word(d[1], d[2])]
    if differ:
        return say_others(differ)
    if equals:
        return absent(f"recorded on both sides, and equal: {', '.join(k for k, *_ in equals[:4])}", value=0)
    return unknown(f"no setting of the {role} is recorded on both sides")


def _one_word(mine: object, theirs: object) -> bool:
    """ "label" and "labels", "train" and "training": one name as two libraries have it."""
    if not (isinstance(mine, str) and isinstance(theirs, str)):
        return False
    bare = [re.sub(r"(?:ing|s)$", "", re.sub(r"[^a-z0-9]", "", w.lower())) for w in (mine, theirs)]
    return bare[0] == bare[1] != ""


def _files_of_evaluation(view: View) -> list[Other]:
    """The files that hold the evaluation data, without their folders: those change with the machine."""
    sides = []
    for run in (view.run, view.benchmark):
        found: dict[str, tuple[str, Place]] = {}
        for setting in sorted(run.raw_settings if run else (), key=lambda s: -s.trust):
            parts = names.parts_of(setting.key)
            name = re.split(r"[/\\]", str(setting.value))[-1]
            words = set("_".join(parts).split("_"))
            if words & _EVALUATION and not words & _WRITTEN and _DATA_FILE.search(name):
                found.setdefault(".".join(parts), (name, Place(setting.file, setting.line)))
        sides.append(found)
    mine, theirs = sides
    return [(k, mine[k][0], theirs[k][0], mine[k][1]) for k in sorted(mine.keys() & theirs.keys())]


_EVALUATION = frozenset({"val", "valid", "validation", "eval", "evaluation", "test"})
_WRITTEN = frozenset(
    {"out", "output", "outputs", "save", "saved", "pred", "preds", "prediction", "predictions", "result"}
    | {"results", "metric", "metrics", "log", "logs", "report", "submission"}
)
_DATA_FILE = re.compile(
    r"(?i)\w\.(?:csv|tsv|jsonl?|parquet|npy|npz|h5|hdf5|pkl|txt|arrow|feather|tfrecords?|mdb|lmdb|zip)$"
)


_AT_A_TIME = re.compile(r"(?i)(?:^|_)(?:bs|batch|batch_?size)$|num_workers|workers$")


_COIN = 0.5  # the chance by which pictures are mirrored, as a rule
_CHANCE = re.compile(r"(?i)flip|mirror|prob|chance|(?:^|[._])p$")
_SIZES_OF_INPUTS = ("image_size", "max_sequence_length")


@probe("benchmark")
def processing_far(view: View, ratio: float) -> Finding:
    """A number of the processing of inputs differs from the benchmark's by a factor of at least `ratio`."""
    differ, equals = ([d for d in found if role_told(d) == "processing"] for found in other_settings(view))
    far = [d for d in differ if far_apart(d[1], d[2], ratio) is not None and not _switched_at_random(*d[:3])]
    if far:
        return say_others(far)
    known = [f for key in _SIZES_OF_INPUTS if (f := both(view, key)) is not None]
    for found in known:
        values = both_numbers(found)
        longer = values is not None and found[0].key == "max_sequence_length" and values[0] > values[1]
        if values is not None and not longer and far_apart(*values, ratio) is not None:  # nothing is cut then
            return present(told_sides(found), value=values[0], threshold=values[1], where=where_told(found))
    numbers = [d for d in differ + equals if names.number(d[1]) is not None]
    numbers += [(f[0].raw, f[0].value, f[1].value, place_of(f[0])) for f in known]
    if numbers:
        return absent(f"near the benchmark's: {', '.join(k for k, *_ in numbers[:4])}", value=0)
    return unknown("no number of the processing is recorded on both sides")


def _switched_at_random(key: str, mine: object, theirs: object) -> bool:
    """A step that one side leaves out and the other takes by a usual chance: `flip_ratio: 0.5`."""
    a, b = sorted((names.number(mine) or 0.0, names.number(theirs) or 0.0))
    return a == 0.0 and 0.0 < b <= _COIN and _CHANCE.search(key) is not None


@probe("benchmark")
def fewer_samples(view: View, ratio: float) -> Finding:
    """The benchmark trains on more than `ratio` times the run's samples, by their count or its parts."""
    found = both(view, "train_samples")
    if found is not None and counted_in_passing(*found):
        ratio = max(ratio, BY_CHANCE)
    counted = ratio_of(view, "train_samples", ratio, up=False)
    if counted.state is not State.UNKNOWN:
        return counted
    differ, equals = ([d for d in found if role_told(d) == "samples"] for found in other_settings(view))
    fewer = [d for d in differ if (a := amount(d[1])) and (b := amount(d[2])) and a * ratio < b]
    if fewer:
        return say_others(fewer)
    if equals or differ:
        shown = ", ".join(k for k, *_ in (differ + equals)[:4])
        return absent(f"no fewer than in the benchmark: {shown}", value=0)
    return counted


@probe("benchmark")
def more_samples(view: View, ratio: float) -> Finding:
    """The run trains on more than `ratio` times the benchmark's samples: read twice, or of another set."""
    found = both(view, "train_samples")
    if found is not None and counted_in_passing(*found):
        ratio = max(ratio, BY_CHANCE)
    if found is not None and by_choice(view, [found]):
        return unknown(f"{told_sides(found)}: chosen, it seems, as the run ends no worse")
    return ratio_of(view, "train_samples", ratio, up=True)


@probe("benchmark")
def columns_differ(view: View, more: bool) -> Finding:
    """The run reads columns that the benchmark does not (`more`), or lacks some of the benchmark's."""
    differ, equals = ([d for d in found if role_told(d) == "columns"] for found in other_settings(view))
    for key, mine, theirs, at in differ:
        extra = [c for c in (mine if more else theirs) if c not in (theirs if more else mine)]
        if extra:
            side = "the run alone" if more else "the benchmark alone"
            text = f"{key}: {side} has {', '.join(extra[:4])}"
            return present(text, value=len(mine), threshold=len(theirs), where=(at,))
    if differ or equals:
        return absent(f"{(differ + equals)[0][0]} names {'no more' if more else 'no fewer'} columns", value=0)
    return unknown("columns are not recorded on both sides")
