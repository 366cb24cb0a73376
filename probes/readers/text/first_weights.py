"""Figures of the first weights that a log prints before it trains: `init conv1.weight sum=-1.21 norm=12.34`.

Two sides, or two ranks, that should start from the same weights print the same figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...run import Event

LOOK = 256 * 1024  # they are printed before the first step
MOST = 400
DATA = "first-weights"
_FIRST = re.compile(
    r"(?i)(?<![\w.])(?:init|initial|initialized|initialised|initialization)(?![\w.(])"
    r"|before (?:the )?(?:first step|train\w*|ddp)|at (?:the )?start|(?<![a-z])step\W{0,2}0\b|初始|训练前"
)
_OF_WEIGHTS = re.compile(
    r"(?i)weight|param|checksum|kernel|\.bias\b|权重|参数|\b(?:w|p)[_ ]?(?:sum|norm)\b|\[init\]"
)
_FIGURE = r"sum|abs_?sum|checksum|norm|l2(?:_?norm)?|mean|abs_?mean|std|fingerprint"
_SAID = re.compile(rf"(?i)(?<![a-z])({_FIGURE})(?![a-z])\s*[:=]\s*(-?\d+\.\d+(?:e[-+]?\d+)?)")
_NAMED = re.compile(r"(?<![\w.])([A-Za-z_][\w.\-/]{0,90})\s*[:=]\s*(-?\d+\.\d+(?:e[-+]?\d+)?)(?![\w.])")
_PLACED = re.compile(r"(?<![\w.])([A-Za-z_][\w\-/]*(?:\.[\w\-/]+)+) +(-?\d+\.\d+(?:e[-+]?\d+)?)(?![\w.])")
_WHICH = re.compile(r"(?i)norm|l2|范数|sum|checksum|和|mean|均值|std|标准差")
_KINDS = {
    "范数": "norm",
    "和": "sum",
    "均值": "mean",
    "标准差": "std",
    "l2": "norm",
    "l2norm": "norm",
    "l2_norm": "norm",
}
_PLACE = re.compile(r"[A-Za-z_][\w./\-]*")
_RANK = re.compile(r"(?i)\brank\W{0,3}(\d{1,5})\b")
_NO_WEIGHTS = re.compile(
    r"(?i)shard|partition|\b[tp]p_?rank"  # a part of each weight
    r"|decay|loss|acc\b|grad|\blr\b|learning|memory|初始学习率|time|step\W{0,2}[1-9]|梯度|损失|optim"
)


def printed(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """One event for each figure of the first weights; its `data` says of which weights, and which figure."""
    head = data[:LOOK]
    if not re.search(rb"(?i)norm|sum|mean|std|fingerprint|\xe8\x8c\x83\xe6\x95\xb0|\xe5\x92\x8c", head):
        return ()
    found: dict[tuple[int | None, str, str], Event] = {}
    for number, line in enumerate(head.decode("utf-8", "replace").split("\n"), 1):
        if not _speaks(line):
            continue
        told = _RANK.search(line)
        at = int(told[1]) if told else rank
        for name, kind, value in _figures(line):
            if len(found) < MOST:
                event = Event(
                    "worked-out", file, number, None, value, at, line.strip()[:300], f"{DATA}|{name}|{kind}"
                )
                found.setdefault((at, name, kind), event)
    return tuple(found.values())


def tells(line: str) -> bool:
    """Whether a line tells figures of the first weights."""
    return "." in line and _speaks(line) and next(_figures(line), None) is not None


def _speaks(line: str) -> bool:
    return bool(
        len(line) <= 600 and _FIRST.search(line) and _OF_WEIGHTS.search(line) and not _NO_WEIGHTS.search(line)
    )


def _figures(line: str) -> Iterator[tuple[str, str, float]]:
    """Of which weights, which figure, and its value."""
    said = list(_SAID.finditer(line))
    if said:  # `conv1.weight sum=-1.2 norm=12.3`: what they are of stands before them
        before = line[: said[0].start()]
        names = [w for w in _PLACE.findall(before) if not _FIRST.fullmatch(w) and not _RANK.search(w)]
        name = next((w for w in reversed(names) if "." in w or "_" in w), names[-1] if names else "")
        for one in said:
            yield name, _kind(one[1]), float(one[2])
        return
    which = _WHICH.search(line)
    if which is not None:  # `initial weight norms: encoder=38.2 decoder=29.4`
        for one in _NAMED.finditer(line, which.end()):
            yield one[1], _kind(which[0]), float(one[2])
        if not _NAMED.search(line, which.end()):  # `init checksum: embed.weight 112.31 head.weight 55.2`
            for one in _PLACED.finditer(line, which.end()):
                yield one[1], _kind(which[0]), float(one[2])


def _kind(word: str) -> str:
    low = word.lower()
    return _KINDS.get(low, low)
