"""Logs that a project describes: each kind is read back, wrong descriptions are refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LAB = Path(__file__).resolve().parents[2] / "faultlab"


@pytest.fixture(scope="module")
def logs() -> Iterator[Any]:
    """The lab's module as its commands import it."""
    sys.path.insert(0, str(LAB))
    try:
        import described_logs

        yield described_logs
    finally:
        sys.path.remove(str(LAB))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_gives_a_row_for_each_line_and_leaves_empty_cells_out(
    logs: Any, tmp_path: Path, mark: str
) -> None:
    rows = [["epoch", " train", "acc %"], ["1", "0.5", ""], ["2", "nan", "80"]]
    (tmp_path / "h.csv").write_text("\n".join(map(mark.join, rows)))
    names = {"step": "epoch", "loss": "train", "val_acc": "acc %"}
    read, stdout = logs.described({"table": "*.csv", "names": names, "scale": {"val_acc": 0.01}})

    first, second = read(tmp_path)

    assert stdout is None
    assert first == {"step": 1, "loss": 0.5}
    assert second["loss"] != second["loss"]
    assert second["val_acc"] == pytest.approx(0.8)


@pytest.mark.parametrize("form", ["{0}\n{1}\n", "[{0},\n{1}]", '{{"epoch": 2, "log_history": [{0}, {1}]}}'])
def test_json_is_read_in_lines_or_as_a_list(logs: Any, tmp_path: Path, form: str) -> None:
    rows = ['{"it": 1, "l": 2.5, "note": "x"}', '{"it": 2, "v": null}']
    (tmp_path / "log.json").write_text(form.format(*rows))
    read, _ = logs.described({"json": "log.json", "names": {"step": "it", "loss": "l", "val_loss": "v"}})

    assert read(tmp_path) == [{"step": 1, "loss": 2.5}]


def test_lines_are_searched_by_expressions(logs: Any, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("epoch 1 begins\r[1] loss=1,234.5 lr 1e-3\nheld out: 0.25\n")
    names = {"step": r"\[(\d+)\]", "loss": r"loss=(\S+)", "lr": r"lr (\S+)", "val_loss": r"held out: (\S+)"}
    read, stdout = logs.described({"lines": "out.txt", "names": names, "stdout": "out.txt"})

    assert stdout == "out.txt"
    assert read(tmp_path) == [{"step": 1, "loss": 1234.5, "lr": 0.001}, {"val_loss": 0.25}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"names": {}},
        {"table": "a", "json": "b", "names": {}},
        {"table": "a", "names": {"accuracy": "acc"}},
        {"table": "a", "names": {}, "percent": True},
    ],
)
def test_a_wrong_description_is_refused(logs: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"described|unknown|name"):
        logs.described(wrong)
