"""The three equalities: a run and itself, a model and its port, and one changed default that shows alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from traindoctor.engine.model import SettingsComparison
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.benchmark.config_diff import compare
from traindoctor.probes.benchmark.settings_in_force import hyperparameter_differs
from traindoctor.probes.files import RunUnreadable
from traindoctor.probes.registry import View
from traindoctor.probes.settings.effective import defaults

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent / "shared" / "real"
LAB = ROOT / "faultlab"


# ------------------------------------------------------------------------------------ a run and itself


def one_of_each() -> list[str]:
    """A recorded run of each kind of model and each kind of log in the lab."""
    text = (LAB / "cases.yaml").read_text(encoding="utf-8")
    labels: dict[str, dict[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    kinds: dict[tuple[str, str], str] = {}
    for name, label in labels.items():
        if label["half"] == "dev":
            kinds.setdefault((label["archetype"], label["log"]), name)
    return sorted(kinds.values())


def real() -> list[Path]:
    return sorted(p for p in REAL.glob("*/*") if p.is_dir()) if REAL.is_dir() else []


def shows_nothing(path: Path) -> None:
    try:
        run = open_run(path, scripts_alone=True)
    except RunUnreadable:
        return
    found = compare(run, run)
    environment = found.environment

    assert not (found.differences or found.consequences or found.further or found.inherent)
    assert not (found.only_run or found.only_benchmark)
    assert not (environment.differences or environment.only_run or environment.only_benchmark)
    assert hyperparameter_differs(View(run, run), least=3).state != "present"


@pytest.mark.parametrize("name", one_of_each())
def test_a_recorded_run_beside_itself(name: str) -> None:
    shows_nothing(LAB / "runs" / name)


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared is absent")
@pytest.mark.parametrize("chunk", range(8))
def test_a_real_run_beside_itself(chunk: int) -> None:
    for path in real()[chunk::8][::3]:  # each diagnosed twice; others in turn would show the same
        shows_nothing(path)


# --------------------------------------------------------------------------------- one changed default

IMPORTS = {
    "pytorch": "import torch\n",
    "keras": "import keras\n",
    "mindspore": "import mindspore\n",
    "paddle": "import paddle\n",
    "jax": "import jax\nimport optax\nimport flax\n",
}
ROWS = "step,loss\n1,2.0\n2,1.9\n3,1.8\n"
OLD = "batch_norm_momentum"


def side(folder: Path, framework: str, settings: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "train.py").write_text(IMPORTS[framework], encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "log.csv").write_text(ROWS, encoding="utf-8")
    return folder


def held(
    tmp_path: Path, run: tuple[str, dict[str, Any]], benchmark: tuple[str, dict[str, Any]]
) -> SettingsComparison:
    paths = (side(tmp_path / "run", *run), side(tmp_path / "benchmark", *benchmark))
    return compare(*(open_run(p) for p in paths))


def components(framework: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(what names the component, its defaults) of a framework."""
    table = defaults()["frameworks"][framework]
    for name, values in table["optimizers"].items():
        yield {"optimizer": name}, {k: v for k, v in values.items() if k != "at"}
    for layer in ("batchnorm", "layernorm"):
        if layer in table:
            values = {k: v for k, v in table[layer].items() if k != "at"}
            yield {"normalization_layer": layer}, values


EACH = [
    (framework, named, key, value)
    for framework in IMPORTS
    for named, values in components(framework)
    for key, value in values.items()
]


@pytest.mark.parametrize(
    ("framework", "named", "key", "value"),
    EACH,
    ids=[f"{f}-{next(iter(n.values()))}-{k}" for f, n, k, _ in EACH],
)
def test_each_default(tmp_path: Path, framework: str, named: dict[str, Any], key: str, value: Any) -> None:
    """Written down it is no difference; changed it is exactly one, held against the default."""
    changed = not value if isinstance(value, bool) else value * 0.5 if value else 0.5
    alone = (framework, named)
    (tmp_path / "a").mkdir()
    same = held(tmp_path / "a", (framework, {**named, key: value}), alone)
    (tmp_path / "b").mkdir()
    other = held(tmp_path / "b", (framework, {**named, key: changed}), alone)

    assert not same.differences, [d.key for d in same.differences]
    (only,) = other.differences
    assert only.key == key and only.benchmark.origin == "default"
    assert only.benchmark.note.startswith(f"default of {framework}")


def converted(framework: str, key: str, value: Any) -> Any:
    old = key == OLD and defaults()["frameworks"][framework]["statistics"] == "old"
    return round(1 - value, 9) if old else value


PAIRS = [
    (a, b, named)
    for a, b in combinations(("pytorch", "mindspore", "keras"), 2)
    for named, _ in components(a)
    if any(named == other for other, _ in components(b))
]


@pytest.mark.parametrize(
    ("port", "origin", "named"), PAIRS, ids=[f"{a}-{b}-{next(iter(n.values()))}" for a, b, n in PAIRS]
)
def test_defaults_of_two_frameworks(tmp_path: Path, port: str, origin: str, named: dict[str, Any]) -> None:
    """Where nobody writes a setting exactly the defaults that differ are told; written down they are none."""
    mine = next(v for n, v in components(port) if n == named)
    theirs = next(v for n, v in components(origin) if n == named)
    differ = {
        k
        for k in mine.keys() & theirs.keys()
        if converted(port, k, mine[k]) != converted(origin, k, theirs[k])
    }
    (tmp_path / "a").mkdir()
    silent = held(tmp_path / "a", (port, named), (origin, named))
    told = {k: converted(port, k, converted(origin, k, theirs[k])) for k in differ}
    (tmp_path / "b").mkdir()
    ported = held(tmp_path / "b", (port, {**named, **told}), (origin, named))

    assert {d.key for d in silent.differences} - {"weight_decay_form"} == differ
    assert not {d.key for d in ported.differences} - {"weight_decay_form"}
