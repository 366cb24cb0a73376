"""Dumps of msprobe: entries in order, tensors with their figures, values without unpickling."""

from __future__ import annotations

import contextlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.files import RunFile
from traindoctor.probes.tensors.find import detect
from traindoctor.probes.tensors.npy import Unreadable, read_npy
from traindoctor.probes.tensors.pickle_walk import Opaque
from traindoctor.probes.tensors.stored import Stored
from traindoctor.probes.tensors.torch_file import read_torch

from ._dumps import SHARED, msprobe, pt

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
CALLS = [
    ("Functional.linear.0.forward", [X, X.T.copy()], [X @ X.T]),
    ("Functional.gelu.0.forward", [X @ X.T, "tanh"], [np.tanh(X @ X.T)]),
    ("Functional.gelu.0.backward", [X], [X]),
    ("Tensor.add_.0.forward", [X, X], [X + X]),
]


def file_of(path: Path) -> RunFile:
    return RunFile(path.parent, path.name, path.stat().st_size)


def values(stored: Any) -> Any:
    assert isinstance(stored, Stored), stored
    return np.concatenate([b.copy() for b in stored.blocks(7)]) if stored.count else np.empty(0)


def test_operators_come_in_order_with_their_figures_and_their_line(tmp_path: Path) -> None:
    msprobe(tmp_path / "step3" / "rank1", CALLS, stack={CALLS[1][0]: "18, in forward, \n h = F.gelu(h)"})
    (dump,) = detect(tmp_path)
    assert (dump.step, dump.rank, dump.framework, dump.has_values) == (3, 1, "pytorch", False)
    assert [o.kind for o in dump.operators] == ["linear", "gelu", "gelu", "add_"]
    assert [o.direction for o in dump.operators] == ["forward", "forward", "backward", "optimizer"]
    gelu = dump.operators[1]
    assert gelu.source == "net.py:18: h = F.gelu(h)"
    assert gelu.arguments == {"input.1": "tanh"}
    assert gelu.inputs[0].statistics.norm == pytest.approx(np.linalg.norm(X @ X.T))
    assert gelu.inputs[0].blocks() is None


@pytest.mark.parametrize("form", ["npy", "pt"])
def test_values_are_read_by_blocks(tmp_path: Path, form: str) -> None:
    msprobe(tmp_path / "step0" / "proc7", CALLS, tensors=form)
    (dump,) = detect(tmp_path)
    assert dump.has_values and not dump.notes
    for operator, (_, inputs, outputs) in zip(dump.operators, CALLS, strict=True):
        arrays = [a for a in (*inputs, *outputs) if not isinstance(a, str)]
        for tensor, array in zip(operator.tensors, arrays, strict=True):
            assert np.array_equal(values(tensor.stored), array.ravel()), tensor.name


def test_a_missing_or_strange_file_leaves_the_statistics(tmp_path: Path) -> None:
    folder = msprobe(tmp_path, CALLS, tensors="pt")
    broken = folder / "dump_tensor_data" / "Functional.gelu.0.forward.output.0.pt"
    broken.write_bytes(pt(X, pickled=pickle.dumps({"a": print})))
    (folder / "dump_tensor_data" / "Functional.linear.0.forward.input.0.pt").unlink()
    (dump,) = detect(tmp_path)
    assert dump.operators[1].outputs[0].stored is None
    assert dump.operators[1].outputs[0].statistics.known
    assert dump.operators[0].inputs[0].stored is None
    assert any("gelu.0.forward.output.0.pt" in n for n in dump.notes)


def test_a_dump_cut_off_at_any_place_costs_its_end_alone(tmp_path: Path) -> None:
    folder = msprobe(tmp_path, CALLS)
    text = (folder / "dump.json").read_text()
    whole = detect(tmp_path)[0].operators
    for cut in range(0, len(text) - 2, 37):
        (folder / "dump.json").write_text(text[:cut])
        for dump in detect(tmp_path):
            names = [o.name for o in dump.operators]
            assert names == [o.name for o in whole][: len(names)]
            if len(names) < len(whole):
                assert dump.notes


