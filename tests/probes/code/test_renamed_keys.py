"""Keys of weights that are renamed so that none fits, and are passed over without a word."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.model import pretrained
from traindoctor.probes.registry import View

from .._build import run

PROGRAM = """
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.head = nn.Linear(8, 2)
        def forward(self, x):
            return self.head(self.body(x))
    model = Net()
    saved = torch.load("body.pt")
    {load}
"""
FILLED = "kept = {}; for k, v in saved.items(): kept['net.' + k] = v; model.load_state_dict(kept, False)"


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("model.load_state_dict({'module.' + k: v for k, v in saved.items()}, strict=False)", True),
        (
            "w = {f'net.{k}': v for k, v in saved.items()}; model.load_state_dict(w, strict=False)",
            True,
        ),
        ("model.load_state_dict({k.replace('body.', ''): v for k, v in saved.items()}, strict=False)", True),
        (FILLED, True),
        ("model.load_state_dict({'body.' + k: v for k, v in saved.items()}, strict=False)", False),
        (
            "model.load_state_dict({k.replace('module.', ''): v for k, v in saved.items()}, strict=False)",
            False,
        ),
        ("model.load_state_dict({'module.' + k: v for k, v in saved.items()})", False),
        ("left = model.load_state_dict({'net.' + k: v for k, v in saved.items()}, strict=False)", False),
        (
            "model = nn.DataParallel(model); "
            "model.load_state_dict({'module.' + k: v for k, v in saved.items()}, strict=False)",
            False,
        ),
    ],
)
def test_keys_that_are_renamed_away(load: str, expected: bool) -> None:
    text = textwrap.dedent(PROGRAM).replace("{load}", load.replace("; ", "\n"))
    found = pretrained.pretrained_lost(View(run(scripts={"t.py": text})))
    assert (found.state.value == "present") is expected
