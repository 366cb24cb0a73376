"""Right programs, put together of the ways in which guides and competitions write them, stay silent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faultlab.idioms import Book, books
from faultlab.idioms.hands import HANDS, rewritten
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


@pytest.mark.parametrize("place", range(0, len(BOOKS), 2), ids=[b.name for b in BOOKS[::2]])
def test_other_hands_are_given_no_cause_either(place: int, tmp_path: Path) -> None:
    """Each book in the hand whose turn it is, of those that would write its first programs otherwise."""
    drawn = [text for _, text in BOOKS[place].covering()][:2]
    hands = [*HANDS[place % len(HANDS) :], *HANDS[: place % len(HANDS)]]
    written = [(hand, new) for hand in hands for text in drawn if (new := rewritten(text, hand)) is not None]

    assert written
    rules = load_rules()
    assert not {hand: found for hand, text in written[:1] if (found := claimed(rules, text, tmp_path))}


def test_a_hand_changes_names_and_nothing_of_libraries() -> None:
    text = "train_loader = DataLoader(train_set)\nt.fit(train_dataset=train_dataset, x=t.train_loader)\n"

    assert rewritten(text, "together") == text.replace("train_loader =", "trainloader =").replace(
        "(train_set)", "(trainset)"
    )
    assert rewritten("loader = 1\n", "camel") is None
    assert "def main():\n    loss = f(x)" in (rewritten("import torch\nloss = f(x)\n", "main") or "")
