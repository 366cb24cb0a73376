"""Weight decay by groups of parameters, as the logs of both sides print them."""

from __future__ import annotations

from ...engine.model import Place
from ..readers.text.decay_groups import DATA
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Event, Run


@probe("benchmark")
def decay_groups_differ(view: View) -> Finding:
    """One side leaves some of its parameters out of weight decay, the other decays them all."""
    sides = [_told(run) for run in (view.run, view.benchmark)]
    mine, theirs = sides
    if mine is None or theirs is None:
        return unknown("the groups of parameters with their weight decay are not printed on both sides")
    text = f"{mine.text}; in the benchmark {theirs.text}"
    where = (
        Place(mine.file, mine.line),
        Place(theirs.file, theirs.line, side="benchmark"),
    )
    if bool(mine.value) != bool(theirs.value):
        return present(text, value=mine.value, threshold=theirs.value, where=where)
    return absent(text, value=mine.value, threshold=theirs.value, where=where)


def _told(run: Run | None) -> Event | None:
    found = [e for e in run.events_of("worked-out") if e.data == DATA] if run is not None else []
    return found[0] if found and len({bool(e.value) for e in found}) == 1 else None
