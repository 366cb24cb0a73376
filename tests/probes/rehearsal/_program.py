"""A small program with places to change, and its rehearsal."""

from __future__ import annotations

from traindoctor.probes.rehearsal.judges import verdicts
from traindoctor.probes.rehearsal.machine import Machine
from traindoctor.probes.scripts.project import programs
from traindoctor.probes.scripts.syntax import Script

PLAIN = """
import copy
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
    def forward(self, x):
        return x + self.drop(F.relu(self.fc(x)))

class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.start = nn.Linear(8, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.end = nn.Linear(width, 3)
    def forward(self, x):
        x = self.start(x)
        for block in self.blocks:
            x = block(x)
        return self.end(x)

def batches(split):
    x, y = torch.load(f"{split}.pt")
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=split == "train")

def learn(net, loader, opt, every=1):
    net.train()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(net(x), y)
        (loss / every).backward()
        if (i + 1) % every == 0:
            opt.step()
            opt.zero_grad()

@torch.no_grad()
def score(net, loader):
    net.eval()
    hits = count = 0
    for x, y in loader:
        hits += (net(x).argmax(1) == y).sum().item()
        count += len(y)
    return hits / count

def main():
    train, held, last = batches("train"), batches("val"), batches("test")
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    best, kept = 0.0, None
    for epoch in range(20):
        learn(net, train, opt)
        acc = score(net, held)
        print(f"epoch {epoch} val acc {acc:.3f}")
        if acc > best:
            best, kept = acc, copy.deepcopy(net.state_dict())
    net.load_state_dict(kept)
    print("test acc", score(net, last))

if __name__ == "__main__":
    main()
"""


def script(*edits: tuple[str, str], text: str = PLAIN) -> Script:
    """The program with some of its text replaced."""
    for old, new in edits:
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    return programs({"train.py": text})[0]


def rehearse(*edits: tuple[str, str], text: str = PLAIN) -> Machine:
    """The program's rehearsal."""
    machine = Machine(script(*edits, text=text))
    machine.run()
    return machine


def told(*edits: tuple[str, str], text: str = PLAIN) -> set[str]:
    """The kinds of verdicts over the program."""
    return {v.kind for v in verdicts(script(*edits, text=text))}
