"""The binary W&B log: what was logged is read exactly, damage costs its own records."""

from __future__ import annotations

import json
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.assembly import kinds
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.readers import wandb_log
from traindoctor.probes.run import FileContent

SHARED = Path(__file__).resolve().parents[3].parent / "shared"
HEADER = b":W&B\xe1\xbe\x00"
NAME = "run-abcd1234.wandb"
BLOCK = 32768


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(at: int, value: int) -> bytes:
    return varint(at << 3) + varint(value)


def item(key: str, value: Any, nested: bool = False) -> bytes:
    names = b"".join(field(2, part.encode()) for part in key.split("|")) if nested else field(1, key.encode())
    return field(1, names + field(16, json.dumps(value).encode()))


def history(nested: bool = False, **values: Any) -> bytes:
    return field(2, b"".join(item(k.replace("__", "/"), v, nested) for k, v in values.items()))


def log(*records: bytes) -> bytes:
    """Frame records as LevelDB does: fragments that never cross a block."""
    out = bytearray(HEADER)
    for record in records:
        first = True
        while True:
            room = BLOCK - len(out) % BLOCK
            if room < 7:
                out += b"\0" * room
                continue
            part, record = record[: room - 7], record[room - 7 :]
            kind = (1 if not record else 2) if first else (4 if not record else 3)
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first = False
            if not record:
                break
    return bytes(out)


def file_of(tmp_path: Path, data: bytes, name: str = NAME) -> RunFile:
    (tmp_path / name).write_bytes(data)
    return RunFile(tmp_path, name, len(data))


def read(tmp_path: Path, *records: bytes) -> FileContent:
    file = file_of(tmp_path, log(*records))
    assert wandb_log.sniff(file)
    return wandb_log.read(file)


def curve(content: FileContent, raw: str) -> tuple[list[float], list[float], str]:
    (found,) = [s for s in content.series if s.raw == raw]
    return found.steps.tolist(), found.values.tolist(), found.unit


EXIT = field(18, b"")


def test_history_with_the_training_step(tmp_path: Path) -> None:
    """The Trainer's own step is the axis, also of evaluations; calls and clocks are none."""
    rows = [
        history(True, train__loss=2.0, train__global_step=10, train__epoch=0.5, _step=0, _timestamp=1.7e9),
        history(True, eval__loss=1.5, eval__runtime=3.0, train__global_step=10, _step=1, _runtime=2.0),
        history(True, train__loss=1.0, train__global_step=20, train__epoch=1.0, _step=2, _timestamp=1.7e9),
    ]
    content = read(tmp_path, *rows, EXIT)

    assert curve(content, "train/loss") == ([10, 20], [2.0, 1.0], "step")
    assert curve(content, "eval/loss") == ([10], [1.5], "step")
    assert {s.raw for s in content.series} == {"train/loss", "eval/loss"}
    (loss,) = [s for s in content.series if s.raw == "train/loss"]
    assert loss.window == "mean-since-last" and loss.epochs is not None
    assert loss.epochs.tolist() == [0.5, 1.0] and not content.notes


