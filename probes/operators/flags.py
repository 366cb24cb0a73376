"""What overflow detection of Ascend hardware flags, where its decoded files lie in the run directory."""

from __future__ import annotations

from ...engine.model import Place, Subject
from ..registry import Finding, View, absent, present, probe, unknown
from ..tensors.opdebug import flags
from .dumps import overflowed


@probe()
def flagged(view: View) -> Finding:
    """Decoded Opdebug files carry a status; the earliest is the first overflow."""
    found, notes = flags(view.run.dump_files)
    if found:
        first = found[0]
        seen = overflowed(view.run)
        named = seen.report.first if seen is not None and seen.report.kind == "flagged" else None
        told = f"task {first.task} of stream {first.stream}"
        what = f"{named.name} ({told})" if named else told
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        return present(
            f"the hardware flags {what} first ({first.said}){more}",
            value=len(found),
            where=(Place(first.file),),
            subject=Subject(named.name, named.step, named.rank) if named else None,
        )
    if notes:
        return unknown(notes[0])
    if any(f.name.startswith("Opdebug.") for f in view.run.dump_files):
        return absent("overflow detection was on, and no unit carries a status")
    return unknown("no decoded overflow data (Opdebug.*.json) lies in the run directory")
