"""The settings of two runs: what differs in force, whatever it is called and whoever set it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from traindoctor.engine.model import SettingsComparison
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.benchmark.config_diff import compare
from traindoctor.probes.settings import effective, table

from .._pairs import evidence

PYTORCH = """
import torch
from torch import nn
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
"""
KERAS = """
import keras
norm = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)
model = keras.Sequential([keras.layers.Conv2D(8, 3), norm])
adam = keras.optimizers.Adam(learning_rate=1e-3, epsilon=1e-8)
model.compile(optimizer=adam, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, epochs=10)
"""
MINDSPORE = """
import mindspore as ms
from mindspore import nn
net = nn.SequentialCell([nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()])
opt = nn.Adam(net.trainable_params(), learning_rate=1e-3)
model = ms.Model(net, nn.CrossEntropyLoss(), opt)
"""
SAMPLES = Path(__file__).resolve().parents[3].parent / "shared" / "samples" / "ascend" / "config_check"


def made(folder: Path, **files: Any) -> Path:
    """A run directory: `script` is train.py, everything else a JSON configuration."""
    folder.mkdir()
    for name, content in files.items():
        if name == "script":
            (folder / "train.py").write_text(content)
        else:
            (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def held(run: Path, benchmark: Path) -> SettingsComparison:
    both = [open_run(path, scripts_alone=True) for path in (run, benchmark)]
    return compare(*both)


def differing(found: SettingsComparison) -> list[str]:
    return [d.key for d in found.differences]


def configs(tmp_path: Path, run: dict[str, Any], benchmark: dict[str, Any]) -> SettingsComparison:
    return held(made(tmp_path / "run", config=run), made(tmp_path / "benchmark", config=benchmark))


@pytest.mark.parametrize("script", [PYTORCH, KERAS, MINDSPORE])
def test_a_run_beside_itself(tmp_path: Path, script: str) -> None:
    run = made(tmp_path / "run", script=script, config={"lr": 0.001, "token": 5, "fp16": True, "seed": 1})
    found = held(run, run)

    assert not found.differences and not found.further and not found.only_run and found.equal > 5


@pytest.mark.parametrize(("port", "inherent"), [(KERAS, "Keras"), (MINDSPORE, "MindSpore")])
def test_the_same_in_another_framework(tmp_path: Path, port: str, inherent: str) -> None:
    """Equivalent settings are no difference; what no setting changes is said apart."""
    found = held(made(tmp_path / "run", script=port), made(tmp_path / "benchmark", script=PYTORCH))

    assert not found.differences and found.equal >= 8
    assert [sentence.split()[0] for sentence in found.inherent] == [inherent]


@pytest.mark.parametrize(
    ("was", "becomes", "key", "values"),
    [
        (", epsilon=1e-8", "", "adam_epsilon", (1e-7, 1e-8)),
        ("momentum=0.9, ", "", "batch_norm_momentum", (0.01, 0.1)),
        ("momentum=0.9, epsilon=1e-5", "momentum=0.9", "batch_norm_epsilon", (1e-3, 1e-5)),
    ],
)
def test_one_default_that_nobody_wrote(
    tmp_path: Path, was: str, becomes: str, key: str, values: tuple[float, float]
) -> None:
    """A default of the new framework is the only difference, and says where it comes from."""
    assert was in KERAS
    port = made(tmp_path / "run", script=KERAS.replace(was, becomes))
    (only,) = held(port, made(tmp_path / "benchmark", script=PYTORCH)).differences

    assert (only.key, only.run.value, only.benchmark.value) == (key, *values)
    assert only.run.origin == only.benchmark.origin == "default"
    assert "keras 3.15.1" in only.run.note and "pytorch 2.13.0" in only.benchmark.note
    assert only.cause == "porting.hyperparameters-differ" and only.effect


def test_a_default_is_no_reading_where_its_component_is_not_known(tmp_path: Path) -> None:
    """Without an optimizer nothing is said of its epsilon: one side alone is no difference."""
    found = configs(tmp_path, {"adam_eps": 1e-6, "lr": 0.1}, {"lr": 0.1})

    assert not found.differences and found.only_run == ("adam_epsilon",)


def test_factors_of_one_global_batch(tmp_path: Path) -> None:
    found = configs(
        tmp_path,
        {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "world_size": 8, "lr": 0.1},
        {"per_device_train_batch_size": 32, "gradient_accumulation_steps": 1, "world_size": 8, "lr": 0.1},
    )

    assert not found.differences and not found.consequences
    assert found.equivalent == (
        "global batch size: 8 x 4 x 8 here and 32 x 1 x 8 in the benchmark are both 256",
    )


def test_what_follows_is_said_once(tmp_path: Path) -> None:
    """Another batch per device is one difference; the global batch, the rate per sample and steps follow."""
    shared = {"world_size": 8, "lr": 0.1, "train_samples": 10_000, "gradient_accumulation_steps": 1}
    found = configs(tmp_path, {"batch_size": 16, **shared}, {"batch_size": 32, **shared})

    assert differing(found) == ["batch_size"]
    assert found.consequences == (
        "global batch size 128 instead of 256",
        "learning rate per sample 0.000781 instead of 0.000391 (2 times)",
        "79 steps per epoch instead of 40",
    )


def test_warm_up_in_steps_or_as_a_share(tmp_path: Path) -> None:
    same = configs(
        tmp_path, {"warmup_ratio": 0.1, "max_steps": 1000}, {"warmup_steps": 100, "max_steps": 1000}
    )
    assert not same.differences and "both 100 steps" in same.equivalent[0]


def test_another_warm_up(tmp_path: Path) -> None:
    found = configs(
        tmp_path, {"warmup_ratio": 0.01, "max_steps": 1000}, {"warmup_steps": 100, "max_steps": 1000}
    )
    assert [(d.key, d.run.value, d.benchmark.value) for d in found.differences] == [("warmup_steps", 10, 100)]


def test_adam_with_decay_is_adamw_in_keras(tmp_path: Path) -> None:
    """Keras decouples the decay of every optimizer; PyTorch's Adam does not."""
    port = KERAS.replace("epsilon=1e-8)", "epsilon=1e-8, weight_decay=0.01)")
    adamw = PYTORCH.replace("Adam(model.parameters(), lr=1e-3)", "AdamW(model.parameters(), lr=1e-3)")
    adam = PYTORCH.replace("lr=1e-3)", "lr=1e-3, weight_decay=0.01)")
    run = made(tmp_path / "run", script=port)

    same = held(run, made(tmp_path / "w", script=adamw))
    other = held(run, made(tmp_path / "l2", script=adam))
    assert not same.differences and any("decoupled" in s for s in same.equivalent)
    assert [(d.key, d.run.value, d.benchmark.value) for d in other.differences] == [
        ("weight_decay_form", "decoupled", "coupled")
    ]


