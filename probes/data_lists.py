"""Lists of data files and samples held against one another: is anything missing, changed or read twice?

The lists lie in the run directory (see readers/data_list.py); the data that they name are never opened.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ..engine.model import Place, State
from . import settings as names
from .config.in_force import trains_alone
from .config.values import number_of
from .data_files.files import files_missing as data_files_missing
from .data_files.repeated import shards_overlap as data_shards_overlap
from .registry import Finding, View, absent, any_of, present, probe, unknown
from .run import DataList, Listed, Run

MOST_NAMED = 3
ALIKE = 0.5  # share of the smaller list's names from which two lists are of one data set
NO_LIST = (
    "no list of data files lies in the {side} (sha256sums.txt, manifest.json or manifest.csv with sizes or"
    " checksums)"
)
_NUMBERED = re.compile(r"^(.*?)(\d{1,6})(\.db)$")


def _named(some: Iterable[str]) -> str:
    found = sorted(some)
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more


def _whole(run: Run) -> list[DataList]:
    """Lists of the data set as a whole, the longest first."""
    found = [
        d for d in run.lists if d.rank is None and d.entries and not d.checked and not d.file.endswith(".db")
    ]
    return sorted(found, key=lambda d: -len(d.entries))


def _below(entries: Mapping[str, Listed]) -> dict[str, Listed]:
    """The entries by their path below the folder that all of them share."""
    cleaned = {posixpath.normpath(n.replace("\\", "/")): v for n, v in entries.items()}
    folder = ""
    if len({n.startswith("/") for n in cleaned}) == 1:
        folder = posixpath.commonpath([n.rpartition("/")[0] for n in cleaned])
    start = len(folder) + 1 if folder.strip("/") else len(folder)
    return {n[start:]: v for n, v in cleaned.items()}


def _pair(view: View) -> tuple[DataList, dict[str, Listed], DataList, dict[str, Listed]] | str:
    """The lists of both sides that name the same data set best, or why there are none."""
    mine = _whole(view.run)
    theirs = _whole(view.benchmark) if view.benchmark is not None else []
    if not mine:
        return NO_LIST.format(side="run")
    if view.benchmark is None:
        return "needs a benchmark run (--benchmark) with a list of its data files"
    if not theirs:
        return NO_LIST.format(side="benchmark")
    for a in mine:
        for b in theirs:
            if a.split != b.split or not (a.complete and b.complete):
                continue
            left, right = _below(a.entries), _below(b.entries)
            shared = len(left.keys() & right.keys())
            if shared and shared >= ALIKE * min(len(left), len(right)):
                return a, left, b, right
    return f"the lists {mine[0].file} and {theirs[0].file} (benchmark) name other files"


def _either(files: Finding, lists: Finding) -> Finding:
    """What the data files themselves say, where they were found; else what the lists say."""
    return lists if files.state is State.UNKNOWN else any_of((files, lists))


@probe()
def files_missing(view: View) -> Finding:
    """Files are missing: by the data files where they were found, by the lists that lie in the run else."""
    return _either(data_files_missing(view), _files_missing(view))


def _files_missing(view: View) -> Finding:
    """Files are missing, empty or wrong by a check of checksums, or missing against the benchmark's list.

    Absent needs a check that all files passed, or a list that names all that the benchmark's names.
    """
    run = view.run
    checks = [d for d in run.lists if d.checked]
    for found in checks:
        if found.failed:
            text = f"{len(found.failed)} of {found.checked} files fail their checksum or are not there"
            return present(
                f"{text}: {_named(found.failed)}", value=len(found.failed), where=(Place(found.file),)
            )
    empty = [(d, n) for d in _whole(run) for n, e in d.entries.items() if e.size == 0]
    if empty:
        text = f"{len(empty)} listed files are empty: {_named(n for _, n in empty)}"
        return present(text, value=len(empty), where=(Place(empty[0][0].file),))
    gaps = _missing_numbers(d.file for d in run.lists if d.file.endswith(".db"))
    if gaps:
        return present(f"index files are missing: {_named(gaps)}", value=len(gaps))
    pair = _pair(view)
    if not isinstance(pair, str):
        mine, left, theirs, right = pair
        gone = right.keys() - left.keys()
        where = (Place(mine.file), Place(theirs.file, side="benchmark"))
        if gone:
            text = f"{len(gone)} of {len(right)} files of the benchmark's list are not in {mine.file}"
            return present(f"{text}: {_named(gone)}", value=len(gone), threshold=0, where=where)
        return absent(
            f"all {len(right)} files of the benchmark's list are in {mine.file}", value=0, where=where
        )
    if checks:
        count = sum(d.checked for d in checks)
        return absent(f"all {count} files passed their checksum", value=0, where=(Place(checks[0].file),))
    return unknown(pair)


def _missing_numbers(files: Iterable[str]) -> list[str]:
    """Names that a numbered series of index files leaves out between its first and its last."""
    series: dict[tuple[str, str], set[int]] = {}
    for file in files:
        match = _NUMBERED.match(file)
        if match:
            series.setdefault((match.group(1), match.group(3)), set()).add(int(match.group(2)))
    gaps = []
    for (start, end), seen in sorted(series.items()):
        gaps += [
            f"{start}{n}{end}" for n in range(min(seen), min(max(seen), min(seen) + 9999)) if n not in seen
        ]
    return gaps


@probe("benchmark")
def files_differ(view: View) -> Finding:
    """Files of one name have another size, checksum or label than in the benchmark's list."""
    pair = _pair(view)
    if isinstance(pair, str):
        return unknown(pair)
    mine, left, theirs, right = pair
    where = (Place(mine.file), Place(theirs.file, side="benchmark"))
    compared, other = 0, []
    for name in left.keys() & right.keys():
        same = _same(left[name], right[name])
        compared += same is not None
        if same is False:
            other.append(name)
    if other:
        text = f"{len(other)} of {compared} files are not the benchmark's by size, checksum or label"
        return present(f"{text}: {_named(other)}", value=len(other), threshold=0, where=where)
    if not compared:
        return unknown(f"{mine.file} and the benchmark's {theirs.file} have no sizes or checksums to compare")
    return absent(f"{compared} files have the benchmark's size or checksum", value=0, where=where)


