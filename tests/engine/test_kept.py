"""Rules that are kept between processes: the same rules, and never those of other files."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from traindoctor.engine import kept
from traindoctor.engine.load import load_with_places
from traindoctor.rules import root


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the rules, in a Python that keeps its bytecode beside them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return Path(shutil.copytree(root(), tmp_path / "rules", ignore=shutil.ignore_patterns("__pycache__")))


def kept_file(folder: Path) -> Path:
    """The file that keeps the rules of a folder."""
    (found,) = (folder / "__pycache__").iterdir()
    return found


def test_what_is_kept_is_what_was_loaded(folder: Path) -> None:
    """Every rule comes back equal; before anything is kept there is nothing."""
    rules = load_with_places(folder)[0]

    assert kept.recall(folder) is None
    kept.keep(folder, rules)
    again = kept.recall(folder)

    assert again == rules


def test_other_files_are_other_rules(folder: Path) -> None:
    """A changed, a new or a lost rule file makes what was kept worthless."""
    kept.keep(folder, load_with_places(folder)[0])
    changed = folder / "sources.yaml"
    before = changed.read_bytes()

    changed.write_bytes(before + b"# more\n")
    assert kept.recall(folder) is None
    changed.write_bytes(before)
    assert kept.recall(folder) is not None
    (folder / "symptoms" / "new.yaml").write_text("area: new\nsymptoms: []\n")
    assert kept.recall(folder) is None


def test_a_damaged_file_is_no_rules(folder: Path) -> None:
    """Cut off anywhere, flipped or empty: nothing is taken from it and nothing is raised."""
    kept.keep(folder, load_with_places(folder)[0])
    file = kept_file(folder)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF

    for raw in (b"", whole[:10], whole[:64], whole[:-1], bytes(flipped), whole + b"x", b"\0" * 500):
        file.write_bytes(raw)
        assert kept.recall(folder) is None


def test_nothing_is_kept_where_python_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytecode's own switches hold, and a folder that cannot be written to costs nothing."""
    rules = load_with_places(folder)[0]
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept.keep(folder, rules)
    assert not (folder / "__pycache__").exists()

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (folder / "__pycache__").write_text("a file where the folder would be")
    kept.keep(folder, rules)
    assert kept.recall(folder) is None
