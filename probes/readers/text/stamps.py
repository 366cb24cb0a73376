"""What stands before the message on a line: time stamps, log levels, file names and lines."""

from __future__ import annotations

import re
from functools import lru_cache

_LEVEL = rb"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|NOTICE)"
_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_STAMP = (
    rb"(?:(?:\d{4}[-/]\d\d[-/]\d\d(?:[T _-]| at |, ?)"
    rb"|\d\d[-/.]\d\d[-/.]\d{4}(?:[T _-]| at |, ?)"  # the examples of Hugging Face: "03/04/2026 10:00:59"
    rb"|20\d{6}[T _-]|\d\d[-/]\d\d |\d{1,2}[- ]" + _MONTH + rb"[- ](?:20)?\d\d "
    rb"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?" + _MONTH + rb" {1,2}\d{1,2} )?\d\d:\d\d:\d\d)"
    rb"(?:[.,]\d+)?(?:Z| [AP]M\b| 20\d\d(?=[\s\])|:-])|[+-]\d\d:?\d\d)?"
)
PREFIX = re.compile(
    rb"^\s*(?:"
    rb"[-\\|/]{0,40}[\[(]?" + _STAMP + rb"[\])]?[\s,:|-]*"  # MindFormers leaves a spinner before it
    rb"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.]+:\d+\]\s?"  # glog
    rb"|DLL \S+ \S+ - "
    rb"|" + _LEVEL + rb":(?!tensorflow)[\w.-]{1,60}:\s?(?=[A-Za-z\[({<*#])"  # logging.basicConfig
    rb"|(?:stdout|stderr) [FP] |[\w.-]{1,40}[-_]\d{1,3} +\| (?=[A-Za-z\[])"  # containers
    rb"|\[?" + _LEVEL + rb"\b\]?[\s:|-]*(?:tensorflow:)?"
    rb"|\[[\w./-]{1,80}\.py:\d+(?::\w+)?\][\s:-]*"
    rb"|\[Rank \d+\]\s*|\(\d+\) |\[\d{4,8}\]\s+"
    rb"|[\w.]+:[\w<>]+:\d+ - "  # loguru
    rb"|(?:\w[\w.]*)?\[[\w./]+\.py:\d+\][\s:-]*"
    rb"|[\w./]{1,60}(?: -|: )\s*(?=\[?" + _LEVEL + rb"\b)"
    rb"|[\w./]{1,40}\s+(?=\[?" + _LEVEL + rb"\b)"
    rb")+"
)
_POINTS = (b".", b",")
FULL_STAMP = re.compile(rb"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")


def without_prefix(text: str) -> str:
    """Return the message of a line."""
    data = text.encode("utf-8", "replace")
    match = PREFIX.match(data)
    return data[match.end() :].decode("utf-8", "replace") if match else text


def wall_of(line: bytes) -> float:
    """Return the seconds since the epoch of a line's time stamp (taken as UTC), or NaN."""
    quick = _at_start(line, 1 if line[:1] in (b"[", b"(") else 0)
    if quick is not None:
        return quick
    match = FULL_STAMP.search(line[:160])
    if match is None:
        return float("nan")
    hour, minute, second = int(match.group(4)), int(match.group(5)), int(match.group(6))
    fraction = float(b"0." + match.group(7)) if match.group(7) else 0.0
    return day_of(b"-".join(match.group(1, 2, 3))) + 3600.0 * hour + 60.0 * minute + second + fraction


def _at_start(line: bytes, at: int) -> float | None:
    """Read a stamp by its position, which is much faster; None when none stands there."""
    minute = _minute(line[at : at + 17])
    if minute is None:
        return None
    second = line[at + 17 : at + 19]
    if line[at + 19 : at + 20] in _POINTS:
        second = line[at + 17 : at + 23].rstrip(b" ,.]").replace(b",", b".")
    try:
        return minute + float(second)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _minute(stamp: bytes) -> float | None:
    """The seconds since the epoch of "2024-05-01 10:00:"; None for anything else."""
    if stamp[13:14] != b":" or stamp[16:17] != b":":
        return None
    try:
        return day_of(stamp[:10]) + 60 * (60 * int(stamp[11:13]) + int(stamp[14:16]))
    except ValueError:
        return None


@lru_cache(maxsize=512)
def day_of(date: bytes) -> float:
    """The seconds since the epoch at the beginning of "2024-05-01"; NaN for no day."""
    from datetime import datetime, timezone

    try:
        when = datetime(int(date[:4]), int(date[5:7]), int(date[8:10]), tzinfo=timezone.utc)
    except ValueError:
        return float("nan")
    return when.timestamp()
