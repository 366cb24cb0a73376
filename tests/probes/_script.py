"""One probe on one script, written out in a test."""

from __future__ import annotations

from collections.abc import Callable

from traindoctor.engine.model import RunInfo
from traindoctor.probes.registry import Finding, View
from traindoctor.probes.run import Run


def finding(probe: Callable[..., Finding], text: str, **params: object) -> Finding:
    """What a probe says of a script; `params` are its thresholds."""
    scripts = {"train.py": f"import torch\n{text}\n"}
    return probe(View(Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts=scripts), None), **params)
