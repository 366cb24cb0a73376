"""Every scalar point of an event file is read exactly; damage costs only the records it hits."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import _records, tensorboard
from traindoctor.probes.run import FileContent, Series

# ------------------------------------------------------------------- a small encoder, written independently

_TABLE = []
for _byte in range(256):
    _crc = _byte
    for _ in range(8):
        _crc = (_crc >> 1) ^ (0x82F63B78 if _crc & 1 else 0)
    _TABLE.append(_crc)


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def block(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def record(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked_crc(head)) + data + struct.pack("<I", masked_crc(data))


def event(step: int, *values: bytes, wall: float = 1.7e9) -> bytes:
    summary = b"".join(block(1, v) for v in values)
    return record(struct.pack("<Bd", 9, wall) + b"\x10" + varint(step) + block(5, summary))


def simple(tag: str, value: float) -> bytes:
    return block(1, tag.encode()) + struct.pack("<Bf", 0x15, value)


def tensor(tag: str, dtype: int, held: bytes, dims: tuple[int, ...] = (), plugin: str = "") -> bytes:
    shape = b"".join(block(2, b"\x08" + varint(d)) for d in dims)
    meta = block(9, block(1, block(1, plugin.encode()))) if plugin else b""
    return block(1, tag.encode()) + meta + block(8, b"\x08" + varint(dtype) + block(2, shape) + held)


VERSION = record(struct.pack("<Bd", 9, 1.7e9) + block(3, b"brain.Event:2"))


def file_of(tmp_path: Path, data: bytes, name: str = "events.out.tfevents.1700000000.host") -> RunFile:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return RunFile(tmp_path, name, len(data))


def read(tmp_path: Path, data: bytes, name: str = "events.out.tfevents.1700000000.host") -> FileContent:
    file = file_of(tmp_path, data, name)
    assert tensorboard.sniff(file)
    return tensorboard.read(file)


def curve(content: FileContent, raw: str) -> Series:
    return next(s for s in content.series if s.raw == raw)


# ---------------------------------------------------------------------------------------------- scalars


def test_simple_values(tmp_path: Path) -> None:
    """Steps, values and wall times come back in file order; NaN and infinity are values."""
    losses = [2.5, math.nan, math.inf, -0.0]
    data = VERSION + b"".join(
        event(200 * i, simple("train/loss", v), wall=1.7e9 + i) for i, v in enumerate(losses)
    )
    loss = curve(read(tmp_path, data), "train/loss")

    assert loss.steps.tolist() == [0, 200, 400, 600]
    assert np.array_equal(loss.values, losses, equal_nan=True)
    assert loss.walls is not None and loss.walls.tolist() == [1.7e9 + i for i in range(4)]


def test_several_values_in_one_event(tmp_path: Path) -> None:
    """A merged summary holds many tags; a histogram and an image beside them are passed over."""
    other = block(1, b"weights") + block(5, b"\x01" * 40)
    image = block(1, b"input") + block(4, b"\x02" * 300)
    data = VERSION + b"".join(
        event(i, simple("loss", i / 2), other, simple("acc", 1.0), image) for i in range(5)
    )
    content = read(tmp_path, data)

    assert {s.raw: s.values.tolist() for s in content.series} == {
        "loss": [0, 0.5, 1, 1.5, 2],
        "acc": [1.0] * 5,
    }


@pytest.mark.parametrize(
    ("dtype", "held", "expected"),
    [
        (1, block(5, struct.pack("<f", 0.1)), float(np.float32(0.1))),
        (1, b"\x2d" + struct.pack("<f", 0.1), float(np.float32(0.1))),
        (1, block(4, struct.pack("<f", math.nan)), math.nan),
        (2, block(6, struct.pack("<d", 0.1)), 0.1),
        (2, block(4, struct.pack("<d", 1e300)), 1e300),
        (3, block(7, varint(7)), 7.0),
        (3, b"\x38" + varint(300), 300.0),
        (3, block(4, struct.pack("<i", -5)), -5.0),
        (9, block(10, varint(-2)), -2.0),
        (9, block(4, struct.pack("<q", 2**40)), 2.0**40),
        (19, block(4, np.float16(0.333).tobytes()), float(np.float16(0.333))),
        (19, block(13, varint(0x3C00)), 1.0),
        (14, block(13, varint(0x3F80)), 1.0),
        (14, block(4, struct.pack("<H", 0x7F80)), math.inf),
        (10, block(11, varint(1)), 1.0),
        (1, b"", 0.0),
    ],
)
def test_tensors_of_one_element(tmp_path: Path, dtype: int, held: bytes, expected: float) -> None:
    """Scalars of TF2, Keras and JAX: every type, packed or not, as values or as raw content."""
    data = VERSION + b"".join(event(i, tensor("epoch_loss", dtype, held)) for i in range(3))
    found = curve(read(tmp_path, data), "epoch_loss")

    assert np.array_equal(found.values, [expected] * 3, equal_nan=True)
    assert found.unit == "epoch"


def test_tensors_of_many_elements_are_no_scalars(tmp_path: Path) -> None:
    """Histograms and other arrays give no curve."""
    held = block(5, struct.pack("<6f", *range(6)))
    data = VERSION + event(1, tensor("weights", 1, held, (2, 3), "histograms"), simple("loss", 1.0))

    assert [s.raw for s in read(tmp_path, data).series] == ["loss"]


def test_steps_may_be_large_negative_or_missing(tmp_path: Path) -> None:
    """The step is a signed 64-bit number, 0 where it is not written."""
    bare = record(struct.pack("<Bd", 9, 1.0) + block(5, block(1, simple("a", 1.0))))
    data = VERSION + bare + event(2**40, simple("a", 2.0)) + event(-1, simple("a", 3.0))

    assert curve(read(tmp_path, data), "a").steps.tolist() == [0, 2.0**40, -1]


ROWS = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=12),
        st.integers(0, 2**62),
        st.floats(width=32),
    ),
    min_size=1,
    max_size=40,
)


@given(ROWS)
def test_everything_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, float]]
) -> None:
    """Whatever tags, steps and values are written, each tag's points come back in order."""
    data = VERSION + b"".join(event(step, simple(tag, value)) for tag, step, value in rows)
    content = read(tmp_path_factory.mktemp("tb"), data)

    for tag in {tag for tag, _, _ in rows}:
        mine = [(float(s), v) for t, s, v in rows if t == tag]
        found = curve(content, tag)
        assert found.steps.tolist() == [s for s, _ in mine]
        assert np.array_equal(found.values, [v for _, v in mine], equal_nan=True)