def _same(a: Listed, b: Listed) -> bool | None:
    """Whether two entries are one file; None where nothing can be compared."""
    if a.checksum and len(a.checksum) == len(b.checksum):
        return a.checksum == b.checksum
    if a.size is not None and b.size is not None:
        return a.size == b.size
    return a.rest == b.rest if a.rest and b.rest else None


@probe()
def fewer_than_listed(view: View, share: float, split: float) -> Finding:
    """The run trains on fewer samples than the data set's own record counts.

    A part between `split` and `share` may have gone into validation; then only the evaluation's count tells.
    """
    run = view.run
    counts = [(d, n) for d in run.lists for s, n in d.declared.items() if s == "train" and n > 0]
    if not counts:
        return unknown("no record of the data set counts its samples (dataset_info.json)")
    listed, total = counts[0]
    seen = number_of(run, "train_samples") or names.number(run.facts.get("samples_found"))
    if not seen:
        return unknown(
            f"{listed.file} counts {total} training samples; the log does not say how many were loaded"
        )
    kept = number_of(run, "eval_samples") or 0
    text = f"{seen:g} training samples were loaded, {listed.file} counts {total}"
    where = (Place(listed.file),)
    part = seen / total
    if part >= share or (seen + kept) / total >= share:
        return absent(text, value=part, threshold=share, where=where)
    if part >= split and not kept:
        return unknown(f"{text}; the rest may be the validation part", value=part, threshold=share)
    return present(text, value=part, threshold=share, where=where)


# ----------------------------------------------------------------------------------------------- ranks


def _shards(run: Run) -> dict[int, DataList]:
    """What each rank reads: one list per rank, of training where several splits are listed."""
    found: dict[int, DataList] = {}
    for listed in run.lists:
        if listed.rank is not None and listed.entries and listed.split != "eval" and not listed.checked:
            found.setdefault(listed.rank, listed)
    return found


def _all_ranks(run: Run) -> dict[int, DataList] | str:
    shards = _shards(run)
    if len(shards) < 2:
        return "no lists of what each rank reads lie in the run (shard_rank0.txt, shard_rank1.txt, ...)"
    size = number_of(run, "world_size")
    if size is not None and size > len(shards):
        return f"lists of {len(shards)} of {size:g} ranks lie in the run"
    if not all(d.complete for d in shards.values()):
        return "the lists of the ranks are too long to be read whole"
    return shards


def _places(shards: Mapping[int, DataList]) -> tuple[Place, ...]:
    return tuple(Place(d.file, rank=r) for r, d in sorted(shards.items()))[:4]


@probe()
def shards_overlap(view: View) -> Finding:
    """Ranks share samples or leave some out: by the data files where found, by the lists in the run else."""
    return _either(data_shards_overlap(view), _shards_overlap(view))


