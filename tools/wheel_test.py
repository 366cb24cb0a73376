"""Build the wheel, install it into a clean environment and run the tests of what users call there.

The tests run in a folder that holds a foreign top-level `engine.py`, as many training repositories do,
and none of this project's source folders: what is tested is what users install.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = (
    *("tests", "examples", "docs", "faultlab", "tools", "pyproject.toml", "README.md"),
    *("action.yml", ".pre-commit-hooks.yaml"),
)
# Commands, reports and rules as a whole: what a wheel could lack (rules, schemas, templates, entry points)
# shows here. All else is the same code as in the repository, where `make test` has run its tests.
TESTS = (
    *(f"tests/cli/test_{n}.py" for n in ("main", "script", "docs", "checklist", "output")),
    *("tests/examples", "tests/reports", "tests/rules/test_rules.py"),
)


def main() -> int:
    """Return pytest's exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        wheel = build(work / "dist")
        python = environment(work / "env", wheel)
        place = work / "elsewhere"
        place.mkdir()
        for name in NEEDED:
            copy(ROOT / name, place / name)
        (place / "engine.py").write_text('raise RuntimeError("a foreign engine.py was imported")\n')
        run = subprocess.run([python, "-m", "pytest", "-q", "-n", "2", *TESTS], cwd=place, check=False)
        return run.returncode


def build(into: Path) -> Path:
    """Build the wheel and return its path."""
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(into), str(ROOT)], check=True)
    return next(into.glob("*.whl"))


def environment(at: Path, wheel: Path) -> Path:
    """Make a virtual environment with the wheel and its test extra; return its Python."""
    venv.create(at, with_pip=True)
    python = at / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{wheel}[test]"], check=True)
    return python


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder, if it is there."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    elif source.exists():
        shutil.copy(source, target)


if __name__ == "__main__":
    sys.exit(main())
