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
# What may stand before such a list. Any other word makes it one of something else: of classes, devices,
# features, seeds, pictures to show.
_PLAIN = frozenset(
    b"rank card npu gpu device worker sampler sample samples order orders index indices indexes idx idxs"
    b" ids id shuffle shuffled shuffling perm permutation permuted train training data dataset loader"
    b" dataloader batch first head start begin begins of the in is are from for dbg debug"
    b" info iter step seed at".split()
)
_WORD = re.compile(rb"[A-Za-z]{2,}")
_DEVICES = re.compile(rb"(?i)\b(?:gpu|npu|device|card|worker)s?[ _-](?:ids?|idxs?|ind\w+|order)\b")
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
        if len(values) < LEAST or not _ORDER.search(words) or _HELD.search(words):
            continue
        if _DEVICES.search(words) or not _PLAIN.issuperset(w.lower() for w in _WORD.findall(found[2])):
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
