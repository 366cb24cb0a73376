"""Collects what a log says in words: overflows, warnings with a known meaning, exceptions, resumes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ...run import Event
from .._secrets import redact

MAX_EVENTS = 20_000
MAX_TEXT = 300
_EXCEPTION = re.compile(r"^(?:[\w.]+: )?((?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::\s?(.*))?$")
_NAMED_SO = re.compile(r"(?:Error|Exception|Interrupt|Exit|Iteration)$")


@dataclass(slots=True)
class Found:
    """An event with the index of the row that comes next, by which it is placed."""

    event: Event
    row: int
    own_step: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """What an overflow line says: the iteration, and the loss scale before and after."""

    step: float | None
    old: float | None
    new: float | None


@dataclass(slots=True)
class _Burst:
    """Overflow lines that are about one step."""

    words: Words
    ranks: set[int | None]
    at: int  # index of the event

    def goes_on(self, rank: int | None, words: Words) -> bool:
        """Say whether a further line is about the same step."""
        if words.step is not None:
            return words.step == self.words.step
        if self.words.step is not None:
            return self.words.new is None or self.words.new == words.new
        return words == self.words and rank not in self.ranks


@dataclass(slots=True)
class Events:
    """Collects events; merges identical ones, and overflow lines of several ranks for one step."""

    file: str
    found: list[Found] = field(default_factory=list)
    dropped: int = 0
    _seen: dict[tuple[str, str, int | None], int] = field(default_factory=dict)
    _burst: _Burst | None = None

    def add(self, event: Event, row: int, *, once: bool, own_step: bool = False) -> None:
        """Add an event; with `once` it is merged with an identical one before it."""
        if once:
            key = (event.kind, event.text, event.rank)
            at = self._seen.get(key)
            if at is not None:
                before = self.found[at]
                before.event = replace(before.event, count=before.event.count + 1)
                return
            self._seen[key] = len(self.found)
        if len(self.found) >= MAX_EVENTS:
            self.dropped += 1
            return
        self.found.append(Found(event, row, own_step))

    def overflow(self, event: Event, row: int, words: Words, *, own_step: bool) -> None:
        """Add one of DeepSpeed's overflow lines.

        Every rank prints, and the fused optimizer prints three lines for one step: lines of other ranks with
        the same words, of the same iteration, or that complete the one before, count as that one.
        """
        burst = self._burst
        if burst is not None and burst.goes_on(event.rank, words):
            burst.ranks.add(event.rank)
            burst.words = Words(
                words.step or burst.words.step, burst.words.old or words.old, burst.words.new or words.new
            )
            if burst.at < len(self.found):
                seen = self.found[burst.at].event
                value = seen.value if seen.value is not None else event.value
                self.found[burst.at].event = replace(seen, count=seen.count + 1, value=value)
            return
        self._burst = _Burst(words, {event.rank}, len(self.found))
        self.add(event, row, once=False, own_step=own_step)

    def scale(self, old: float | None, new: float | None) -> None:
        """The fused optimizer says to what the scale fell: it belongs to the overflow before."""
        burst = self._burst
        if burst is None or new is None or burst.at >= len(self.found) or burst.words.new is not None:
            return
        self.found[burst.at].event = replace(self.found[burst.at].event, value=new)
        burst.words = Words(burst.words.step, old, new)


def exception_of(line: str) -> tuple[str, str] | None:
    """Return (class, line) of the last line of a traceback, or None."""
    match = _EXCEPTION.match(line.strip())
    if match is None:
        return None
    name = match.group(1).rsplit(".", 1)[-1]
    if match.group(2) is None and not _NAMED_SO.search(name):
        return None
    return name, line.strip()


def shorten(text: str) -> str:
    """At most 300 characters of a line, secrets replaced; cut after a word where that is near."""
    text = " ".join(text.split())[: 2 * MAX_TEXT]
    text = redact("", text)
    if len(text) <= MAX_TEXT:
        return text
    cut = text[: MAX_TEXT - 1]
    words = cut.rpartition(" ")[0]
    return (words if len(words) > MAX_TEXT / 2 else cut) + "…"
