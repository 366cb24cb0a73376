"""Scores that are cut off go on where they were."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faultlab import parts


def scored(file: Path | None, jobs: list[int], looked: list[int], stop: int | None = None) -> list[int]:
    """The squares of jobs; `looked` notes which were worked out, and `stop` is cut off."""

    def look(job: int) -> int:
        if job == stop:
            raise KeyboardInterrupt
        looked.append(job)
        return job * job

    return parts.each(look, jobs, 1, file, str, lambda n: {"n": n}, lambda _, row: int(row["n"]))


def test_a_score_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    """What was worked out is not worked out again; half a line is."""
    file, looked = tmp_path / "parts.jsonl", list[int]()
    with pytest.raises(KeyboardInterrupt):
        scored(file, [1, 2, 3, 4], looked, stop=3)
    file.write_text(file.read_text(encoding="utf-8")[:-4], encoding="utf-8")

    assert scored(file, [1, 2, 3, 4], looked) == [1, 4, 9, 16]
    assert looked == [1, 2, 2, 3, 4]
    assert scored(file, [1, 2, 3, 4], looked) == [1, 4, 9, 16]
    assert looked == [1, 2, 2, 3, 4]


def test_parts_of_another_score_are_not_used(tmp_path: Path) -> None:
    """Other jobs, or other rules, begin anew."""
    file, looked = tmp_path / "parts.jsonl", list[int]()
    scored(file, [1, 2], looked)

    assert scored(file, [5, 6], looked) == [25, 36]
    assert looked == [1, 2, 5, 6]
    assert scored(None, [5, 6], looked) == [25, 36]
    assert looked == [1, 2, 5, 6, 5, 6]


def test_a_rule_that_is_changed_changes_the_fingerprint(tmp_path: Path) -> None:
    """Files of probes and rules count, others do not."""
    rule = tmp_path / "rules" / "a.yaml"
    rule.parent.mkdir()
    rule.write_text("prior: 0.1", encoding="utf-8")
    before = parts.fingerprint(["a"], [tmp_path])
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")

    assert parts.fingerprint(["a"], [tmp_path]) == before
    rule.write_text("prior: 0.2", encoding="utf-8")
    assert parts.fingerprint(["a"], [tmp_path]) != before
