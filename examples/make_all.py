"""Train every example anew, into the folder where it stands. Needs requirements.txt; about three minutes.

Usage: python examples/make_all.py [NAME...]      (NAME: a folder of this directory)

A folder with a `train.py` is one run: its `run.sh` (or `python train.py`) is executed there. What an earlier
run left is removed first; the sources (SOURCES) stay. Seeds are fixed, so the logged values come out the same
on the same versions; times differ.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ("train.py", "run.sh", "config.yaml")
# Event files carry the second, the host and the process in their names: no fact about the training.
EVENT_FILE = re.compile(r"events\.out\.tfevents\..*")


def run_folders(names: list[str]) -> list[Path]:
    """Every folder below the named examples (all, if none is named) that holds a training script."""
    roots = [HERE / name for name in names] or sorted(p for p in HERE.iterdir() if p.is_dir())
    return [script.parent for root in roots for script in sorted(root.glob("*/train.py"))]


def make(folder: Path) -> None:
    """Remove what the last run left, run the script, take this machine's names and paths out."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in SOURCES:
            path.unlink()
    command = ["bash", "run.sh"] if (folder / "run.sh").exists() else ["python", "train.py"]
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": search}, check=True)
    for number, path in enumerate(sorted(p for p in folder.rglob("*") if EVENT_FILE.match(p.name))):
        path.rename(path.with_name(f"events.out.tfevents.1700000000.host.1.{number}"))
    for path in sorted(folder.glob("*.log")):  # warnings name the file they come from
        text = (
            path.read_text(encoding="utf-8").replace(sys.prefix, "/opt/venv").replace(str(HERE), "/home/user")
        )
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Make the named examples, or all."""
    for script in sorted(HERE.glob("*/make_data.py")):
        subprocess.run([sys.executable, script.name], cwd=script.parent, check=True)
    for folder in run_folders(sys.argv[1:]):
        print(folder.relative_to(HERE), flush=True)
        make(folder)


if __name__ == "__main__":
    main()
