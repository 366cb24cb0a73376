"""Tables of what each rank holds: `iter,param,tp0_l2,tp1_l2`, or a row for each rank (`step,rank,name,norm`).

Somebody wrote them to see whether replicas stay equal. Told, as an event, are weights that all ranks hold
alike at first and no longer later; what ranks share out is never alike. Curves are made of none of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ..files import RunFile
from ..run import Event, FileContent
from . import Gives
from ._values import number, plain, step_kind

FORMAT = "rank-table"
GIVES = Gives(
    title="Tables of weights over ranks",
    files="`*.csv`, `*.tsv` with a step, the name of a weight, and a column or a row for each rank",
    lacks="Everything but whether weights that were equal on all ranks part.",
)
MOST = 500_000  # rows
STEPS = 3  # at least: one equal, and two from which it shows that the ranks have parted
DIGITS = 5  # significant ones, of figures whose being equal is no chance
_RANKED = re.compile(r"^(.*?)(?:rank|tp|dp|npu|gpu|card|device|dev|r)[_\-]?(\d{1,4})(.*)$", re.IGNORECASE)
_NAMES = frozenset({"param", "parameter", "param_name", "name", "weight", "tensor", "layer", "module"})
_RANK = frozenset({"rank", "tp_rank", "dp_rank", "global_rank", "local_rank", "card", "device", "npu"})
_FIGURES = re.compile(r"norm|l2|sum|mean|md5|crc|hash|value|std", re.IGNORECASE)
_GRADIENTS = re.compile(r"grad", re.IGNORECASE)
_Held = dict[tuple[str, float], dict[int, str]]  # weight and step -> what each rank holds


def _table(text: str) -> tuple[list[str], str] | None:
    header = text.lstrip("\ufeff").partition("\n")[0].rstrip("\r")
    delimiter = max(",\t;", key=header.count)
    cells = [c.strip().strip("\"'") for c in header.split(delimiter)]
    known = [plain(c) for c in cells]
    if len(cells) < 4 or not any(map(step_kind, cells)) or not set(known) & _NAMES:
        return None
    return cells, delimiter


def _wide(header: list[str]) -> dict[int, int]:
    """Column -> rank, of columns that differ in the number of the rank alone."""
    found = {i: m for i, c in enumerate(header) if not step_kind(c) and (m := _RANKED.match(c))}
    if not found:
        return {}
    stem = Counter((m[1].lower(), m[3].lower()) for m in found.values()).most_common(1)[0][0]
    ranks = {i: int(m[2]) for i, m in found.items() if (m[1].lower(), m[3].lower()) == stem}
    return ranks if len(set(ranks.values())) == len(ranks) >= 2 else {}


def sniff(file: RunFile) -> bool:
    """Say whether the head is a table of weights by step and rank."""
    if file.suffix not in (".csv", ".tsv", ".txt"):
        return False
    found = _table(file.head_text)
    if found is None or _GRADIENTS.search(file.name):
        return False
    header, _ = found
    known = [plain(c) for c in header]
    return bool(_wide(header)) or (bool(set(known) & _RANK) and any(map(_FIGURES.search, known)))


def read(file: RunFile) -> FileContent:
    """Read the table. Raises ValueError when it is none."""
    text = file.read_text()
    found = _table(text)
    if found is None:
        raise ValueError("no table of weights over ranks")
    held: _Held = {}
    for name, step, rank, value in _cells(text, *found):
        held.setdefault((name, step), {}).setdefault(rank, value)
    told = _parted(held)
    if not told:
        return FileContent(FORMAT)
    return FileContent(FORMAT, events=(Event("worked-out", file.path, 1, text=told, data="ranks-part"),))


def _cells(text: str, header: list[str], delimiter: str) -> Iterator[tuple[str, float, int, str]]:
    known = [plain(c) for c in header]
    at_step = min((kind[1], i) for i, c in enumerate(header) if (kind := step_kind(c)))[1]
    at_name = next(i for i, c in enumerate(known) if c in _NAMES)
    wide = _wide(header)
    at_rank = next((i for i, c in enumerate(known) if c in _RANK), -1)
    at_value = next((i for i, c in enumerate(known) if i != at_name and _FIGURES.search(c)), -1)
    for line in text.split("\n")[1 : MOST + 1]:
        cells = [c.strip() for c in line.rstrip("\r").split(delimiter)]
        if len(cells) != len(header) or (step := number(cells[at_step])) is None:
            continue
        for column, rank in wide.items():
            yield cells[at_name], step, rank, cells[column]
        if not wide and (own := number(cells[at_rank])) is not None:
            yield cells[at_name], step, int(own), cells[at_value]


def _parted(held: _Held) -> str:
    ranks = max((frozenset(v) for v in held.values()), key=len, default=frozenset())
    steps = sorted({s for _, s in held})
    names = {n for n, _ in held}
    if len(ranks) < 2 or len(steps) < STEPS:
        return ""
    parted: dict[str, float] = {}
    for name in names:
        rows = [(s, held[name, s]) for s in steps if len(held.get((name, s), {})) == len(ranks)]
        apart = [s for s, values in rows if len(set(values.values())) > 1]
        first = rows[0] if rows else None
        if first is None or first[0] in apart[:1] or not all(map(_precise, first[1].values())):
            continue
        if len(apart) >= STEPS - 1 and [s for s, _ in rows][-len(apart) :] == apart:
            parted[name] = apart[0]
    if not parted:
        return ""
    return (
        f"{len(parted)} of {len(names)} weights ({', '.join(sorted(parted)[:2])}) are equal on"
        f" {len(ranks)} ranks at first, and from step {min(parted.values()):g} on no longer"
    )


def _precise(cell: str) -> bool:
    """A checksum, or a number with enough digits."""
    return len(re.sub(r"[^0-9a-f]", "", cell.lower().lstrip("-0."))) >= DIGITS
