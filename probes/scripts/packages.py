"""What stands where its use is out of sight: worth a look, and no evidence.

A training script that imports a library of its own project brings dozens of modules with it: losses, models
and tools of which it uses some. Which ones an option, a registry or a caller elsewhere picks cannot be told
from the text, so what is found there is told to the reader and given no weight. Of 100 findings in 242
published scripts of packages that no rule had been tried on, most of them false, 61 stood outside the script
that was asked about, and 47 of these in programs of more than twenty files (faultlab/STUDIES.md).

Likewise a file of a project that nobody starts, of functions and classes alone: what calls them may step the
scheduler, hand over a trained part, derive from the class. Of 40 findings in 145 published scripts, before
anything was mended for them, 35 stood in files that start nothing, 23 of them false; of 334 programs written
for this project one starts nothing. What is all in one place there weighs (`IN_ONE_PLACE`), and a lone file
is judged as it is: of 231 published ones that costs one finding.

And in a program of more than ten files what takes more than one place to tell, wherever it stands: of 65
findings that were measured in published scripts before any mend for them 24 were such, two of them true; 12
of the 24 stood in the script itself, all false. Programs written for this project have seven files at most.
"""

from __future__ import annotations

from dataclasses import replace

from ...engine.model import Evidence, Reading, State
from ..code.shared.checks import scripts
from ..readers.notebook import file_of
from ..run import Run
from .begun import begins

PACKAGE = 20  # files from which a program is a package (practice)
PROJECT = 10  # and from which what one place shows alone weighs (published scripts)
DEEP = "it stands deep in a package, of which the script may use other parts"
AMONG = "the program has many files, and another may set it right"
UNUSED = "nothing here starts it, and what does may set it right"
# what one function shows whole; in published files that start nothing these were true more often than not
IN_ONE_PLACE = frozenset(
    f"script-{name}"
    for name in (
        *("set-epoch-missing", "same-shard", "shards-unsorted", "split-by-listing", "classes-by-listing"),
        *(
            "accumulation-wrong",
            "clip-without-effect",
            "gradients-cleared-too-early",
            "gradients-not-cleared",
        ),
        *("scale-not-divided-out", "optimizer-rebuilt", "optimizer-not-saved", "layers-in-plain-list"),
        *("layer-repeated", "dropout-always-on"),
    )
)


def without_deep(run: Run, evidence: Evidence) -> Evidence:
    """The evidence, with readings whose use is out of sight taken as unknown, their places and words kept."""
    told = {
        UNUSED: _unused_files(run),
        AMONG: _files_among(run, PROJECT, entries=True),
        DEEP: _files_among(run, PACKAGE, entries=False),
    }
    if not any(told.values()):
        return evidence
    return {k: _for_a_look(told, k, r) for k, r in evidence.items()}


def is_deep(reading: Reading) -> bool:
    """Whether a reading was taken as unknown for where it stands."""
    return reading.state is State.UNKNOWN and told_for_a_look(reading.why)


def told_for_a_look(why: str) -> bool:
    """Whether it is said of a reading that its use is out of sight."""
    return why.endswith((DEEP, AMONG, UNUSED))


def _for_a_look(told: dict[str, frozenset[str]], symptom: str, reading: Reading) -> Reading:
    """A reading as unknown for the first of these reasons that holds of all its places."""
    for why, files in reversed(told.items()):
        reading = _unless(files, why, symptom, reading)
    return reading


def _unless(files: frozenset[str], why: str, symptom: str, reading: Reading) -> Reading:
    """A reading that stands in these files alone, as unknown."""
    mine = [p for p in reading.where if p.side != "benchmark"]
    if reading.state is not State.PRESENT or not mine or not all(file_of(p.file) in files for p in mine):
        return reading
    if why != DEEP and (len(mine) < len(reading.where) or symptom in IN_ONE_PLACE):
        return reading  # held against a benchmark, or seen whole
    return replace(reading, state=State.UNKNOWN, why=f"{reading.why}; {why}")


def _files_among(run: Run, most: int, *, entries: bool) -> frozenset[str]:
    """The files of programs of more than so many that no smaller one holds; with their entries, or not."""
    deep: set[str] = set()
    plain: set[str] = set()
    for script in scripts(run):
        files = {path for _, path in script.pieces} or {script.path}
        if script.among > most:
            kept = set() if entries else files & {script.entry}
            deep |= files - kept
            plain |= kept
        else:
            plain |= files
    return frozenset(deep - plain)


def _unused_files(run: Run) -> frozenset[str]:
    """The files of programs that start nothing, and that no other program holds."""
    unused: set[str] = set()
    used: set[str] = set()
    for script in scripts(run):
        files = {path for _, path in script.pieces} or {script.path}
        (used if begins(script) else unused).update(files)
    return frozenset(unused - used)
