"""`diagnose config`: the settings in force, and how they differ from the benchmark's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target
from .present import show_answer
from .stop import usage
from .work import open_quietly

if TYPE_CHECKING:
    from ..engine.model import SettingsComparison


def compare(run: Path, benchmarks: Sequence[Path], *, quiet: bool) -> SettingsComparison:
    """Read both sides and compare their settings. Raises `Stop`."""
    from ..probes.benchmark import config_diff

    if len(benchmarks) > 1:
        raise usage("config compares a run with one benchmark; give --benchmark once")
    mine = open_quietly(run, "", quiet, scripts_alone=True)
    theirs = open_quietly(benchmarks[0], "benchmark ", quiet, scripts_alone=True) if benchmarks else None
    return config_diff.compare(mine, theirs)


def show(
    found: SettingsComparison, wanted: Sequence[Target], *, verbose: bool, quiet: bool, no_color: bool
) -> None:
    """Write the comparison in every format that was asked for."""
    from ..reports import settings_report

    show_answer(settings_report, found, wanted, quiet=quiet, no_color=no_color, verbose=verbose)
