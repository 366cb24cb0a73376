"""The files of docs/ that are made from the rules and the readers: written, or held against what is there."""

from __future__ import annotations

from pathlib import Path

from .output import write_file

FOLDER = "rules"


def pages() -> dict[str, str]:
    """Return path below docs/ -> text."""
    from ..engine.coverage import load_coverage
    from ..engine.load import load_rules
    from ..probes.assembly.contents import readers
    from ..rules import root
    from .coverage_page import coverage_page
    from .formats_page import formats_page
    from .rule_pages import rule_pages
    from .schemas import all_schemas

    rules = load_rules(root())  # without rule packs that happen to be installed
    found = {f"{FOLDER}/{name}": text for name, text in rule_pages(rules).items()}
    found["formats.md"] = formats_page({reader.FORMAT: reader.GIVES for reader in readers()})
    found |= {f"schema/{name}": text for name, text in all_schemas().items()}
    coverage = load_coverage(root())
    if coverage is not None:
        found["coverage.md"] = coverage_page(rules, coverage)
    return found


def write(folder: Path) -> int:
    """Write all files, take away pages of causes that are gone, and return how many were written."""
    made = pages()
    for name, text in made.items():
        write_file(folder / name, text)
    for path in _left_over(folder, made):
        path.unlink()
    return len(made)


def stale(folder: Path) -> list[str]:
    """Return one sentence for each file that is not as the rules say."""
    made = pages()
    found = []
    for name, text in sorted(made.items()):
        path = folder / name
        if not path.is_file():
            found.append(f"{path}: is missing; run diagnose rules docs")
        elif path.read_text(encoding="utf-8", errors="replace") != text:
            found.append(f"{path}: differs from the rules; run diagnose rules docs")
    left = _left_over(folder, made)
    return found + [f"{path}: belongs to no rule; run diagnose rules docs" for path in left]


def _left_over(folder: Path, made: dict[str, str]) -> list[Path]:
    """Pages below docs/rules that nothing makes any more."""
    here = sorted((folder / FOLDER).glob("*.md"))
    return [p for p in here if f"{FOLDER}/{p.name}" not in made]
