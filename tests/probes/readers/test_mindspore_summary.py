"""MindSpore's summary and lineage files."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import mindspore_summary, tensorboard
from traindoctor.probes.run import FileContent

SHARED = Path(__file__).resolve().parents[3].parent / "shared"


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + 0xA282EAD8) & 0xFFFFFFFF


def block(field: int, data: bytes) -> bytes:
    assert len(data) < 16384
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([field << 3 | 2]) + size + data


def record(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked_crc(head)) + data + struct.pack("<I", masked_crc(data))


def event(step: int, *values: bytes) -> bytes:
    summary = b"".join(block(1, v) for v in values)
    return record(struct.pack("<Bd", 9, 1.7e9) + bytes([16, step]) + block(5, summary))


def scalar(tag: str, value: float) -> bytes:
    return block(1, tag.encode()) + struct.pack("<Bf", 0x1D, value)


VERSION = record(struct.pack("<Bd", 9, 1.7e9) + block(3, b"MindSpore.Event:1"))
NAME = "events.out.events.summary.1700000000.0.host_MS"
LINEAGE = "events.out.events.summary.1700000000.0.host_lineage"


def file_of(tmp_path: Path, data: bytes, name: str = NAME) -> RunFile:
    (tmp_path / name).write_bytes(data)
    return RunFile(tmp_path, name, len(data))


def read(tmp_path: Path, data: bytes, name: str = NAME) -> FileContent:
    file = file_of(tmp_path, data, name)
    assert mindspore_summary.sniff(file) and not tensorboard.sniff(file)
    return mindspore_summary.read(file)


def test_the_last_step_of_an_epoch_counts_once(tmp_path: Path) -> None:
    """The step written twice is one point, also when it is NaN; a different value is another point."""
    rows = [(1, 2.0), (2, 1.0), (2, 1.0), (3, math.nan), (3, math.nan), (4, 0.5), (4, 0.25)]
    content = read(tmp_path, VERSION + b"".join(event(s, scalar("loss/auto", v)) for s, v in rows))

    (loss,) = content.series
    assert loss.steps.tolist() == [1, 2, 3, 4, 4]
    assert np.array_equal(loss.values, [2.0, 1.0, math.nan, 0.5, 0.25], equal_nan=True)
    assert loss.raw == "loss/auto" and content.facts["framework"] == "mindspore"


def test_histograms_and_images_are_passed_over(tmp_path: Path) -> None:
    """Only scalars give curves."""
    histogram = block(1, b"conv1.weight/auto") + block(9, b"\x10\x03" + b"\x3d" + struct.pack("<f", 1.0))
    image = block(1, b"input_data/auto") + block(4, b"\x01" * 50)
    content = read(tmp_path, VERSION + event(1, image, histogram, scalar("loss/auto", 1.5)))

    assert [s.raw for s in content.series] == ["loss/auto"]


def test_lineage(tmp_path: Path) -> None:
    """Hyperparameters, the batch of the data set and the metrics of an evaluation are read."""
    hyper = block(1, b"Momentum") + b"\x15" + struct.pack("<f", 0.1) + block(3, b"CrossEntropy")
    hyper += b"\x20\x05" + b"\x30\x08" + b"\x40\x20"
    wall = struct.pack("<Bd", 9, 1.7e9)
    training = record(wall + block(6, block(1, hyper) + block(3, block(1, b"LeNet"))))
    evaluation = record(wall + block(7, block(2, b'{"acc": 0.25, "loss": NaN}')))
    batch = block(1, block(1, b"op_type") + block(2, b"Batch"))
    batch += block(4, block(1, b"batch_size") + b"\x10\x10")
    graph = record(wall + block(9, block(1, block(1, b"")) + block(2, batch)))
    content = read(tmp_path, training + evaluation + graph, LINEAGE)

    assert {s.key: s.value for s in content.settings if s.value != 16} == {
        "optimizer": "Momentum",
        "learning_rate": 0.1,
        "loss_function": "CrossEntropy",
        "epoch": 5,
        "device_num": 8,
        "batch_size": 32,
        "network": "LeNet",
    }
    assert ("batch_size", 16) in [(s.key, s.value) for s in content.settings]
    assert content.facts["final.eval/acc"] == 0.25 and math.isnan(
        float(str(content.facts["final.eval/loss"]))
    )


def test_damage_costs_its_own_records(tmp_path: Path) -> None:
    """Truncations and flips give the whole records, a note, or ValueError."""
    parts = [VERSION] + [event(s, scalar("loss/auto", s / 2)) for s in range(1, 9)]
    data = b"".join(parts)
    ends = np.cumsum([len(p) for p in parts])
    for at in range(len(VERSION), len(data)):
        cut = read(tmp_path, data[:at])
        assert sum(len(s) for s in cut.series) == int(np.count_nonzero(ends <= at)) - 1
        flipped = read(tmp_path, data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        assert sum(len(s) for s in flipped.series) == 7 and flipped.notes


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Neither TensorBoard's files nor text are MindSpore's."""
    board = record(struct.pack("<Bd", 9, 1.0) + block(3, b"brain.Event:2"))
    for data in (board, b"", b"loss is 1.0\n" * 9, b"\x00" * 64):
        assert not mindspore_summary.sniff(
            file_of(tmp_path, data, "x.summary.1"[: 1 if data == board else None])
        )


@pytest.mark.skipif(not (SHARED / "samples" / "ascend").is_dir(), reason="../shared is not here")
@pytest.mark.parametrize(
    ("run", "points", "bad"),
    [("ms_run_healthy", 24, 0), ("ms_run_nan", 1, 0), ("ms_run_nan_continue", 24, 23)],
)
def test_real_summaries(run: str, points: int, bad: int) -> None:
    """Files that MindSpore wrote: each step once, and the steps that are not finite."""
    root = SHARED / "samples" / "ascend" / run / "summary_dir"
    path = next(root.glob("*_MS"))
    content = mindspore_summary.read(RunFile(root, path.name, path.stat().st_size))

    (loss,) = content.series
    assert loss.steps.tolist() == list(range(1, points + 1))
    assert int(np.count_nonzero(~np.isfinite(loss.values))) == bad
