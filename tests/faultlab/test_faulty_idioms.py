"""Known mistakes in programs put together of idioms are still told, one of each name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from faultlab.idioms.composed import Fault, Kit
from faultlab.idioms.faulty import faulty
from faultlab.idioms.kits import FAULTS
from faultlab.idioms.score import claimed
from traindoctor.engine.load import load_rules

# one program of each, that is told at this seed; what is not told yet is counted by faulty.py
TOLD = (
    *("shards left out", "softmax before the loss", "rate by epochs", "not shuffled", "zero weights"),
    *("gradients not unscaled", "gradients not reduced", "only inputs are shuffled"),
    *("evaluated in training mode", "half precision without a scale", "mask the wrong way"),
    *("model not wrapped", "scaler left out", "schedule not restored", "gradients not cleared"),
    *("same dropout each step", "moments of the optimizer thrown away", "moments not kept"),
    *("special tokens count", "adapters for inference", "prompt counts", "schedule not prepared"),
    *("logits for a loss of probabilities", "batches are shuffled", "test scaled by itself"),
    *("chosen by the test set", "metrics not reset", "loop of half precision without a scale"),
)
SEED = 5


def _first() -> list[tuple[Kit, Fault]]:
    """One mistake of each name, in the first book that has it."""
    found: dict[str, tuple[Kit, Fault]] = {}
    for kit, faults in FAULTS.items():
        for fault in faults:
            if fault.name in TOLD and any(True for _ in faulty(kit, fault, SEED)):
                found.setdefault(fault.name, (kit, fault))
    return [found[name] for name in TOLD]


FIRST = _first()


@pytest.mark.parametrize(("kit", "fault"), FIRST, ids=[f"{k.name}-{f.name}" for k, f in FIRST])
def test_a_known_mistake_is_told(kit: Kit, fault: Fault, tmp_path: Path) -> None:
    text = next(faulty(kit, fault, SEED))
    compile(text, "train.py", "exec")

    assert {cause for cause, _ in claimed(load_rules(), text, tmp_path)[:3]} & set(fault.causes)


def test_every_mistake_has_a_place() -> None:
    left = [(k.name, f.name) for k, faults in FAULTS.items() for f in faults if not any(faulty(k, f, SEED))]

    assert not left
