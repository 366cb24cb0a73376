"""Data files beside a run that its settings or its program read by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.dataset import own

NOTHING: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    "program",
    [
        'table = pd.read_csv("visits.csv")',
        "rows = list(csv.DictReader(open('visits.csv', newline='')))",
        'with open("./visits.csv") as f:\n    pass',
        'DATA_FILE: str = "visits.csv"',
        "train_csv = Path('visits.csv')",
    ],
)
def test_a_program_reads_it(program: str) -> None:
    assert own.asked_for([], [program]) == {"visits.csv"}


@pytest.mark.parametrize(
    "program",
    [
        'with open("visits.csv", "w") as f:\n    pass',
        'open("visits.csv", mode="a")',
        'table.to_csv("visits.csv")',
        'pd.read_csv("results.csv")',  # what the run made
        'pd.read_csv("train_log.csv")',
        "print('see visits.csv')",
    ],
)
def test_a_program_writes_it_or_only_names_it(program: str) -> None:
    assert own.asked_for([], [program]) == NOTHING


def test_settings_name_it() -> None:
    assert own.asked_for([("data.file", "in/visits.csv"), ("data.val_share", 0.2)], []) == {"visits.csv"}
    assert own.asked_for([("output.file", "visits.csv"), ("data", "visits of 2024")], []) == NOTHING


def test_it_is_measured(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("age,fee\n" + "".join(f"{i},{i * 2}\n" for i in range(30)))
    (tmp_path / "log.csv").write_text("epoch,loss\n1,0.5\n2,0.4\n")
    assert own.of_run(tmp_path, NOTHING, 5.0, 1000) is None
    found = own.of_run(tmp_path, NOTHING, 5.0, 1000, frozenset({"visits.csv", "log.csv"}))
    assert found is not None
    assert [p.rows for p in found.parts] == [30]


def test_an_empty_field_changes_one_row(tmp_path: Path) -> None:
    """The other rows of its column are the same samples as without it."""
    found = []
    for name, third in (("a", "7"), ("b", "")):
        (tmp_path / name).mkdir()
        rows = "".join(f"{(i * 7) % 31},{third if i == 3 else i % 5}\n" for i in range(30))
        (tmp_path / name / "visits.csv").write_text("age,fee\n" + rows)
        data = own.of_run(tmp_path / name, NOTHING, 5.0, 1000, frozenset({"visits.csv"}))
        assert data is not None
        found.append(set(data.parts[0].hashes.tolist()))
    assert len(found[0] - found[1]) == 1
