"""In words: which probe reads a symptom, what it measures, and from which files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..engine.model import Symptom
    from ..probes.registry import ProbeFunction

LOGS = "the logged curves"
BOTH_LOGS = "the logged curves of run and benchmark"
SCRIPT = "the training script beside the run"
FILES = {
    "logged curves": "metric files (CSV, JSON lines, trainer_state.json), event files, W&B, MLflow, logs",
    "configuration": "configuration files, launch lines, and what the training script itself fixes",
}
# Where the probes of a module look; what starts with a name counts as that module, the first that fits.
PLACES = {
    "data_compare": "batches dumped before the model, of run and benchmark",
    "data_files": "the data files in the run directory, or named with --data",
    "code.against": "the training scripts of run and benchmark",
    "code": SCRIPT,
    "config.versions": "the versions on record (package lists, environment reports, banners of logs)",
    "config.in_force": "the text log, the logged curves and the configuration",
    "config": "the configuration",
    "weights": "checkpoints in the run directory",
    "operators": "operator dumps in the run directory",
    "events": "the text log",
    "benchmark.repeats": "the logged curves of the run and of several runs of the benchmark",
    "benchmark.settings": "the configurations of run and benchmark",
    "benchmark.unnamed": "the configurations of run and benchmark",
    "benchmark.rates": "the logged curves and the configurations of run and benchmark",
    "benchmark": BOTH_LOGS,
    "curves.rate_course": "the logged curves or the configuration",
    "curves.rate_size": "the logged curves or the configuration",
}


def measured(symptom: Symptom) -> str:
    """Return what a symptom's probe measures, as one sentence; "" for a question."""
    function = _probe(symptom)
    return " ".join((function.__doc__ or "").split("\n\n")[0].split()) if function is not None else ""


def source(symptom: Symptom) -> str:
    """Return where a symptom is read: files and, where the probe says so, series and settings."""
    if symptom.probe is None:
        return "nothing in a run directory tells it: it is a question to you"
    function = _probe(symptom)
    if function is None:
        return f"the probe {symptom.probe} is not installed"
    module = function.__module__.partition(".probes.")[2]
    place = next((PLACES[m] for m in PLACES if module.startswith(m)), LOGS)
    needs = [_need(n) for n in function.__dict__["needs"]]
    return f"{place}, by {symptom.probe}" + (f"; it needs {', '.join(needs)}" if needs else "")


def legend(symptoms: Iterable[Symptom]) -> list[str]:
    """Return what files stand behind the words of `source`, for those that these symptoms are read from."""
    said = [source(s) for s in symptoms]
    return [f"{k}: {v}" for k, v in FILES.items() if any(k in s for s in said)]


def limits(symptom: Symptom) -> str:
    """Return the thresholds of a symptom: "rise 1.3, tail 0.2"."""
    return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in symptom.params.items())


def _need(need: str) -> str:
    one_of = [n.removeprefix("benchmark:").removeprefix("config:") for n in need.split("|")]
    said = " or ".join(one_of)
    if need == "benchmark":
        return "a benchmark run"
    return f"{said} of the benchmark" if need.startswith("benchmark:") else said


def _probe(symptom: Symptom) -> ProbeFunction | None:
    from ..probes.readings import all_probes

    return all_probes().get(symptom.probe) if symptom.probe is not None else None
