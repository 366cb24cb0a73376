"""bf16 for fp16: the scaler goes with it, or is switched off, and mixed precision stays on."""

from __future__ import annotations

import pytest

from .test_checks import readings

EDITS = ("edit-autocast", "edit-autocast-left-out", "edit-scaler-left-out", "edit-scaler-update")
STEP = """
import torch
device = "cuda"
scaler = torch.amp.GradScaler(device, init_scale=2.0**15, growth_interval=200)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast(device, dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
OFF = ("init_scale=2.0**15, growth_interval=200", "enabled=False")
BRAIN = ("torch.float16", "torch.bfloat16")


def changed(*edits: tuple[str, str]) -> dict[str, str]:
    """The states of the edits of precision, with the text above as the benchmark."""
    text = STEP
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    found = readings(text, STEP)
    return {s: str(found[s].state) for s in EDITS}


@pytest.mark.parametrize(
    "edits",
    [
        (BRAIN, OFF),
        (BRAIN, ("scaler = torch.amp.GradScaler(device, init_scale=2.0**15, growth_interval=200)\n", ""),
         ("scaler.scale(loss).backward()", "loss.backward()"), ("scaler.step(optimizer)", "optimizer.step()"),
         ("    scaler.update()\n", "")),
    ],
)  # fmt: skip
def test_bf16_needs_no_scaler(edits: tuple[tuple[str, str], ...]) -> None:
    assert "present" not in changed(*edits).values()


def test_fp16_without_its_scaler_is_told() -> None:
    assert changed(OFF)["edit-scaler-left-out"] == "present"


def test_mixed_precision_that_is_left_out_is_told() -> None:
    asked = ("dtype=torch.float16", "dtype=torch.float16, enabled=False")
    assert "present" in changed(asked).values()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("init_scale=2.0**16, growth_interval=2000", False),
        ("growth_interval=100", False),
        ("init_scale=2.0**24, growth_interval=2", True),
    ],
)
def test_a_dynamic_scale_finds_its_level(asked: str, told: bool) -> None:
    found = changed(("init_scale=2.0**15, growth_interval=200", asked))
    assert (found["edit-scaler-update"] == "present") is told
