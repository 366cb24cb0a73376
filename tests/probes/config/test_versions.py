"""Versions from whatever a directory holds, and known defects that need version and conditions both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.specifiers import SpecifierSet

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.config.versions import in_range, known_bugs, version

from .._build import run, series, written
from .._read import reading

ROWS = "".join(json.dumps({"step": s, "loss": 3.0 - 0.1 * s}) + "\n" for s in range(1, 8))


def recorded(folder: Path, name: str, text: str, package: str) -> str | None:
    """The version that a directory with this file records."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "log.jsonl").write_text(ROWS, encoding="utf-8")
    found = version(open_run(folder), package)
    return None if found is None else str(found)


COLLECT = """Collecting environment information...
PyTorch version: 2.1.0+cu118
Is debug build: False
CUDA used to build PyTorch: 11.8

OS: Ubuntu 22.04.3 LTS (x86_64)
GPU models and configuration:
GPU 0: NVIDIA A100-SXM4-80GB
Nvidia driver version: 535.104

Versions of relevant libraries:
[pip3] numpy==1.26.0
[pip3] torch==2.1.0+cu118
[pip3] pytorch-lightning==1.4.8
[conda] torch                     2.1.0+cu118              pypi_0    pypi
"""
PYTHON_ENV = "python: 3.10.12\nbuild_dependencies:\n- pip==23\n"
MODEL = '{"model_type": "llama", "hidden_size": 64, "transformers_version": "4.45.1"}'
CONDA = (
    "name: x\nchannels:\n  - defaults\ndependencies:\n  - pytorch=2.1.0\n  - pip:\n    - deepspeed==0.18.2\n"
)


@pytest.mark.parametrize(
    ("name", "text", "package", "expected"),
    [
        ("pip_freeze.txt", "numpy==1.26.0\ntorch==2.1.0+cu121\nsix==1.16\n", "torch", "2.1.0+cu121"),
        ("requirements.txt", "torch>=2.0\ndeepspeed==0.17.6\naccelerate\n", "deepspeed", "0.17.6"),
        ("requirements.txt", "torch>=2.0\ndeepspeed==0.17.6\naccelerate\n", "torch", None),
        ("requirements.txt", "transformers~=4.45\nnumpy==1.26.0\n", "transformers", None),
        ("environment.yml", CONDA, "torch", "2.1.0"),
        ("environment.yml", CONDA, "deepspeed", "0.18.2"),
        ("wandb/run-1/files/requirements.txt", "torch==2.5.0\nsix==1.16\nnumpy==2.0\n", "torch", "2.5.0"),
        ("mlruns/0/abc/artifacts/model/requirements.txt", "mlflow==2.9\ntorch==2.5.0\n", "torch", "2.5.0"),
        ("mlruns/0/abc/artifacts/model/conda.yaml", CONDA, "deepspeed", "0.18.2"),
        ("mlruns/0/a/artifacts/model/python_env.yaml", PYTHON_ENV, "python", "3.10.12"),
        ("config.json", MODEL, "transformers", "4.45.1"),
        ("collect_env.txt", COLLECT, "torch", "2.1.0+cu118"),
        ("collect_env.txt", COLLECT, "pytorch-lightning", "1.4.8"),
        ("version.info", "Version=8.0.RC2\nversion_dir=8.0.RC2\n", "cann", "8.0rc2"),
        ("ascend_toolkit_install.info", "package_name=toolkit\nversion=8.0.RC3\n", "cann", "8.0rc3"),
        ("train.log", "PyTorch version: 2.1.0\n", "torch", None),
    ],
)  # fmt: skip
def test_versions_of_files(tmp_path: Path, name: str, text: str, package: str, expected: str | None) -> None:
    """What is pinned or was installed counts; a wish (">=") does not, nor a log of one line."""
    assert recorded(tmp_path, name, text, package) == expected


@pytest.mark.parametrize(
    ("line", "package", "expected"),
    [
        ("PyTorch version: 2.1.0", "torch", "2.1.0"),
        ("torch==2.5.0", "torch", "2.5.0"),
        ("[pip3] pytorch-lightning==1.4.8", "pytorch-lightning", "1.4.8"),
        ("[Rank 0] DeepSpeed info: version=0.17.6, git-hash=unknown", "deepspeed", "0.17.6"),
        ("deepspeed info ................... 0.18.1, unknown, unknown", "deepspeed", "0.18.1"),
        ("MindSpore 2.2.11", "mindspore", "2.2.11"),
        ("Transformers version: 4.46.0", "transformers", "4.46.0"),
        ("flash-attn==2.0.4", "flash-attn", "2.0.4"),
        ("CANN version: 8.0.RC1", "cann", "8.0rc1"),
        ("This argument is deprecated and will be removed in transformers 4.46", "transformers", None),
        ("FlashAttention requires torch 2.5.0 or later", "torch", None),
        ("please upgrade to deepspeed 0.18.3", "deepspeed", None),
    ],
)
def test_versions_of_log_lines(tmp_path: Path, line: str, package: str, expected: str | None) -> None:
    """Banners tell what runs; advice and warnings about other versions do not."""
    assert recorded(tmp_path, "train.log", f"{line}\nstep 1 loss 2.0\nstep 2 loss 1.9\n", package) == expected