def test_the_weightiest_first_and_zero_is_a_value(tmp_path: Path) -> None:
    found = configs(
        tmp_path,
        {"lr": 0.1, "seed": 1, "dropout": 0.0, "weight_decay": 0.2, "shuffle": False},
        {"lr": 0.01, "seed": 2, "dropout": 0.1, "weight_decay": 0.1, "shuffle": True},
    )

    assert differing(found)[:2] == ["learning_rate", "shuffle"] and differing(found)[-1] == "seed"
    assert set(differing(found)) == {"learning_rate", "shuffle", "dropout", "weight_decay", "seed"}


def test_names_that_are_not_known(tmp_path: Path) -> None:
    found = configs(
        tmp_path, {"lr": 1, "frobnicate": 3, "output_dir": "a"}, {"lr": 1, "frobnicate": 4, "output_dir": "b"}
    )

    assert not found.differences
    assert [(d.key, d.run.value, d.benchmark.value, d.weight) for d in found.further] == [
        ("frobnicate", 3, 4, "unknown")
    ]


def test_without_a_benchmark(tmp_path: Path) -> None:
    """All settings in force, with the defaults of what is in use."""
    found = compare(open_run(made(tmp_path / "run", script=PYTORCH), scripts_alone=True), None)

    assert found.settings["learning_rate"].value == 1e-3 and found.settings["learning_rate"].line == 5
    assert found.settings["adam_epsilon"].value == 1e-8 and found.settings["adam_epsilon"].origin == "default"
    assert found.settings["max_grad_norm"].origin == "implied"


# ----------------------------------------------------------------------------------------- the tables


def test_tables_speak_of_known_settings_causes_and_sources() -> None:
    from traindoctor.engine.load import load_rules

    rules = load_rules()
    specs = set(table().specs)
    for key, row in effective.effects().items():
        assert key in specs | {"weight_decay_form"}, key
        assert row["weight"] in ("high", "medium", "low")
        assert ("any" in row) != ("more" in row and "less" in row), key
        assert {row["cause"], row.get("cause_less", row["cause"])} <= set(rules.causes), key
        assert row["source"] in rules.sources, key
    for name, known in effective.defaults()["frameworks"].items():
        for component in (*known.get("optimizers", {}).values(), known.get("batchnorm"), known.get("scaler")):
            assert component is None or set(component) - {"at"} <= specs, name
            assert component is None or ":" in component["at"]


def test_every_hyperparameter_has_its_effect() -> None:
    missing = set(table().hyperparameters) - set(effective.effects())
    assert missing <= {"loss_scale_growth_factor"}


