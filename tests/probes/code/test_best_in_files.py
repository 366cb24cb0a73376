"""The best weights are written by one program, and another scores those of one epoch."""

from __future__ import annotations

import pytest

from .._scripts import state

TRAIN = """
import torch
best = float("inf")
for epoch in range(9):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    val = score(model, val_loader)
    torch.save(model.state_dict(), f"ckpt/epoch{epoch}.pt")
    if val < best:
        best = val
        torch.save(model.state_dict(), "ckpt/best.pt")
"""
SCORE = """
import torch
PATH = "{PATH}"
model = make()
model.load_state_dict(torch.load(PATH))
model.eval()
with torch.no_grad():
    print(score(model, test_loader))
"""
ALWAYS = TRAIN.replace("    if val < best:\n        best = val\n    ", "")


@pytest.mark.parametrize(
    ("train", "scoring", "told"),
    [
        (TRAIN, SCORE.replace("{PATH}", "ckpt/epoch0.pt"), True),
        (TRAIN, SCORE.replace("{PATH}", "ckpt/best.pt"), False),
        (TRAIN, SCORE.replace("{PATH}", "pretrained/base.pt"), False),
        (TRAIN, SCORE.replace('"{PATH}"', "sys.argv[1]"), False),
        (TRAIN.replace('"ckpt/best.pt"', '"ckpt/good.pt"'), SCORE.replace("{PATH}", "ckpt/epoch8.pt"), False),
        (TRAIN + SCORE.replace("{PATH}", "ckpt/best.pt"), SCORE.replace("{PATH}", "ckpt/epoch3.pt"), False),
        (ALWAYS, SCORE.replace("{PATH}", "ckpt/epoch3.pt"), False),
    ],
)
def test_an_epoch_is_scored_and_the_best_is_kept(train: str, scoring: str, told: bool) -> None:
    assert (state("script-last-instead-of-best", scoring, train) == "present") is told
