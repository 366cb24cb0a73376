"""The `diagnose` command. Only what `--version` needs is imported here: everything else waits until used."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .. import __version__

COLLECT_EVERY = 50_000  # new objects between two looks of the garbage collector; Python's own 700 to 2000


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (DESIGN section 7)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"traindoctor {__version__}\n")
        return 0
    if argv is None:
        _settle_process()
    from .app import run_command_line

    return run_command_line(arguments)


def _settle_process() -> None:
    """Spare a process of our own, which lives for a second, what only pays in long ones.

    Thousands of rule nodes are made that stay: looking through them for cycles finds nothing. And threads for
    matrix products are started on every core when numpy is imported, for matrices that there are none of.
    """
    import gc
    import os

    gc.set_threshold(COLLECT_EVERY, 10, 10)
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
