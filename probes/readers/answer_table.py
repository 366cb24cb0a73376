"""Tables of answers: what a model said of each sample beside what is right (`image,gt,pred_top1,score`).

Scores of tools that test a converted model leave such tables. Taken for one is a table with one column of
each kind, both of whole numbers. What they say together is told as an event: answers that are right once all
of them are moved by one number, or once classes are numbered anew.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from ..files import RunFile
from ..run import Event, FileContent
from . import Gives

FORMAT = "answer-table"
GIVES = Gives(
    title="Tables of answers",
    files="`*.csv`, `*.tsv` with a column of labels and one of predictions, in whole numbers",
    lacks="What the classes are called; scores and probabilities beside the answers.",
)
LEAST = 50  # rows, and several classes: fewer agree by chance
CLASSES = 4
MOST = 200_000
RIGHT = 0.5  # share that is right once moved; and at most a tenth of that as the answers stand
_LABEL = re.compile(
    r"^(?:gt|label|labels?|true|truth|ground_?truth|target|actual|y_?true|expected|real|correct)"
    r"(?:_?(?:label|class|id|index|idx|y))*$"
)
_ANSWER = re.compile(
    r"^(?:pred(?:ict(?:ed|ion)?)?s?|y_?pred|answer|output|top_?1|infer)(?:_?(?:top_?1|label|class|id|index|idx))*$"
)


def _columns(text: str) -> tuple[str, int, int] | None:
    """The delimiter, and where label and answer stand in the header."""
    header = text.lstrip("\ufeff").partition("\n")[0].rstrip("\r")
    delimiter = max(",\t;", key=header.count)
    names = [re.sub(r"[\s\-]+", "_", cell.strip().strip("\"'")).lower() for cell in header.split(delimiter)]
    labels = [i for i, name in enumerate(names) if _LABEL.match(name)]
    answers = [i for i, name in enumerate(names) if _ANSWER.match(name)]
    return (delimiter, labels[0], answers[0]) if len(labels) == len(answers) == 1 else None


def _pairs(text: str, columns: tuple[str, int, int]) -> list[tuple[int, int]]:
    delimiter, label, answer = columns
    found = []
    for line in text.split("\n")[1 : MOST + 1]:
        cells = line.split(delimiter)
        if len(cells) > max(label, answer):
            a, b = cells[label].strip().strip('"'), cells[answer].strip().strip('"')
            if a.lstrip("-").isdigit() and b.lstrip("-").isdigit():
                found.append((int(a[:9]), int(b[:9])))
    return found


def sniff(file: RunFile) -> bool:
    """Say whether the head is a table of labels and answers in whole numbers."""
    if file.suffix not in (".csv", ".tsv", ".txt"):
        return False
    columns = _columns(file.head_text)
    return columns is not None and len(_pairs(file.head_text, columns)) >= min(LEAST, 8)


def read(file: RunFile) -> FileContent:
    """Read the table. Raises ValueError when it holds too few answers."""
    text = file.read_text()
    columns = _columns(text)
    pairs = _pairs(text, columns) if columns is not None else []
    if len(pairs) < LEAST:
        raise ValueError("fewer answers than can tell anything")
    told = _moved(pairs) or _renumbered(pairs)
    if not told:
        return FileContent(FORMAT)
    event = Event("worked-out", file.path, 1, text=told, data="answers-renumbered")
    return FileContent(FORMAT, events=(event,))


def _moved(pairs: Sequence[tuple[int, int]]) -> str:
    """Whether all answers are off by one number."""
    offsets = Counter(answer - label for label, answer in pairs)
    by, count = offsets.most_common(1)[0]
    share, as_it_is = count / len(pairs), offsets[0] / len(pairs)
    if not by or share < RIGHT or as_it_is > RIGHT * share or len({a for a, _ in pairs}) < CLASSES:
        return ""
    moved = f"the label {'+' if by > 0 else '-'} {abs(by)}"
    return f"{share:.0%} of {len(pairs)} answers are {moved}, and {as_it_is:.0%} are the label"


def _renumbered(pairs: Sequence[tuple[int, int]]) -> str:
    """Whether each class is answered with another one, the same for all of its samples, one to one."""
    answers: dict[int, Counter[int]] = defaultdict(Counter)
    for label, answer in pairs:
        answers[label][answer] += 1
    if len(answers) < CLASSES or len(pairs) < 5 * len(answers):
        return ""
    best = {label: found.most_common(1)[0] for label, found in answers.items()}
    share = sum(count for _, count in best.values()) / len(pairs)
    as_it_is = sum(found[label] for label, found in answers.items()) / len(pairs)
    one_to_one = len({answer for answer, _ in best.values()}) == len(best)
    if not one_to_one or share < RIGHT or as_it_is > RIGHT * share:
        return ""
    anew = f"{share:.0%} once the classes are numbered anew"
    return f"{as_it_is:.0%} of {len(pairs)} answers are right, and {anew}"
