"""What a quotient's floor is, and what is below it."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.code.shared.factors import without_floor


@pytest.mark.parametrize(
    "text",
    [
        "(a + b).clamp(min=1)",
        "np.maximum(a + b, 1e-12)",
        "max(1, a + b)",
        "a + b + eps",
        "1e-8 + (a + b)",
        "torch.clamp(a + b + self.smooth, min=1.0)",
        "a + b",
    ],
)
def test_a_floor_is_taken_away(text: str) -> None:
    assert ast.unparse(without_floor(ast.parse(text, mode="eval").body)) == "a + b"


@pytest.mark.parametrize("text", ["a + e", "max(a, b) + c", "counts.clamp(min=1)", "a * b"])
def test_what_is_no_floor_stays(text: str) -> None:
    assert ast.unparse(without_floor(ast.parse(text, mode="eval").body)) == text
