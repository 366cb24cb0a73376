"""A step for each batch, and one for several parts of it, beside one another."""

from __future__ import annotations

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

TEXT = """
import torch
from torch import nn
from torch.utils.data import DataLoader
loader = DataLoader(rows, batch_size={SIZE}, shuffle=True)
net = nn.Linear(4, 3)
parts = 4
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
{LOOP}
    print(loss.item())
"""
USUAL = """
    for x, y in loader:
        opt.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        opt.step()
"""
PARTS = """
    for i, (x, y) in enumerate(loader):
        loss = criterion(net(x), y)
        {LOSS}.backward()
        if (i + 1) % {TURN} == 0:
            opt.step()
            {CLEAR}
"""


def _run(loop: str, size: int) -> Run:
    text = TEXT.replace("{LOOP}", loop).replace("{SIZE}", str(size))
    return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})


@pytest.mark.parametrize(
    ("loss", "turn", "clear", "size", "tells"),
    [
        ("(loss / 4)", "4", "opt.zero_grad()", 8, False),
        ("(loss / parts)", "parts", "opt.zero_grad()", 8, False),
        ("(loss / 2)", "4", "opt.zero_grad()", 8, True),
        ("(loss / 4)", "4", "pass", 8, True),
        ("loss", "4", "opt.zero_grad()", 8, True),
    ],
)
def test_batches_in_parts(loss: str, turn: str, clear: str, size: int, tells: bool) -> None:
    loop = PARTS.replace("{LOSS}", loss).replace("{TURN}", turn).replace("{CLEAR}", clear)
    rules, probes = load_rules(), all_probes()
    view = View(_run(loop, size), _run(USUAL, 32))
    states = [
        read(view, rules.symptoms[s], probes).state.value
        for s in ("edit-update-conditional", "edit-loss-divided")
    ]
    assert ("present" in states) == tells, states
