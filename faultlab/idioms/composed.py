"""Books of programs with marks: what fills each mark is one axis; and mistakes to make in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from . import Book, Choice

Way = str | Mapping[str, str]
MARK = re.compile(r"\$([A-Z]+)\b")
ALONE = re.compile(r"^( *)\$([A-Z]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A known mistake: what a program is changed by, and the causes that are right to name for it."""

    name: str
    causes: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    needs: str = ""

    def made(self, text: str) -> str | None:
        """The program with the mistake in it; none where it has no place for it."""
        if self.needs not in text:
            return None
        changed = text
        for old, new in self.edits:
            if old not in changed:
                return None
            changed = changed.replace(old, new)
        return changed if changed != text else None


@dataclass(frozen=True, eq=False)
class Kit:
    """`ways` fill the mark of their axis, or the marks that they name (later axes win); others stay empty.

    `apart` are pairs of ways that do not go together.
    """

    name: str
    text: str
    ways: Mapping[str, Sequence[Way]]
    apart: Collection[tuple[tuple[str, int], tuple[str, int]]] = ()

    @property
    def book(self) -> Book:
        """The book of the right programs."""
        return Book(self.name, tuple(map(len, self.ways.values())), self.write)

    def write(self, choice: Choice) -> str | None:
        """The program of one choice; none where its ways do not go together."""
        picked = dict(zip(self.ways, choice, strict=True))
        if any(picked[a] == i and picked[b] == j for (a, i), (b, j) in self.apart):
            return None
        fills: dict[str, str] = {}
        for axis, index in picked.items():
            way = self.ways[axis][index]
            fills |= {axis: way} if isinstance(way, str) else way
        return _filled(self.text, fills)


def _filled(text: str, fills: Mapping[str, str]) -> str:
    """Marks are filled until none is left; one alone on its line hands on its indentation."""
    while MARK.search(text):
        while ALONE.search(text):
            text = ALONE.sub(lambda m: _indented(fills.get(m[2], ""), m[1]), text)
        text = MARK.sub(lambda m: fills.get(m[1], ""), text)
    return re.sub(r"\n?\0", "", text).strip("\n") + "\n"


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line if line else line for line in text.split("\n")) if text else "\0"
