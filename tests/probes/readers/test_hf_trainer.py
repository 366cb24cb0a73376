"""What the Trainer's files say is read; what it hid is shown; nothing in a pickle is ever run."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import hf_trainer
from traindoctor.probes.run import FileContent, Series

Row = dict[str, Any]


def file_of(tmp_path: Path, name: str, data: bytes | str) -> RunFile:
    content = data.encode() if isinstance(data, str) else data
    (tmp_path / name).write_bytes(content)
    return RunFile(tmp_path, name, len(content))


def state(rows: list[Row], **top: Any) -> str:
    """A trainer state as the Trainer writes it: sorted keys, two blanks."""
    keys = {
        "best_metric": None,
        "epoch": 1.0,
        "global_step": 40,
        "is_world_process_zero": True,
        "log_history": rows,
        "logging_steps": 10,
        "max_steps": 40,
        "num_train_epochs": 2,
        "train_batch_size": 8,
        "trial_params": None,
    } | top
    return json.dumps(keys, indent=2, sort_keys=True) + "\n"


def train(step: int, loss: float, norm: float | None = 1.0) -> Row:
    row = {"epoch": step / 40, "learning_rate": 1e-4, "loss": loss, "step": step}
    return row if norm is None else row | {"grad_norm": norm}


GOLDEN = [
    train(10, 2.5),
    {"epoch": 0.25, "eval_accuracy": 0.4, "eval_loss": 2.2, "eval_runtime": 3.0, "step": 10},
    train(20, 1.5),
    train(30, 1.25),
    train(40, 1.0),
    {"epoch": 1.0, "step": 40, "total_flos": 1e15, "train_loss": 1.5625, "train_runtime": 9.0},
]


def read(tmp_path: Path, text: str | bytes, name: str = "trainer_state.json") -> FileContent:
    file = file_of(tmp_path, name, text)
    assert hf_trainer.sniff(file)
    return hf_trainer.read(file)


def curve(content: FileContent, raw: str) -> Series:
    return next(s for s in content.series if s.raw == raw)


def test_rows_are_separated_by_their_keys(tmp_path: Path) -> None:
    """Training and evaluation rows become curves of their own; the closing row's mean is no point."""
    content = read(tmp_path, state(GOLDEN))

    loss, evaluated = curve(content, "loss"), curve(content, "eval_loss")
    assert loss.steps.tolist() == [10, 20, 30, 40] and loss.values.tolist() == [2.5, 1.5, 1.25, 1.0]
    assert loss.window == "mean-since-last" and loss.unit == "step" and not len(loss.absent)
    assert evaluated.steps.tolist() == [10] and evaluated.values.tolist() == [2.2]
    assert content.facts["train_loss_mean"] == 1.5625
    assert not [s for s in content.series if s.raw in ("train_loss", "eval_runtime")]
    assert content.events == ()


def test_lines_point_at_the_rows(tmp_path: Path) -> None:
    """The line of a point is the line on which its row begins."""
    text = state(GOLDEN)
    content = read(tmp_path, text)

    lines = curve(content, "loss").lines
    assert lines is not None
    for at, value in zip(lines, curve(content, "loss").values, strict=True):
        row = "\n".join(text.splitlines()[at - 1 : at + 6])
        assert row.lstrip().startswith("{") and f'"loss": {value}' in row.split("}")[0]


def test_settings_come_from_the_state(tmp_path: Path) -> None:
    """What the state says of the plan is taken as the framework's own word."""
    settings = {s.key: (s.value, s.trust) for s in read(tmp_path, state(GOLDEN)).settings}

    assert settings["max_steps"] == (40, 90)
    assert settings["per_device_train_batch_size"] == (8, 90)
    assert settings["num_train_epochs"] == (2, 90)


def test_zero_loss_beside_a_gradient_norm_that_is_nan_is_a_masked_nan(tmp_path: Path) -> None:
    """The Trainer writes 0.0 for a window of NaN; it is shown as NaN, marked, and said once."""
    rows = [train(10, 2.5), train(20, 0.0, float("nan")), train(30, 0.0, float("nan"))]
    content = read(tmp_path, state(rows))

    loss = curve(content, "loss")
    assert loss.masked is not None and loss.masked.tolist() == [False, True, True]
    assert np.isnan(loss.values).tolist() == [False, True, True]
    (event,) = content.events
    assert (event.kind, event.step, event.count) == ("masked-nan", 20.0, 2)
    assert event.line == loss.lines[1]  # type: ignore[index]


