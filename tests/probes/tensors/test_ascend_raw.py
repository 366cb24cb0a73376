"""Ascend's own dump files, read without its toolkit: types, device formats, overflow blocks, damage."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.tensors.ascend_raw import RawTensor, read_raw
from traindoctor.probes.tensors.compare import compare
from traindoctor.probes.tensors.find import detect
from traindoctor.probes.tensors.npy import Unreadable
from traindoctor.probes.tensors.opdebug import flags
from traindoctor.probes.tensors.overflow import examine
from traindoctor.probes.tensors.permute import reordered

from ._saved import part, varint

TYPES = {"float32": 1, "float16": 2, "int32": 7, "bool": 11, "float64": 12, "uint16": 27}
ND, NC1HWC0, NZ = 2, 3, 29
X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
Given = tuple[np.ndarray[Any, Any], int, tuple[int, ...]]  # as it lies in memory, format, original shape


def plain(array: np.ndarray[Any, Any]) -> Given:
    return array, ND, array.shape


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def shape(dims: tuple[int, ...], packed: bool = True) -> bytes:
    if packed:
        return part(1, b"".join(varint(d) for d in dims))
    return b"".join(number(1, d) for d in dims)


def raw(path: Path, inputs: list[Given], outputs: list[Given], *, packed: bool = True) -> Path:
    """Write a dump file; uint16 stands for bf16."""
    header = part(1, b"2.0") + number(2, 1620612694)
    for side, given, size, original in ((3, outputs, 6, 7), (4, inputs, 5, 6)):
        for array, form, before in given:
            told = number(1, TYPES[str(array.dtype)]) + number(2, form) + part(3, shape(array.shape, packed))
            if side == 3:
                told += part(4, part(1, b"conv1"))
            told += number(size, array.nbytes) + part(original, shape(before, packed))
            header += part(side, told)
    header += part(6, b"net/conv")
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(np.ascontiguousarray(a).tobytes() for a, _, _ in (*inputs, *outputs))
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


def read(path: Path) -> list[RawTensor]:
    return read_raw(RunFile(path.parent, path.name, path.stat().st_size))


def values(tensor: RawTensor) -> list[float]:
    assert tensor.stored is not None
    return [float(v) for block in tensor.stored.blocks() for v in block]


@pytest.mark.parametrize("packed", [True, False])
def test_inputs_stand_before_outputs(tmp_path: Path, packed: bool) -> None:
    path = raw(tmp_path / "a", [plain(X), plain(X.astype(np.float16))], [plain(X * 2)], packed=packed)
    found = read(path)

    assert [(t.side, t.slot, t.dtype, t.shape) for t in found] == [
        ("input", 0, "float32", (4, 6)),
        ("input", 1, "float16", (4, 6)),
        ("output", 0, "float32", (4, 6)),
    ]
    assert values(found[0]) == X.ravel().tolist()
    assert values(found[1]) == X.astype(np.float16).ravel().tolist()
    assert values(found[2]) == (2 * X).ravel().tolist()


def test_types_by_number(tmp_path: Path) -> None:
    bits = (X.view(np.uint32) >> 16).astype(np.uint16)
    whole = [X.astype(np.float64), X.astype(np.int32), X > 0, bits, np.asarray(3, np.int32)]
    found = read(raw(tmp_path / "a", [], [plain(np.asarray(a)) for a in whole]))

    assert [t.dtype for t in found] == ["float64", "int32", "bool", "bfloat16", "int32"]
    assert np.allclose(values(found[3]), X.ravel(), rtol=2**-7)
    assert (found[4].shape, values(found[4])) == ((), [3.0])


def five(array: np.ndarray[Any, Any], c0: int = 4) -> np.ndarray[Any, Any]:
    """NCHW as NC1HWC0, padded with zeros."""
    n, c, h, w = array.shape
    c1 = -(-c // c0)
    padded = np.zeros((n, c1 * c0, h, w), array.dtype)
    padded[:, :c] = array
    return padded.reshape(n, c1, c0, h, w).transpose(0, 1, 3, 4, 2)


def blocks(array: np.ndarray[Any, Any], size: int = 4) -> np.ndarray[Any, Any]:
    """A matrix as FRACTAL_NZ, padded with zeros."""
    rows, columns = (-(-n // size) for n in array.shape)
    padded = np.zeros((rows * size, columns * size), array.dtype)
    padded[: array.shape[0], : array.shape[1]] = array
    return padded.reshape(rows, size, columns, size).transpose(2, 0, 1, 3)


@pytest.mark.parametrize("channels", [1, 3, 4, 6, 8, 9])
def test_channels_in_blocks_are_put_back_in_order(tmp_path: Path, channels: int) -> None:
    image = np.arange(2 * channels * 5 * 3, dtype=np.float32).reshape(2, channels, 5, 3)
    last = image.transpose(0, 2, 3, 1)
    (first, second) = read(
        raw(tmp_path / "a", [], [(five(image), NC1HWC0, image.shape), (five(image), NC1HWC0, last.shape)])
    )

    assert (first.shape, values(first)) == (image.shape, image.ravel().tolist())
    assert (second.shape, values(second)) == (last.shape, last.ravel().tolist())


@pytest.mark.parametrize("form", [(8, 12), (3, 4), (4, 2), (8, 3), (5, 7), (9, 1)])
def test_matrices_in_blocks_are_put_back_in_order(tmp_path: Path, form: tuple[int, int]) -> None:
    matrix = np.arange(form[0] * form[1], dtype=np.float16).reshape(form)
    (one,) = read(raw(tmp_path / "a", [], [(blocks(matrix), NZ, matrix.shape)]))

    assert (one.shape, values(one)) == (matrix.shape, matrix.ravel().tolist())


def test_blocks_that_do_not_hold_the_shape_are_said_and_nothing_is_guessed(tmp_path: Path) -> None:
    image = np.ones((2, 6, 5, 3), np.float32)
    (more, other) = read(
        raw(tmp_path / "a", [], [(five(image), NC1HWC0, (2, 3, 5, 3)), (five(image), NC1HWC0, (2, 6, 4, 3))])
    )

    for one in (more, other):
        assert one.shape == (2, 2, 5, 3, 4)
        assert "device's own format" in one.note


def test_axes_in_another_order_are_taken_through_blocks(tmp_path: Path) -> None:
    image = np.arange(2 * 6 * 5 * 3, dtype=np.float32).reshape(2, 6, 5, 3)
    (one,) = read(raw(tmp_path / "a", [], [(five(image), NC1HWC0, image.shape)]))
    assert one.stored is not None
    turned = reordered(one.stored, (0, 2, 3, 1))

    assert turned is not None
    assert np.concatenate(list(turned.blocks())).tolist() == image.transpose(0, 2, 3, 1).ravel().tolist()


def test_numbers_in_the_padding_do_not_count(tmp_path: Path) -> None:
    """A device leaves in its padding what was there before: a NaN there is no NaN of the tensor."""
    image = np.linspace(-2, 2, 2 * 6 * 5 * 3, dtype=np.float32).reshape(2, 6, 5, 3)
    lying = five(image).copy()
    lying[:, 1, :, :, 2:] = np.nan
    raw(
        tmp_path / "run/dump/Conv2D.net_conv.30.5.1620612694000001",
        [plain(X)],
        [(lying, NC1HWC0, image.shape)],
    )

    assert examine(tmp_path / "run").kind == "clean"


def test_a_raw_tree_is_compared_with_tensorflow(tmp_path: Path) -> None:
    tree = tmp_path / "npu/debug_0/dump/20210510101133/0/ge_default_20210510101134_21/11/0"
    for n, (name, array) in enumerate({"net_conv": X, "net_relu": np.maximum(X, 0) * 1.5}.items()):
        kind = name[4:].capitalize()
        raw(tree / f"{kind}.{name}.{30 + n}.5.162061269400000{n}", [plain(X)], [plain(array)])
        (tmp_path / "tf/dump").mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / f"tf/dump/{name}.0.162061269400000{n}.npy", X if n == 0 else np.maximum(X, 0))
    (ascend,) = (d for d in detect(tmp_path) if d.framework == "ascend")
    found = compare(tmp_path, tmp_path)

    assert (ascend.label, ascend.step, ascend.rank, [o.name for o in ascend.operators]) == (
        "debug_0",
        0,
        0,
        ["net_conv", "net_relu"],
    )
    assert found.first is not None and found.first.name == "net_relu"


def test_a_raw_overflow_is_found_with_its_flag(tmp_path: Path) -> None:
    tree = tmp_path / "overflow/dump/20210425184946/0/ge_default_20210425184947_1/1/5"
    half = (X * 100).astype(np.float16)
    raw(tree / "Conv2D.net_conv.327.5.1619347786532875", [plain(half)], [plain(np.full_like(half, np.inf))])
    block = bytearray(2048)
    struct.pack_into("<3Q", block, 256, 1, 5, 327)
    struct.pack_into("<3Q", block, 1024, 0, 0, 0x20)
    flag = raw(tree / "Opdebug.Node_OpDebug.32.7.1619347786532995", [], [plain(np.zeros(512, np.float32))])
    flag.write_bytes(flag.read_bytes()[:-2048] + bytes(block))
    found = examine(tmp_path)

    assert found.first is not None
    assert (found.first.name, found.first.state, found.first.step) == ("net_conv", "first", 5)
    assert found.first.flags == ("AI Core, status 0x20: floating-point arithmetic overflows",)


def new_block(folder: Path, *, version: int, unit: int, data: list[int], valid: int = 1) -> Path:
    """Write an overflow block of the new dialect that nobody decoded."""
    flag = raw(folder / "Opdebug.Node_OpDebug.32.7.1619347786532995", [], [plain(np.zeros(512, np.float32))])
    head = struct.pack("<6I", 0x5A5A5A5A, version, valid, unit, 0, 8 * len(data))
    block = head + struct.pack(f"<{len(data)}Q", *data)
    flag.write_bytes(flag.read_bytes()[:-2048] + block + bytes(2048 - len(block)))
    return flag


@pytest.mark.parametrize(
    ("version", "unit", "data", "said", "thread"),
    [
        (0, 0, [1, 5, 327, 0, 65535, 2, 9, 9, 3, 0, 0x20], "AIC, status 0x20: floating-point arithm", 2),
        (0, 1, [1, 5, 327, 0, 65535, 65535, 9, 9, 3, 0, 0x100], "AIV, status 0x100: fp32 to fp16", None),
        (0, 2, [1, 5, 327, 0, 65535, 8, 4, 0x8], "AICPU, status 0x8: a negative number overflows", 4),
        (0, 3, [1, 5, 327, 0, 65535, 65535, 9, 9, 1, 0x40], "SDMA, status 0x40: no known bit", None),
        (1, 0, [1, 5, 327, 0, 65535, 65535, 9, 9, 3, 0, 0, 0x20, 0, 0], "status 0x0, 0x20, 0x0, 0x0:", None),
    ],
)  # fmt: skip
def test_a_block_of_the_new_dialect_is_read(
    tmp_path: Path, version: int, unit: int, data: list[int], said: str, thread: int | None
) -> None:
    new_block(tmp_path, version=version, unit=unit, data=data)
    (found,), notes = flags(walk(tmp_path)[0])

    assert said in found.said and notes == []
    assert (found.task, found.stream, found.context, found.thread) == (327, 5, None, thread)


def test_a_status_of_four_words_counts_in_decoded_files_too(tmp_path: Path) -> None:
    data = {"task_id": 3, "stream_id": 1, "status": [0, 32, 0, 0]}
    (tmp_path / "Opdebug.Node_OpDebug.32.7.1619347786532995.output.0.json").write_text(
        json.dumps({"magic": "0x5a5a5a5a", "version": 1, "acc_list": {"acc_type": "AIV", "data": data}})
    )
    (found,), _ = flags(walk(tmp_path)[0])

    assert (found.task, found.status) == (3, (0, 32, 0, 0))


@pytest.mark.parametrize("wrong", [{"version": 2}, {"unit": 7}, {"valid": 0}, {"data": [1, 5, 327]}])
def test_a_block_in_another_layout_is_counted_and_the_decoder_named(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    whole = {"version": 0, "unit": 0, "data": [1, 5, 327, 0, 1, 1, 9, 9, 3, 0, 0x20]}
    new_block(tmp_path, **{**whole, **wrong})
    found, notes = flags(walk(tmp_path)[0])

    assert found == []
    assert "msaccucmp.py convert" in notes[0]


def test_a_file_in_another_layout_names_the_decoder(tmp_path: Path) -> None:
    (tmp_path / "Conv2D.net_conv.30.5.1620612694000001").write_bytes(b"PLACEHOLDER of something else")
    (dump,) = detect(tmp_path)

    assert dump.operators == ()
    assert "1 dump files that were never decoded cannot be read here" in dump.notes[0]
    assert "msaccucmp.py convert" in dump.notes[0]


def test_a_file_cut_anywhere_costs_itself(tmp_path: Path) -> None:
    data = raw(tmp_path / "whole", [plain(X)], [plain(X)]).read_bytes()
    for end in range(len(data)):
        (tmp_path / "cut").write_bytes(data[:end])
        with pytest.raises(Unreadable):
            read(tmp_path / "cut")


def test_flipped_bits_cost_no_more_than_the_file(tmp_path: Path) -> None:
    data = raw(tmp_path / "whole", [plain(X)], [(blocks(X), NZ, X.shape)]).read_bytes()
    for at in range(160):
        for bit in (0x01, 0x80, 0xFF):
            (tmp_path / "bad").write_bytes(bytes([*data[:at], data[at] ^ bit, *data[at + 1 :]]))
            try:
                found = read(tmp_path / "bad")
            except Unreadable:
                continue
            for tensor in found:
                if tensor.stored is not None:
                    values(tensor)
