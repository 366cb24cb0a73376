"""Loss scales that are made and not used: native AMP on CUDA and NPU, FSDP, apex."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.precision import scaled as code_scaled
from traindoctor.probes.code.scaling.left_over import fitted_left
from traindoctor.probes.code.shared.sides import either
from traindoctor.probes.scripts.syntax import Script

from .test_checks import readings

NATIVE = """
import torch
from torch.cuda.amp import GradScaler, autocast
scaler = GradScaler()
for x, y in loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
NPU = """
import torch
import torch_npu
from torch_npu.npu import amp

def epoch(model, loader, optimizer, scaler):
    for x, y in loader:
        with amp.autocast():
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

grad_scaler = amp.GradScaler()
for e in range(10):
    epoch(model, loader, optimizer, grad_scaler)
"""
FSDP = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
model = FSDP(net, mixed_precision=policy)
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
APEX = """
import torch
from apex import amp
model, optimizer = amp.initialize(model, optimizer, opt_level="O2", loss_scale="dynamic")
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
"""
BY_HAND = """
import torch
class Steps:
    def __init__(self):
        self._scaler = torch.cuda.amp.GradScaler()
    def __call__(self, loss, optimizer):
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()
"""
BRAIN = NATIVE.replace("autocast():", "autocast(dtype=torch.bfloat16):").replace(
    "scaler.scale(loss).backward()", "loss.backward()"
)
WHOLE = BRAIN.replace("    with autocast(dtype=torch.bfloat16):\n        loss", "    if True:\n        loss")
RIGHT = (NATIVE, NPU, FSDP, APEX, BY_HAND, BRAIN, WHOLE)
CHECK = either(
    code_scaled.scale_never_used,
    code_scaled.default_fp16_unscaled,
    code_scaled.sharded_fp16_unscaled,
    code_scaled.apex_unscaled,
    code_scaled.clipped_inside_scale,
    fitted_left,
)


def says(text: str) -> bool:
    text = textwrap.dedent(text)
    found = CHECK(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state is State.PRESENT


def test_a_scaled_loss_may_have_a_name() -> None:
    named = NATIVE.replace(
        "scaler.scale(loss).backward()", "scaled = scaler.scale(loss)\n    scaled.backward()"
    )

    assert not says(named)


@pytest.mark.parametrize("text", RIGHT)
def test_right_programs_are_left_alone(text: str) -> None:
    assert not says(text)


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        (NATIVE, [("scaler.scale(loss).backward()", "loss.backward()")]),
        (
            NATIVE,
            [
                ("scaler.scale(loss).backward()", "loss.backward()"),
                ("scaler.step(optimizer)", "optimizer.step()"),
            ],
        ),
        (NATIVE, [("GradScaler()", "GradScaler(enabled=False)")]),
        (NPU, [("scaler.scale(loss).backward()", "loss.backward()")]),
        (NPU, [("scaler.scale(loss).backward()", "scaled = scaler.scale(loss)\n        loss.backward()")]),
        (NATIVE, [("scaler.scale(loss).backward()", "scaler.scale(loss)\n    loss.backward()")]),
        (NPU, [("amp.GradScaler()", "amp.GradScaler(enabled=False)")]),
        (FSDP, [("param_dtype=torch.bfloat16", "param_dtype=torch.float16")]),
        (FSDP, [("policy = Mixed", "half = torch.float16\npolicy = Mixed"), ("=torch.bfloat16", "=half")]),
        (APEX, [('"dynamic"', "1.0")]),
        (
            APEX,
            [
                (
                    "    with amp.scale_loss(loss, optimizer) as scaled_loss:\n        scaled_loss.b",
                    "    loss.b",
                )
            ],
        ),
        (APEX, [("    torch.nn.utils", "        torch.nn.utils")]),
    ],
)
def test_a_scale_that_is_not_used(text: str, edits: list[tuple[str, str]]) -> None:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    assert says(text)


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        (
            NATIVE,
            [
                ("autocast():", "autocast(dtype=torch.bfloat16):"),
                ("GradScaler()", "GradScaler(enabled=False)"),
            ],
        ),
        (NATIVE, [("    scaler.scale(loss).backward()", "    if plain:\n        loss.backward()")]),
        (
            FSDP,
            [
                ("=torch.bfloat16", "=torch.float16"),
                ("policy = M", "scaler = ShardedGradScaler()\npolicy = M"),
                ("loss.backward()", "scaler.scale(loss).backward()"),
            ],
        ),
        (
            APEX,
            [
                ('"O2"', '"O0"'),
                (
                    "    with amp.scale_loss(loss, optimizer) as scaled_loss:\n        scaled_loss.b",
                    "    loss.b",
                ),
            ],
        ),
    ],
)
def test_what_needs_no_scale_is_left_alone(text: str, edits: list[tuple[str, str]]) -> None:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    assert not says(text)


KERAS = """
import tensorflow as tf
from tensorflow import keras
keras.mixed_precision.set_global_policy("mixed_float16")
optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam(1e-3))

def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = optimizer.get_scaled_loss(loss)
    grads = tape.gradient({taken}, model.trainable_variables)
    grads = optimizer.get_unscaled_gradients(grads)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))

for x, y in data:
    step(x, y)
"""


@pytest.mark.parametrize(("taken", "told"), [("scaled", False), ("loss", True)])
def test_a_tape_differentiates_the_scaled_loss(taken: str, told: bool) -> None:
    found = readings(KERAS.format(taken=taken))["script-scaler-without-effect"]

    assert (found.state is State.PRESENT) == told
