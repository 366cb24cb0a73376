"""Batch normalisation that a script hands on, or has not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read

TRAINS = """
import torch
from torch import nn
from torch.utils.data import DataLoader
{NET}
loader = DataLoader(torch.load("tiles.pt"), batch_size={SIZE}, shuffle=True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
"""
NET = """
class Net(nn.Module):
    def __init__(self, width=16{NORM}):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3)
        {LAYER}
        self.head = nn.Linear(width, 4)
    def forward(self, x):
        return self.head(self.{USED}(self.conv(x)).mean((2, 3)))
"""
HANDED = ("self.bn = norm(width)", "bn")
NO_NORM = ("self.act = nn.ReLU()", "act")


@pytest.mark.parametrize(
    ("norm", "layer", "size", "expected"),
    [
        (", norm=nn.BatchNorm2d", HANDED, 2, "present"),
        (
            ", norm_layer: type[nn.Module] = torch.nn.BatchNorm2d",
            ("self.bn = norm_layer(width)", "bn"),
            2,
            "present",
        ),
        (", norm=nn.BatchNorm2d", HANDED, 32, "absent"),
        (", norm=nn.InstanceNorm2d", HANDED, 2, "unknown"),
        (", norm=nn.BatchNorm2d, other=nn.InstanceNorm2d", HANDED, 2, "unknown"),  # which one is asked for?
        ("", NO_NORM, 2, "absent"),
        ("", ("self.act = torchvision.models.resnet18()", "act"), 2, "unknown"),
        ("", ("self.act = torch.hub.load('org/zoo', 'net')", "act"), 2, "unknown"),
    ],
)
def test_norms_of_scripts(
    tmp_path: Path, norm: str, layer: tuple[str, str], size: int, expected: str
) -> None:
    """A layer that is called by another name is one; a model of one's own without any has none."""
    net = NET.replace("{NORM}", norm).replace("{LAYER}", layer[0]).replace("{USED}", layer[1])
    (tmp_path / "train.py").write_text(TRAINS.replace("{NET}", net).replace("{SIZE}", str(size)))
    found = read(View(open_run(tmp_path)), load_rules().symptoms["norm-small-batch"], all_probes())
    assert "probe error" not in found.why, found.why
    assert found.state.value == expected, found.why
