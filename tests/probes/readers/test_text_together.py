"""Lines of one shape are read together: what comes out is what each line by itself would have given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.files import walk
from traindoctor.probes.readers import text_log
from traindoctor.probes.readers.text import alike, log, rows
from traindoctor.probes.run import FileContent

from ._text import read

HERE = Path(__file__).resolve()
SHARED = HERE.parents[3].parent / "shared"
SAMPLES = (HERE.parent / "golden", HERE.parents[3] / "examples", SHARED / "real", SHARED / "samples")
LARGE = 60_000

Line = Callable[[int], str]


@pytest.mark.parametrize(
    "line",
    [
        lambda i: f"step {i} loss {2 / i:.4f} lr {1e-3:.3e}",
        lambda i: f"2024-05-01 10:{i % 60:02d}:07 INFO epoch {i // 50} step {i % 50}/50 | loss {2 / i:.4f}",
        lambda i: f"[2024-05-01 10:00:07,{i:03d}] step {i}: loss {i / 7}",
        lambda i: f"[{i}/300] loss {2 / i:.4f}, acc {i / 300:.1%}",
        lambda i: f"iteration {i:8d}/ 300 | lm loss: {2 / i:.6E} | loss scale: 65536.0 | grad norm: 1.0 |",
        lambda i: f"epoch: {i // 30} step: {i % 30 + 1}, loss is {2 / i}",
        lambda i: f"step {i} loss {'nan' if 40 < i < 60 else f'{i}.5'}",
        lambda i: f"step {i:,} loss {i * 1000:,}.5",
        lambda i: f"{i}%|##| {i}/300 [00:01<00:02, 3.1it/s, loss={2 / i:.3f}]",
        lambda i: f"step {i} loss 1.5" if i % 40 else f"eval at step {i}: val_loss 1.25 accuracy 0.5",
        lambda i: f"step {i} loss 1.5 {'x' * 70_000 if i == 44 else ''}",
        lambda i: "Traceback (most recent call last):" if i == 99 else f"step {i} loss {i}",
        lambda i: f"step {'nan' if i == 99 else i} loss {i}",
        lambda i: f"{{'loss': {2 / i:.4f}, 'grad_norm': {i % 7 / 3}, 'epoch': {i / 50:.2f}}}",
        lambda i: f"epoch {i // 9} step {i} loss {2 / i:.4f} top{i % 2 + 1} acc {i % 10}",
        lambda i: f"Epoch {i}: loss {2 / i:.4f} (acc {i}/300)",
        lambda i: f"Test [{i}/300] val_loss {2 / i:.4f}" if i > 150 else f"step {i} loss 1.5",
        lambda i: (
            f" iteration {i:8d}/ 300 | loss scale: {-1.0 if i == 9 else 4.0} | number of skipped iterations: "
            f"{int(i % 50 == 0)} | lm loss: {2 / i:.6E} | grad norm: 1.5 |"
        ),
        lambda i: f"[rank{i % 8}]: step {i // 8} loss {2 / i:.4f} lr 0.1",
        lambda i: (
            f"[default{i % 12}]:2024-05-01 10:{i % 60:02d}:07 step={i // 12} loss={2 / i:.4f} acc={i % 7}"
        ),
        lambda i: (
            f"{i % 4}: epoch {i // 80} step {i // 4} loss {2 / i:.4f}" if i % 50 else "saved a checkpoint"
        ),
        lambda i: f"[rank{i % 3}]: step {i // 3} loss 1.5" if i % 9 < 7 else f"[rank{i % 3}]: a word {i}",
        lambda i: (
            f"rank {i % 2}: Epoch {i // 20}" if i % 20 < 2 else f"rank {i % 2}: step {i // 2} loss {2 / i}"
        ),
        lambda i: f"[{i % 4}]: 2024-05-01 10:00:{i % 60:02d} iteration {i // 4} | lm loss: {2 / i:.6E} |",
        lambda i: f"2024-05-01 10:00:07 INFO rank={i % 4} step={i // 4} loss={2 / i:.4f}",
        lambda i: f"(RayTrainWorker pid={7000 + i % 3}) step {i // 3} loss {2 / i:.4f}",
        lambda i: f"[rank{i % 2}]: Epoch {i // 2}: loss {2 / i:.4f} (acc {i}/300)",
        lambda i: f"[rank{i % 2}]: step {i // 2} loss {2 / i:.4f}" if i % 3 else f"step {i} loss {i}.25",
    ],
)
def test_together_and_each_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: Line) -> None:
    """Curves, events and notes are the same either way."""
    text = "\n".join(map(line, range(1, 300))) + "\n"
    together = read(tmp_path, text)
    monkeypatch.setattr(log, "MANY", 10**9)
    alone = read(tmp_path, text)

    assert together.series
    equal(together, alone)


def test_all_samples_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text log of this tree and of what real people left, by tables of bytes and line by line."""
    monkeypatch.setattr(alike, "RARE", 1)
    files = [f for folder in SAMPLES if folder.is_dir() for f in walk(folder)[0]]
    read_files = 0
    for file in files:
        if file.size > LARGE or not text_log.sniff(file):
            continue
        monkeypatch.setattr(log, "MANY", 2)
        together = text_log.read(file)
        monkeypatch.setattr(log, "MANY", 10**9)
        equal(together, text_log.read(file))
        read_files += 1

    assert read_files > 10


