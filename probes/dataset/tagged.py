"""Texts with a tag for each token, a token to a line, an empty line between sentences (CoNLL-2003, BIO)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..files import RunFile
from .gather import Budget, LabelGather, Problems
from .model import Part, Split
from .rows import TableGather
from .tables import decoded

ENDS = frozenset({".conll", ".conll03", ".bio", ".iob", ".iob2", ".bioes", ".txt", ".tsv", ".data"})
TAG = re.compile(r"O|[BIESLUM]-\S+")
LEAST = 10  # lines with a token by which it is told whether these are tags
MOSTLY = 0.95
MOST = 128 * 1024**2  # bytes of one file that are looked at
BLOCK = 4096
_APART = "-DOCSTART-"  # a line between documents


def is_tagged(file: RunFile) -> bool:
    """Whether lines are tokens with a tag in the last of two columns or more, some of them of an entity."""
    if file.suffix not in ENDS or b"\0" in file.head:
        return False
    lines = file.head_text.splitlines()[:400]
    told = [line.split() for line in lines[:-1] if line.strip() and not line.startswith(_APART)]
    tags = [cells[-1] for cells in told if len(cells) > 1]
    good = [t for t in tags if TAG.fullmatch(t)]
    return (
        len(told) >= LEAST
        and len(good) >= MOSTLY * len(told)
        and len(set(good) - {"O"}) > 0
        and any(not line.strip() for line in lines)
    )


def read_tagged(files: Sequence[RunFile], split: Split, budget: Budget) -> Part:
    """Read sentences [n] with the tags of their tokens: a sentence is a sample, its tags are its labels."""
    table = TableGather(["text"], budget.bounds.seed, None, 0)
    labels, problems = LabelGather("tags"), Problems()
    labels.maps = True
    exact, notes = True, []
    entities = begun = 0
    for number, file in enumerate(files):
        table.files.append(file.path)
        if file.size > MOST:
            exact = False
            notes.append(f"of {file.path} the first {MOST // 1024**2} MiB were looked at")
        if not budget.take(min(file.size, MOST)):
            exact = False
            notes.append(f"stopped after {budget.spent_out}")
            break
        rows: list[list[str]] = []
        starts: list[int] = []
        for start, tokens, tags in _sentences(file, problems):
            if table.rows + len(rows) >= budget.bounds.samples:
                exact = False
                break
            rows.append([" ".join(tokens)])
            starts.append(start)
            labels.add_texts(tags)
            for tag, before in zip(tags, ["O", *tags], strict=False):
                opens = tag[0] in "BSU" or (tag[0] in "IELM" and before[2:] != tag[2:])
                entities, begun = entities + opens, begun + (tag[0] in "BSU")
            if len(rows) >= BLOCK:
                table.add(rows, starts, number)
                rows, starts = [], []
        table.add(rows, starts, number)
    part = table.part(split, "tagged tokens", table.rows if exact else None, exact, tuple(notes))
    return replace(
        part,
        labels=labels.labels(),
        problems=tuple(problems.found),
        problem_count=problems.count,
        begun=(entities, begun),
    )


def _sentences(file: RunFile, problems: Problems) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the line that each sentence begins in, its tokens and their tags."""
    tokens: list[str] = []
    tags: list[str] = []
    start = 1
    with file.open() as handle:
        left = MOST
        for number, raw in enumerate(handle, 1):
            left -= len(raw)
            if left < 0:
                return
            cells = decoded(raw).split()
            if not cells or cells[0] == _APART:
                if tokens:
                    yield start, tokens, tags
                tokens, tags, start = [], [], number + 1
            elif len(cells) < 2:
                problems.add(file.path, "a token without a tag", number)
            else:
                tokens.append(cells[0])
                tags.append(cells[-1])
    if tokens:
        yield start, tokens, tags
