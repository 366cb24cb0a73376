"""Checkpoints that were split over ranks and files are put together; each damage costs what it damages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.probes.weights.test_weights import SAVED, log, read
from traindoctor.probes.files import walk
from traindoctor.probes.tensors import dcp
from traindoctor.probes.tensors.checkpoints import Checkpoint, Found, find
from traindoctor.probes.tensors.history import change
from traindoctor.probes.tensors.npy import Unreadable

from ._saved import HERE, ckpt, layers, safetensors


def found(path: Path) -> Found:
    return find(walk(path)[0])


def values(one: Checkpoint, name: str) -> list[float]:
    weight = one.weights[name]
    return list(map(float, weight.values(0, weight.count)))


def present(folder: Path) -> set[str]:
    return {k for k, r in read(folder).items() if r.state == "present"}


def run(tmp_path: Path, name: str) -> Path:
    shutil.copytree(HERE / name, log(tmp_path) / "ckpt")
    return tmp_path


def test_a_distributed_checkpoint_is_one_with_step_and_optimizer() -> None:
    first, last = found(HERE / "fsdp").checkpoints

    assert [(c.path, c.format, c.at, c.unit, c.optimizer) for c in (first, last)] == [
        ("step_0", "torch-dcp", 0.0, "step", None),
        ("step_6", "torch-dcp", 6.0, "step", True),
    ]
    assert {n: w.shape for n, w in last.weights.items()} == {
        "fc1.weight": (8, 6),
        "fc1.bias": (8,),
        "norm.weight": (8,),
        "norm.bias": (8,),
        "fc2.weight": (4, 8),
        "fc2.bias": (4,),
    }
    assert values(first, "norm.weight") == [1.0] * 8  # four from either shard file
    assert len(first.weights["norm.weight"].parts) == 2


@pytest.mark.parametrize(
    ("name", "symptoms"),
    [
        ("fsdp", set()),
        ("deepspeed", {"saved-part-unchanged"}),
        ("zero3", {"saved-weights-not-finite"}),
        ("megatron", {"saved-replicas-differ"}),
    ],
)
def test_what_is_wrong_is_told_and_no_more(name: str, symptoms: set[str], tmp_path: Path) -> None:
    assert present(run(tmp_path, name)) == symptoms
    assert not any(r.why.startswith("probe error") for r in read(tmp_path).values())


def test_the_only_model_parallel_rank_holds_the_whole_model() -> None:
    saved = found(HERE / "deepspeed").checkpoints

    assert [(c.path, c.at, c.sharded, c.optimizer, len(c.trained)) for c in saved] == [
        ("global_step0", 0.0, False, True, 6),
        ("global_step6", 6.0, False, True, 6),
    ]


def test_ranks_that_split_the_model_are_its_parts() -> None:
    one = found(HERE / "megatron").checkpoints[-1]

    assert one.members == tuple(f"mp_rank_{tp:02d}_{pp:03d}" for tp in (0, 1) for pp in (0, 1))
    assert one.weights["mp_rank_01_000.language_model.fc1.weight"].shape == (4, 6)
    assert one.rank is None and not one.sharded


def test_equal_norms_of_tensor_parallel_ranks_are_absent_and_no_parts_are_unknown(tmp_path: Path) -> None:
    folder = run(tmp_path / "a", "megatron")
    shutil.rmtree(folder / "ckpt" / "iter_0000006")
    assert read(folder)["saved-replicas-differ"].state == "absent"
    assert read(run(tmp_path / "b", "fsdp"))["saved-replicas-differ"].state == "unknown"


def test_stages_that_are_not_whole_are_told() -> None:
    (_, last) = found(HERE / "zero3").checkpoints

    assert sorted(last.weights) == ["zero_pp_rank_0_mp_rank_00.group0", "zero_pp_rank_1_mp_rank_00.group0"]
    assert any("ZeRO stage 3" in n for n in last.notes)


def test_a_missing_shard_file_is_said(tmp_path: Path) -> None:
    folder = shutil.copytree(HERE / "fsdp" / "step_6", tmp_path / "step_6")
    (folder / "__1_0.distcp").unlink()

    assert found(tmp_path).refused == (("step_6", "1 of 2 shard files are here"),)


@pytest.mark.parametrize("file", [".metadata", "__0_0.distcp"])
def test_a_folder_cut_anywhere_costs_what_is_cut(tmp_path: Path, file: str) -> None:
    folder = shutil.copytree(HERE / "fsdp" / "step_0", tmp_path / "step_0")
    data = (folder / file).read_bytes()
    for end in range(0, len(data), 61):
        (folder / file).write_bytes(data[:end])
        for one in found(tmp_path).checkpoints:
            for weight in one.weights.values():
                try:
                    assert weight.values(0, weight.count).size == weight.count
                except (OSError, ValueError):
                    continue


def test_flipped_bits_cost_no_more_than_the_file(tmp_path: Path) -> None:
    folder = shutil.copytree(HERE / "fsdp" / "step_0", tmp_path / "step_0")
    for file in (".metadata", "__0_0.distcp"):
        data = bytearray((folder / file).read_bytes())
        for at in range(0, len(data), 97):
            (folder / file).write_bytes(bytes([*data[:at], data[at] ^ 0x41, *data[at + 1 :]]))
            for one in found(tmp_path).checkpoints:
                for weight in one.weights.values():
                    try:
                        weight.values(0, weight.count)
                    except (OSError, ValueError):
                        continue
        (folder / file).write_bytes(bytes(data))


def test_nothing_is_called_and_no_file_outside_is_opened(tmp_path: Path) -> None:
    folder = shutil.copytree(HERE / "fsdp" / "step_0", tmp_path / "step_0")
    meta = (folder / ".metadata").read_bytes()
    (tmp_path / "secret").write_bytes((folder / "__0_0.distcp").read_bytes())
    (folder / ".metadata").write_bytes(meta.replace(b"\x0c__0_0.distcp", b"\x0c../../secret"[:13]))
    for one in found(tmp_path).checkpoints:
        assert all(p.file.path.startswith("step_0/") for w in one.weights.values() for p in w.parts)
    (folder / ".metadata").write_bytes(b"\x80\x02cposix\nsystem\n(X\x07\x00\x00\x00touch xtR.")
    with pytest.raises(Unreadable):
        dcp.read_folder(walk(folder)[0])
    assert not Path("x").exists()


def test_weights_cut_otherwise_are_not_held_against_each_other() -> None:
    first, last = found(HERE / "fsdp").checkpoints
    a, b = first.weights["fc1.weight"], last.weights["fc1.weight"]
    from dataclasses import replace

    assert change(a, b, None) is not None
    assert change(a, replace(b, layout=((0, 0, 8, 3), (0, 3, 8, 3))), None) is None


def test_an_index_that_names_what_no_shard_holds_is_said(tmp_path: Path) -> None:
    weights = layers()
    names = list(weights)
    for n, part in enumerate((names[:3], names[3:]), 1):
        safetensors(tmp_path / f"model-0000{n}-of-00002.safetensors", {m: weights[m] for m in part})
    index = {"metadata": {}, "weight_map": dict.fromkeys([*names, "lost.weight"], "x")}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (one,) = found(tmp_path).checkpoints

    assert set(one.weights) == set(names)
    assert one.notes == ("its index names 1 weights that no shard holds, e.g. lost.weight",)
    (tmp_path / "model.safetensors.index.json").write_text("[")
    assert found(tmp_path).checkpoints[0].notes == ()


def test_a_rank_that_holds_nan_beside_a_sound_one(tmp_path: Path) -> None:
    log(tmp_path)
    good = {n: a for n, a in layers().items() if a.dtype == np.float32}
    bad = {n: a.copy() for n, a in good.items()}
    bad["head.weight"][0, 0] = np.nan
    for rank, weights in ((0, good), (1, bad)):
        ckpt(tmp_path / f"ckpt/rank_{rank}/net-1_8.ckpt", weights)
    reading = read(tmp_path)["saved-weights-not-finite"]

    assert reading.state == "present" and "rank_1" in reading.why
    ckpt(tmp_path / "ckpt/rank_1/net-1_8.ckpt", good)
    assert "and of 1 other rank" in read(tmp_path)["saved-weights-not-finite"].why


def test_the_file_to_start_from_lies_in_the_run_directory(tmp_path: Path) -> None:
    log(tmp_path)
    (tmp_path / "config.yaml").write_text("pretrained: base/model.safetensors\nlearning_rate: 0.001\n")
    base = safetensors(tmp_path / "base/model.safetensors", layers(seed=3))
    safetensors(tmp_path / "ckpt/init.safetensors", layers(seed=4))
    assert read(tmp_path)["saved-start-fresh"].state == "present"
    shutil.copy(base, tmp_path / "ckpt/init.safetensors")
    assert read(tmp_path)["saved-start-fresh"].state == "absent"
    assert "saved-start-fresh" in SAVED
