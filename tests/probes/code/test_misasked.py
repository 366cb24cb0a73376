"""Parts of a forward pass, a schedule and a data function that are asked for the wrong thing."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

GPT = """
import math, torch, torch.nn as nn, torch.nn.functional as F
data = torch.randint(0, 30, (4000,))
train_data, val_data = data[:3600], data[3600:]
def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - 17, (8,))
    return torch.stack([d[i:i + 16] for i in ix]), torch.stack([d[i + 1:i + 17] for i in ix])
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(32, 96)
        self.ln = nn.LayerNorm(32)
        self.attn = nn.Linear(32, 32)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).bool())
    def forward(self, x):
        q, k, v = self.qkv(self.ln(x)).split(32, dim=2)
        att = q @ k.transpose(-2, -1) / math.sqrt(32)
        att = att.masked_fill(~self.mask, float("-inf"))
        att = F.softmax(att, dim=-1)
        x = x + self.attn(att @ v)
        return x
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(30, 32)
        self.pos = nn.Embedding(16, 32)
        self.blocks = nn.Sequential(*[Block() for _ in range(3)])
        self.head = nn.Linear(32, 30)
    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(16))
        x = self.blocks(x)
        return self.head(x)
def get_lr(it):
    return 1e-3 * it / 50 if it < 50 else 1e-3
@torch.no_grad()
def estimate():
    model.eval()
    losses = torch.zeros(5)
    for k in range(5):
        x, y = get_batch("val")
        losses[k] = F.cross_entropy(model(x).view(-1, 30), y.view(-1))
    model.train()
    return losses.mean()
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for it in range(200):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    x, y = get_batch("train")
    loss = F.cross_entropy(model(x).view(-1, 30), y.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(estimate())
"""
PART = 'd = train_data if split == "train" else val_data'
SHARED = "(3)])\n        for b in self.blocks[1:]:\n            b.attn = self.blocks[0].attn\n"
SAID = SHARED.replace("for b", "shared = 1\n        for b")  # a script that speaks of sharing


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-operator-wrong", "self.pos(torch.arange(16))", "self.pos(torch.randperm(16))"),
        ("script-operator-wrong", "self.pos(torch.arange(16))", "self.pos(torch.full((16,), 15))"),
        ("script-operator-wrong", "F.softmax(att, dim=-1)", "F.relu(att)"),
        ("script-operator-wrong", "F.softmax(att, dim=-1)", "att.sigmoid()"),
        ("script-branch-lost", "self.blocks(x)", "self.blocks[0](x)"),
        ("script-branch-lost", "x = x + self.attn", "x = 0 * x + self.attn"),
        ("script-layer-repeated", "(3)])\n", SHARED),
        ("script-scheduler-never-stepped", "get_lr(it)\n    x", "get_lr(0)\n    x"),
        ("script-training-sees-evaluation", PART, "d = train_data"),
        ("script-training-sees-evaluation", 'get_batch("train")\n    loss', 'get_batch("val")\n    loss'),
        ("script-metric-miscounts", "losses.mean()", "losses.max()"),
    ],
)
def test_what_is_asked_otherwise_is_seen(symptom: str, old: str, new: str) -> None:
    assert old in GPT
    assert state(symptom, GPT.replace(old, new, 1)) == P
    assert state(symptom, GPT) != P


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-operator-wrong", "torch.arange(16))", "torch.arange(16).to(idx.device))"),
        ("script-branch-lost", "x = self.blocks(x)", "x = self.blocks[0](x)\n        x = self.blocks[1:](x)"),
        ("script-branch-lost", "x = x + self.attn", "x = x + 0 * self.attn(v).sum() + self.attn"),
        ("script-layer-repeated", "(3)])\n", SAID),
        ("script-scheduler-never-stepped", "get_lr(it)\n    x", "get_lr(it + 1)\n    x"),
        ("script-training-sees-evaluation", "def get_batch(split):", "def get_batch(split, size=8):"),
    ],
)
def test_right_neighbours_are_silent(symptom: str, old: str, new: str) -> None:
    assert old in GPT
    assert state(symptom, GPT.replace(old, new, 1)) != P
