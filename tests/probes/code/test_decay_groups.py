"""Which group of an optimizer decays: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"
LOOP = """
import torch
from rows import loader
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
{GROUPS}
for epoch in range(10):
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
"""
NAMES = """
skip = ("bias", "LayerNorm.weight")
groups = [
    {"params": [p for n, p in net.named_parameters() if not any(s in n for s in skip)], "weight_decay": %s},
    {"params": [p for n, p in net.named_parameters() if any(s in n for s in skip)], "weight_decay": %s},
]
opt = torch.optim.AdamW(groups, lr=1e-3)
"""
LISTS = """
a, b = [], []
for name, p in net.named_parameters():
    if not p.requires_grad:
        continue
    if p.ndim <= 1 or name.endswith(".bias"):
        b.append(p)
    else:
        a.append(p)
opt = torch.optim.AdamW([dict(params=%s, weight_decay=0.05), dict(params=%s, weight_decay=0.0)], lr=1e-3)
"""
CHOSEN = """
large, small = [], []
for p in net.parameters():
    (small if len(p.shape) == 1 else large).append(p)
opt = torch.optim.AdamW([{"params": %s}, {"params": %s, "weight_decay": 0}], lr=1e-3, weight_decay=0.1)
"""
MIND = """
import mindspore as ms
from mindspore import nn
net = make()
big = list(filter(lambda x: "beta" not in x.name and "bias" not in x.name, net.trainable_params()))
rest = [p for p in net.trainable_params() if "beta" in p.name or "bias" in p.name]
groups = [{"params": big, "weight_decay": %s}, {"params": rest, "weight_decay": %s},
          {"order_params": net.trainable_params()}]
opt = nn.Momentum(groups, 0.1, 0.9)
ms.Model(net, nn.MSELoss(), opt).train(10, data)
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (LOOP.replace("{GROUPS}", NAMES % ("0.01", "0.0")), A),
        (LOOP.replace("{GROUPS}", NAMES % ("0.0", "0.01")), P),
        (LOOP.replace("{GROUPS}", NAMES % ("0.01", "0.01")), A),
        (
            LOOP.replace("{GROUPS}", NAMES % ("0.0", "0.01")).replace(
                '("bias", "LayerNorm.weight")', '("head",)'
            ),
            U,
        ),
        (LOOP.replace("{GROUPS}", LISTS % ("a", "b")), A),
        (LOOP.replace("{GROUPS}", LISTS % ("b", "a")), P),
        (LOOP.replace("{GROUPS}", CHOSEN % ("large", "small")), A),
        (LOOP.replace("{GROUPS}", CHOSEN % ("small", "large")), P),
        (MIND % ("1e-4", "0.0"), A),
        (MIND % ("0.0", "1e-4"), P),
        (LOOP.replace("{GROUPS}", "opt = torch.optim.AdamW(net.parameters(), lr=1e-3)"), U),
    ],
)
def test_which_group_decays(text: str, wanted: str) -> None:
    assert state("script-decay-turned-round", text) == wanted