def test_another_file_of_that_name_is_no_dump(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(json.dumps({"tables": []}))
    assert detect(tmp_path) == []


# --------------------------------------------------------------------------------------- torch files


def test_a_transposed_tensor_is_read_in_its_own_order(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    path.write_bytes(pt(X.T.copy(), strides=None))
    transposed = pt(np.zeros((6, 4), np.float32), strides=[1, 6])  # a view of a (4, 6) storage
    assert np.array_equal(values(read_torch(file_of(path))), X.T.ravel())
    path.write_bytes(transposed.replace(np.zeros(24, np.float32).tobytes(), X.tobytes()))
    import zipfile

    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is not None  # the checksum is the only thing that is off
    assert np.array_equal(values(read_torch(file_of(path))), X.T.ravel())


def test_bf16_is_widened(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    bits = (X.view(np.uint32) >> 16).astype(np.uint16)
    path.write_bytes(pt(bits))
    stored = read_torch(file_of(path))
    assert isinstance(stored, Stored) and stored.type.name == "bfloat16"
    assert np.allclose(values(stored), X.ravel(), rtol=2**-7)


class Evil:
    def __reduce__(self) -> Any:
        return (eval, ("__import__('pathlib').Path('pwned').touch()",))


def test_nothing_is_ever_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.pt"
    for protocol in (0, 1, 2, 4):
        path.write_bytes(pt(X, pickled=pickle.dumps(Evil(), protocol)))
        with contextlib.suppress(Unreadable):
            assert isinstance(read_torch(file_of(path)), Opaque)
    assert not (tmp_path / "pwned").exists()


def test_a_torch_file_cut_off_or_changed_anywhere_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    data = pt(X)
    for at in range(0, len(data), 3):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]):
            path.write_bytes(changed)
            try:
                found = read_torch(file_of(path))
                if isinstance(found, Stored):
                    values(found)
            except (Unreadable, OSError, ValueError):
                pass


def test_a_storage_that_is_too_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    path.write_bytes(pt(X, strides=[600, 100]))
    assert isinstance(read_torch(file_of(path)), Opaque)


# --------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f4", "i8", "i4", "u1", "?", "c8"])
def test_npy_of_every_type(tmp_path: Path, dtype: str) -> None:
    array = (np.arange(24).reshape(4, 6) % 7).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    expected = array.ravel().view("f4") if dtype == "c8" else array.ravel().astype(np.float64)
    assert np.array_equal(values(read_npy(file_of(tmp_path / "a.npy"))), expected)


def test_npy_in_fortran_order(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.asfortranarray(X))
    assert np.array_equal(values(read_npy(file_of(tmp_path / "a.npy"))), X.ravel())


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (np.array([{}], dtype=object), "objects"),
        (np.zeros(2, [("a", "f4")]), "record"),
        (np.array(["x"]), "number"),
    ],
)
def test_npy_that_is_no_tensor_is_refused(tmp_path: Path, array: Any, why: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(Unreadable, match=why):
        read_npy(file_of(tmp_path / "a.npy"))


def test_npy_shorter_than_its_header_says(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, X)
    data = path.read_bytes()
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        with pytest.raises(Unreadable):
            read_npy(file_of(path))


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
def test_real_dumps() -> None:
    dumps = detect(SHARED / "msprobe_pt_tensor")
    assert len(dumps) == 3
    for dump in dumps:
        assert not dump.notes and dump.has_values
        for operator in dump.operators:
            assert operator.source.startswith("train_pt.py:")
            for tensor in operator.tensors:
                array = values(tensor.stored).astype(np.float64)
                assert array.max() == pytest.approx(tensor.statistics.max, rel=1e-6)
                assert array.min() == pytest.approx(tensor.statistics.min, rel=1e-6)
                if tensor.statistics.norm is not None:
                    assert np.linalg.norm(array) == pytest.approx(tensor.statistics.norm, rel=1e-5)
    assert {(d.step, d.rank) for d in detect(SHARED / "msprobe_pt" / "ddp_base")} == {(0, 0), (0, 1)}
