"""Scores that only go to metrics of their order: a sigmoid before them changes nothing."""

from __future__ import annotations

from .equal import RANKS
from .lines import Line, Unit
from .roles import leaves
from .vocabulary import word_set

MAX_NAMES = 12  # that values are handed on by
_HANDED_ON = word_set(
    "assign do cat stack array asarray numpy tolist squeeze flatten view detach float append extend "
    "hstack vstack concatenate ravel sequence list append.#0"
)


def only_ranked(line: Line) -> bool:
    """Whether what a line makes, or puts into a list, goes to metrics of the order of scores alone."""
    return bool(line.targets) and line.term.kind in ("assign", "do") and _followed(line.unit, line)


def _followed(unit: Unit, first: Line) -> bool:
    names, done, ranked = list(first.targets), set(first.targets), False
    made = {first}
    while names and len(done) <= MAX_NAMES:
        name = names.pop()
        for line in unit.lines:
            value = line.term.part("value")
            if line in made or value is None or name not in {t.label for t in value.walk()}:
                continue
            for label, chain in leaves(value, ((line.term.kind, "value"),)):
                if label != name:
                    continue
                calls = [call for call, _ in chain]
                if any(call in RANKS for call in calls):
                    ranked = True
                elif set(calls) <= _HANDED_ON and line.targets and line.term.kind in ("assign", "do"):
                    fresh = [t for t in line.targets if t not in done]
                    names += fresh
                    done.update(fresh)
                else:
                    return False
    return ranked and not names