def test_zero_loss_with_a_finite_gradient_norm_stays_zero(tmp_path: Path) -> None:
    """A loss that is zero, or that was rounded to zero, is not called NaN."""
    content = read(tmp_path, state([train(10, 2.5, 1.0), train(20, 0.0, 0.2), train(30, 0.0, 0.1)]))

    assert curve(content, "loss").values.tolist() == [2.5, 0.0, 0.0]
    assert curve(content, "loss").masked is None and content.events == ()


def test_one_skipped_fp16_step_is_not_masked(tmp_path: Path) -> None:
    """A gradient norm that is NaN beside a loss that is not zero only says that a step was skipped."""
    content = read(tmp_path, state([train(10, 2.5, float("nan")), train(20, 2.0)]))

    assert curve(content, "loss").values.tolist() == [2.5, 2.0]
    assert np.isnan(curve(content, "grad_norm").values[0]) and content.events == ()


@pytest.mark.parametrize(
    ("losses", "hidden"),
    [
        ([2.5, 0.0, 0.0, 0.0], [False, True, True, True]),
        ([2.5, 0.0, 2.0], [False, False, False]),
        ([0.3, 0.004, 0.0, 0.0], [False, False, False, False]),
        ([0.0, 0.0, 2.0], [False, False, False]),
    ],
)
def test_old_states_without_gradient_norm(tmp_path: Path, losses: list[float], hidden: list[bool]) -> None:
    """Without gradient norms only zeros in a row after a loss that was well above zero are masked NaN."""
    content = read(tmp_path, state([train(10 * i, v, None) for i, v in enumerate(losses, 1)]))

    masked = curve(content, "loss").masked
    assert (masked.tolist() if masked is not None else [False] * len(losses)) == hidden


def test_non_finite_literals_are_values(tmp_path: Path) -> None:
    """Bare NaN and Infinity are read as what they are."""
    text = state([train(10, float("nan")), train(20, 3.0, float("inf"))])
    assert "NaN" in text and "Infinity" in text
    content = read(tmp_path, text)

    assert np.isnan(curve(content, "loss").values[0])
    assert np.isposinf(curve(content, "grad_norm").values[1])


def test_a_row_without_its_loss_is_absent_and_not_zero(tmp_path: Path) -> None:
    """A training row that lacks only the loss leaves its step in `absent`."""
    broken = train(20, 1.0)
    del broken["loss"]
    content = read(tmp_path, state([train(10, 2.5), broken, train(30, 1.5)]))

    loss = curve(content, "loss")
    assert loss.values.tolist() == [2.5, 1.5] and loss.absent.tolist() == [20]


def test_every_truncation_keeps_the_whole_rows(tmp_path: Path) -> None:
    """A half-written file gives the rows that are whole, and says that it was cut."""
    text = state(GOLDEN * 3)
    for cut in range(text.index('"log_history"') + 14, len(text) - 300, 7):
        file = file_of(tmp_path, "trainer_state.json", text[:cut])
        content = hf_trainer.read(file)
        whole = text[:cut].count('"loss"') - (1 if _open_loss(text[:cut]) else 0)
        losses = [s for s in content.series if s.raw == "loss"]
        assert sum(len(s) for s in losses) == whole
        assert content.notes


def _open_loss(text: str) -> bool:
    return '"loss"' in text[text.rfind("{") :] and "}" not in text[text.rfind("{") :]


def test_flipped_bytes_never_end_in_a_traceback(tmp_path: Path) -> None:
    """Damage costs what it hits: content comes back, or ValueError."""
    data = bytearray(state(GOLDEN).encode())
    for at in range(0, len(data), 11):
        damaged = bytes(data[:at]) + bytes([data[at] ^ 0x5A]) + bytes(data[at + 1 :])
        file = file_of(tmp_path, "trainer_state.json", damaged)
        if hf_trainer.sniff(file):
            try:
                hf_trainer.read(file)
            except ValueError:
                continue


def test_deep_nesting_is_cut_off(tmp_path: Path) -> None:
    """A row nested a hundred thousand deep costs itself."""
    rows = state([train(10, 2.5)]).replace('"loss": 2.5', '"loss": 2.5, "x": ' + "[" * 100_000)
    file = file_of(tmp_path, "trainer_state.json", rows)

    assert hf_trainer.read(file).series == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        "[]",
        '{"learning_rate": 1e-4, "max_steps": 3}',
        "",
        '{"epoch": 1, "loss": 2}',
        "epoch,loss\n",
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    """Configurations, histories and results of other tools are not the Trainer's."""
    assert not hf_trainer.sniff(file_of(tmp_path, "all_results.json", text))


