"""The number format of an autocast that a setting turns on is in force where the setting does."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run

PROGRAM = """\
import yaml
import torch
from torch import nn
cfg = yaml.safe_load(open("config.yaml"))
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.float16{switch}):
        loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("switch", "config", "format"),
    [
        (', enabled=cfg["amp"]', "amp: false", "fp32"),
        (', enabled=cfg["amp"]', "amp: true", "fp16"),
        (', enabled=cfg["train"]["use_amp"]', "train:\n  use_amp: false", "fp32"),
        (', enabled=cfg["fp16"]', "fp16: false", "fp32"),
        (', enabled=cfg["fp16"]', "fp16: true", "fp16"),
        (", enabled=True", "amp: false", "fp16"),
        ("", "lr: 0.1", "fp16"),
        (", enabled=not False", "lr: 0.1", "fp16"),
    ],
)
def test_the_switch_decides(tmp_path: Path, switch: str, config: str, format: str) -> None:
    """A switch that is off leaves full precision; one that nobody knows is taken as on."""
    (tmp_path / "train.py").write_text(PROGRAM.format(switch=switch))
    (tmp_path / "config.yaml").write_text(config + "\n")
    assert open_run(tmp_path).settings["precision"].value == format
