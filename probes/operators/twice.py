"""Two dumps of one program on one kind of device, known as such by their checksums, whatever they are called.

Operators that sum show any other order of summation in their last bits. Where several of them agree in every
bit, both sides ran one program, and the first operator that makes other bits of equal bits is at fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ...engine.model import DumpComparison
from ..assembly import roles
from ..registry import View
from ..run import Run
from ..tensors.compare import NotADump, Options, compare_dumps
from ..tensors.model import Dump
from .dumps import TO_BLAME, by_bits, comparison, dumps, repeated, sums_agree

_PART = re.compile(r"^(?:step|rank|proc)_?\d+$")


def other_bits_of_equal(view: View) -> DumpComparison | None:
    """The comparison in which an operator makes other bits of equal bits; None: there is none such."""
    found = comparison(view)
    if found is not None and by_bits(found):
        return found
    named = repeated(view.run)
    for twice in (named, _with_benchmark(view.run, view.benchmark), _beside(view.run)):
        if not isinstance(twice, str | None) and twice.kind in TO_BLAME and sums_agree(twice):
            return twice
    return None


@lru_cache(maxsize=2)
def _with_benchmark(run: Run, benchmark: Run | None) -> DumpComparison | None:
    return None if benchmark is None else _exactly(dumps(run), dumps(benchmark), run, benchmark)


@lru_cache(maxsize=2)
def _beside(run: Run) -> DumpComparison | None:
    """Two dumps in two folders of the run, of which names do not tell that they are of two devices."""
    folders: dict[str, list[Dump]] = {}
    for dump in dumps(run):
        kept = [part for part in f"{dump.label}/{dump.path}".split("/") if not _PART.match(part)]
        folders.setdefault("/".join(kept), []).append(dump)
    if len(folders) != 2 or len(set(map(roles.of, folders))) != 1:
        return None
    one, two = (folders[name] for name in sorted(folders))
    return _exactly(one, two, run, run)


def _exactly(one: Sequence[Dump], two: Sequence[Dump], left: Run, right: Run) -> DumpComparison | None:
    if not (_summed(one) and _summed(two)):
        return None
    here, there = f"{left.info.path}/{one[0].path}", f"{right.info.path}/{two[0].path}"
    try:
        return compare_dumps(one, two, here, there, Options(exact=True))
    except NotADump:
        return None


def _summed(side: Sequence[Dump]) -> bool:
    """Whether a checksum is recorded of what every operator makes, but for those that make no tensor."""
    made = [t for dump in side for o in dump.operators for t in o.outputs]
    return bool(made) and all(t.statistics.digest for t in made)
