"""A finished diagnosis to its targets: everything is rendered before anything is written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from .output import Target, colored, columns, say, to_stdout, write_beside, write_file

if TYPE_CHECKING:
    from ..reports.model import Document, Extras
    from .work import Work


def report(work: Work, targets: Sequence[Target], *, verbose: bool, quiet: bool, no_color: bool) -> None:
    """Write the diagnosis in every format that was asked for."""
    extras = work.extras()
    done = []
    for target in targets:
        document = _rendered(work, target, extras, verbose, no_color)
        done.append((target, document))
    deliver(done, quiet)


def _rendered(work: Work, target: Target, extras: Extras, verbose: bool, no_color: bool) -> Document:
    from ..reports.model import Document

    if target.format == "json":
        from ..reports import json_report

        return Document(json_report.render(work.diagnosis, extras))
    if target.format == "html":
        from ..reports import html

        return Document(html.render(work.diagnosis, extras))
    if target.format == "markdown":
        from ..reports import markdown

        return markdown.render(work.diagnosis, extras, stem=target.path.stem if target.path else None)
    from ..reports import terminal

    color, width = screen(target, no_color)
    return Document(terminal.render(work.diagnosis, extras, width=width, color=color, verbose=verbose))


def checklist(work: Work, targets: Sequence[Target], *, quiet: bool, no_color: bool) -> None:
    """Write only the checklist."""
    _part(work, "render_checklist", targets, quiet, no_color)


def workflow(work: Work, targets: Sequence[Target], *, quiet: bool, no_color: bool) -> None:
    """Write only where the run stands in the documented flows."""
    _part(work, "render_workflow", targets, quiet, no_color)


def _part(work: Work, render: str, targets: Sequence[Target], quiet: bool, no_color: bool) -> None:
    """Write one part of the diagnosis: every report module has a function of that name for it."""
    from ..reports.model import Document

    done = []
    for target in targets:
        if target.format == "terminal":
            from ..reports import terminal

            color, width = screen(target, no_color)
            text = getattr(terminal, render)(work.diagnosis, width=width, color=color)
        else:
            from ..reports import json_report, markdown

            module = json_report if target.format == "json" else markdown
            text = getattr(module, render)(work.diagnosis)
        done.append((target, Document(text)))
    deliver(done, quiet)


def screen(target: Target, no_color: bool) -> tuple[bool, int]:
    """Return whether to colour and how wide to write: a file gets plain 80 columns."""
    if target.path is not None:
        return False, 80
    return colored(sys.stdout, no_color), columns(sys.stdout)


def show_answer(
    report: ModuleType,
    found: object,
    wanted: Sequence[Target],
    *,
    quiet: bool,
    no_color: bool,
    **options: bool,
) -> None:
    """Write an answer in every format that was asked for.

    `report` is the module of its kind: render_json(found), render_markdown(found, **options) and
    render_text(found, width=, color=, **options).
    """
    from ..reports.model import Document

    done = []
    for target in wanted:
        if target.format == "json":
            text = report.render_json(found)
        elif target.format == "markdown":
            text = report.render_markdown(found, **options)
        else:
            color, width = screen(target, no_color)
            text = report.render_text(found, width=width, color=color, **options)
        done.append((target, Document(text)))
    deliver(done, quiet)


def deliver(done: Sequence[tuple[Target, Document]], quiet: bool) -> None:
    """Write files first, stdout last, so that what is on the screen comes after what may fail."""
    for target, document in done:
        if target.path is not None:
            write_file(target.path, document.text)
            write_beside(target.path, document.files)
            if not quiet:
                say(f"wrote {target.path}")
    for target, document in done:
        if target.path is None:
            to_stdout(document.text)
