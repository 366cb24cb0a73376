"""Checkpoints are found and read as they lie there: names, places in training, values; never unpickled."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.tensors.checkpoints import Found, find
from traindoctor.probes.tensors.mindspore_ckpt import read_ckpt
from traindoctor.probes.tensors.npy import Unreadable
from traindoctor.probes.tensors.safetensors import read_safetensors
from traindoctor.probes.tensors.torch_file import read_torch

from ._dumps import SHARED, pt
from ._saved import HERE, ckpt, layers, safetensors


def found(path: Path) -> Found:
    files, _ = walk(path)
    return find(files)


def file(path: Path) -> RunFile:
    return RunFile(path.parent, path.name, path.stat().st_size)


def test_torch_checkpoints_are_read_with_their_step_and_optimizer() -> None:
    saved = found(HERE / "healthy").checkpoints

    assert [(c.path, c.at, c.optimizer) for c in saved] == [
        ("init.pt", 0.0, None),
        ("step_60.pt", 60.0, True),
        ("step_120.pt", 120.0, True),
    ]
    assert len(saved[0].weights) == 13
    assert set(saved[0].weights) == set(saved[1].weights)  # the wrapper {"model": ...} is taken off
    assert len(saved[1].trained) == 10  # running statistics and counters are no weights


def test_values_of_torch_weights_are_those_that_were_saved() -> None:
    first = found(HERE / "healthy").checkpoints[0].weights["1.weight"]

    assert first.values(0, first.count).tolist() == [1.0] * 12


def test_the_folders_of_a_trainer_tell_step_and_missing_optimizer() -> None:
    saved = found(HERE / "saved").checkpoints

    assert [(c.path, c.at, c.unit, c.optimizer) for c in saved] == [
        ("checkpoint-0/model.safetensors", 0.0, "step", False),
        ("checkpoint-60/model.safetensors", 60.0, "step", True),
        ("checkpoint-120/model.safetensors", 120.0, "step", False),
    ]


def test_shards_are_one_checkpoint_and_a_missing_one_is_said(tmp_path: Path) -> None:
    weights = layers()
    names = list(weights)
    safetensors(
        tmp_path / "checkpoint-5/model-00001-of-00003.safetensors", {n: weights[n] for n in names[:2]}
    )
    safetensors(
        tmp_path / "checkpoint-5/model-00002-of-00003.safetensors", {n: weights[n] for n in names[2:]}
    )
    (one,) = found(tmp_path).checkpoints

    assert set(one.weights) == set(names)
    assert one.notes == ("2 of 3 shards are here",)


def test_bf16_and_fp8_are_decoded(tmp_path: Path) -> None:
    path = safetensors(
        tmp_path / "x.safetensors",
        {"a": np.asarray([0x3F80, 0xC000, 0x7FC0], np.uint16), "b": np.asarray([0x3C, 0xBC, 0x7C], np.uint8)},
    )
    stored, refused = read_safetensors(file(path))

    assert refused == []
    assert next(stored["a"].blocks()).tolist()[:2] == [1.0, -2.0]
    assert np.isnan(next(stored["a"].blocks())[2])
    assert next(stored["b"].blocks()).tolist() == [1.0, -1.0, np.inf]


def test_mindspore_checkpoints_are_read_split_or_not(tmp_path: Path) -> None:
    whole = {
        "fc.weight": np.arange(12, dtype=np.float32).reshape(3, 4),
        "moments.fc.weight": np.zeros((3, 4), np.float32),
    }
    ckpt(tmp_path / "net-1_8.ckpt", whole)
    ckpt(tmp_path / "net-2_8.ckpt", whole, pieces=3)
    first, second = found(tmp_path).checkpoints

    assert (first.at, first.unit, second.at) == (1.0, "epoch", 2.0)
    assert list(first.weights) == ["fc.weight"]
    assert first.optimizer is True
    assert first.weights["fc.weight"].shape == (3, 4)
    assert second.weights["fc.weight"].values(2, 8).tolist() == list(range(2, 10))  # across pieces


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
def test_real_mindspore_checkpoints_are_read() -> None:
    saved = found(SHARED / "ms_run_healthy").checkpoints

    assert [(c.path, c.at) for c in saved] == [(f"ckpt/lenet-{e}_8.ckpt", float(e)) for e in (1, 2, 3)]
    assert {n: w.shape for n, w in saved[0].trained.items()} == {
        "conv1.weight": (6, 1, 5, 5),
        "fc1.weight": (32, 216),
        "fc1.bias": (32,),
        "fc2.weight": (4, 32),
        "fc2.bias": (4,),
    }


def test_a_rank_in_the_path_is_told_and_a_model_shard_is_none(tmp_path: Path) -> None:
    safetensors(tmp_path / "rank_1/step_4.safetensors", layers())
    safetensors(tmp_path / "iter_0000004/mp_rank_01/model.safetensors", layers())
    told = {c.path: (c.rank, c.sharded, c.at) for c in found(tmp_path).checkpoints}

    assert told == {
        "rank_1/step_4.safetensors": (1, False, 4.0),
        "iter_0000004/mp_rank_01/model.safetensors": (None, True, None),
    }


@pytest.mark.parametrize(
    "name", ["healthy/step_60.pt", "legacy/step_60.pt", "saved/checkpoint-60/model.safetensors"]
)
def test_a_file_cut_anywhere_costs_itself(tmp_path: Path, name: str) -> None:
    data = (HERE / name).read_bytes()
    target = tmp_path / Path(name).name
    for end in range(16, len(data), 97):
        target.write_bytes(data[:end])
        got = found(tmp_path)

        assert len(got.checkpoints) + len(got.refused) <= 1


def test_a_mindspore_file_cut_anywhere_costs_its_tail(tmp_path: Path) -> None:
    data = ckpt(tmp_path / "a.ckpt", layers_without_counter()).read_bytes()
    for end in range(1, len(data), 13):
        (tmp_path / "b.ckpt").write_bytes(data[:end])
        try:
            pieces, notes = read_ckpt(file(tmp_path / "b.ckpt"))
        except Unreadable:
            continue

        assert pieces
        assert notes or sum(p.count for s in pieces.values() for p in s) < sum(
            a.size for a in layers_without_counter().values()
        )


def layers_without_counter() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return {n: a for n, a in layers().items() if a.dtype == np.float32}


def test_the_form_before_the_zip_holds_the_same(tmp_path: Path) -> None:
    new, old = (found(HERE / name).checkpoints for name in ("healthy", "legacy"))
    for one, other in zip(new, old, strict=False):
        assert (one.at, one.optimizer, list(one.weights)) == (other.at, other.optimizer, list(other.weights))
        for name, weight in one.weights.items():
            assert np.array_equal(weight.values(0, weight.count), other.weights[name].values(0, weight.count))


def test_nothing_in_the_old_form_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = (HERE / "legacy/init.pt").read_bytes()
    call = b"\x80\x02cos\nsystem\n(S'touch pwned'\ntR."
    head = data.index(b"ccollections") - 2
    (tmp_path / "evil.pt").write_bytes(data[:head] + call + data[head:])
    got = found(tmp_path)

    assert got.checkpoints == () and not (tmp_path / "pwned").exists()


def test_bytes_flipped_in_the_old_form_cost_no_more_than_the_file(tmp_path: Path) -> None:
    data = bytearray((HERE / "legacy/step_60.pt").read_bytes())
    for at in range(0, len(data), 41):
        changed = data.copy()
        changed[at] ^= 0xFF
        (tmp_path / "a.pt").write_bytes(bytes(changed))
        for one in found(tmp_path).checkpoints:
            for weight in one.weights.values():
                weight.values(0, weight.count)


def test_a_flipped_bit_of_a_pickle_is_told_by_its_checksum(tmp_path: Path) -> None:
    data = bytearray(pt(np.arange(3, dtype=np.float32)))
    data[data.index(b"_rebuild_tensor_v2")] ^= 1
    (tmp_path / "a.pt").write_bytes(bytes(data))

    with pytest.raises(Unreadable, match=r"checksum of .*data\.pkl"):
        read_torch(file(tmp_path / "a.pt"))


def test_files_with_one_pickle_keep_their_own_values(tmp_path: Path) -> None:
    """Dumps repeat the same pickle in every file: what is kept of it must not carry over."""
    for n in range(3):
        (tmp_path / f"{n}.pt").write_bytes(pt(np.full(3, n, np.float32)))
    read = [read_torch(file(tmp_path / f"{n}.pt")) for n in range(3)]

    assert [float(next(tensor.blocks())[0]) for tensor in read] == [0.0, 1.0, 2.0]


def test_what_is_no_checkpoint_is_refused_or_passed_over(tmp_path: Path) -> None:
    (tmp_path / "old.pt").write_bytes(b"\x80\x02}q\x00." + bytes(40))
    (tmp_path / "noise.ckpt").write_bytes(bytes(range(256)))
    (tmp_path / "training_args.bin").write_bytes(bytes(64))
    shutil.copy(HERE / "saved/checkpoint-60/optimizer.pt", tmp_path / "optimizer.pt")
    (tmp_path / "evil.pt").write_bytes(pt(np.zeros(3, np.float32), pickled=b"cos\nsystem\n(S'touch x'\ntR."))
    got = found(tmp_path)

    assert got.checkpoints == ()
    assert {path for path, _ in got.refused} == {"old.pt", "noise.ckpt", "evil.pt"}
    assert "never opened" in dict(got.refused)["old.pt"]
    assert not (tmp_path / "x").exists()


def test_a_header_that_lies_is_refused(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "x.safetensors", {"a": np.zeros(4, np.float32)})
    path.write_bytes(path.read_bytes().replace(b'"shape": [4]', b'"shape": [9]'))
    stored, refused = read_safetensors(file(path))

    assert stored == {}
    assert refused == ["a: shorter than its header says"]


def test_of_very_many_checkpoints_the_first_and_last_are_read(tmp_path: Path) -> None:
    for step in range(70):
        safetensors(tmp_path / f"step_{step}.safetensors", {"a": np.zeros(2, np.float32)})
    got = found(tmp_path)

    assert len(got.checkpoints) == 64
    assert (got.checkpoints[0].at, got.checkpoints[-1].at) == (0.0, 69.0)
    assert got.refused == (("6 more checkpoints", "only 64 are looked at"),)


def test_batches_and_data_are_no_checkpoints(tmp_path: Path) -> None:
    """Arrays of inputs and labels, or in a folder of batches, are no weights; others are."""
    (tmp_path / "batches").mkdir()
    values = np.ones((4, 3), np.float32)
    np.savez(tmp_path / "batches/batch_0.npz", hidden=values)
    np.savez(tmp_path / "step_10.npz", image=values, label=np.arange(4))
    np.savez(tmp_path / "step_20.npz", x_train=values, y_test=values)
    np.savez(tmp_path / "step_30.npz", **{"fc.weight": values})

    assert [one.at for one in found(tmp_path).checkpoints] == [30.0]
