"""Lines of one shape are read together: what comes out is what each line by itself would have given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from traindoctor.probes.readers.text import log, rows

from ._text import read

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
    ],
)
def test_together_and_each_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: Line) -> None:
    """Curves, events and notes are the same either way."""
    text = "\n".join(map(line, range(1, 300))) + "\n"
    together = read(tmp_path, text)
    monkeypatch.setattr(log, "MANY", 10**9)
    alone = read(tmp_path, text)

    assert [s.raw for s in together.series] == [s.raw for s in alone.series] != []
    for ours, theirs in zip(together.series, alone.series, strict=True):
        for name in ("unit", "window", "split", "group"):
            assert getattr(ours, name) == getattr(theirs, name)
        for name in ("steps", "values", "epochs", "walls", "lines"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    assert (together.events, together.notes, together.facts) == (alone.events, alone.notes, alone.facts)


def test_plain_rows_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast way is taken where nothing stands against it."""
    taken = []
    really = rows.Rows.take_many

    def counted(self: rows.Rows, shape: rows.Shape, raws: list[bytes], first: int) -> bool:
        done = really(self, shape, raws, first)
        taken.append(len(raws) * done)
        return done

    monkeypatch.setattr(rows.Rows, "take_many", counted)
    read(tmp_path, "".join(f"2024-05-01 10:00:07 step {i}/900 loss {2 / i:.4f}\n" for i in range(1, 900)))

    assert sum(taken) > 850
