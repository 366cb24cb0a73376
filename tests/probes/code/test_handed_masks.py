"""Masks and lengths that go nowhere, networks whose mode nothing switches: faults, and right neighbours."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from traindoctor.probes.code.mode import asked_by_method
from traindoctor.probes.code.model import handed_masks
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

Check = Callable[[Script], Finding | None]
BLOCKS = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.att = nn.MultiheadAttention(8, 2)
    def forward(self, x, future, pad):
        return x + self.att(x, x, x, attn_mask=FUTURE, key_padding_mask=PAD)[0]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
    def encode(self, ids):
        n = ids.shape[1]
        order = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
        hidden = HIDDEN
        hidden = hidden & ~hidden.all(1, keepdim=True)
        x = self.item(ids)
        for block in self.blocks:
            x = block(x, ORDER, hidden)
        return x
    def scores(self, ids):
        return self.encode(ids)[:, PLACE] @ self.item.weight.T
"""
USUAL = {"FUTURE": "future", "PAD": "pad", "HIDDEN": "ids == 0", "ORDER": "order", "PLACE": "-1"}


def told(check: Check, text: str, **parts: str) -> bool:
    """Whether a check finds its fault in a program."""
    for key, value in parts.items():
        text = text.replace(key, value)
    found = check(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state.value == "present"


@pytest.mark.parametrize(
    ("check", "wrong", "right"),
    [
        (handed_masks.mask_handed_and_unread, {"FUTURE": "None"}, {"FUTURE": "~(~future)"}),
        (handed_masks.mask_handed_and_unread, {"PAD": "None"}, {"PAD": "pad.to(x.device)"}),
        (handed_masks.mask_handed_and_unread, {"PAD": "None"}, {"HIDDEN": "ids.eq(PAD)"}),
        (handed_masks.triangle_unread, {"ORDER": "None"}, {"ORDER": "order.to(x.device)"}),
        (handed_masks.padding_is_seen, {"HIDDEN": "ids != 0"}, {"HIDDEN": "~(ids != 0)"}),
        (
            handed_masks.padding_is_seen,
            {"HIDDEN": "(ids != PAD_ID)"},
            {"HIDDEN": "torch.logical_not(ids != 0)"},
        ),
        (handed_masks.first_of_causal, {"PLACE": "0"}, {"PLACE": "-1, :"}),
    ],
)
def test_masks(check: Check, wrong: dict[str, str], right: dict[str, str]) -> None:
    # encode itself holds the triangle that `first_of_causal` asks for
    assert told(check, BLOCKS, **{**USUAL, **wrong})
    assert not told(check, BLOCKS, **{**USUAL, **right})
    assert not told(check, BLOCKS, **USUAL)


SPEECH = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Conv1d(80, 8, 5, stride=STRIDE)
    def forward(self, x, n):
        y = self.sub(x.transpose(1, 2)).transpose(1, 2)
        KEPT
        return y, LENGTH
def collate(batch):
    xs = pad_sequence(ROWS, batch_first=True)
    ys = pad_sequence([y for _, y in batch], batch_first=True)
    return xs, ys
crit = nn.CTCLoss()
"""
HEARD = {"STRIDE": "2", "KEPT": "n = (n + 1) // 2", "LENGTH": "n", "ROWS": "[x for x, _ in batch]"}


@pytest.mark.parametrize(
    ("check", "wrong", "right"),
    [
        (handed_masks.lengths_not_kept, {"KEPT": "pass"}, {"KEPT": "pass", "LENGTH": "(n + 1) // 2"}),
        (handed_masks.lengths_not_kept, {"KEPT": "pass"}, {"KEPT": "pass", "STRIDE": "1"}),
        (
            handed_masks.lengths_not_kept,
            {"LENGTH": "torch.full_like(n, y.size(1))"},
            {"LENGTH": "n.clamp(max=y.size(1))"},
        ),
        (
            handed_masks.lengths_not_kept,
            {"LENGTH": "torch.full((len(y),), y.shape[1])"},
            {"LENGTH": "torch.full_like(n, 7)"},
        ),
        (
            handed_masks.one_side_sorted,
            {"ROWS": "sorted([x for x, _ in batch], key=len)"},
            {"ROWS": "[x for x, _ in sorted(batch, key=len)]"},
        ),
        (
            handed_masks.one_side_sorted,
            {"ROWS": "sorted((x for x, _ in batch), key=len, reverse=True)"},
            {"ROWS": "[sorted(x) for x, _ in batch]"},
        ),
    ],
)
def test_lengths_and_rows(check: Check, wrong: dict[str, str], right: dict[str, str]) -> None:
    assert told(check, SPEECH, **{**HEARD, **wrong})
    assert not told(check, SPEECH, **{**HEARD, **right})
    assert not told(check, SPEECH, **HEARD)


SCORED = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)
    def forward(self, x):
        return self.drop(x)
    @torch.no_grad()
    def scores(self, x):
        return self(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
def loss_of(b):
    return net(b).sum()
def check(net, rows):
    OFF
    hits = 0
    for x, y in rows:
        ASK
    return hits / len(rows)
for epoch in range(9):
    ON
    for x, y in loader:
        loss = loss_of(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(check(net, held))
"""
BY_METHOD = "hits += (net.scores(x).argmax(1) == y).sum()"
BY_HELPER = "with torch.no_grad():\n            hits += loss_of(x)"


@pytest.mark.parametrize(
    ("ask", "off", "on", "wrong"),
    [
        (BY_METHOD, "pass", "net.train()", True),
        (BY_HELPER, "pass", "net.train()", True),
        (BY_METHOD, "net.eval()", "net.train()", False),
        (BY_METHOD, "net.train(False)", "net.train()", False),
        (BY_METHOD, "pass", "pass", False),
        ("hits += len(net.state_dict())", "pass", "net.train()", False),
    ],
)
def test_a_network_that_is_asked_by_a_method(ask: str, off: str, on: str, wrong: bool) -> None:
    assert told(asked_by_method.scored_by_method, SCORED, ASK=ask, OFF=off, ON=on) is wrong
    plain = SCORED.replace("nn.Dropout(0.1)", "nn.Linear(3, 3)").replace("self.drop", "self.line")
    assert not told(asked_by_method.scored_by_method, plain, ASK=ask, OFF=off, ON=on)
