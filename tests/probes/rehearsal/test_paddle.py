"""Paddle's `Model`, streams that cannot be followed, and metrics of libraries in a rehearsal."""

import pytest

from traindoctor.probes.rehearsal.journal import Asked

from ._journals import learns, rehearsal
from ._program import told

PADDLE = """
import numpy as np
import paddle
from paddle import nn
from paddle.io import Dataset

class Rows(Dataset):
    def __init__(self, file):
        z = np.load(file)
        self.x, self.y = z["x"], z["y"]
    def __getitem__(self, i):
        return self.x[i], self.y[i]
    def __len__(self):
        return len(self.x)

net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 5))
model = paddle.Model(net)
opt = paddle.optimizer.Adam(1e-3, parameters=net.parameters())
model.prepare(opt, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
model.fit(Rows("train.npz"), Rows("val.npz"), epochs=20, batch_size=64)
print(model.evaluate(Rows("test.npz")))
"""
STREAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

class Chunks(IterableDataset):
    def __iter__(self):
        held = []
        for line in open("text.txt"):
            held += tokens(line)
            while len(held) > 128:
                part, held = torch.tensor(held[:129]), held[128:]
                yield part[:-1], part[1:]

net = nn.Linear(8, 8)
opt = torch.optim.Adam(net.parameters())
for x, y in DataLoader(Chunks(), batch_size=8):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten()).backward()
    opt.step()
"""
COUNTS = "        hits += (net(x).argmax(1) == y).sum().item()\n        count += len(y)\n"
METRIC = (
    ("import copy", "import copy, torchmetrics\nmetric = torchmetrics.KIND"),
    (COUNTS, "        metric.update(UPDATE)\n"),
    ("    hits = count = 0\n", "    metric.reset()\n"),
    ("    return hits / count", "    return metric.compute().item()"),
)  # fmt: skip


def test_paddles_model_trains_and_scores_held_out_rows_in_evaluation_mode() -> None:
    journal = rehearsal(PADDLE).journal
    assert learns(journal)
    assert {(a.mode, a.graph) for a in journal.of(Asked)} == {(True, True), (False, False)}
    assert not told(text=PADDLE)


def test_a_stream_that_is_not_understood_gives_as_many_parts_as_it_yields() -> None:
    assert learns(rehearsal(STREAM).journal)
    assert not told(text=STREAM)


@pytest.mark.parametrize(
    "kind", ['Accuracy(task="multiclass", num_classes=4)', "classification.MulticlassAccuracy(num_classes=4)"]
)
def test_torchmetrics_come_to_what_they_are_given(kind: str) -> None:
    right = (*METRIC, ("KIND", kind), ("UPDATE", "net(x), y"))
    assert not told(*right)
    wrong = (*METRIC, ("KIND", kind), ("UPDATE", "net(x).flip(1), y"))
    assert "worked-otherwise" in told(*wrong)


def test_a_metric_that_is_not_known_comes_to_nothing() -> None:
    found = (*METRIC, ("KIND", "OwnAccuracy()"), ("UPDATE", "net(x).flip(1), y"))
    assert "worked-otherwise" not in told(*found)
