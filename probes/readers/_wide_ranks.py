"""Tables with a column to each rank: `step,rank0,rank1,...` of a quantity that the file's name tells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..assembly import names
from ._values import is_metric

_COLUMN = re.compile(
    r"(?i)^(?:(?P<what>[A-Za-z][\w ./-]*?)[/_. @-]+)?"
    r"(?:rank|card|npu|gpu|device|worker|proc)[ _.-]?(?P<rank>\d{1,4})$"
)
_OF_RANKS = re.compile(
    r"(?i)[ _.-]*(?:(?:by|per|of|all|each|local|on|over)[ _.-]*)*"
    r"(?:ranks?|cards?|npus?|gpus?|devices?|workers?|procs?)$"
)


def of_columns(header: Sequence[str], file: str) -> dict[str, tuple[str, int]]:
    """The quantity and the rank of each column that stands for one; none where fewer than two ranks do."""
    found: dict[str, tuple[str, int]] = {}
    stem = file.rpartition("/")[2].rpartition(".")[0]
    for name in header:
        match = _COLUMN.match(name)
        if match is None:
            continue
        what = match["what"] or _OF_RANKS.sub("", stem)
        if is_metric(what):
            own = names.canonical(what) == "grad_norm"  # one norm to each rank: before the exchange
            found[name] = ("rank_grad_norm" if own else what, int(match["rank"]))
    kinds: dict[str, set[int]] = {}
    for what, rank in found.values():
        kinds.setdefault(what, set()).add(rank)
    return {name: told for name, told in found.items() if len(kinds[told[0]]) > 1}
