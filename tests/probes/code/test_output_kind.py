"""What a model ends in, against its loss and the way its answers are scored."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
WRONG = "script-loss-wrong"

NET = """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.head = {HEAD}
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
net = Net().to("cuda")
opt = torch.optim.Adam(net.parameters())
criterion = {LOSS}
for epoch in range(9):
    net.train()
    for x, y in loader:
        out = net(x)
        loss = criterion({OUT}, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in val_loader:
            {SCORE}
"""
COUNT = "hits += ((torch.sigmoid(net(x)) > 0.5) == y).sum()"
ERROR = "error += (net(x) - y).abs().sum()"


def _net(head: str, loss: str, out: str = "out", score: str = COUNT) -> str:
    text = NET.replace("{HEAD}", head).replace("{LOSS}", loss)
    return text.replace("{OUT}", out).replace("{SCORE}", score)


@pytest.mark.parametrize(
    ("head", "loss", "out", "fires"),
    [
        ("nn.Linear(16, 1)", "nn.BCELoss()", "out.squeeze(1)", True),
        ("nn.Sequential(nn.Dropout(), nn.Linear(16, 1))", "F.binary_cross_entropy", "out", True),
        ("nn.Linear(16, 4)", "nn.NLLLoss()", "out", True),
        ("nn.Sequential(nn.Linear(16, 1), nn.Sigmoid())", "nn.BCELoss()", "out.squeeze(1)", False),
        ("nn.Linear(16, 1)", "nn.BCELoss()", "torch.sigmoid(out).squeeze(1)", False),
        ("nn.Linear(16, 4)", "nn.NLLLoss()", "torch.log(out.softmax(1)).view(-1, 4)", False),
        ("nn.Linear(16, 1)", "nn.BCEWithLogitsLoss()", "out.squeeze(1)", False),
    ],
)
def test_raw_outputs_where_chances_are_wanted(head: str, loss: str, out: str, fires: bool) -> None:
    assert (state(WRONG, _net(head, loss, out)) == P) == fires


@pytest.mark.parametrize(
    ("head", "loss", "score", "fires"),
    [
        ("nn.Linear(16, 1)", "nn.CrossEntropyLoss()", COUNT, True),
        ("nn.Conv2d(16, 1, 1)", "F.cross_entropy", COUNT, True),
        ("nn.Linear(16, 1)", "nn.MSELoss()", COUNT, True),
        ("nn.Linear(16, 4)", "nn.MSELoss()", "total += F.cross_entropy(net(x), y)", True),
        ("nn.Linear(16, 1)", "nn.BCEWithLogitsLoss()", ERROR, True),
        ("nn.Linear(16, 1)", "nn.SmoothL1Loss()", ERROR, False),
        ("nn.Linear(16, 4)", "nn.CrossEntropyLoss()", "total += F.cross_entropy(net(x), y)", False),
        ("nn.Linear(16, 1)", "nn.BCEWithLogitsLoss()", COUNT, False),
        (
            "nn.Linear(16, 1)",
            "nn.BCEWithLogitsLoss()",
            "error += (torch.sigmoid(net(x)) - y).abs().sum()",
            False,
        ),
    ],
)
def test_the_loss_of_another_task(head: str, loss: str, score: str, fires: bool) -> None:
    assert (state(WRONG, _net(head, loss, "out.squeeze(1)", score)) == P) == fires


HUGGING = """
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
import numpy as np
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", {TOLD})
def compute_metrics(p):
    return {METRIC}
args = TrainingArguments("out")
trainer = Trainer(model, args, train_dataset=data, compute_metrics=compute_metrics)
trainer.train()
"""
LARGEST = '{"accuracy": (np.argmax(p.predictions, axis=-1) == p.label_ids).mean()}'
MEAN = '{"mae": abs(p.predictions[:, 0] - p.label_ids).mean()}'


@pytest.mark.parametrize(
    ("told", "metric", "fires"),
    [
        ("num_labels=1", LARGEST, True),
        ('num_labels=5, problem_type="regression"', LARGEST, True),
        ("num_labels=5", LARGEST, False),
        ("num_labels=1", MEAN, False),
        ('num_labels=1, problem_type="regression"', MEAN, False),
    ],
)
def test_a_head_of_one_output_scored_as_classes(told: str, metric: str, fires: bool) -> None:
    assert (state(WRONG, HUGGING.replace("{TOLD}", told).replace("{METRIC}", metric)) == P) == fires
