"""What a model is given where it is used, and releases of the software that it is trained with."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.benchmark import stack
from traindoctor.probes.config import deployed
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of
from traindoctor.probes.run import Run

PROBES = probes_of(deployed) | probes_of(stack)
SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in PROBES]
LOG = "".join(f"step {n} loss {1 + 2 / (n + 1):.4f}\n" for n in range(60))


def state(folder: Path, symptom: str, files: dict[str, str], benchmark: dict[str, str] | None = None) -> str:
    """What is read of a directory with these files."""
    mine = made(folder / "run", files)
    other = None if benchmark is None else made(folder / "other", benchmark)
    return str(dict(readings(mine, other, SYMPTOMS))[symptom].state.value)


def made(folder: Path, files: dict[str, str]) -> Run:
    """A run of these files and a log."""
    folder.mkdir()
    for name, text in {"train.log": LOG, **files}.items():
        (folder / name).write_text(text)
    return open_run(folder)


CLIENT = """import requests
for row in rows:
    body = {{"model": "m", {what}}}
    text = requests.post("http://localhost:8000/v1/{path}", json=body).json()
"""


@pytest.mark.parametrize(
    ("template", "path", "expected"),
    [
        ("qwen", "completions", "present"),
        ("qwen", "chat/completions", "absent"),
        ("empty", "completions", "unknown"),
    ],
)
def test_asked_without_the_template(tmp_path: Path, template: str, path: str, expected: str) -> None:
    """By LLaMA-Factory's template, and the address that a script asks."""
    files = {
        "sft.yaml": f"stage: sft\ntemplate: {template}\nlearning_rate: 1.0e-5\n",
        "client.py": CLIENT.format(what='"prompt": row["q"]', path=path),
    }
    assert state(tmp_path, "asked-without-template", files) == expected


def test_asked_through_vllm(tmp_path: Path) -> None:
    """`generate` takes texts as they are."""
    script = "from vllm import LLM\nllm = LLM(model='out')\nprint(llm.generate(rows))\n"
    files = {"sft.yaml": "template: chatml\nlearning_rate: 1.0e-5\n", "bench.py": script}
    assert state(tmp_path, "asked-without-template", files) == "present"


TRAIN = """import mindspore.dataset.vision as vision
mean = [0.485 * 255, 0.456 * 255, 0.406 * 255]
ops = [vision.Decode(), vision.Normalize(mean=mean, std=[58.4, 57.1, 57.4])]
"""


def aipp(*means: float) -> str:
    """An AIPP configuration."""
    rows = "".join(f"  mean_chn_{n} : {v}\n  var_reci_chn_{n} : 0.0171\n" for n, v in enumerate(means))
    return "aipp_op{\n  aipp_mode: static\n  input_format : RGB888_U8\n" + rows + "}\n"


@pytest.mark.parametrize(
    ("means", "script", "expected"),
    [
        ((0, 0, 0), TRAIN, "present"),
        ((124, 116, 104), TRAIN, "absent"),
        ((104, 116, 124), TRAIN, "absent"),  # the channels are swapped as well
        ((0, 0, 0), "import mindspore\n", "unknown"),
    ],
)
def test_inputs_of_a_converted_model(
    tmp_path: Path, means: tuple[float, ...], script: str, expected: str
) -> None:
    files = {"aipp.cfg": aipp(*means), "dataset.py": script}
    assert state(tmp_path, "converted-inputs-unlike", files) == expected


SETTINGS = "learning_rate: 1.0e-5\nbatch_size: 8\nseed: 1\nweight_decay: 0.1\nwarmup_steps: 10\n"
WORSE = "".join(f"step {n} loss {3 + 2 / (n + 1):.4f}\n" for n in range(60))


@pytest.mark.parametrize(
    ("version", "log", "settings", "expected"),
    [
        ("2.1.0.post8", WORSE, SETTINGS, "present"),
        ("2.1.0.post8", LOG, SETTINGS, "absent"),
        ("2.1.0.post8", WORSE, SETTINGS.replace("8", "16"), "absent"),
        ("2.1.0.post12", WORSE, SETTINGS, "unknown"),
    ],
)
def test_another_release_alone(tmp_path: Path, version: str, log: str, settings: str, expected: str) -> None:
    """The same settings on two releases; in the last case on one."""
    pip = "Package Version\n------- -------\ntorch 2.1.0\ntorch-npu {}\n"
    mine = {"train.log": log, "a.yaml": settings, "pip_list.txt": pip.format(version)}
    theirs = {"a.yaml": SETTINGS, "pip_list.txt": pip.format("2.1.0.post12")}

    assert state(tmp_path, "versions-alone-differ", mine, theirs) == expected
