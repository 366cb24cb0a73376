"""Training scripts (.py, .ipynb): settings that stand in the code as literals. Never run, only parsed.

What a call such as `SGD(model.parameters(), lr=0.1)` fixes is as good as a configuration file; names are
followed to simple constants, argparse defaults, class attributes and dict literals of the same file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...files import RunFile
from ...run import IMPLIED, FileContent, Setting
from .. import Gives, _python_config, notebook, notebook_output
from .calls import (
    LOSSES,
    OPTIMIZERS,
    SCHEDULERS,
    UNTAPED,
    all_arguments,
    argument,
    is_training_loader,
    keyword,
    last_name,
    loss_name,
    moves_one_tensor,
    receiver,
)
from .settings import DEFAULT, LITERAL, Extractor
from .syntax import (
    FRAMEWORKS_SAID,
    MAX_DEPTH,
    MAX_SIZE,
    Imported,
    frameworks,
    frameworks_among,
    imports,
    parse,
    parsed,
    source,
)
from .values import Value

FORMAT = "python-script"
GIVES = Gives(
    title="Training scripts and notebooks",
    files="`.py`, `.ipynb`; of a notebook also what its cells printed",
    lacks="What the program was given when it started, and whether it is what ran.",
    scalars="some",
    steps="some",
    epochs="some",
    lines="yes",
    settings="yes",
    environment="some",
)


def sniff(file: RunFile) -> bool:
    """Any Python file or notebook; what is no training script gives nothing."""
    return file.suffix in (".py", notebook.SUFFIX)


def read(file: RunFile) -> FileContent:
    """Return the settings of a script that imports a training framework, and the text of any script.

    Raises ValueError with one sentence about what is no Python.
    """
    text, notes = source(file)
    tree = parsed(text)
    framework = frameworks_among(imports(text))
    if framework and file.suffix == ".py" and _python_config.made_of_dicts(tree, file.path):
        settings = tuple(_python_config.settings(tree, file.path))  # XTuner's import what they name
    elif framework:
        settings = tuple(Extractor(tree, file.path).settings())
    elif _python_config.is_config(tree, file.path):
        settings = tuple(_python_config.settings(tree, file.path))
    elif _python_config.is_named_so(file.path):
        settings = tuple(Extractor(tree, file.path).defaults())
    else:
        settings = ()
    if file.suffix == notebook.SUFFIX:
        settings = tuple(_in_cells(settings, text))
    facts = {"framework": framework[0]} if framework else {}
    content = FileContent(FORMAT, settings=settings, facts=facts, notes=notes, script=text)
    said = notebook_output.read(file) if file.suffix == notebook.SUFFIX else None
    return _with_output(content, said) if said is not None else content


def _with_output(script: FileContent, said: FileContent) -> FileContent:
    """The content of a notebook: its code, and what that printed."""
    return replace(
        script,
        series=said.series,
        settings=(*script.settings, *said.settings),
        events=said.events,
        facts={**said.facts, **script.facts},
        notes=(*script.notes, *said.notes),
    )


def _in_cells(found: Iterable[Setting], text: str) -> Iterator[Setting]:
    """Settings of a notebook with their cells in place of lines of the whole."""
    lines = text.split("\n")
    for setting in found:
        cell, line = notebook.cell_at(lines, setting.line or 0)
        yield replace(setting, file=notebook.label(setting.file, cell), line=line) if cell else setting


__all__ = [
    "DEFAULT",
    "FORMAT",
    "FRAMEWORKS_SAID",
    "GIVES",
    "IMPLIED",
    "LITERAL",
    "LOSSES",
    "MAX_DEPTH",
    "MAX_SIZE",
    "OPTIMIZERS",
    "SCHEDULERS",
    "UNTAPED",
    "Extractor",
    "Imported",
    "Value",
    "all_arguments",
    "argument",
    "frameworks",
    "frameworks_among",
    "imports",
    "is_training_loader",
    "keyword",
    "last_name",
    "loss_name",
    "moves_one_tensor",
    "parse",
    "parsed",
    "read",
    "receiver",
    "sniff",
    "source",
]
