"""DeepSpeed's configuration is read with a script: named, beside it, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.probes.scripts import files as script_files

SCRIPT = """
import argparse, deepspeed, torch
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
args = parser.parse_args()
net = torch.nn.Linear(4, 2)
engine, _, loader, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters())
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(engine(x), y)
    engine.backward(loss)
    engine.step()
"""
CONFIG = {
    "train_micro_batch_size_per_gpu": 16,
    "gradient_accumulation_steps": 2,
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-4}},
    "fp16": {"enabled": True},
}


def rate(path: Path) -> object:
    found = script_files.read(path).run.settings.get("learning_rate")
    return found.value if found is not None else None


@pytest.mark.parametrize("given", ["", "train.py"])
def test_the_one_beside_it_is_read(tmp_path: Path, given: str) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "ds_config.json").write_text(json.dumps(CONFIG))
    assert rate(tmp_path / given) == 3e-4


@pytest.mark.parametrize("given", ["", "train.py"])
def test_the_one_it_names_is_read_and_no_other(tmp_path: Path, given: str) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "train.py").write_text(SCRIPT + 'CONFIG = "configs/zero2.json"\n')
    (tmp_path / "configs" / "zero2.json").write_text(
        json.dumps(CONFIG | {"optimizer": {"type": "Adam", "params": {"lr": 0.01}}})
    )
    (tmp_path / "ds_config.json").write_text(json.dumps(CONFIG))
    assert rate(tmp_path / given) == 0.01


def test_of_two_beside_it_none_is_read_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(CONFIG))
    found = script_files.read(tmp_path / "train.py")
    assert "learning_rate" not in found.run.settings
    assert any("none is read" in note for note in found.run.info.notes)


@pytest.mark.parametrize(
    "text", ['{"lr": 0.1, "batch_size": 4}', "{", '["zero_optimization"]', '{"lr": ' * 3000]
)
def test_other_files_and_damaged_ones_are_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "other.json").write_text(text)
    assert rate(tmp_path / "train.py") is None


def test_a_script_without_deepspeed_gets_none(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.replace("deepspeed", "library"))
    (tmp_path / "ds_config.json").write_text(json.dumps(CONFIG))
    assert rate(tmp_path / "train.py") is None


def test_no_link_leads_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(CONFIG))
    home = tmp_path / "project"
    home.mkdir()
    (home / "train.py").write_text(SCRIPT + 'CONFIG = "../outside.json"\n')
    (home / "ds_config.json").symlink_to(outside)
    assert rate(home / "train.py") is None


def test_programs_of_a_folder_get_their_own(tmp_path: Path) -> None:
    for name, lr in (("one", 1e-3), ("two", 1e-2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(SCRIPT)
        (tmp_path / name / "ds.json").write_text(
            json.dumps(CONFIG | {"optimizer": {"type": "Adam", "params": {"lr": lr}}})
        )
    found = script_files.read(tmp_path)
    assert {p.run.settings["learning_rate"].value for p in found.programs} == {1e-3, 1e-2}
