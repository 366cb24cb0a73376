"""The `diagnose` command. Only what `--version` needs is imported here: everything else waits until used."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .. import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (DESIGN section 7)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"traindoctor {__version__}\n")
        return 0
    from .app import run_command_line

    return run_command_line(arguments)
