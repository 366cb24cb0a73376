"""Metrics in scripts: counts, what is compared, and parts of the evaluation data."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.evaluation.metrics import (
    evaluation_drops_samples,
    metric_miscounts,
    metric_of_a_share,
)

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

SUMS = """
def check(net, batches):
    {before}
    for feats, labels in batches:
        {inside}
        right += (net(feats).argmax(1) == labels).sum().item()
    return right
"""
METER = """
class Tally:
    def reset(self): self.n = 0
    def update(self, p, y): self.n += 1
    def value(self): return self.n
tally = Tally()
def check():
    {}
    for x, y in val_loader:
        tally.update(model(x), y)
    return tally.value()
for epoch in range(9):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    check()
"""
COUNTS = [
    (PRESENT, SUMS.format(before="pass", inside="right = 0")),
    (ABSENT, SUMS.format(before="right = 0", inside="pass")),
    (PRESENT, SUMS.format(before="pass", inside="right, n = 0, 0")),
    (PRESENT, METER.format("pass")),
    (ABSENT, METER.format("tally.reset()")),
    (ABSENT, METER.format("tally.n = 0")),
    (PRESENT, "def iou(a, b, both):\n    union = a.sum() + b.sum()\n    return both / union"),
    (ABSENT, "def iou(a, b, both):\n    union = a.sum() + b.sum() - both\n    return both / union"),
    (
        ABSENT,
        "def iou(a, b, both):\n    union = a.sum() + b.sum()\n    union -= both\n    return both / union",
    ),
    (ABSENT, "def dice(a, b, both):\n    union = a.sum() + b.sum()\n    return 2 * both / union"),
    (UNKNOWN, "optimizer = make()"),
]
RATES = """
def rates(pairs):
    hit = found = true = 0
    for gold, guess in pairs:
        hit += len(gold & guess)
        found += len(guess)
        true += len({})
    return hit / found, hit / true
"""
SCORES = """
criterion = nn.BCEWithLogitsLoss()
loss = criterion(model(x), y)
def check(model, x, y):
    p = {}
    return ((p.cpu() > 0.5) == y).float().mean()
"""
BACK = """
def check(model, x, y):
    p = model(x)
    loss = criterion(p, y)
    a, b = scaler.inverse_transform(p), {}
    return loss, (a - b).abs().mean()
"""
GUESSES = """
def predict(net, loader):
    out = []
    for x, _ in loader:
        out.append(net(x).argmax(1))
    return torch.cat(out)
test_loader = DataLoader(test_set, shuffle={})
print(accuracy_score(test_y, predict(net, test_loader)))
"""
TOKENS = """
collate = DataCollatorForTokenClassification(tokenizer)
def compute_metrics(p):
    guess = p.predictions.argmax(-1)
    {}
    return score(guess, p.label_ids)
"""
COMPARED = [
    (PRESENT, RATES.format("guess")),
    (ABSENT, RATES.format("gold")),
    (PRESENT, SCORES.format("model(x)")),
    (ABSENT, SCORES.format("torch.sigmoid(model(x))")),
    (PRESENT, BACK.format("y")),
    (ABSENT, BACK.format("scaler.inverse_transform(y)")),
    (PRESENT, GUESSES.format("True")),
    (ABSENT, GUESSES.format("False")),
    (PRESENT, TOKENS.format("pass")),
    (ABSENT, TOKENS.format("guess = guess[p.label_ids != -100]")),
]


@pytest.mark.parametrize(("state", "text"), COUNTS + COMPARED)
def test_miscounts(state: State, text: str) -> None:
    """Each slip is found, its right counterpart is not, and a script without a metric tells nothing."""
    found = finding(metric_miscounts, text)

    assert found.state is state, found.why


SHARED = "sampler = DistributedSampler(val_set)\ndef check(n):\n    {}\n    return n\n"
SHARES = [
    (PRESENT, SHARED.format("pass")),
    (ABSENT, SHARED.format("dist.all_reduce(n)")),
    (PRESENT, "model, train_dl, val_dl = accelerator.prepare(model, train_dl, val_dl)"),
    (ABSENT, "model, val_dl = accelerator.prepare(model, val_dl)\nz = accelerator.gather_for_metrics(z)"),
    (UNKNOWN, "sampler = DistributedSampler(train_set)"),
]


@pytest.mark.parametrize(("state", "text"), SHARES)
def test_share(state: State, text: str) -> None:
    """Evaluation data shared among processes, with and without putting counts together."""
    found = finding(metric_of_a_share, text)

    assert found.state is state, found.why


DROPS = [
    (PRESENT, "val_loader = DataLoader(val_set, 8, drop_last=True)"),
    (ABSENT, "train_loader = DataLoader(train_set, 8, drop_last=True)"),
    (PRESENT, "def feed(data, is_training):\n    return data.batch(8, drop_remainder=True)"),
    (ABSENT, "def feed(data, is_training):\n    return data.batch(8, drop_remainder=is_training)"),
    (UNKNOWN, "val_loader = DataLoader(val_set, 8)"),
]


@pytest.mark.parametrize(("state", "text"), DROPS)
def test_drops(state: State, text: str) -> None:
    """The last batch of evaluation is kept or not."""
    found = finding(evaluation_drops_samples, text)

    assert found.state is state, found.why
