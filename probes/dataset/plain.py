"""Plain text, a sample to a line: splits of a language model ("train.txt"), translations ("train.en")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from . import languages, naming
from .gather import Budget
from .model import Part, Split
from .rows import TableGather
from .tables import decoded

MOST = 256 * 1024**2  # bytes of one file that are looked at
BLOCK = 8192  # lines that are taken at once
STRETCHES = 64  # of a long text that are looked at
WORDS = 8  # of a line that is a sample; shorter ones (titles, "Yes.") stand again and again
TEXTUAL = 0.3  # share of the first lines that are samples, in a text to learn from
_ENDS = frozenset({".txt", ".tokens", ".raw"})
_NAMES = re.compile(r"\S+\.(?:jpe?g|png|wav|flac|npy|mp3|xml|tif+)\b", re.I)
_LANGUAGES = """
af am ar as az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu ha he hi hr hu hy id ig is it ja
ka kk km kn ko ku ky lo lt lv mg mk ml mn mr ms mt my ne nl no or pa pl ps pt ro ru si sk sl so sq sr sv sw ta
te tg th tr uk ur uz vi xh yi yo zh zu src tgt source target
"""
LANGUAGES = frozenset(_LANGUAGES.split())


def group(file: RunFile, files: Mapping[str, RunFile]) -> tuple[str, ...] | None:
    """Return ("lines", what belongs together) of a plain text with samples; None when it is none."""
    stem, _, end = file.path.rpartition(".")
    if end in LANGUAGES and naming.split_of(file.name):
        beside = [e for e in LANGUAGES if e != end and f"{stem}.{e}" in files]
        return ("lines", stem) if len(beside) == 1 and not file.head.count(b"\0") else None
    if file.suffix not in _ENDS or not naming.split_of(file.name) or b"\0" in file.head:
        return None
    lines = [line for line in file.head_text.splitlines()[:200] if line.strip()]
    samples = [line for line in lines if len(line.split()) >= WORDS and not _NAMES.search(line)]
    worded = sum(sum(w[:1].isalpha() for w in line.split()) >= WORDS / 2 for line in samples)
    return ("lines", file.path) if worded >= max(2, TEXTUAL * len(lines)) else None


def read_lines(files: Sequence[RunFile], split: Split, budget: Budget) -> Part:
    """Read one text, or the two of a translation, of which lines of one number belong together."""
    together = len(files) > 1
    names = [f.path.rpartition(".")[2] for f in files] if together else ["text"]
    table = TableGather(names, budget.bounds.seed, None, 0)
    table.files.append(files[0].path)
    mean = max(2.0, len(files[0].head) / max(1, files[0].head.count(b"\n")))
    if not together and files[0].size > 1.2 * budget.bounds.samples * mean:
        _stretches(table, files[0], mean, budget)
        return table.part(split, "lines of text", round(files[0].size / mean), False, ())
    counts = [0] * len(files)
    rows: list[list[str]] = []
    numbers: list[int] = []
    whole = all(f.size <= MOST for f in files)
    taken = budget.take(sum(min(f.size, MOST) for f in files))
    limit = budget.bounds.samples
    pairs: list[tuple[str, str]] = []
    for number, lines in enumerate(zip_longest(*map(_lines, files)) if taken else (), 1):
        for i, line in enumerate(lines):
            counts[i] += line is not None
        if None in lines or table.rows + len(rows) >= limit:
            continue
        if together or len(str(lines[0]).split()) >= WORDS:
            rows.append([str(line).strip() for line in lines])
            numbers.append(number)
            if together and len(pairs) < languages.MOST:
                pairs.append((rows[-1][0], rows[-1][1]))
            if len(rows) >= BLOCK:
                table.add(rows, numbers, 0)
                rows, numbers = [], []
    table.add(rows, numbers, 0)
    looked = table.rows
    exact = taken and whole and looked < limit
    form = "pairs of lines" if together else "lines of text"
    part = table.part(split, form, looked if exact else None, exact, ())
    places = [Place(files[0].path, i + 1) for i in range(len(pairs))]
    part = replace(part, chats=languages.of(pairs, places) if together else None)
    if not together or not whole:
        return part
    first, second = (f.path.rpartition("/")[2] for f in files)
    return replace(part, field_rows={first: counts[0]}, label_rows={second: counts[1]})


def _stretches(table: TableGather, file: RunFile, mean: float, budget: Budget) -> None:
    """Look at seeded stretches spread evenly over a text whose lines have `mean` bytes."""
    size = max(4096, int(budget.bounds.samples * mean / STRETCHES))
    random = np.random.default_rng(budget.bounds.seed)
    step = file.size / STRETCHES
    with file.open() as handle:
        for at in range(STRETCHES):
            if not budget.take(size):
                return
            handle.seek(int(at * step + random.random() * max(0.0, step - size)))
            lines = decoded(handle.read(size)).split("\n")[1:-1]  # the ends are parts of lines
            rows = [[line.strip()] for line in lines if len(line.split()) >= WORDS]
            table.add(rows, [0] * len(rows), 0)


def _lines(file: RunFile) -> Iterator[str]:
    with file.open() as handle:
        left = MOST
        for line in handle:
            left -= len(line)
            if left < 0:
                return
            yield decoded(line)
