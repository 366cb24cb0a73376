"""Orders of samples that a log prints epoch by epoch: `epoch 3 rank 0 sampler head: [4411, 18022, 903]`.

Of one rank the same list in every epoch says that nobody draws a new order.
"""

from __future__ import annotations

import re

from ...run import Event

LOOK = 64 * 1024**2
LEAST_EPOCHS = 3
LEAST = 4  # samples: fewer come again by chance
_LINE = re.compile(
    rb"^[^\n]{0,160}?\bepoch\W{0,3}(\d{1,5})\b([^\n\[]{0,160})\[([ \t]*\d[\d, \t]{8,2000})(?:\]|,? ?\.\.\.)",
    re.MULTILINE | re.IGNORECASE,
)
_ORDER = re.compile(
    rb"\b(?:sampler?|samples|order|ind(?:ex|ices|exes)|idxs?|ids|shuffled?|perm\w*)\b", re.IGNORECASE
)
_HELD = re.compile(rb"\b(?:val|valid\w*|eval\w*|test\w*|dev)\b", re.IGNORECASE)
# Lists of something else that a program prints each epoch: classes, devices, features, pictures to show
_TOLD = re.compile(rb"(?i)\b(?:rank|card|npu|gpu|device)\W{0,3}\d{1,5}\b")  # whose list it is
_OTHER = re.compile(
    rb"(?i)\b(?:class\w*|labels?|gpus?|npus?|devices?|cards|features?|importances?|columns?|channels?|layers?"
    rb"|heads? (?:ids?|ind)|experts?|neurons?|tokens?|recalls?|precisions?|f1|acc\w*|iou|score\w*|top-?k"
    rb"|best|worst|vis\w*|plot\w*|preview\w*|show\w*|log(?:ging|ged)|fixed|images? idx|milestones?)\b"
)
_RANK = re.compile(rb"\b(?:rank|card|npu|device)\W{0,3}(\d{1,5})\b", re.IGNORECASE)


def come_again(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """The event of a rank that prints the same order in all of at least three epochs, if there is one."""
    head = data[:LOOK]
    if b"poch" not in head or _ORDER.search(head) is None:
        return ()
    orders: dict[tuple[bytes, bytes], dict[int, tuple[bytes, int]]] = {}
    for found in _LINE.finditer(head):
        words = head[found.start() : found.start(3)]
        values = [v.strip() for v in found[3].split(b",") if v.strip()]
        if (
            len(values) < LEAST
            or not _ORDER.search(words)
            or _HELD.search(words)
            or _OTHER.search(_TOLD.sub(b"", words))
        ):
            continue
        told = _RANK.search(words)
        key = (told[1] if told else b"", _ORDER.search(words)[0].lower())  # type: ignore[index]
        orders.setdefault(key, {}).setdefault(int(found[1]), (b",".join(values), found.start(3)))
    for (of, _), epochs in orders.items():
        if len(epochs) >= LEAST_EPOCHS and len({values for values, _ in epochs.values()}) == 1:
            first = next(iter(epochs.values()))
            at = int(of) if of else rank
            whose = "" if at is None else f" of rank {at}"
            text = f"the order of samples{whose} that is printed is the same in {len(epochs)} epochs"
            line = head.count(b"\n", 0, first[1]) + 1
            return (Event("worked-out", file, line, rank=at, text=text, data="order-repeats"),)
    return ()