# ----------------------------------------------------------------------------------------------- damage


POINTS = 12
PARTS = [VERSION] + [event(i, simple("loss", i + 0.5)) for i in range(POINTS)]
GOLDEN = b"".join(PARTS)


def test_every_truncation_keeps_the_whole_records(tmp_path: Path) -> None:
    """A file cut anywhere gives the points before the cut, and says that its end is missing."""
    ends = np.cumsum([len(p) for p in PARTS])
    for cut in range(len(VERSION), len(GOLDEN)):
        content = read(tmp_path, GOLDEN[:cut])
        whole = int(np.count_nonzero(ends <= cut)) - 1
        assert sum(len(s) for s in content.series) == whole
        assert bool(content.notes) == (cut not in ends)


def test_every_flipped_bit_costs_one_record(tmp_path: Path) -> None:
    """Damage to one byte costs the record that it hits, is said, and no wrong value comes out."""
    expected = {(float(i), i + 0.5) for i in range(POINTS)}
    for at in range(len(VERSION), len(GOLDEN)):
        damaged = GOLDEN[:at] + bytes([GOLDEN[at] ^ (1 << at % 8)]) + GOLDEN[at + 1 :]
        content = read(tmp_path, damaged)
        found = [p for s in content.series for p in zip(s.steps.tolist(), s.values.tolist(), strict=True)]
        assert set(found) <= expected and len(found) == POINTS - 1
        assert content.notes


