"""What the scripts of both sides have in common: no evidence for why one of them trains worse.

A finding that stands in the benchmark's script, too, was there when training went well. A setting that a
script fixes, and the benchmark's fixes alike, says nothing about an edit elsewhere that undoes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...engine.model import Evidence, Place, Reading, State, Symptom
from ..code.shared.checks import scripts
from ..readers import notebook
from ..registry import ProbeFunction, View, read
from ..run import Run
from ..script_diff.edits import likeness_of

IN_BOTH = "the benchmark's script shows it as well, and trains as it should"
_EDITED = "code.against.edited"
_CODE = re.compile(r"`[^`]*`")
_VERSIONS = 0.6  # of the lines that versions of one program have in common
_MOST = 6  # programs of each side
_AREAS = ("settings", "benchmark")


def without_shared(
    view: View, evidence: Evidence, symptoms: Iterable[Symptom], probes: Mapping[str, ProbeFunction]
) -> Evidence:
    """The evidence with what both scripts share taken as unknown; unchanged without two scripts.

    Where an edit of a known kind was found, settings that the scripts fix do not speak against it: the line
    that puts them into force may be the one that is gone.
    """
    if view.benchmark is None or not view.run.scripts or not view.benchmark.scripts:
        return evidence
    found = dict(evidence)
    known = False
    for symptom in symptoms:
        reading = evidence[symptom.id]
        if reading.state is State.PRESENT:
            found[symptom.id] = unless_shared(view, symptom, reading, probes)
            known = known or symptom.probe == _EDITED
    shared = {evidence[name].why for name, reading in found.items() if reading.why.endswith(IN_BOTH)}
    for name, reading in found.items():  # the same sentence by another symptom
        if reading.state is State.PRESENT and reading.why in shared:
            found[name] = replace(reading, state=State.UNKNOWN, why=f"{reading.why}; {IN_BOTH}")
    whole = _only_code(view.run) and _only_code(view.benchmark)
    for symptom in symptoms if known else ():
        reading = found[symptom.id]
        seen = symptom.area in _AREAS and not (symptom.probe or "").startswith("code.against.")
        if seen and reading.state is State.ABSENT and (whole or _fixed_in_code(reading, State.ABSENT)):
            why = f"{reading.why}; what the scripts differ in is told by their edits"
            found[symptom.id] = replace(reading, state=State.UNKNOWN, why=why)
    return found


def unless_shared(
    view: View, symptom: Symptom, reading: Reading, probes: Mapping[str, ProbeFunction]
) -> Reading:
    """A finding in a script, or unknown where the benchmark's script has the very same."""
    function = probes.get(symptom.probe or "")
    if view.benchmark is None or function is None or not _fixed_in_code(reading, State.PRESENT):
        return reading
    if any(n.startswith("benchmark") for n in function.__dict__["needs"]):
        return reading
    theirs = read(View(view.benchmark), symptom, probes)
    if theirs.state is not State.PRESENT:
        return reading
    if _said(theirs) != _said(reading) and not (_kind(theirs) == _kind(reading) and _written_anew(view)):
        return reading
    return replace(reading, state=State.UNKNOWN, why=f"{reading.why}; {IN_BOTH}")


def _kind(reading: Reading) -> str:
    """What a reading says, without the code that it quotes."""
    return _CODE.sub("``", _said(reading))


def _written_anew(view: View) -> bool:
    """Whether the scripts of the two sides are no versions of each other: each has its own words."""
    mine, theirs = scripts(view.run), scripts(view.benchmark) if view.benchmark is not None else ()
    pairs = [(a, b) for a in mine[:_MOST] for b in theirs[:_MOST]]
    return bool(pairs) and max(likeness_of(a, b) for a, b in pairs) < _VERSIONS


def _only_code(run: Run) -> bool:
    """Whether nothing is known of a run but its scripts."""
    return not run.series and all(s.file.endswith((".py", notebook.SUFFIX)) for s in run.settings.values())


def _fixed_in_code(reading: Reading, state: State) -> bool:
    """Whether all that a reading was made of stands in scripts."""
    mine = [p for p in reading.where if p.side != "benchmark"]
    return reading.state is state and bool(mine) and all(_in_script(p) for p in mine)


def _in_script(place: Place) -> bool:
    return place.file.endswith(".py") or notebook.SUFFIX in place.file


def _said(reading: Reading) -> str:
    """What a reading says, whatever the files are called."""
    said = reading.why
    for place in reading.where:
        said = said.replace(place.file, "")
    return said
