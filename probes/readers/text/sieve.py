"""Which lines of a new shape are looked at closely: all, but in a log of very many shapes.

A look at a line costs a hundred times what passing it over costs. Programs print tens or hundreds of shapes
of lines; free text (generated samples, paths, words at random) has a new one in each line, a million in a
large file. From `MANY` shapes on, such lines are looked at when their shape comes again, as whatever is
logged does, and of all others an ever smaller share.
"""

from __future__ import annotations

import re

MANY = 20_000  # shapes until which every line of a new one is looked at
KEPT = 300_000  # shapes that are remembered as seen once
# What is said once in a log and must not be missed for it.
_ONCE = re.compile(
    rb"Traceback|Error\b|ERROR|(?i:\bnan\b|\binf\b|overflow|out of memory|resum|size mismatch)"
)


class Sieve:
    """Says of each line of a new shape, in their order, whether it is looked at."""

    def __init__(self) -> None:
        self.passed = 0  # lines that were not
        self._shapes = self._again = self._telling = self._others = 0
        self._seen: set[int] = set()
        self._taken = b""

    @property
    def full(self) -> bool:
        """Whether lines are passed over from now on."""
        return self._shapes >= MANY

    @property
    def note(self) -> str:
        """What to say where lines were passed over."""
        return (
            f"too long to read every line, and most are unlike all others: of these a sample was read,"
            f" {self.passed} lines were passed over"
        )

    def takes(self, key: bytes, line: bytes) -> bool:
        """Whether a line of this shape is looked at; asked again for the line just taken, the same."""
        if not self.full:
            self._shapes += 1
            return True
        if key == self._taken or self._picked(hash(key), line):
            self._taken = key
            return True
        self.passed += 1
        return False

    def _picked(self, shape: int, line: bytes) -> bool:
        if shape in self._seen:
            self._again += 1
            return _in_turn(self._again)
        if len(self._seen) >= KEPT:
            self._seen.clear()
        self._seen.add(shape)
        if _ONCE.search(line):
            self._telling += 1
            return _in_turn(self._telling)
        self._others += 1
        return _in_turn(self._others + MANY)


def _in_turn(count: int) -> bool:
    """All of the first `MANY`, a quarter of as many more, then a ninth...: 1.7 times `MANY` of any number."""
    return count % (1 + count // MANY) ** 2 == 0
