"""What the `data` extra adds: pixels through Pillow, values of Parquet and Arrow through pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.dataset.measure import measure
from traindoctor.probes.dataset.stores import _footer
from traindoctor.probes.files import RunFile

from ._make import reading


def arrow_table(pa: Any, n: int = 60) -> Any:
    x = np.random.default_rng(0).normal(size=n)
    return pa.table(
        {
            "x": [None, *x[1:].tolist()],
            "text": [f"t {i}" for i in range(n)],
            "label": [i % 3 for i in range(n)],
        }
    )


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow_table(pa), tmp_path / "train.parquet")
    (part,) = measure(tmp_path).parts

    assert (part.rows, part.looked, part.exact) == (60, 60, True)
    assert part.labels is not None
    assert part.labels.counts == {"0": 20, "1": 20, "2": 20}
    assert reading("data-missing-values", tmp_path).where[0].line == 1
    file = tmp_path / "train.parquet"
    assert _footer(RunFile(tmp_path, file.name, file.stat().st_size)) == (60, ["x", "text", "label"])
    file.write_bytes(file.read_bytes()[:-20])
    assert reading("data-unreadable", tmp_path).state.value == "present"


@pytest.mark.parametrize("stream", [True, False])
def test_arrow(stream: bool, tmp_path: Path) -> None:
    """Both of Arrow's formats: Hugging Face writes streams."""
    pa = pytest.importorskip("pyarrow")
    made = arrow_table(pa)
    with pa.OSFile(str(tmp_path / "data-00000-of-00001.arrow"), "wb") as sink:
        writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, made.schema)
        writer.write_table(made)
        writer.close()
    (part,) = measure(tmp_path).parts

    assert part.looked == 60
    assert {c.name for c in part.columns} == {"x", "text", "label"}


def test_pixels(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for i in range(8):
        image.fromarray(np.full((20, 20, 3), 10 * i, dtype=np.uint8)).save(tmp_path / f"{i}.png")
    (tmp_path / "8.png").write_bytes((tmp_path / "1.png").read_bytes()[:-12])
    (part,) = measure(tmp_path).parts

    assert [c.name for c in part.columns] == ["red", "green", "blue"]
    assert (part.columns[0].low, part.columns[0].high) == (0.0, 70.0)
    assert part.problem_count == 1


def test_without_the_extra_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from ._make import png

    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "1.png").write_bytes(png())
    (tmp_path / "a.arrow").write_bytes(b"ARROW1\x00\x00")
    notes = [n for p in measure(tmp_path).parts for n in p.notes]

    assert any("needs Pillow" in n for n in notes)
    assert any("needs pyarrow" in n for n in notes)
