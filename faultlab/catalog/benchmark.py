"""What is wrong with the benchmark, not with the run."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case

from .common import TWINS, healthy


def benchmark() -> Iterator[Case]:
    wrong = "benchmark.wrong-reference"
    for archetype, style, other in (
        ("images", "a", TWINS["amp", "c"]),
        ("tabular", "b", TWINS["lm", "c"]),
        ("sentences", "a", TWINS["amp", "a"]),
    ):
        own = healthy(archetype, style, 140, "against-another-task")
        yield Case(
            own.archetype,
            own.style,
            own.fault,
            wrong,
            "",
            own.set,
            benchmark=other.name,
            alone=False,
            check="exists",
        )