def test_steps_without_a_training_step_count_calls(tmp_path: Path) -> None:
    """Without a step of the script's own, or with one that stands still, the calls are counted."""
    plain = read(tmp_path, *(history(loss=1.0 / (k + 1), _step=k) for k in range(3)))
    assert curve(plain, "loss") == ([0, 1, 2], [1.0, 0.5, 1 / 3], "call")

    still = read(tmp_path, *(history(test__loss=1.0, train__global_step=0, _step=k) for k in range(4)))
    assert curve(still, "test/loss")[::2] == ([0, 1, 2, 3], "call")

    batches = read(tmp_path, *(history(loss=1.0, epoch=k // 10, _step=k) for k in range(30)))
    assert curve(batches, "loss")[2] == "call"


def test_steps_that_the_script_gave(tmp_path: Path) -> None:
    """`wandb.log(values, step=step)` leaps; single lost rows among calls do not make steps of them."""
    given = read(tmp_path, *(history(loss=1.0, _step=5 * k) for k in range(4)))
    assert curve(given, "loss")[::2] == ([0, 5, 10, 15], "step")

    lost = read(tmp_path, *(history(loss=1.0, _step=k) for k in range(9) if k != 4))
    assert curve(lost, "loss")[2] == "call"


def test_epochs_and_steps_that_begin_again(tmp_path: Path) -> None:
    """An epoch per row is an axis; a step that begins again in each epoch is none."""
    epochs = read(tmp_path, *(history(train_loss=1.0, epoch=k, _step=k) for k in range(4)))
    assert curve(epochs, "train_loss")[::2] == ([0, 1, 2, 3], "epoch")

    inner = read(tmp_path, *(history(loss=1.0, epoch=k // 5, step=k % 5, _step=k) for k in range(20)))
    assert curve(inner, "loss")[::2] == (list(range(20)), "call")


def test_an_evaluation_without_the_step_follows_the_last_one(tmp_path: Path) -> None:
    """A row without the step that the others have stands where the last of them stood."""
    rows = [history(loss=1.0, global_step=10, _step=0), history(loss=0.9, global_step=20, _step=1)]
    content = read(tmp_path, *rows, history(val_loss=0.8, _step=2))

    assert curve(content, "val_loss") == ([20], [0.8], "step")


def test_values_that_are_no_finite_numbers(tmp_path: Path) -> None:
    """Bare NaN, infinity and their texts are values; pictures, tables and texts are none."""
    picture = {"_type": "image-file", "size": 10}
    rows = [
        history(loss=v, image=picture, note="x", _step=k) for k, v in enumerate([1.0, math.nan, "Infinity"])
    ]
    content = read(tmp_path, *rows)

    _, values, _ = curve(content, "loss")
    assert np.array_equal(values, [1.0, math.nan, math.inf], equal_nan=True)
    assert [s.raw for s in content.series] == ["loss"]


def test_a_loss_that_the_trainer_hid(tmp_path: Path) -> None:
    """A loss of 0 beside a gradient norm that is NaN is NaN, and said so."""
    values = [(2.0, 1.0), (0.0, math.nan), (0.0, math.nan)]
    rows = [
        history(True, train__loss=v, train__grad_norm=n, train__global_step=k, _step=k)
        for k, (v, n) in enumerate(values)
    ]
    content = read(tmp_path, *rows)

    assert np.array_equal(curve(content, "train/loss")[1], [2.0, math.nan, math.nan], equal_nan=True)
    assert [(e.kind, e.step, e.count) for e in content.events] == [("masked-nan", 1.0, 2)]


def test_configuration(tmp_path: Path) -> None:
    """The configuration at the start and its updates are settings; secrets and W&B's own are not."""
    start = field(4, item("lr", 0.1) + item("_wandb", {"framework": "torch", "python_version": "3.10.4"}))
    update = (
        item("lr", 0.2)
        + item("model", {"layers": 4})
        + item("api_key", "s3cret")
        + item("betas", [0.9, 0.95])
    )
    host = field(13, b"a-host") + field(22, b"somebody")
    content = read(tmp_path, field(17, start + host), field(5, update), history(loss=1.0))

    assert {s.key: s.value for s in content.settings} == {
        "lr": 0.2,
        "model.layers": 4,
        "api_key": "***",
        "betas": (0.9, 0.95),
    }
    assert {s.trust for s in content.settings} == {90}
    assert content.facts == {"framework": "pytorch", "version:python": "3.10.4"}
    assert "a-host" not in repr(content) and "s3cret" not in repr(content)


@pytest.mark.parametrize(
    ("record", "code", "data"),
    [
        (EXIT, 0.0, ""),
        (field(18, number(1, 1)), 1.0, ""),
        (field(18, number(1, 255)), 255.0, "KeyboardInterrupt"),
        (field(18, number(1, 2**64 - 9)), -9.0, ""),
    ],
)
def test_exit_codes(tmp_path: Path, record: bytes, code: float, data: str) -> None:
    """The exit record gives the exit code; zero is not written, negative ones are 64 bits long."""
    (event,) = read(tmp_path, history(loss=1.0), record).events

    assert (event.kind, event.value, event.data) == ("exit", code, data)


def test_no_exit_record(tmp_path: Path) -> None:
    """A run that was killed has no exit record: a note, no event."""
    content = read(tmp_path, history(loss=1.0))

    assert not content.events and any("without an exit record" in n for n in content.notes)


def test_resumed_and_summary(tmp_path: Path) -> None:
    """A resumed run says so; the summary counts only where there is no history."""
    summary = field(3, item("acc", 0.5) + item("_step", 9))
    content = read(tmp_path, field(17, number(18, 1)), summary, EXIT)

    assert [e.kind for e in content.events] == ["resume", "exit"]
    assert content.facts == {"final.acc": 0.5}
    assert not read(tmp_path, history(acc=0.25), summary, EXIT).facts


def test_console_output_is_ignored(tmp_path: Path) -> None:
    """Output and hardware statistics leave nothing behind, even over several blocks."""
    output = field(13, field(3, b"somebody@somewhere " * 5000))
    content = read(tmp_path, history(loss=1.0), output, field(7, item("gpu", 90)), history(loss=0.5), EXIT)

    assert curve(content, "loss")[1] == [1.0, 0.5]
    assert "somebody" not in repr(content) and not content.notes


ROWS = [history(loss=1.0 / (k + 1), _step=k) for k in range(6)]


def test_truncation_at_every_byte(tmp_path: Path) -> None:
    """A cut file gives its whole records, or is refused; nothing else happens."""
    data = log(*ROWS, EXIT)
    ends = [len(log(*ROWS[: k + 1])) for k in range(len(ROWS))]
    for at in range(len(data)):
        file = file_of(tmp_path, data[:at])
        whole = sum(end <= at for end in ends)
        if not wandb_log.sniff(file):
            assert whole == 0
        elif not whole:
            with pytest.raises(ValueError, match="no whole record"):
                wandb_log.read(file)
        else:
            content = wandb_log.read(file)
            assert curve(content, "loss")[1] == [1.0 / (k + 1) for k in range(whole)]
            assert ("the last record is incomplete" in content.notes) == (at not in (*ends, len(data)))


def test_flipped_bits(tmp_path: Path) -> None:
    """A flipped bit costs one record, wherever it is; the header may be damaged too."""
    data = log(*ROWS, EXIT)
    for at in range(len(data)):
        for bit in (0, 5, 7):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            file = file_of(tmp_path, bytes(broken))
            assert wandb_log.sniff(file) or at < len(log(ROWS[0]))
            content = wandb_log.read(file)
            values = curve(content, "loss")[1]
            lost = 0 if at < len(HEADER) or at >= len(log(*ROWS)) else 1
            assert len(values) == len(ROWS) - lost and set(values) <= {1.0 / (k + 1) for k in range(6)}
            assert bool(lost) <= bool([n for n in content.notes if "damaged" in n])


def test_a_lost_fragment_costs_its_record(tmp_path: Path) -> None:
    """A record over several blocks with a damaged middle is dropped; what follows is read."""
    long = history(loss=5.0) + field(13, b"x" * 100_000)
    data = bytearray(log(ROWS[0], long, ROWS[1], EXIT))
    data[BLOCK + 500] ^= 1
    content = wandb_log.read(file_of(tmp_path, bytes(data)))

    assert curve(content, "loss")[1] == [1.0, 0.5] and content.notes


def test_space_that_was_never_written(tmp_path: Path) -> None:
    """Zeros at the end are no damage."""
    content = wandb_log.read(file_of(tmp_path, log(*ROWS, EXIT) + b"\0" * 50_000))

    assert len(curve(content, "loss")[1]) == 6 and not content.notes


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Only what begins like a W&B log, or is named so and holds a whole record, is one."""
    for data in (b"", b":W&C\xe1\xbe\x00", b"\x00" * 100, b"loss: 1.0\n" * 20):
        assert not wandb_log.sniff(file_of(tmp_path, data))
    assert kinds.passed_over(NAME, ".wandb") is None


def test_one_run_directory(tmp_path: Path) -> None:
    """A W&B directory is read as one run, with the binary log's curves and the exit code."""
    folder = tmp_path / "wandb" / "run-20250101_000000-abcd1234"
    (folder / "files").mkdir(parents=True)
    rows = [history(train__loss=2.0 - k / 10, trainer__global_step=k, _step=k) for k in range(10)]
    (folder / NAME).write_bytes(log(field(17, field(4, item("learning_rate", 0.1))), *rows, EXIT))
    metadata = {"args": ["--weight_decay", "0.1"], "email": "a@b.c", "host": "a-host", "program": "/x/y.py"}
    (folder / "files" / "wandb-metadata.json").write_text(json.dumps(metadata))
    run = open_run(tmp_path)

    assert len(run.series["train/loss"]) == 10 and run.series["train/loss"].unit == "step"
    assert run.settings["learning_rate"].value == 0.1 and run.settings["weight_decay"].value == 0.1
    assert [e.value for e in run.events_of("exit")] == [0.0] and not run.others
    assert "a-host" not in repr(run) and "a@b.c" not in repr(run)


@pytest.mark.skipif(not (SHARED / "real" / "wandb").is_dir(), reason="../shared is not here")
def test_real_logs() -> None:
    """All real logs are read without damage; those without an exit record are the ones that were killed."""
    seen = killed = 0
    for file in walk(SHARED / "real" / "wandb")[0]:
        if file.suffix == ".wandb":
            assert wandb_log.sniff(file)
            content = wandb_log.read(file)
            assert not any("damaged" in n or "understood" in n for n in content.notes), file.path
            seen += 1
            killed += any("exit record" in n for n in content.notes)
            assert ("exit" in [e.kind for e in content.events]) != any(
                "exit record" in n for n in content.notes
            )

    assert seen >= 10 and 0 < killed < seen
