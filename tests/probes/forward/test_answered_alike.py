"""Edits of a network that answers alike are none; those that change its answers stay told."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import present
from ._train import tokens
from .test_answers import GPT

HIDDEN = 'a.masked_fill(hidden, float("-inf")).softmax(-1)'


@pytest.mark.parametrize(
    "other",
    [
        'torch.where(hidden, torch.full_like(a, float("-inf")), a).softmax(dim=-1)',
        '(a + torch.zeros_like(a).masked_fill(hidden, float("-inf"))).softmax(-1)',
    ],
)
def test_a_mask_that_is_written_otherwise(other: str, tmp_path: Path) -> None:
    found = present(tmp_path, tokens(GPT.replace(HIDDEN, other)), tokens(GPT))
    assert not {f for f in found if f.startswith("edit-")}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("masked_fill(hidden", "masked_fill(~hidden"),
        ("/ (d // self.heads) ** 0.5", ""),
        ("x = x + self.attend(self.one(x))", "x = self.attend(self.one(x))"),
    ],
)
def test_what_changes_the_answers_is_told(right: str, wrong: str, tmp_path: Path) -> None:
    found = present(tmp_path, tokens(GPT.replace(right, wrong)), tokens(GPT))
    assert {f for f in found if f.startswith(("edit-", "script-"))}


def test_what_is_only_there_in_training_is_not_taken_back(tmp_path: Path) -> None:
    dropped = GPT.replace("nn.GELU()", "nn.GELU(), nn.Dropout(0.1)")
    found = present(tmp_path, tokens(dropped.replace("0.1", "0.9")), tokens(dropped))
    assert {f for f in found if f.startswith(("edit-", "script-", "dropout"))}
