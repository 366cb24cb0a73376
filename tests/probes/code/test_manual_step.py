"""Training steps that a trainer calls and that take gradients by hand: Lightning's `manual_backward`."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A = "present", "absent"

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
import pytorch_lightning as pl
class Pair(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Linear(4, 1)
    def forward(self, x):
        return self.net(x)
    def configure_optimizers(self):
        return torch.optim.Adam(self.net.parameters(), lr=1e-3)
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self(x).squeeze(-1), y)
"""
CLEARED = "script-gradients-not-cleared"
EARLY = "script-gradients-cleared-too-early"
CLIPPED = "script-clip-without-effect"
TURNED = "script-loss-negated"


def _step(*lines: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in lines)


ONE = "opt = self.optimizers()"
TWO = "a, b = self.optimizers()"
BACK = "self.manual_backward(loss)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((ONE, BACK, "opt.step()"), P),
        ((TWO, BACK, "a.step()", "b.step()", "a.zero_grad()"), P),
        ((ONE, BACK, "if batch_idx % 4 == 3:", "    opt.step()"), P),
        ((ONE, "opt.zero_grad()", BACK, "opt.step()"), A),
        ((TWO, BACK, "a.step()", "b.step()", "a.zero_grad()", "b.zero_grad()"), A),
        ((TWO, BACK, "a.step()", "b.step()", "self.zero_grad()"), A),
        ((ONE, BACK, "self.clip_gradients(opt, 1.0)", "opt.step()", "opt.zero_grad()"), A),
        ((TWO, BACK, "a.step()", "b.step()", "for o in (a, b):", "    o.zero_grad()"), A),
    ],
)
def test_gradients_are_cleared(lines: tuple[str, ...], expected: str) -> None:
    assert state(CLEARED, _step(*lines)) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((ONE, BACK, "opt.zero_grad()", "opt.step()"), P),
        ((ONE, BACK, "if batch_idx % 4 == 3:", "    opt.zero_grad()", "    opt.step()"), P),
        ((TWO, BACK, "if batch_idx % 2:", "    a.zero_grad()", "    b.zero_grad()", "    a.step()"), P),
        ((ONE, BACK, "if batch_idx % 4 == 3:", "    opt.step()", "    opt.zero_grad()"), A),
        (
            (
                ONE,
                BACK,
                "if bad(loss):",
                "    opt.zero_grad()",
                "    return",
                "opt.step()",
                "opt.zero_grad()",
            ),
            A,
        ),
        ((TWO, BACK, "a.step()", "a.zero_grad()", "b.step()", "b.zero_grad()"), A),
    ],
)
def test_gradients_are_not_cleared_before_the_step(lines: tuple[str, ...], expected: str) -> None:
    assert state(EARLY, _step(*lines)) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((ONE, BACK, "opt.step()", "self.clip_gradients(opt, 1.0)", "opt.zero_grad()"), P),
        ((ONE, BACK, "if batch_idx % 2:", "    opt.step()", "    self.clip_gradients(opt, 1.0)"), P),
        ((TWO, BACK, "a.step()", "b.step()", "nn.utils.clip_grad_norm_(self.parameters(), 1.0)"), P),
        ((ONE, BACK, "self.clip_gradients(opt, 1.0)", "opt.step()", "opt.zero_grad()"), A),
        ((ONE, BACK, "if batch_idx % 2:", "    self.clip_gradients(opt, 1.0)", "    opt.step()"), A),
        ((TWO, BACK, "nn.utils.clip_grad_norm_(self.parameters(), 1.0)", "a.step()", "b.step()"), A),
    ],
)
def test_gradients_are_clipped_before_the_step(lines: tuple[str, ...], expected: str) -> None:
    assert state(CLIPPED, _step(*lines)) == expected


@pytest.mark.parametrize(
    ("backward", "expected"),
    [
        ("self.manual_backward(-loss)", P),
        ("self.manual_backward(-loss / 4)", P),
        ("self.manual_backward(-1 * loss)", P),
        ("self.manual_backward(loss)", A),
        ("self.manual_backward(loss / 4)", A),
        ("self.manual_backward(0.5 * loss)", A),
    ],
)
def test_a_loss_handed_over_keeps_its_sign(backward: str, expected: str) -> None:
    assert state(TURNED, _step(ONE, "opt.zero_grad()", backward, "opt.step()")) == expected
