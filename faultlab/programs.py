"""Where the programs of other authors stand, and which of them are trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

PROGRAMS = Path(__file__).resolve().parent / "code"  # each with its text in src/
SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _trained() -> dict[str, dict[str, Any]]:
    files = sorted(PROGRAMS.glob("*/project.yaml"))
    found = {file.parent.name: yaml.load(file.read_text(encoding="utf-8"), SAFE) for file in files}
    return {name: project for name, project in found.items() if "train" in project}


TRAINED = _trained()  # name -> what its project.yaml says
