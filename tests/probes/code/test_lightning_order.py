"""Layers of a LightningModule that are made after its optimizers."""

from __future__ import annotations

import pytest

from .._scripts import SYMPTOMS, state

OTHER = next(k for k, s in SYMPTOMS.items() if s.probe == "code.optimizer.optimizer_gets_other_model")
TEXT = """
import lightning as L
import torch
from torch import nn
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 2)
    def {HOOK}(self, *given):
        {BODY}
    def training_step(self, batch, i):
        return nn.functional.cross_entropy(self.head(self.body(batch[0])), batch[1])
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
"""


@pytest.mark.parametrize(
    ("hook", "body", "fires"),
    [
        ("on_fit_start", "self.head = nn.Linear(8, 5).to(self.device)", True),
        ("on_train_start", "self.body.out = nn.Sequential(nn.Linear(8, 8), nn.ReLU())", True),
        ("on_train_epoch_start", "self.scale = nn.Parameter(torch.ones(1))", True),
        ("setup", "self.head = nn.Linear(8, 5)", False),
        ("configure_model", "self.head = nn.Linear(8, 5)", False),
        ("on_fit_start", "self.seen = torch.zeros(8)", False),
    ],
)
def test_layers_are_made_before_the_optimizers(hook: str, body: str, fires: bool) -> None:
    assert (state(OTHER, TEXT.replace("{HOOK}", hook).replace("{BODY}", body)) == "present") == fires