@pytest.mark.parametrize("period", [1, 3, 7])
@pytest.mark.parametrize("harm", ["none", "cut", "length", "flip", "tail"])
def test_records_that_repeat_are_found_as_one_by_one(
    monkeypatch: pytest.MonkeyPatch, period: int, harm: str
) -> None:
    """Records whose lengths repeat are looked at together, and give what following each of them gives."""
    monkeypatch.setattr(_records, "PERIOD", 8)
    monkeypatch.setattr(_records, "SEGMENT", 40)
    monkeypatch.setattr(_records, "RUN", 100)
    lengths = [9 + (n % period) * 5 + (n > 300) + 40 * (n in (77, 78, 250)) for n in range(600)]
    whole = [record(bytes([n % 251]) * size) for n, size in enumerate(lengths)]
    data = bytearray(b"".join(whole))
    at = sum(map(len, whole[:444]))
    if harm == "cut":
        del data[at + 5 :]
    elif harm == "length":
        data[at : at + 8] = (2**63 + 5).to_bytes(8, "little")
    elif harm == "flip":
        data[at + 9] ^= 4
    elif harm == "tail":
        data += bytes(300)
    together = _records.scan(bytes(data))
    monkeypatch.setattr(_records, "_foretold", lambda *_: None)
    alone = _records.scan(bytes(data))

    assert len(together.starts) in (444, 599, 600)
    for name in ("starts", "lengths", "lost", "damaged", "cut"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name), err_msg=name)


def test_a_tail_of_zeros_and_garbage_in_the_middle(tmp_path: Path) -> None:
    """Zeros after a power cut, and foreign bytes between records, cost only themselves."""
    garbage = bytes(np.random.default_rng(1).integers(0, 256, 5000, dtype=np.uint8))
    content = read(tmp_path, b"".join(PARTS[:5]) + garbage + b"".join(PARTS[5:]) + b"\x00" * 100_000)

    assert len(curve(content, "loss")) == POINTS and content.notes


def test_an_empty_log_has_no_curves(tmp_path: Path) -> None:
    """A file with only its first record is a log without points."""
    assert read(tmp_path, VERSION).series == ()


def test_nothing_readable_is_one_sentence(tmp_path: Path) -> None:
    """Less than one record is a ValueError."""
    with pytest.raises(ValueError, match="no whole record"):
        tensorboard.read(file_of(tmp_path, VERSION[:-1]))


def test_a_length_beyond_the_file_is_no_allocation(tmp_path: Path) -> None:
    """A record that claims to be huge is an incomplete last record."""
    head = struct.pack("<Q", 2**60)
    content = read(tmp_path, GOLDEN + head + struct.pack("<I", masked_crc(head)) + b"abc")

    assert len(curve(content, "loss")) == POINTS
    assert "incomplete" in content.notes[0]


def test_records_that_are_no_events_are_counted(tmp_path: Path) -> None:
    """A record with the right checksum and senseless content is said and skipped."""
    content = read(tmp_path, GOLDEN + record(b"\xff\xff\xff\xff") + PARTS[1])

    assert len(curve(content, "loss")) == POINTS + 1
    assert "could not be understood" in content.notes[0]


def test_large_records(tmp_path: Path) -> None:
    """An image of a megabyte is passed over; the scalar beside it counts if the record is whole."""
    image = block(1, b"im") + block(4, bytes(1_000_000))
    whole = event(1, image, simple("loss", 1.0))
    broken = bytearray(event(2, image, simple("loss", 2.0)))
    broken[500_000] ^= 1
    content = read(tmp_path, VERSION + whole + bytes(broken) + event(3, simple("loss", 3.0)))

    assert curve(content, "loss").values.tolist() == [1.0, 3.0]
    assert "checksum" in content.notes[0]


# ------------------------------------------------------------------------------------- folders and units


@pytest.mark.parametrize(
    ("name", "tag", "split"),
    [
        ("logs/train/events.out.tfevents.1", "epoch_loss", "train"),
        ("logs/validation/events.out.tfevents.1.v2", "epoch_loss", "eval"),
        ("runs/eval/events.out.tfevents.1", "loss", "eval"),
        ("runs/Loss_val/events.out.tfevents.1", "Loss", "eval"),
        ("runs/exp_val/events.out.tfevents.1", "loss", ""),
        ("runs/detect/train/events.out.tfevents.1", "val/loss", ""),
        ("events.out.tfevents.1", "loss", ""),
    ],
)
def test_the_folder_names_the_split(tmp_path: Path, name: str, tag: str, split: str) -> None:
    """logs/validation is about validation, unless a tag in the file says otherwise."""
    content = read(tmp_path, VERSION + event(1, simple(tag, 1.0)), name)

    assert curve(content, tag).split == split


def test_a_folder_of_tests_is_not_evaluation(tmp_path: Path) -> None:
    """A `test` folder keeps its own name."""
    content = read(tmp_path, VERSION + event(1, simple("loss", 1.0)), "logs/test/events.out.tfevents.1")

    assert [s.raw for s in content.series] == ["test/loss"]


