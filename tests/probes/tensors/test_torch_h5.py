"""PyTorch dumps of precision_tool in HDF5: both sides, pieces, links out of the file, damage, no h5py."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.files import RunFile
from traindoctor.probes.tensors.compare import NotADump, compare
from traindoctor.probes.tensors.find import detect
from traindoctor.probes.tensors.torch_h5 import MAGIC, is_torch_h5

X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)


def h5(path: Path, scale: float = 1.0, **more: Any) -> Path:
    """A chain of three operators; the second one's output is multiplied, and lies in packed pieces."""
    h5py = pytest.importorskip("h5py")
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        made = X * np.float32(scale)
        file["convolution/1/input/self"] = X
        file["convolution/1/output/out"] = X
        file["batch_norm/2/input/self"] = X
        file.create_dataset("batch_norm/2/output/out", data=made, chunks=(2, 8), compression="gzip")
        file["ReluBackward0/3/input/grad"] = made.astype(np.float16)
        file["ReluBackward0/3/output/out"] = made.astype(np.float16)
        for name, item in more.items():
            file[name] = item
    return path


def test_both_sides_of_a_tree_are_compared(tmp_path: Path) -> None:
    h5(tmp_path / "pt/npu/net.h5", 1.1)
    h5(tmp_path / "pt/gpu/net.h5")
    gpu, npu = detect(tmp_path)
    found = compare(tmp_path, tmp_path)

    assert (gpu.label, npu.label, npu.framework, npu.ordered) == ("gpu", "npu", "pytorch", True)
    assert [(o.name, o.direction) for o in npu.operators] == [
        ("convolution.1", "forward"),
        ("batch_norm.2", "forward"),
        ("ReluBackward0.3", "backward"),
    ]
    assert found.first is not None and found.first.name == "batch_norm.2"
    assert [o.state for o in found.operators] == ["same", "first", "inherited"]


def test_two_files_alone_are_compared(tmp_path: Path) -> None:
    assert compare(h5(tmp_path / "a.h5"), h5(tmp_path / "b.h5")).kind == "identical"


def test_weights_in_hdf5_are_no_dump(tmp_path: Path) -> None:
    h5(tmp_path / "weights.h5")
    (tmp_path / "log.txt").write_text("step 1\n")

    assert detect(tmp_path) == []
    assert not is_torch_h5(RunFile(tmp_path, "weights.h5", 1))
    assert is_torch_h5(RunFile(tmp_path, "precision_data/pt/npu/a.h5", 1))


def test_nothing_outside_of_the_file_is_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    h5(tmp_path / "other/secret.h5")
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(128))
    link = h5py.ExternalLink(str(tmp_path / "other/secret.h5"), "/convolution")
    path = h5(tmp_path / "a.h5", linked=link, soft=h5py.SoftLink("/convolution"))
    with h5py.File(path, "a") as file:
        outside = [(str(secret), 0, 128)]
        file.create_dataset("far/9/output/out", (4, 8), "f4", external=outside)
    (dump,) = detect(path)

    assert [o.name for o in dump.operators] == ["convolution.1", "batch_norm.2", "ReluBackward0.3", "far.9"]
    (far,) = dump.operators[-1].outputs
    assert far.stored is None and "another file" in far.note


def test_numbers_within_a_type_tell_no_order(tmp_path: Path) -> None:
    (dump,) = detect(h5(tmp_path / "a.h5", **{"add/1/output/out": X}))

    assert not dump.ordered
    assert "order of execution is not known" in dump.notes[0]


def test_a_file_cut_or_changed_anywhere_costs_itself(tmp_path: Path) -> None:
    data = h5(tmp_path / "whole.h5").read_bytes()
    target = tmp_path / "pt/npu/a.h5"
    target.parent.mkdir(parents=True)
    for at in range(0, len(data), 199):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            target.write_bytes(changed)
            for dump in detect(target):
                for operator in dump.operators:
                    for tensor in operator.tensors:
                        with contextlib.suppress(OSError, ValueError, RuntimeError):
                            list(tensor.blocks() or ())


def test_without_h5py_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    path = tmp_path / "pt/npu/net.h5"
    path.parent.mkdir(parents=True)
    path.write_bytes(MAGIC + bytes(64))

    with pytest.raises(NotADump, match=r"needs h5py: pip install 'traindoctor\[h5\]'"):
        compare(tmp_path, tmp_path)
