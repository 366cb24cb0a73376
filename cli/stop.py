"""The ways in which a command ends early, each with its exit code and one sentence for the user."""

from __future__ import annotations

OK = 0
GATE_FAILED = 1
USAGE = 2
INCONCLUSIVE = 3
UNREADABLE = 4
INTERNAL = 70
INTERRUPTED = 130


class Stop(Exception):
    """End the command with this sentence on stderr and this exit code."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


def usage(message: str) -> Stop:
    """An option, an answer, an output or a rule file that cannot be used."""
    return Stop(USAGE, message)
