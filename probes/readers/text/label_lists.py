"""The labels of a first sample, as LLaMA-Factory, Swift and their kin print them before training begins.

Where every label of it is the one that counts for nothing, the answer was cut off or never found. The line
looks like that of the inputs, so that it is searched for in the whole head of the log.
"""

from __future__ import annotations

import re

from ...run import Event

LOOK = 4 * 1024 * 1024  # samples are printed before training begins
LEAST = 4  # labels, so that an empty answer of a toy is none
_LABELS = re.compile(
    rb"^[^\n]{0,120}?\blabels?(?:_?ids?)?[\"'\]]?[ \t]*[:=]?\s{0,4}(?:tensor\()?\[+([-\d., \t]+)\]",
    re.MULTILINE | re.IGNORECASE,
)
_COUNTED = re.compile(
    rb"^[^\n]{0,120}?\blabels?\W{1,4}\[-100 ?\* ?(\d+)\][ \t\r]*$", re.MULTILINE | re.IGNORECASE
)


# axolotl prints each token with label and number, "invoice(-100, 25637)", and counts the supervised ones
_PAIRED = re.compile(rb"\((-?\d{1,7}), ?\d{1,7}\)")
_NONE_SUPERVISED = re.compile(rb"\btotal[_ ]supervised[_ ]tokens\W{1,4}0\b(?![.,\d])", re.IGNORECASE)


def _paired(head: bytes) -> int | None:
    """The line of a printed sample in which each token has the label that counts for nothing, or is none."""
    if told := _NONE_SUPERVISED.search(head):
        return head.count(b"\n", 0, told.start()) + 1
    pairs = list(_PAIRED.finditer(head)) if b"(-100, " in head else []
    masked = [m for m in pairs if m[1] == b"-100"]
    if len(masked) < 2 * LEAST or len(masked) < len(pairs):
        return None
    return head.count(b"\n", 0, masked[0].start()) + 1


def all_masked(data: bytes, file: str) -> tuple[Event, ...]:
    """The event of a printed sample without any label, if there is one and none with a label beside it."""
    head = data[:LOOK]
    paired = _paired(head)
    if paired is None and not any(m in head for m in (b"-100, -100", b"-100,-100", b"[-100 *", b"[-100*")):
        return ()
    found = paired or next((head.count(b"\n", 0, m.start(1)) + 1 for m in _COUNTED.finditer(head)), None)
    for labels in _LABELS.finditer(head):
        values = labels[1].split(b",")
        if any(v.strip() not in (b"-100", b"...") for v in values):
            return ()
        if len(values) >= LEAST and found is None:
            found = head.count(b"\n", 0, labels.start(1)) + 1
    if found is None:
        return ()
    text = "every label of the sample that is printed is -100: none counts"
    return (Event("known-warning", file, found, text=text, data="all-labels-masked"),)


_TOLD = re.compile(
    rb"\b(?:valid|effective|supervised|unmasked|label|labell?ed|target|loss)[ _]tokens?[\"']?"
    rb"[ :=]{1,9}(\d{1,12})\b(?![.\d])",
    re.IGNORECASE,
)
FEW = 10  # counts, most of them above none


def none_counted(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """The event of a log that counts the tokens of the loss at each step, and at some of them counts none."""
    if b"oken" not in data[:LOOK]:
        return ()
    counts = [(int(m[1]), m.start()) for m in _TOLD.finditer(data)]
    empty = [at for count, at in counts if not count]
    if len(counts) < FEW or not empty or len(empty) > len(counts) / 2:
        return ()
    text = f"{len(empty)} of {len(counts)} steps count no token in the loss"
    line = data.count(b"\n", 0, empty[0]) + 1
    return (Event("worked-out", file, line, rank=rank, text=text, data="steps-without-labels"),)


FIRST = "first-labels"  # with their number and the labels themselves behind it
COMPARED = 512


def first_sample(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """The event of the first labels of tokens that are printed whole; its value is the share that is -100."""
    head = data[:LOOK]
    for labels in _LABELS.finditer(head):
        values = [v.strip() for v in labels[1].split(b",")]
        if len(values) < 2 * LEAST or not all(re.fullmatch(rb"-?\d{1,7}", v) for v in values):
            continue
        share = values.count(b"-100") / len(values)
        if not share and max(map(int, values)) < LEAST_TOKEN:
            continue  # classes, and no tokens
        text = f"of the {len(values)} labels that are printed, {share:.0%} are -100"
        line = head.count(b"\n", 0, labels.start(1)) + 1
        told = b",".join(values[:COMPARED]).decode()
        return (Event("worked-out", file, line, None, share, rank, text, f"{FIRST}:{len(values)}:{told}"),)
    return ()


LEAST_TOKEN = 1000  # more than one counts classes by
