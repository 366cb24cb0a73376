"""What `diagnose script` says of an edited program beside the original."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from traindoctor.cli.script_work import load, report
from traindoctor.engine.model import RuleBase
from traindoctor.probes.scripts import files as script_files
from traindoctor.reports.script_report import ScriptReport

LIKELY = 0.5


@lru_cache(maxsize=1)
def _rules() -> RuleBase:
    return load((), quiet=True)


def told(folder: Path, original: str, edits: Sequence[tuple[str, str]]) -> ScriptReport:
    """The report on `original` with these edits, each of one place, beside the original."""
    text = original
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    compile(text, "train.py", "exec")
    mine, theirs = (_written(folder / name, held) for name, held in (("run", text), ("benchmark", original)))
    return report(_rules(), script_files.read(mine), "train.py", script_files.read(theirs), "benchmark")


def findings(of: ScriptReport) -> list[str]:
    """The symptoms that are told as findings."""
    return [f.symptom for f in of.faults if f.kind == "finding"]


def likely(of: ScriptReport) -> list[str]:
    """The causes that are held likely."""
    return [cause for cause, _, p in of.ranking if p >= LIKELY]


def _written(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "train.py").write_text(text, encoding="utf-8")
    return folder / "train.py"
