"""Small right programs around a network: what the tests of answers share."""

from __future__ import annotations

import ast

from traindoctor.probes.forward.facts import Facts, facts
from traindoctor.probes.forward.judged import verdicts
from traindoctor.probes.scripts.syntax import Script

PICTURES = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

{net}

train = datasets.MNIST("data", train=True, transform=transforms.ToTensor())
loader = DataLoader(train, batch_size=64, shuffle=True)
model = {make}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = {loss}
for epoch in range(3):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
TOKENS = """
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LONG = 50, 16

{net}

data = torch.load("tokens.pt")
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=8, shuffle=True)
model = {make}
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for epoch in range(3):
    for (ids,) in loader:
        x, y = ids[:, :-1], ids[:, 1:]
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def pictures(net: str, make: str = "Net()", loss: str = "nn.CrossEntropyLoss()") -> str:
    """A program that learns pictures of one channel."""
    return PICTURES.format(net=net.strip(), make=make, loss=loss)


def tokens(net: str, make: str = "Net()") -> str:
    """A program that learns to say the next token."""
    return TOKENS.format(net=net.strip(), make=make)


def of(text: str) -> Script:
    """A program of one file."""
    return Script("train.py", text, ast.parse(text))


def known(text: str) -> Facts:
    """The facts of the one network of a program."""
    (found,) = facts(of(text))
    return found


def kinds(text: str) -> list[str]:
    """The kinds of the verdicts over a program's networks."""
    return [v.kind for v in verdicts(of(text))]
