"""`diagnose overflow`: the first operator that leaves the range of numbers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target, colored, columns
from .present import deliver
from .stop import UNREADABLE, Stop, usage
from .work import open_quietly

if TYPE_CHECKING:
    from ..engine.model import OverflowReport


def look(dump: Path, log: Path | None, rank: int | None, step: int | None, *, quiet: bool) -> OverflowReport:
    """Read the dump (and the run's log) and find where it begins. Raises `Stop`."""
    from ..probes.files import RunUnreadable
    from ..probes.tensors.compare import NotADump
    from ..probes.tensors.overflow import Options, examine

    for name, value in (("rank", rank), ("step", step)):
        if value is not None and value < 0:
            raise usage(f"--{name} {value}: count from 0")
    history: tuple[str, ...] = ()
    calibrated = None
    if log is not None:
        from ..probes.scale_history import told

        history, calibrated = told(open_quietly(log, "log ", quiet))
    try:
        return examine(dump, Options(rank, step, calibrated), history)
    except (NotADump, RunUnreadable) as error:
        raise Stop(UNREADABLE, str(error)) from error
    except OSError as error:
        raise Stop(UNREADABLE, f"{dump}: {error.strerror or 'cannot be read'}") from error


def show(
    found: OverflowReport, wanted: Sequence[Target], *, everything: bool, quiet: bool, no_color: bool
) -> None:
    """Write the answer in every format that was asked for."""
    from ..reports import overflow_report
    from ..reports.model import Document

    done = []
    for target in wanted:
        if target.format == "json":
            document = Document(overflow_report.render_json(found))
        elif target.format == "markdown":
            document = Document(overflow_report.render_markdown(found, everything=everything))
        else:
            screen = target.path is None
            document = Document(
                overflow_report.render_text(
                    found,
                    width=columns(sys.stdout) if screen else 80,
                    color=screen and colored(sys.stdout, no_color),
                    everything=everything,
                )
            )
        done.append((target, document))
    deliver(done, quiet)
