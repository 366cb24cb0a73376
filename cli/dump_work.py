"""`diagnose compare` and `diagnose determinism`: two operator dumps, or another tool's comparison."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target
from .present import deliver, screen
from .progress import watched
from .stop import UNREADABLE, Stop, usage

if TYPE_CHECKING:
    from ..engine.model import DumpComparison
    from ..probes.tensors.compare import Options


@dataclass(frozen=True, slots=True)
class Question:
    """What the user asked for; see the options of the commands."""

    run: Path
    benchmark: Path | None
    rank: int | None = None
    step: int | None = None
    cosine: float | None = None
    exact: bool = False


def answer(question: Question, *, quiet: bool) -> DumpComparison:
    """Read both dumps and compare. Raises `Stop`."""
    from ..probes.files import RunUnreadable
    from ..probes.tensors.compare import NotADump, Options, compare

    if question.cosine is not None and not -1 <= question.cosine <= 1:
        raise usage(f"--cosine {question.cosine:g}: a cosine lies between -1 and 1")
    for name, value in (("rank", question.rank), ("step", question.step)):
        if value is not None and value < 0:
            raise usage(f"--{name} {value}: count from 0")
    looked_at = watched(quiet)
    options = Options(question.rank, question.step, question.cosine, question.exact)
    try:
        if question.benchmark is None:
            return _judged_again(question.run, options)
        return compare(question.run, question.benchmark, options, _progress() if looked_at else None)
    except (NotADump, RunUnreadable) as error:
        raise Stop(UNREADABLE, str(error)) from error
    except OSError as error:
        raise Stop(UNREADABLE, f"{question.run}: {error.strerror or 'cannot be read'}") from error
    finally:
        if looked_at:
            sys.stderr.write("\r\x1b[K")


def _judged_again(path: Path, options: Options) -> DumpComparison:
    """Without a benchmark: a comparison that another tool made holds both sides already."""
    from ..probes.tensors.results import judge_again

    found = judge_again(path, options)
    if found is None:
        raise usage(
            "say what to hold it against: diagnose compare DUMP --benchmark DUMP "
            "(a CSV or XLSX that another tool's comparison wrote needs none)"
        )
    return found


def _progress() -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if done % 64 == 0 or done == total:
            sys.stderr.write(f"\r\x1b[Kcomparing {done} of {total}")

    return tell


def show(
    found: DumpComparison,
    wanted: Sequence[Target],
    *,
    top: int,
    everything: bool,
    quiet: bool,
    no_color: bool,
) -> None:
    """Write the comparison in every format that was asked for."""
    from ..reports import dump_report
    from ..reports.model import Document

    if top < 1:
        raise usage(f"--top {top}: show at least one operator")
    done = []
    for target in wanted:
        if target.format == "json":
            document = Document(dump_report.render_json(found))
        elif target.format == "markdown":
            stem = target.path.stem if target.path else None
            document = dump_report.render_markdown(found, stem=stem, top=top, everything=everything)
        else:
            color, width = screen(target, no_color)
            text = dump_report.render_text(found, width=width, color=color, top=top, everything=everything)
            document = Document(text)
        done.append((target, document))
    deliver(done, quiet)
