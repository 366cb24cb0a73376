"""One probe on one script: what the tests of script checks share."""

from __future__ import annotations

from traindoctor.engine.load import load_rules
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

PROBES = all_probes()
SYMPTOMS = {s.id: s for s in load_rules().symptoms.values()}


def state(symptom: str, *texts: str) -> str:
    """ "present", "absent" or "unknown": what a symptom's probe says of a program of these files."""
    names = [f"part{i}.py" for i in range(len(texts) - 1)] + ["train.py"]
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts=dict(zip(names, texts, strict=True)))
    found = read(View(run), SYMPTOMS[symptom], PROBES)
    assert "probe error" not in found.why, found.why
    return found.state.value
