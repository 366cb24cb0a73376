"""Right programs, put together of the ways in which guides and competitions write them, stay silent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faultlab.idioms import Book, books
from faultlab.idioms.score import claimed
from traindoctor.engine.load import load_rules

BOOKS = books()


@pytest.mark.parametrize("book", BOOKS, ids=[b.name for b in BOOKS])
def test_each_way_is_held_by_a_program_that_compiles(book: Book) -> None:
    kept = book.covering()
    ways = {pair for choice, _ in kept for pair in enumerate(choice)}

    assert ways == {(axis, way) for axis, count in enumerate(book.axes) for way in range(count)}
    for _, text in kept:
        compile(text, "train.py", "exec")


@pytest.mark.parametrize("book", BOOKS, ids=[b.name for b in BOOKS])
def test_right_programs_are_given_no_cause(book: Book, tmp_path: Path) -> None:
    rules = load_rules()
    named = {c: found for c, text in book.covering() if (found := claimed(rules, text, tmp_path))}

    assert not named