def test_defaults_are_those_of_the_sources() -> None:
    """The table agrees with the facts collected from the frameworks' own sources."""
    facts = SAMPLES.parents[2] / "knowledge" / "framework_defaults.json"
    if not facts.exists():
        pytest.skip("../shared is absent")
    sources = {
        entry["file"]: entry for group in json.loads(facts.read_text()).values() for entry in group.values()
    }
    words = {
        "lr": "learning_rate",
        "learning_rate": "learning_rate",
        "weight_decay": "weight_decay",
        "momentum": "momentum",
        "epsilon": "adam_epsilon",
        "eps": "adam_epsilon",
        "nesterov": "nesterov",
    }
    checked = 0
    for known in effective.defaults()["frameworks"].values():
        for component in known.get("optimizers", {}).values():
            file, _, line = component["at"].partition(":")
            entry = sources.get(file)
            if entry is None or str(entry["line"]) != line:
                continue
            for raw, key in words.items():
                value = yaml.safe_load(
                    entry["defaults"].get(raw, "null").replace("None", "0.0").replace("e-", ".0e-")
                )
                if raw in entry["defaults"] and key in component:
                    assert float(value) == component[key], (file, raw)
                    checked += 1
    assert checked > 40


# ------------------------------------------------------------------------------------ msprobe's samples


@pytest.mark.skipif(not SAMPLES.exists(), reason="../shared is absent")
def test_launch_lines_that_msprobe_misreads() -> None:
    """Sides are not swapped, --bf16 keeps to itself, and nothing aborts (PEERS-ASCEND A1.1)."""
    found = held(SAMPLES / "run_cmp.sh", SAMPLES / "run_bench.sh")

    assert [(d.key, d.run.value, d.benchmark.value) for d in found.differences] == [
        ("learning_rate", 1e-3, 1e-4),
        ("precision", "fp16", "bf16"),
        ("global_batch_size", 256, 512),
        ("adam_beta2", 0.999, 0.95),
        ("seed", 1234, 42),
    ]
    assert found.settings["initial_loss_scale"].value == 65536
    assert found.settings["flash_attention"].value is True


@pytest.mark.skipif(not SAMPLES.exists(), reason="../shared is absent")
@pytest.mark.parametrize(("kind", "more"), [("", {"adam_epsilon"}), ("dyn_", set())])
def test_the_archives_that_msprobe_compares(kind: str, more: set[str]) -> None:
    """The very inputs on which it aborts: read as they are, sides in order."""
    found = held(SAMPLES / f"{kind}cmp.zip", SAMPLES / f"{kind}bench.zip")
    rate = found.differences[0]

    assert (rate.key, rate.run.value, rate.benchmark.value) == ("learning_rate", 1e-3, 1e-4)
    assert (
        set(differing(found))
        == {"learning_rate", "precision", "global_batch_size", "adam_beta2", "seed"} | more
    )
    assert found.environment.versions["torch"].value == "2.13.0+cpu"


@pytest.mark.skipif(not SAMPLES.exists(), reason="../shared is absent")
def test_the_settings_files_that_msprobe_packs() -> None:
    found = held(SAMPLES / "run_cmp.yaml", SAMPLES / "run_bench.yaml")

    assert differing(found) == ["learning_rate", "adam_epsilon"]


@pytest.mark.skipif(not SAMPLES.exists(), reason="../shared is absent")
@pytest.mark.parametrize(("kind", "more"), [("dynamic_result", set()), ("static_result", {"adam_epsilon"})])
def test_what_msprobe_packed(kind: str, more: set[str]) -> None:
    """Its packed settings come to the same, though one flag swallowed the next; weights are no settings."""
    found = held(SAMPLES / kind / "cmp", SAMPLES / kind / "bench")

    assert differing(found)[:3] == ["learning_rate", "precision", "global_batch_size"]
    assert set(differing(found)[3:]) == {"adam_beta2", "seed"} | more
    assert not found.further


@pytest.mark.parametrize(
    ("settings", "counts"),
    [("", False), ("epsilon=1e-2", True), ("momentum=0.5", True)],
)
def test_what_two_frameworks_do_by_themselves_is_a_remark(
    tmp_path: Path, settings: str, counts: bool
) -> None:
    """Neither side says anything: the difference is listed, and is no evidence of a fault by itself."""
    port = KERAS.replace("momentum=0.9, epsilon=1e-5", settings).replace(", epsilon=1e-8", "")
    judged = evidence(tmp_path, port, PYTORCH)

    assert "adam epsilon 1e-07" in judged["hyperparameter-in-force-differs"].why
    assert judged["any-hyperparameter-differs"].state.value == "present"
    assert (judged["further-hyperparameter-differs"].state.value == "present") == counts
    epsilon = judged["norm-epsilon-differs"].state.value
    assert epsilon == ("present" if "epsilon" in settings else "unknown")