def test_units(tmp_path: Path) -> None:
    """What a step counts is said only where something tells."""
    small = read(tmp_path, VERSION + event(3, simple("loss", 1.0)))
    large = read(tmp_path, VERSION + event(50_000, simple("loss", 1.0)))
    samples = read(tmp_path, VERSION + event(64, simple("lm loss vs samples", 1.0)))

    assert [c.series[0].unit for c in (small, large, samples)] == ["unknown", "step", "sample"]


# --------------------------------------------------------------------------------------------- settings


def text(tag: str, content: str) -> bytes:
    return tensor(tag, 7, block(8, content.encode()), (1,), "text")


def test_arguments_in_text_records(tmp_path: Path) -> None:
    """A JSON object, a table, and one tag per argument become settings; prose does not."""
    data = VERSION + b"".join(
        event(0, value)
        for value in (
            text("args/text_summary", json.dumps({"learning_rate": 1e-4, "fp16": True, "hub_token": "hf_x"})),
            text("hyperparameters", "|param|value|\n|-|-|\n|gamma|0.99|\n|env|Hopper|"),
            text("lr-decay-style/text_summary", "cosine"),
            text("weight-decay/text_summary", "0.1"),
            text("sample/text_summary", "Once upon a time there was a model " * 9),
        )
    )
    settings = {s.key: s.value for s in read(tmp_path, data).settings}

    assert settings.pop("hub_token") != "hf_x"
    assert settings == {
        "learning_rate": 1e-4,
        "fp16": True,
        "gamma": 0.99,
        "env": "Hopper",
        "lr-decay-style": "cosine",
        "weight-decay": 0.1,
    }


def test_hparams_plugin(tmp_path: Path) -> None:
    """The session's map of hyperparameters becomes settings."""

    def entry(key: str, value: bytes) -> bytes:
        return block(1, block(1, key.encode()) + block(2, value))

    session = entry("lr", b"\x11" + struct.pack("<d", 0.01)) + entry("opt", block(3, b"adam"))
    session += entry("amp", b"\x20\x01") + entry("bs", b"\x11" + struct.pack("<d", 32.0))
    content = block(1, b"hparams") + block(2, block(3, session))
    value = block(1, b"_hparams_/session_start_info") + block(9, block(1, content))
    settings = read(tmp_path, VERSION + event(0, value)).settings

    assert {s.key: s.value for s in settings} == {"lr": 0.01, "opt": "adam", "amp": True, "bs": 32}
    assert {s.trust for s in settings} == {90}


def test_a_summary_of_hparams_holds_results(tmp_path: Path) -> None:
    """`add_hparams` writes one final value of each metric, at step 0: no curve beside the real one."""
    session = block(1, b"hparams") + block(2, block(3, b""))
    start = block(1, b"_hparams_/session_start_info") + block(9, block(1, session))
    final = simple("hparam/train/loss", 0.5)
    content = read(tmp_path, VERSION + event(0, start) + event(0, final))

    assert content.series == () and dict(content.facts) == {"final.train/loss": 0.5}

    longer = read(
        tmp_path, VERSION + event(0, start) + event(1, simple("loss", 2.0)) + event(2, simple("loss", 1.0))
    )
    assert [len(s) for s in longer.series] == [2]


@pytest.mark.parametrize("data", [b"", b"abc", b"\x00" * 100, b"epoch,loss\n1,2\n", b"\x80\x02}q\x00."])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    """Only event files are event files, whatever their name."""
    assert not tensorboard.sniff(file_of(tmp_path, data, "events.out.tfevents.1"))


def test_catboost_begins_with_a_scalar(tmp_path: Path) -> None:
    """`catboost_info/learn` and `/test` hold event files without a first word of the format: one run."""
    for folder, end in (("learn", 0.2), ("test", 0.3)):
        data = b"".join(event(step, simple("Logloss", 0.7 - (0.7 - end) * step / 9)) for step in range(10))
        file = file_of(tmp_path, data, f"catboost_info/{folder}/events.out.tfevents")
        assert tensorboard.sniff(file)
    run = open_run(tmp_path)

    assert float(run.series["train/loss"].values[-1]) == pytest.approx(0.2)
    assert float(run.series["eval/loss"].values[-1]) == pytest.approx(0.3)
