"""What operator dumps, checkpoints and fusion searches in a run directory add to its report."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..reports.sections import Section
    from .work import Work


def sections(work: Work) -> tuple[Section, ...]:
    """Return a section for each look that could be taken, in the order of the tuning workflow."""
    found: list[Section] = []
    if work.run.dump_files:
        found += _of_dumps(work)
    if work.run.checkpoint_files or work.run.summary_files:
        found += _of_weights(work)
    return tuple(found)


def _of_dumps(work: Work) -> Iterator[Section]:
    from ..probes.operators import dumps as operators
    from ..reports import sections as made
    from . import fusion_work

    run, path = work.run, shlex.quote(work.run.info.path)
    examined = operators.overflowed(run)
    if examined is not None:
        yield made.of_overflow(examined.report, f"diagnose overflow {path}")
    searched = fusion_work.of_run(run)
    if searched is not None:
        yield made.of_fusion(searched, f"diagnose fusion {path} RUN_OFF")
    compared = operators.compared(run, work.benchmark)
    if compared is not None:
        against = "" if _by_a_tool(work) else f" --benchmark {shlex.quote(compared.benchmark.path)}"
        yield made.of_comparison(compared, f"diagnose compare {path}{against}")
    repeated = operators.repeated(run)
    if not isinstance(repeated, str):
        sides = " ".join(shlex.quote(s.path) for s in (repeated.run, repeated.benchmark))
        yield made.of_comparison(repeated, f"diagnose determinism {sides}")


def _by_a_tool(work: Work) -> bool:
    """Whether the comparison is another tool's: it needs no benchmark."""
    from ..probes.operators import dumps as operators

    found = operators.compared(work.run, work.benchmark)
    return found is not None and found.run.format == "comparison-result"


def _of_weights(work: Work) -> Iterator[Section]:
    from ..probes.weights import logged as weights_logged
    from ..probes.weights import saved as saved_weights
    from ..reports import sections as made
    from . import weights_work

    if not saved_weights.history(work.run).every and not weights_logged.logged(work.run):
        return
    found = weights_work.of_diagnosis(work.rules, work.run, work.benchmark, work.diagnosis.findings)
    yield made.of_weights(found, f"diagnose weights {shlex.quote(work.run.info.path)}")
