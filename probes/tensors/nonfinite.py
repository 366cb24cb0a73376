"""The first operator of a dump that makes what is not finite from finite inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .knowledge import knowledge, plain
from .locate import any_non_finite
from .model import Dump, Operator, Tensor

MOST_ELEMENTS = 2_000_000_000  # values that are looked at where statistics do not tell


class TooMuch(Exception):
    """More values than are looked at in one go."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The operator, and whether what it made is still there at the end of the step."""

    operator: Operator
    dump: Dump
    lasting: bool


def first_non_finite(dumps: Sequence[Dump]) -> Origin | None:
    """The first operator with finite inputs and non-finite outputs, the earliest step first.

    Masks put minus infinity where attention must not look, and uninitialised memory holds anything: such
    operators do not count. Raises TooMuch.
    """
    for dump in sorted(dumps, key=lambda d: (d.step or 0, d.rank or 0)):
        found = _of(dump)
        if found is not None:
            return found
    return None


def _of(dump: Dump) -> Origin | None:
    known = knowledge()
    _weigh(dump)
    start: Operator | None = None
    for operator in dump.operators:
        if operator.direction == "state" or operator.module:
            continue
        if known.is_uninitialised(operator.kind) or plain(operator.kind) in known.masks:
            continue
        if any(map(any_non_finite, operator.outputs)) and not any(
            map(any_non_finite, (*operator.inputs, *operator.parameters))
        ):
            start = operator
            break
    if start is None:
        return None
    return Origin(start, dump, any(any_non_finite(t) for t in _last(dump, start)))


def _last(dump: Dump, start: Operator) -> list[Tensor]:
    """What the step leaves behind: the last forward result, and what later phases made."""
    forward = [o for o in dump.operators if o.direction == "forward" and o.outputs and not o.module]
    found = list(forward[-1].outputs) if forward else []
    for operator in dump.operators:
        if operator.direction != "forward" and operator.order >= start.order:
            found += [*operator.outputs, *operator.parameters]
    return found


def _weigh(dump: Dump) -> None:
    unread = sum(
        t.count for o in dump.operators for t in o.tensors if not t.statistics.known and t.stored is not None
    )
    if unread > MOST_ELEMENTS:
        raise TooMuch(f"{unread:,} values without statistics are too many to look at here")
