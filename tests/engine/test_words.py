"""Numbers in words."""

from __future__ import annotations

import pytest

from traindoctor.engine.words import listed, percent, sentence


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.708, "71 %"),
        (0.7, "70 %"),
        (0.004, "below 1 %"),
        (0.999, "above 99 %"),
        (0.01, "1 %"),
        (0.4999, "49 %"),  # no claim
        (0.99, "99 %"),
    ],
)
def test_two_digits(p: float, words: str) -> None:
    """Probabilities are shown in two digits and are never certain."""
    assert percent(p) == words


@pytest.mark.parametrize(
    ("parts", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c")]
)
def test_lists(parts: list[str], text: str) -> None:
    """Lists read like a sentence."""
    assert listed(parts) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the loss falls", "The loss falls."),
        ("train.py differs", "train.py differs."),
        ("grad_norm is small", "grad_norm is small."),
        ("precision = fp16, there bf16", "precision = fp16, there bf16."),
        ("11 are equal", "11 are equal."),
        ("Is it?", "Is it?"),
    ],
)
def test_a_sentence_leaves_names_alone(text: str, said: str) -> None:
    assert sentence(text) == said
