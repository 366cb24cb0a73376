"""What stands deep in a large package: worth a look, and no evidence.

A training script that imports a library of its own project brings dozens of modules with it: losses, models
and tools of which it uses some. Which ones an option, a registry or a caller elsewhere picks cannot be told
from the text, so what is found there is told to the reader and given no weight. Of 100 findings in 242
published scripts of packages that no rule had been tried on, most of them false, 61 stood outside the script
that was asked about, and 47 of these in programs of more than twenty files (faultlab/README.md).
"""

from __future__ import annotations

from dataclasses import replace

from ...engine.model import Evidence, Reading, State
from ..code.shared.checks import scripts
from ..readers.notebook import file_of
from ..run import Run

PACKAGE = 20  # files from which a program is a package (practice)
DEEP = "it stands deep in a package, of which the script may use other parts"


def without_deep(run: Run, evidence: Evidence) -> Evidence:
    """The evidence with what stands deep in a package taken as unknown, its place and words kept."""
    known = _deep_files(run)
    return {k: _unless_deep(known, r) for k, r in evidence.items()} if known else evidence


def is_deep(reading: Reading) -> bool:
    """Whether a reading was taken as unknown for where it stands."""
    return reading.state is State.UNKNOWN and reading.why.endswith(DEEP)


def _unless_deep(deep: frozenset[str], reading: Reading) -> Reading:
    mine = [p for p in reading.where if p.side != "benchmark"]
    if reading.state is not State.PRESENT or not mine or not all(file_of(p.file) in deep for p in mine):
        return reading
    return replace(reading, state=State.UNKNOWN, why=f"{reading.why}; {DEEP}")


def _deep_files(run: Run) -> frozenset[str]:
    """The files of packages that are no entry, and that no small program holds."""
    deep: set[str] = set()
    plain: set[str] = set()
    for script in scripts(run):
        files = {path for _, path in script.pieces} or {script.path}
        if script.among > PACKAGE:
            deep |= files - {script.entry}
            plain |= files & {script.entry}
        else:
            plain |= files
    return frozenset(deep - plain)
