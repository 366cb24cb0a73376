"""Data sets by their lists: complete, changed, read twice; unknown where no list says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from traindoctor.engine.model import Reading
from traindoctor.probes.registry import View, collect
from traindoctor.probes.run import DataList, Listed, Run

from ._build import run, written
from ._read import probes, symptoms

A, B = "a" * 64, "b" * 64
FILES = {f"data/{n}.jpg": Listed(100 + n, f"{n:064x}") for n in range(10)}


def read(symptom: str, mine: Run, benchmark: Run | None = None) -> Reading:
    rules = {**symptoms("asked"), **symptoms("data_lists")}
    found = collect(View(mine, benchmark), [rules[symptom]], probes())[symptom]
    assert not found.why.startswith("probe error")
    return found


def listed(entries: Mapping[str, Listed], file: str = "sums.txt", **rest: Any) -> DataList:
    return DataList(file, entries, **rest)


def has(*lists: DataList, **settings: Any) -> Run:
    return written(settings, lists=tuple(lists))


def ranks(*parts: Any, **settings: Any) -> Run:
    made = [
        listed({str(n): Listed() for n in part}, f"shard_rank{r}.txt", rank=r) for r, part in enumerate(parts)
    ]
    return has(*made, **settings)


def without(*names: str) -> dict[str, Listed]:
    return {k: v for k, v in FILES.items() if k not in names}


MOVED = {k.replace("data/", "/mnt/set/"): v for k, v in FILES.items()}
CHANGED = {**FILES, "data/3.jpg": Listed(103, B)}
CHECKED = listed({"1.jpg": Listed()}, checked=1)
FAILED = listed({"1.jpg": Listed()}, checked=2, failed=("2.jpg",))


def db(*numbers: int) -> list[DataList]:
    names = [f"x.mindrecord{n}.db" for n in numbers]
    return [listed({n: Listed(9)}, n) for n in names]


def declares(count: int) -> DataList:
    return listed({}, "dataset_info.json", declared={"train": count, "test": 5})


CASES: list[tuple[str, str, Run, Run | None]] = [
    ("files-missing", "present", has(FAILED), None),
    ("files-missing", "present", has(listed({**FILES, "data/e.jpg": Listed(0)})), None),
    ("files-missing", "present", has(*db(0, 1, 3)), None),
    ("files-missing", "present", has(listed(without("data/3.jpg"))), has(listed(FILES))),
    ("files-missing", "absent", has(CHECKED), None),
    ("files-missing", "absent", has(listed(FILES)), has(listed(FILES))),
    ("files-missing", "absent", has(listed(MOVED)), has(listed(FILES))),
    ("files-missing", "unknown", has(listed(FILES)), has(listed(FILES, complete=False))),
    ("files-missing", "unknown", has(listed(FILES)), has(listed({"other/x.txt": Listed(1)}))),
    ("files-missing", "unknown", has(listed(FILES)), None),
    ("files-missing", "unknown", has(), has(listed(FILES))),
    ("files-missing", "unknown", run(), None),
    ("files-differ", "present", has(listed(CHANGED)), has(listed(FILES))),
    ("files-differ", "present", has(listed({"1": Listed(5)})), has(listed({"1": Listed(6)}))),
    ("files-differ", "absent", has(listed(MOVED)), has(listed(FILES))),
    ("files-differ", "unknown", has(listed({"1": Listed(5)})), has(listed({"1": Listed(None, A)}))),
    ("files-differ", "unknown", has(listed(FILES)), None),
    ("fewer-samples-than-listed", "present", has(declares(1000), train_samples=400), None),
    ("fewer-samples-than-listed", "present", has(declares(1000), train_samples=700, eval_samples=100), None),
    ("fewer-samples-than-listed", "absent", has(declares(1000), train_samples=1000), None),
    ("fewer-samples-than-listed", "absent", has(declares(1000), train_samples=900, eval_samples=100), None),
    ("fewer-samples-than-listed", "unknown", has(declares(1000), train_samples=900), None),
    ("fewer-samples-than-listed", "unknown", has(declares(1000)), None),
    ("fewer-samples-than-listed", "unknown", has(train_samples=900), None),
    ("shards-overlap", "present", ranks(range(50), range(40, 90)), None),
    ("shards-overlap", "present", ranks(range(40), range(50, 90), train_samples=100), None),
    ("shards-overlap", "absent", ranks(range(0, 100, 2), range(1, 100, 2), train_samples=100), None),
    ("shards-overlap", "absent", ranks(range(51), (*range(51, 101), 0)), None),
    ("shards-overlap", "absent", has(world_size=1), None),
    ("shards-overlap", "unknown", ranks(range(50), range(50, 99), world_size=4), None),
    ("shards-overlap", "unknown", ranks(range(50)), None),
    ("shards-overlap", "unknown", run(), None),
    ("shard-lists-differ", "present", ranks("ab", "cd"), ranks("ac", "bd")),
    ("shard-lists-differ", "absent", ranks("ab", "cd"), ranks("ba", "dc")),
    ("shard-lists-differ", "unknown", ranks("ab", "cd"), ranks("a", "b", "cd")),
    ("shard-lists-differ", "unknown", ranks("ab", "cd"), ranks("ab", "xy")),
    ("shard-lists-differ", "unknown", ranks("ab", "cd"), None),
]


@pytest.mark.parametrize(("symptom", "expected", "mine", "theirs"), CASES)
def test_three_states(symptom: str, expected: str, mine: Run, theirs: Run | None) -> None:
    """Each symptom seen, ruled out, and left open."""
    found = read(symptom, mine, theirs)

    assert found.state == expected, found.why


def test_every_symptom_of_the_file_is_here() -> None:
    """No symptom goes without a case for each state."""
    states = {(s, t) for s, t, *_ in CASES}

    names = {*symptoms("data_lists"), "files-missing", "shards-overlap"}
    assert states == {(s, t) for s in names for t in ("present", "absent", "unknown")}


def test_a_whole_list_shows_what_no_rank_reads() -> None:
    """Files of the manifest that stand in no rank's list are a gap."""
    whole = listed({f"{n}": Listed(1) for n in range(40)}, "manifest.json")
    made = ranks(range(15), range(15, 30))
    found = read("shards-overlap", written({}, lists=(whole, *made.lists)))

    assert found.why == "10 of 40 entries of manifest.json are read by none of 2 ranks"


def test_what_is_missing_is_named() -> None:
    """The first names and the place of both lists."""
    found = read("files-missing", has(listed(without("data/3.jpg"))), has(listed(FILES, "theirs.txt")))

    assert found.why == "1 of 10 files of the benchmark's list are not in sums.txt: 3.jpg"
    assert [(p.file, p.side) for p in found.where] == [("sums.txt", "run"), ("theirs.txt", "benchmark")]