def _shards_overlap(view: View) -> Finding:
    """Ranks read the same samples, or leave some out that the whole data set has.

    Lists of equal length may share fewer entries than there are ranks: a sampler pads the last round. Where
    one process trains, nothing is split.
    """
    run = view.run
    shards = _all_ranks(run)
    if isinstance(shards, str):
        alone = trains_alone(view)
        if alone.state is State.ABSENT and alone.value in (None, 1) and len(_shards(run)) < 2:
            return absent("one process reads all the data: nothing is split")
        return unknown(shards)
    ranks = len(shards)
    seen = Counter(n for d in shards.values() for n in d.entries)
    kinds = Counter(frozenset(d.entries) for d in shards.values())
    apart = sum(map(len, kinds)) == len(seen)
    logged = all(d.file.endswith((".log", ".out")) for d in shards.values())
    if apart and len(kinds) < ranks and len(set(kinds.values())) == 1 and (len(kinds) > 1 or logged):
        return unknown(f"{ranks} ranks read in {len(kinds)} groups: may be those that share a model")
    twice = [n for n, count in seen.items() if count > 1]
    equal = len({len(d.entries) for d in shards.values()}) == 1
    where = _places(shards)
    if twice and not (equal and len(twice) < ranks and len(seen) > 2 * ranks):
        text = f"{len(twice)} of {len(seen)} entries are read by more than one of {ranks} ranks"
        return present(f"{text}: {_named(twice)}", value=len(twice), threshold=0, where=where)
    left_out = _left_out(run, seen)
    if left_out is not None and left_out[0] >= ranks:
        text = f"{left_out[0]} of {left_out[1]} {left_out[2]} are read by none of {ranks} ranks"
        return present(text, value=left_out[0], threshold=ranks, where=where)
    padded = f" ({len(twice)} pad the last round)" if twice else ""
    gaps = "" if left_out is None else " and nothing is left out"
    return absent(
        f"{ranks} ranks read {len(seen)} entries without overlap{padded}{gaps}", value=0, where=where
    )


def _left_out(run: Run, seen: Mapping[str, int]) -> tuple[int, int, str] | None:
    """How many entries of the whole data set no rank reads, of how many; None where the whole is unknown."""
    for listed in _whole(run):
        if listed.complete and listed.split != "eval" and seen.keys() & listed.entries.keys():
            return len(listed.entries.keys() - seen.keys()), len(listed.entries), f"entries of {listed.file}"
    total = number_of(run, "train_samples")
    if total and all(name.isdigit() for name in seen):
        return max(int(total) - len(seen), 0), int(total), "training samples"
    return None


@probe("benchmark")
def shard_lists_differ(view: View) -> Finding:
    """The same entries are dealt out to the ranks otherwise than in the benchmark.

    By the lists among the data files where both sides have some, by those that lie in the run else.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    shards = [side.data.shards if side.data is not None else None for side in (view.run, view.benchmark)]
    if shards[0] is not None and shards[1] is not None and shards[0].listed and shards[1].listed:
        places = tuple(Place(f) for f in shards[0].files[:4])
        return _parts_differ(shards[0].ranks, shards[1].ranks, lambda _: places)
    mine, theirs = _all_ranks(view.run), _all_ranks(view.benchmark)
    if isinstance(mine, str) or isinstance(theirs, str):
        return unknown(mine if isinstance(mine, str) else f"the benchmark: {theirs}")
    left, right = ({r: frozenset(_below(d.entries)) for r, d in side.items()} for side in (mine, theirs))
    return _parts_differ(left, right, lambda other: _places({r: mine[r] for r in other}))


def _parts_differ(
    left: Mapping[int, frozenset[str]],
    right: Mapping[int, frozenset[str]],
    places: Callable[[list[int]], tuple[Place, ...]],
) -> Finding:
    """Hold what each rank reads against what it reads in the benchmark (`right`)."""
    if left.keys() != right.keys():
        return unknown(f"{len(left)} ranks here, {len(right)} in the benchmark: the parts cannot be equal")
    kinds = [len(set(side.values())) for side in (left, right)]
    if _union(left.values()) < _union(right.values()) and kinds[0] < kinds[1] == len(right):
        text = f"{len(left)} ranks read {kinds[0]} different parts, in the benchmark {kinds[1]}"
        return present(text, value=kinds[0], threshold=kinds[1], where=places(sorted(left)))
    if _union(left.values()) != _union(right.values()):
        return unknown("the ranks of the two sides read other entries altogether")
    other = sorted(r for r in left if left[r] != right[r])
    if other:
        text = (
            f"{len(other)} of {len(left)} ranks read another part than in the benchmark (from {other[0]} on)"
        )
        return present(text, value=len(other), threshold=0, where=places(other))
    return absent(f"all {len(left)} ranks read the part that they read in the benchmark", value=0)


def _union(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*parts)
