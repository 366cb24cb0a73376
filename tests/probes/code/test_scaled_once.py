"""MindSpore's loss scalers of which one half is never called."""

from __future__ import annotations

import pytest

from .._scripts import state

TEXT = """
import mindspore as ms
from mindspore import nn, ops
from mindspore.amp import StaticLossScaler, all_finite
net = Net()
optimizer = nn.Adam(net.trainable_params(), 1e-3)
scaler = StaticLossScaler(1024)
def forward(x, y):
    loss = criterion(net(x), y)
    return {}, loss
grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
def step(x, y):
    (_, loss), grads = grad_fn(x, y)
    {}
    for total, grad in zip(sums, grads):
        ops.assign_add(total, grad)
    return loss
"""
LEFT, MISSING = "script-scale-not-divided-out", "script-scaler-without-effect"


@pytest.mark.parametrize(
    ("symptom", "scaled", "unscaled", "present"),
    [
        (LEFT, "scaler.scale(loss)", "pass", True),
        (LEFT, "scaler.scale(loss)", "grads = scaler.unscale(grads)", False),
        (LEFT, "scaler.scale(loss)", "grads = divided(grads, scaler)", False),
        (LEFT, "scaler.scale(loss)", "grads = [g / scaler.scale_value for g in grads]", False),
        (LEFT, "loss", "pass", False),
        (MISSING, "loss", "grads = scaler.unscale(grads)", True),
        (MISSING, "scaler.scale(loss)", "grads = scaler.unscale(grads)", False),
        (MISSING, "scaled(loss, scaler)", "grads = scaler.unscale(grads)", False),
    ],
)
def test_one_half(symptom: str, scaled: str, unscaled: str, present: bool) -> None:
    assert (state(symptom, TEXT.format(scaled, unscaled)) == "present") == present