def test_a_log_counts_more_than_a_list_of_packages(tmp_path: Path) -> None:
    """What the run printed was in use; a requirements file beside it may be older."""
    (tmp_path / "a_requirements.txt").write_text("torch==1.8.0\nnumpy==1.20\nsix==1.16\n", encoding="utf-8")

    assert (
        recorded(tmp_path, "train.log", "torch==2.5.0\nstep 1 loss 2.0\nstep 2 loss 1.0\n", "torch")
        == "2.5.0"
    )


def test_ranges_compare_as_versions() -> None:
    """By PEP 440: 0.10 is after 0.9, local parts do not count, previews lie between."""
    found = version(run(facts={"version:torch": "2.5.0+cu121"}), "torch")

    assert found is not None and in_range(found, "==2.5.0") and not in_range(found, ">=2.5.1")
    assert [
        in_range(v, ">=0.9,<0.12")
        for text in ("0.8.9", "0.9.0", "0.10.1", "0.12.0")
        if (v := version(run(facts={"version:deepspeed": text}), "deepspeed"))
    ] == [False, True, True, False]


def test_names_of_one_library() -> None:
    """A library is found under each of its names; words that are no version are none."""
    assert str(version(run(facts={"version:lightning": "1.4.8"}), "pytorch-lightning")) == "1.4.8"
    assert str(version(run(facts={"torch_version": "v1.13"}), "torch")) == "1.13"
    assert version(run(facts={"version:torch": "nightly"}), "torch") is None
    assert version(run(facts={"version:torch": "2.x"}), "torch") is None
    assert version(run(), "torch") is None


def test_rows_are_well_formed() -> None:
    """Each row has a range that parses, conditions, a harm, what to do and a source that exists."""
    sources = load_rules().sources
    for bug in known_bugs():
        assert set(bug) == {"package", "affected", "when", "harm", "effect", "fixed_in", "do", "source"}
        assert len(SpecifierSet(bug["affected"])) >= 1
        assert bug["when"] and bug["harm"] in ("certain", "possible")
        assert bug["source"] in sources


def state(symptom: str, settings: dict[str, Any], facts: dict[str, Any]) -> str:
    return str(reading("settings", symptom, written(settings, facts=facts)).state)


@pytest.mark.parametrize(
    ("settings", "facts", "expected"),
    [
        ({"bf16": True}, {"version:torch": "2.5.0", "device": "NVIDIA H100 80GB HBM3"}, "present"),
        ({"bf16": True}, {"version:torch": "2.5.1", "device": "NVIDIA H100 80GB HBM3"}, "absent"),
        ({"bf16": True}, {"version:torch": "2.5.0", "device": "NVIDIA A100"}, "absent"),
        ({"bf16": True}, {"version:torch": "2.5.0"}, "unknown"),
        ({"tp_comm_overlap": True}, {"version:transformer-engine": "2.1.0"}, "present"),
        ({"tp_comm_overlap": False}, {"version:transformer-engine": "2.1.0"}, "absent"),
        ({"use_flash_attention": True}, {"version:flash-attn": "2.0.4"}, "present"),
        ({"attn_implementation": "sdpa"}, {"version:flash-attn": "2.0.4"}, "absent"),
    ],
)
def test_conditions(settings: dict[str, Any], facts: dict[str, Any], expected: str) -> None:
    """Version, settings and device must all be on record and fit; otherwise unknown or absent."""
    assert state("known-bug-possible", settings, facts) == expected


def test_a_library_in_use_of_unknown_version_leaves_it_open() -> None:
    """ZeRO-2 is set, so DeepSpeed runs; without its version nothing can be ruled out."""
    facts = {"version:pytorch-lightning": "2.4.0"}

    assert state("known-bug-version", {"zero_optimization.stage": 2}, facts) == "unknown"
    assert state("known-bug-version", {}, facts) == "absent"


def test_the_evidence_says_what_it_is_about() -> None:
    """Version, conditions met, effect and the version that mends it stand in the sentence."""
    given = written({"zero_optimization.stage": 2}, facts={"version:deepspeed": "0.18.1"})
    found = reading("settings", "known-bug-version", given)

    assert "deepspeed 0.18.1" in found.why and "0.18.3" in found.why and "zero stage 2" in found.why
    assert (found.value, found.threshold) == ("deepspeed 0.18.1", ">=0.17.6,<0.18.3")
    assert found.where[0].file == "config.yaml"


@pytest.mark.parametrize(
    ("first", "device", "told"),
    [
        (float("nan"), "NVIDIA GeForce GTX 1660 Ti", "present"),
        (2.3, "NVIDIA GeForce GTX 1660 Ti", "absent"),
        (float("nan"), "NVIDIA A100", "absent"),
    ],
)
def test_a_defect_that_the_first_loss_shows(first: float, device: str, told: str) -> None:
    """Half precision on a card that cannot: the version, the card and a first loss that is no number."""
    facts = {"version:torch": "1.13.1+cu116", "device": device}
    made = run([series("train/loss", np.full(4, first))], {"precision": "fp16"}, facts=facts)

    assert reading("settings", "known-bug-version", made).state == told


def test_a_first_loss_above_that_of_a_guess() -> None:
    """36 is no loss of a language model, and a sixteenth of it is."""
    for first, told in ((36.2, "present"), (2.26, "absent")):
        made = run(
            [series("train/loss", np.linspace(first, first / 2, 5))],
            {"gradient_accumulation_steps": 16},
            facts={"version:transformers": "4.46.0"},
        )
        assert reading("settings", "known-bug-version", made).state == told
