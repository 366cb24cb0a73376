"""How samples are made on both sides: the labels that logs print, and the steps of a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...engine.model import Place
from ..readers.text.label_lists import FIRST
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Event, Run, Setting


def _first(run: Run) -> Event | None:
    return next((e for e in run.events_of("worked-out") if e.data.startswith(f"{FIRST}:")), None)


def _one_sample(one: Event, other: Event) -> bool:
    """Whether both labels are of one sample: where both count they are equal; a sample has one length."""
    (_, size, mine), (_, length, theirs) = (e.data.split(":", 2) for e in (one, other))
    pairs = zip(mine.split(","), theirs.split(","), strict=False)
    counted = [a == b for a, b in pairs if "-100" not in (a, b)]
    return sum(counted) >= 0.9 * len(counted) if counted else size == length


@probe("benchmark")
def labels_masked_otherwise(view: View, apart: float) -> Finding:
    """The share of labels that count for nothing, in the first sample that each side prints."""
    mine = _first(view.run)
    theirs = None if view.benchmark is None else _first(view.benchmark)
    if mine is None or theirs is None:
        return unknown("the labels of a first sample are not printed on both sides")
    a, b = mine.value or 0.0, theirs.value or 0.0
    words = f"{mine.text}, in the benchmark {b:.0%}"
    where = (Place(mine.file, mine.line), Place(theirs.file, theirs.line, side="benchmark"))
    if not _one_sample(mine, theirs):
        return unknown(f"{words}; but these are two samples")
    if abs(a - b) >= apart:
        return present(words, value=a, threshold=b, where=where)
    return absent(words, value=a, where=where)


# `train_pipeline.video.2.trans_type = norm_fun`, `transforms.0.DecodeImage.mode`
_STEP = re.compile(r"^(.*?\w*(?:pipeline|transform)s?(?:\.[A-Za-z_]\w*)*)\.(\d+)\.(\w+)")
_NAMES = ("type", "trans_type", "name", "_target_", "transform")


def _steps(run: Run) -> dict[str, dict[str, Setting]]:
    """The names of the steps of each pipeline of training, by the path of the list from its own name on."""
    found: dict[str, dict[str, Setting]] = {}
    for setting in run.raw_settings:
        told = _STEP.match(setting.key)
        if told is None or re.search(r"(?i)(?:^|[._])(?:test|val|valid|eval|infer)", setting.key):
            continue
        path, _, word = told.groups()
        if word in _NAMES and setting.key.endswith(f".{word}") and isinstance(setting.value, str):
            name = setting.value.rpartition(".")[2]
        elif word[:1].isupper():
            name = word
        else:
            continue
        own = re.split(r"\.(?=\w*(?:pipeline|transform))", path)[-1]
        found.setdefault(own, {}).setdefault(name, setting)
    return found


# reading, packing and formatting change no values; makers of devices have names of their own for a step
_NO_CHANGE = re.compile(r"^(?:Load|Read|Pack|Collect|Keep|Default)\w*$|Format\w*$")
_MAKERS = re.compile(r"(?i)npu|gpu|cuda|ascend|fused|fast")
_ELSEWHERE = re.compile(r"(?i)^(?:normali[sz]e|pad|totensor)")


def _plain(steps: dict[str, Setting], moved: bool) -> dict[str, str]:
    """The steps that change values: their plain names, and what they are called here."""
    kept = (n for n in steps if not _NO_CHANGE.search(n) and not (moved and _ELSEWHERE.search(n)))
    return {_MAKERS.sub("", n).lower(): n for n in kept}


def _left_out(view: View) -> Iterator[tuple[str, str, Setting, bool]]:
    """(pipeline, step, setting, whether it stands here) of steps that one side alone has."""
    if view.benchmark is None:
        return
    mine, theirs = _steps(view.run), _steps(view.benchmark)
    both = (*view.run.raw_settings, *view.benchmark.raw_settings)
    moved = any("data_preprocessor" in s.key for s in both)  # it normalises and pads instead
    for path in mine.keys() & theirs.keys():
        if not mine[path].keys() & theirs[path].keys():
            continue  # the words of another library
        here, there = _plain(mine[path], moved), _plain(theirs[path], moved)
        for plain in here.keys() ^ there.keys():
            if plain in there:
                yield path, there[plain], theirs[path][there[plain]], False
            else:
                yield path, here[plain], mine[path][here[plain]], True


@probe("benchmark")
def pipeline_steps_differ(view: View) -> Finding:
    """A step of a training pipeline stands on one side alone; both name their steps in the same words."""
    found = sorted(_left_out(view), key=lambda f: f[:2])
    if not found:
        both = {} if view.benchmark is None else _steps(view.run).keys() & _steps(view.benchmark).keys()
        if not both:
            return unknown("no pipeline of training is written down step by step on both sides")
        return absent(f"{' and '.join(sorted(both)[:2])} have the benchmark's steps")
    path, name, setting, here = found[0]
    words = f"{name} is a step of {path} here, and not in the benchmark"
    if not here:
        words = f"{name} is no step of {path} here, as it is in the benchmark"
    more = f" ({len(found)} steps are on one side alone)" if len(found) > 1 else ""
    where = (Place(setting.file, setting.line, side="run" if here else "benchmark"),)
    return present(words + more, value=name, where=where)
