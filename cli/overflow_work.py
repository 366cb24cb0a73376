"""`diagnose overflow`: the first operator that leaves the range of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target
from .present import show_answer
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
        from ..probes.curves.scale_history import told

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

    show_answer(overflow_report, found, wanted, quiet=quiet, no_color=no_color, everything=everything)
