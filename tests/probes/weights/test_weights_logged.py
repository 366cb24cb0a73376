"""Histograms of weights in event files: each look present, absent, unknown; damage costs what it damages."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from tests.probes.tensors._dumps import SHARED
from tests.probes.tensors._saved import part, varint
from traindoctor.cli.app import run_command_line
from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readers._records import checksum
from traindoctor.probes.readings import readings

RULES = load_rules()
LOOKS = (
    "saved-weights-not-finite",
    "weights-unchanged",
    "saved-part-unchanged",
    "saved-weights-constant",
    "weights-large",
)
REAL = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def record(payload: bytes) -> bytes:
    head = struct.pack("<Q", len(payload))
    sums = [checksum(np.frombuffer(b, np.uint8)) for b in (head, payload)]
    return head + struct.pack("<I", sums[0]) + payload + struct.pack("<I", sums[1])


def histo(values: np.ndarray) -> bytes:  # type: ignore[type-arg]
    """A Value of the first form, as SummaryWriter.add_histogram writes it."""
    counts, edges = np.histogram(values[np.isfinite(values)], 4)
    parts = (
        (1, values.min()),
        (2, values.max()),
        (3, values.size),
        (4, values.sum()),
        (5, (values**2).sum()),
    )
    body = b"".join(double(n, float(v)) for n, v in parts)
    packed = (np.asarray(a, np.float64).tobytes() for a in (edges[1:], counts))
    return part(5, body + b"".join(part(n, p) for n, p in zip((6, 7), packed, strict=True)))


def tensor(values: np.ndarray) -> bytes:  # type: ignore[type-arg]
    """A Value of the second form, as tf.summary.histogram writes it."""
    counts, edges = np.histogram(values, 4)
    rows = np.stack([edges[:-1], edges[1:], counts], 1).astype(np.float64)
    plugin = part(9, part(1, part(1, b"histograms")))
    return plugin + part(8, varint(1 << 3) + varint(2) + part(4, rows.tobytes()))


def write(folder: Path, weights: dict[int, dict[str, np.ndarray]], form: object = histo) -> Path:  # type: ignore[type-arg]
    """An event file with a falling loss and histograms at some steps."""
    out = record(double(1, 1.0) + part(3, b"brain.Event:2"))
    for step in range(60):
        at = double(1, 2.0 + step) + varint(2 << 3) + varint(step)
        loss = part(1, b"train/loss") + varint(2 << 3 | 5) + struct.pack("<f", 1 + 1 / (1 + step))
        out += record(at + part(5, part(1, loss)))
        for name, values in weights.get(step, {}).items():
            out += record(at + part(5, part(1, part(1, name.encode()) + form(values))))  # type: ignore[operator]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.out.tfevents.1700000000.host.1.0").write_bytes(out)
    return folder


def drawn(scale: float = 1.0) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(0)
    return {
        "weights/fc1.weight": rng.standard_normal(64) * scale,
        "weights/norm.weight": np.ones(8),
        "weights/fc2.weight": rng.standard_normal(32) * scale,
        "gradients/fc1.weight": np.full(64, np.nan),
    }


def moved(scale: float = 1.0, by: float = 0.1, still: tuple[str, ...] = ()) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(1)
    return {n: v if n in still else v + by * rng.standard_normal(v.shape) for n, v in drawn(scale).items()}


def read(folder: Path) -> dict[str, Reading]:
    found = readings(open_run(folder), None, RULES.symptoms.values())
    assert not any(r.why.startswith("probe error") for r in found.values())
    return {n: found[n] for n in LOOKS}


def states(folder: Path) -> dict[str, str]:
    return {n: r.state.value for n, r in read(folder).items()}


@pytest.mark.parametrize("form", [histo, tensor])
def test_a_healthy_run_is_silent(tmp_path: Path, form: object) -> None:
    steps = {0: drawn(), 20: moved(by=0.1), 40: moved(by=0.2)}
    if form is tensor:  # NumPy makes no such histogram of NaN, and TensorFlow neither
        steps = {s: {n: v for n, v in w.items() if not n.startswith("grad")} for s, w in steps.items()}
    folder = write(tmp_path, steps, form)

    assert set(states(folder).values()) == {"absent"}
    run = open_run(folder)
    assert not diagnose(RULES, readings(run, None, RULES.symptoms.values()), run=run.info).leading


def test_without_histograms_nothing_is_known(tmp_path: Path) -> None:
    assert set(states(write(tmp_path, {})).values()) == {"unknown"}


@pytest.mark.parametrize("form", [histo, tensor])
def test_a_file_of_scalars_alone_is_not_read_again(tmp_path: Path, form: object) -> None:
    write(tmp_path / "scalars", {})
    write(tmp_path / "both", {59: {"weights/fc1.weight": np.ones(4)}}, form)

    assert not open_run(tmp_path / "scalars").summary_files
    assert [f.name[:6] for f in open_run(tmp_path / "both").summary_files] == ["events"]


def test_gradients_are_no_weights(tmp_path: Path) -> None:
    only = {0: {"gradients/fc1.weight": np.zeros(8)}, 20: {"gradients/fc1.weight": np.zeros(8)}}
    assert set(states(write(tmp_path, only)).values()) == {"unknown"}


@pytest.mark.parametrize("form", [histo, tensor])
def test_a_part_that_stands_still(tmp_path: Path, form: object) -> None:
    kept = ("weights/fc1.weight", "weights/norm.weight")
    rows = {s: {n: v for n, v in moved(by=s / 100, still=kept).items() if n[0] == "w"} for s in (0, 20, 40)}
    found = read(write(tmp_path, rows, form))

    assert found["saved-part-unchanged"].state.value == "present"
    assert "weights/fc1.weight" in found["saved-part-unchanged"].why
    assert found["weights-unchanged"].state.value == "absent"


def test_a_part_that_the_script_freezes_is_meant(tmp_path: Path) -> None:
    rows = {s: moved(by=s / 100, still=("weights/fc1.weight",)) for s in (0, 20, 40)}
    folder = write(tmp_path, rows)
    (folder / "train.py").write_text("import torch\nmodel.fc1.requires_grad_(False)\n")
    assert states(folder)["saved-part-unchanged"] == "unknown"


def test_all_weights_stand_still(tmp_path: Path) -> None:
    found = states(write(tmp_path, dict.fromkeys((0, 20, 40), drawn())))
    assert (found["weights-unchanged"], found["saved-part-unchanged"]) == ("present", "unknown")


def test_zero_and_huge_weights(tmp_path: Path) -> None:
    zero = {"weights/fc1.weight": np.zeros(64), "weights/norm.bias": np.zeros(8)}
    assert states(write(tmp_path / "a", {0: drawn(), 20: zero}))["saved-weights-constant"] == "present"
    assert states(write(tmp_path / "b", {0: drawn(), 20: moved(200.0)}))["weights-large"] == "present"


def test_nan_in_a_histogram(tmp_path: Path) -> None:
    bad = moved()
    bad["weights/fc2.weight"][0] = np.nan
    found = read(write(tmp_path, {0: drawn(), 20: bad}))["saved-weights-not-finite"]
    assert (found.state.value, found.step) == ("present", 20.0)


def test_a_file_cut_or_damaged_costs_what_is_damaged(tmp_path: Path) -> None:
    file = write(tmp_path, {0: drawn(), 20: moved()}) / "events.out.tfevents.1700000000.host.1.0"
    data = file.read_bytes()
    for end in range(len(data) // 2, len(data), 211):
        file.write_bytes(data[:end])
        read(tmp_path)
    for at in range(40, len(data), 307):
        file.write_bytes(bytes([*data[:at], data[at] ^ 0x55, *data[at + 1 :]]))
        read(tmp_path)


@REAL
def test_real_summaries_of_mindspore(capsys: pytest.CaptureFixture[str]) -> None:
    healthy, broken = read(SHARED / "ms_run_healthy"), read(SHARED / "ms_run_nan_continue")
    assert "present" not in {r.state.value for r in healthy.values()}
    assert broken["saved-weights-not-finite"].state.value == "present"
    summary = SHARED / "ms_run_nan_continue" / "summary_dir"  # no checkpoint: the histograms have to do
    assert run_command_line(["weights", str(summary), "-q"]) == 0
    out = capsys.readouterr().out
    assert "Saved or logged weights are NaN or infinite" in out
    assert "conv1.weight" in out and "not finite" in out