def test_results_are_facts(tmp_path: Path) -> None:
    """all_results.json holds final values, no curve."""
    text = '{"epoch": 3.0, "eval_loss": NaN, "eval_runtime": 2.0, "train_loss": 0.5, "train_runtime": 9}'
    content = read(tmp_path, text, "all_results.json")

    assert content.series == () and content.facts["train_loss_mean"] == 0.5
    assert np.isnan(float(str(content.facts["final.eval_loss"])))


# ------------------------------------------------------------------------------------- training_args.bin


class Schedule(str, Enum):
    COSINE = "cosine"


class Arguments:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


ARGUMENTS = {
    "learning_rate": 5e-5,
    "fp16": True,
    "max_grad_norm": 1.0,
    "max_steps": -1,
    "lr_scheduler_type": Schedule.COSINE,
    "hub_token": "hf_secret",
    "label_names": ["labels", "x"],
    "deepspeed": {"zero_optimization": {"stage": 2}},
    "warmup_steps": 500,
    "optim": None,
}


def pickled(protocol: int = 2) -> bytes:
    return pickle.dumps(Arguments(**ARGUMENTS), protocol)


def zipped(content: bytes, name: str = "training_args/data.pkl") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("packed", [True, False])
def test_pickled_arguments_become_settings(tmp_path: Path, protocol: int, packed: bool) -> None:
    """Numbers, texts, enumeration members, lists and nested dicts are read; secrets are blanked."""
    data = zipped(pickled(protocol)) if packed else pickled(protocol)
    settings = {s.key: s.value for s in read(tmp_path, data, "training_args.bin").settings}

    assert settings["learning_rate"] == 5e-5 and settings["fp16"] is True
    assert settings["lr_scheduler_type"] == "cosine"
    assert settings["deepspeed.zero_optimization.stage"] == 2
    assert settings["label_names"] == ("labels", "x") and settings["optim"] is None
    assert "hf_secret" not in settings.values() and "max_steps" not in settings


def test_legacy_torch_files_are_read(tmp_path: Path) -> None:
    """A legacy file holds three small pickles before the object."""
    head = b"".join(pickle.dumps(v, 2) for v in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    settings = read(tmp_path, head + pickled(), "training_args.bin").settings

    assert {s.key: s.value for s in settings}["warmup_steps"] == 500


class _Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (Path.touch, (self.mark,))


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    """A pickle that would create a file when loaded is read and creates none."""
    mark = tmp_path / "was-here"
    data = pickle.dumps({"learning_rate": 0.1, "evil": _Evil(mark)}, 2)
    content = read(tmp_path, data, "training_args.bin")

    assert {s.key: s.value for s in content.settings}["learning_rate"] == 0.1
    assert not mark.exists()


def test_damaged_arguments_are_one_sentence(tmp_path: Path) -> None:
    """Truncated and flipped pickles and archives give settings or ValueError, never anything else."""
    for data in (pickled(), zipped(pickled())):
        for at in range(len(data)):
            for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
                file = file_of(tmp_path, "training_args.bin", damaged)
                if not hf_trainer.sniff(file):
                    continue
                try:
                    hf_trainer.read(file)
                except ValueError:
                    continue


def test_bombs_are_refused(tmp_path: Path) -> None:
    """Neither a large file, nor an archive that unpacks to one, nor shared nesting costs memory or time."""
    shared: list[Any] = ["x"] * 10
    for _ in range(60):
        shared = [shared] * 10
    big = zipped(pickle.dumps({"a": "0" * 10_000_000}, 2))
    for data in (b"\x80\x02" + b"x" * 200_000, big):
        file = file_of(tmp_path, "training_args.bin", data)
        with pytest.raises(ValueError, match="larger than"):
            hf_trainer.read(file)
    content = read(tmp_path, pickle.dumps({"lr": 1, "a": shared}, 2), "training_args.bin")
    assert content.settings[0].key == "lr"


def test_arguments_as_plain_json(tmp_path: Path) -> None:
    """Some write the arguments as JSON text under the same name."""
    content = read(tmp_path, '{"learning_rate": 0.001, "fp16": false}', "training_args.bin")

    assert {s.key: s.value for s in content.settings} == {"learning_rate": 0.001, "fp16": False}
