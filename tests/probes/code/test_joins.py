"""A value joined with itself, where another one was worked out for the place and goes nowhere."""

from __future__ import annotations

import pytest

from .._scripts import state

NET = """
import torch
from torch import nn
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3), nn.Conv2d(8, 16, 3)])
        self.up = nn.ConvTranspose2d(16, 8, 2)
        self.merge = nn.Conv2d(16, 8, 3)
    def forward(self, x):
        feats = []
        for block in self.down:
            x = block(x)
            feats.append(x)
        b, c, h, w = x.shape
        {LINES}
        return x
"""
KERAS = """
from keras import layers
def block(x, filters):
    skip = x
    x = layers.Conv2D(filters, 3, padding="same")(x)
    if skip.shape[-1] != filters:
        skip = layers.Conv2D(filters, 1)(skip)
    {LINES}
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("skip = feats[-2]; x = self.up(x); x = self.merge(torch.cat((x, x), dim=1))", True),
        ("skip = feats[-2]; x = self.up(x); x = self.merge(torch.cat([x, skip], dim=1))", False),
        ("skip = feats[-2]; x = self.up(x); x = self.merge(torch.cat((x, x), dim=1)) + skip", False),
        ("x = self.up(x); x = self.merge(torch.cat((x, x), dim=1))", False),
        ("size = feats[-2].shape; x = self.up(x); x = self.merge(torch.cat((x, x), dim=1))", False),
        ("skip = feats[-2]; x = self.up(x)[..., :skip.shape[-1]]; x = torch.cat((x, x), 1)", True),
    ],
)
def test_a_skip_that_is_picked_and_left(lines: str, found: bool) -> None:
    assert (state("script-joined-with-itself", NET.replace("{LINES}", lines)) == "present") is found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("return layers.ReLU()(layers.Add()([x, x]))", True),
        ("return layers.ReLU()(layers.Concatenate()([x, x]))", True),
        ("return layers.ReLU()(layers.Add()([x, skip]))", False),
        ("return layers.ReLU()(layers.add([skip, x]))", False),
    ],
)
def test_a_projected_skip_of_a_function_of_layers(lines: str, found: bool) -> None:
    assert (state("script-joined-with-itself", KERAS.replace("{LINES}", lines)) == "present") is found
