"""Weights that are read and reach no model, or are drawn anew: each slip beside right ways."""

from __future__ import annotations

import pytest

from .._scripts import state

BUILD = """
import torch
from torch import nn
from torchvision.models import resnet50
def build(path, n):
    model = resnet50(weights=None)
    saved = torch.load(path + "/backbone.pth", map_location="cpu")["state_dict"]
    body = {k.removeprefix("module."): v for k, v in saved.items() if "fc" not in k}
    {lines}
    return model
"""
LOAD = "model.load_state_dict(body, strict=False)"
ANEW = "\n    for m in {over}:\n        if {test}:\n            nn.init.kaiming_normal_(m.weight)"


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("print(len(body), 'tensors')", True),
        (LOAD + ANEW.format(over="model.modules()", test="isinstance(m, (nn.Conv2d, nn.Linear))"), True),
        (LOAD, False),
        ("return fill(model, body)", False),
        (LOAD + ANEW.format(over="model.fc.modules()", test="isinstance(m, nn.Linear)"), False),
        (
            LOAD + "\n    for n, m in model.named_modules():\n        if n in missing:\n"
            "            nn.init.normal_(m.weight)",
            False,
        ),
        (
            ANEW.format(over="model.modules()", test="isinstance(m, nn.Linear)").strip() + "\n    " + LOAD,
            False,
        ),
    ],
)
def test_weights_reach_the_model(lines: str, wrong: bool) -> None:
    assert (state("script-pretrained-lost", BUILD.replace("{lines}", lines)) == "present") is wrong


def test_own_best_is_no_pretraining() -> None:
    text = """
import torch
torch.save(net.state_dict(), "weights.pt")
best = torch.load("weights.pt")
print(len(best))
"""
    assert state("script-pretrained-lost", text) != "present"
