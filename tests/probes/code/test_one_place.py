"""One place of a right program is changed: what it scores, keeps, starts from, steps by and puts out."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

RIGHT = """
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
def draw(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    return torch.randn(n, 6), torch.from_numpy(labels)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 8)
        self.norm = nn.BatchNorm1d(8)
        self.out = nn.Linear(8, 4)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight)
    def forward(self, x):
        h = F.relu(self.norm(self.fc(x)))
        return self.out(h)
@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total, correct = 0, 0
    for x, y in loader:
        logits = model(x)
        correct += (logits.argmax(dim=1) == y).sum().item()
        total += len(y)
    return correct / total
x, y = draw(400, 1)
train_loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(*draw(90, 2)), batch_size=32)
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
best = 0.0
for epoch in range(5):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    acc = evaluate(model, val_loader, criterion)
    if acc > best:
        best = acc
        torch.save(model.state_dict(), "best.pt")
model.load_state_dict(torch.load("best.pt"))
print(evaluate(model, val_loader, criterion))
"""
HITS = "(logits.argmax(dim=1) == y).sum()"
KEEP = '    if acc > best:\n        best = acc\n        torch.save(model.state_dict(), "best.pt")\n'
READ = 'torch.load("best.pt")'
LOSS = "loss = criterion(model(x), y)\n"
DRAWN = "nn.init.kaiming_normal_(m.weight)"
BENT = "F.relu(self.norm(self.fc(x)))"
WEIGHED = "nn.CrossEntropyLoss(weight=torch.tensor([1.0, 0, 0, 0]))"
NORMS = "\n            if isinstance(m, nn.BatchNorm1d):\n                nn.init.zeros_(m.weight)"
AGAIN = (
    "model.load_state_dict(torch.load('a.pt'))\n"
    "model.apply(lambda m: m.reset_parameters() if hasattr(m, 'reset_parameters') else None)\n"
)
TOP2 = "(logits.topk(2, dim=1).indices == y[:, None]).any(1).sum()"
ROUND_FILE = '    torch.save(model.state_dict(), f"epoch_{epoch}.pt")\n'


def _edited(*edits: tuple[str, str]) -> str:
    text = RIGHT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-metric-miscounts", HITS, "(logits.argmax(1)[torch.randperm(len(y))] == y).sum()"),
        ("script-metric-miscounts", HITS, "(logits.argmax(1) == y.flip(0)).sum()"),
        ("script-metric-miscounts", HITS, "(logits[:, :2].argmax(dim=1) == y).sum()"),
        ("script-metric-miscounts", HITS, "(logits.max(dim=1).values > 0.5).sum()"),
        ("script-metric-miscounts", HITS, "(y == y).sum()"),
        ("script-metric-miscounts", HITS, TOP2),
        ("script-metric-miscounts", "total += len(y)", "total += loader.batch_size"),
        ("script-metric-miscounts", "for x, y in loader:", "for x, y in list(loader)[:1]:"),
        ("script-dropout-always-on", "logits = model(x)", "logits = F.dropout(model(x), 0.5)"),
        ("script-evaluates-stale-copy", "    if acc > best:", "    if epoch == 0:"),
        ("script-evaluates-stale-copy", "save(model.state_dict()", "save(Net().state_dict()"),
        ("script-weights-start-wide", DRAWN, "nn.init.uniform_(m.weight, 0, 1)"),
        ("script-weights-start-wide", DRAWN, "nn.init.xavier_uniform_(m.weight, gain=50)"),
        ("script-weights-start-narrow", DRAWN, "m.weight.data.normal_(0, 1e-7)"),
        ("script-units-silenced", BENT, "F.relu(-torch.abs(self.norm(self.fc(x))))"),
        ("script-units-silenced", BENT, "F.relu(self.norm(self.fc(x)) - 20)"),
        ("script-units-silenced", BENT, "torch.sigmoid(100 * self.norm(self.fc(x)))"),
        ("script-units-silenced", "return self.out(h)", "return (self.out(h) > 0).float()"),
        ("script-step-doubled", "        optimizer.step()\n", "        optimizer.step()\n" * 2),
        ("script-step-doubled", "loss.backward()", "loss.backward(retain_graph=True); loss.backward()"),
        ("script-gradients-not-cleared", "optimizer.zero_grad()", "model.out.zero_grad()"),
        ("script-loss-wrong", LOSS, "loss = criterion(model(x), y) * 1e-6\n"),
        ("script-loss-wrong", "nn.CrossEntropyLoss()", WEIGHED),
    ],
)  # fmt: skip
def test_what_is_changed_is_seen_and_the_right_program_is_silent(symptom: str, old: str, new: str) -> None:
    assert state(symptom, _edited((old, new))) == P
    assert state(symptom, RIGHT) != P


def test_an_early_epoch_is_read_where_each_is_kept() -> None:
    kept = ("    if acc > best:", ROUND_FILE + "    if acc > best:")
    assert state("script-evaluates-stale-copy", _edited(kept, (READ, 'torch.load("epoch_0.pt")'))) == P
    assert state("script-evaluates-stale-copy", _edited(kept)) != P


def test_starts_of_a_whole_network() -> None:
    norms = (
        DRAWN,
        DRAWN + "\n            if isinstance(m, nn.BatchNorm1d):\n                nn.init.zeros_(m.weight)",
    )
    assert state("script-zero-init", _edited(norms)) == P
    last = (DRAWN, DRAWN + "\n        nn.init.zeros_(self.norm.weight)")
    assert state("script-zero-init", _edited(last)) != P
    grown = ("criterion = nn", "for p in model.parameters():\n    p.data.mul_(100)\ncriterion = nn")
    assert state("script-weights-start-wide", _edited(grown)) == P
    assert state("script-pretrained-lost", _edited(("criterion = nn", AGAIN + "criterion = nn"))) == P
    assert state("script-weights-start-narrow", "x = 1\n") == U
    assert state("script-weights-start-narrow", _edited((DRAWN, "nn.init.normal_(m.weight, std=0.02)"))) == A


def test_labels_and_answers_that_a_loss_leaves_out() -> None:
    ignored = ("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(ignore_index=0)")
    assert state("script-label-padding-counts", _edited(ignored)) == P
    padded = _edited(ignored).replace("labels = rng", "PAD = 0\n    labels = rng")
    assert state("script-label-padding-counts", padded) != P
    own = (LOSS, "logits = model(x)\n        loss = criterion(logits, logits.argmax(dim=1))\n")
    assert state("script-activation-missing-before-loss", _edited(own)) == P


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-units-silenced", BENT, "torch.sigmoid(self.norm(self.fc(x)) * 2)"),
        ("script-units-silenced", BENT, "F.relu(self.fc(x * 255 - 128))"),
        ("script-units-silenced", BENT, "torch.clamp(self.norm(self.fc(x)), 0, 6)"),
        ("script-step-doubled", "        optimizer.step()\n", "        optimizer.step()\n        model(x)\n"),
        ("script-loss-wrong", LOSS, "loss = criterion(model(x), y) * 0.5\n"),
    ],
)
def test_right_neighbours_are_silent(symptom: str, old: str, new: str) -> None:
    assert state(symptom, _edited((old, new))) != P


def test_an_accuracy_that_says_so_is_of_the_best_k() -> None:
    named = ("return correct / total", "top2 = correct / total; return top2")
    assert state("script-metric-miscounts", _edited((HITS, TOP2), named)) != P


def test_unknown_without_a_network() -> None:
    for symptom in ("script-units-silenced", "script-step-doubled"):
        assert state(symptom, "x = 1\n") == U
    assert state("script-units-silenced", RIGHT) == A
    assert state("script-step-doubled", RIGHT) == A


def test_inputs_and_labels_turned_together_are_another_order() -> None:
    scored = ("        total += len(y)\n", "        total += len(y)\n        loss = criterion(logits, y)\n")
    turned = "        x, y = x.flip(0), y.flip(0)\n"
    taught = f"{turned}        logits = model(x)\n        loss = criterion(logits, y)\n"
    head, _, rest = _edited(scored, ("        " + LOSS, taught)).partition("x, y = draw(400, 1)\n")
    rest = rest.replace("TensorDataset(x, y)", "TensorDataset(*draw(400, 1))")
    text = head + "def main():\n" + "".join(f"    {line}\n" for line in rest.splitlines()) + "main()\n"
    for symptom in ("script-splits-processed-differently", "script-loss-wrong"):
        assert state(symptom, text) != P
    alone = text.replace("x, y = x.flip(0), y.flip(0)", "y = y.flip(0)")
    assert state("script-loss-wrong", alone) == P