def equal(together: FileContent, alone: FileContent) -> None:
    """Assert that both hold the same, bit for bit."""
    assert [s.raw for s in together.series] == [s.raw for s in alone.series]
    for ours, theirs in zip(together.series, alone.series, strict=True):
        for name in ("unit", "window", "split", "group", "rank"):
            assert getattr(ours, name) == getattr(theirs, name)
        for name in ("steps", "values", "epochs", "walls", "lines", "absent", "masked"):
            one, other = getattr(ours, name), getattr(theirs, name)
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_array_equal(one, other, err_msg=name)
    assert (together.events, together.notes, together.facts) == (alone.events, alone.notes, alone.facts)
    assert together.settings == alone.settings
    assert together.format == alone.format


@pytest.mark.parametrize(
    "numbers",
    [
        "{:.15g}",
        "{:.17g}",
        "{:.6e}",
        "{:.14e}",
        "{:.1f}",
        "-{:.8f}",
        "+{:.3E}",
        "{:g}",
    ],
)
def test_every_digit_as_float_reads_it(tmp_path: Path, numbers: str) -> None:
    """Numbers of all sizes, read from tables of bytes, are the nearest float64."""
    draw = np.random.default_rng(3)
    values = draw.random(4000) * 10.0 ** draw.integers(-30, 30, size=4000)
    texts = [numbers.format(v) for v in values.tolist()]
    found = read(tmp_path, "".join(f"step {i} loss {text}\n" for i, text in enumerate(texts)))

    assert found.series[0].values.tolist() == [float(text) for text in texts]


def test_lines_that_say_nothing_do_not_part_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with chatter between them are read together, with their own line numbers."""
    taken = watched(monkeypatch)
    rows_and_chatter = (f"step {i} loss {2 / i:.4f}\nsaving nothing for {i} seconds\n" for i in range(1, 300))
    found = read(tmp_path, "".join(rows_and_chatter))

    assert sum(taken) > 280
    assert found.series[0].lines is not None
    assert found.series[0].lines.tolist() == list(range(1, 599, 2))


def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the lines that go the fast way from now on."""
    taken: list[int] = []
    really = rows.Rows.take_many

    def counted(self: rows.Rows, shape: rows.Shape, data: bytes, stretches: list[alike.Stretch]) -> bool:
        done = really(self, shape, data, stretches)
        taken.append(sum(s.lines for s in stretches) * done)
        return done

    monkeypatch.setattr(rows.Rows, "take_many", counted)
    return taken


def test_plain_rows_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast way is taken where nothing stands against it."""
    taken = watched(monkeypatch)
    read(tmp_path, "".join(f"2024-05-01 10:00:07 step {i}/900 loss {2 / i:.4f}\n" for i in range(1, 900)))

    assert sum(taken) > 850
