"""What metrics are handed, told by where values come from: lists, returns, closures, callers."""

from __future__ import annotations

import pytest

from .._scripts import state

SKLEARN = """
import numpy as np
import torch
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score
criterion = torch.nn.{loss}()
def figures(y_true, y_prob):
    return {{"map": average_precision_score(y_true, y_prob), "f1": f1_score(y_true, y_prob > {limit})}}
def held_out(loader, model):
    model.eval()
    found, wanted = [], []
    for images, labels in loader:
        labels = labels.to("cuda")
        with torch.no_grad():
            out = model(images)
        criterion(out, labels)
        found.append({answer}.cpu().numpy())
        wanted.append(labels.cpu().numpy())
    return np.concatenate(found), np.vstack(wanted)
def run(model, train_loader, loader):
    for images, labels in train_loader:
        criterion(model(images), labels).backward()
    preds, trues = held_out(loader, model)
    print(figures({handed}))
"""


def scored(
    answer: str = "out.sigmoid()",
    handed: str = "trues, preds",
    loss: str = "BCEWithLogitsLoss",
    limit: str = "0.5",
) -> str:
    return SKLEARN.format(answer=answer, handed=handed, loss=loss, limit=limit)


TRAINER = """
import numpy as np
from sklearn.metrics import log_loss, precision_recall_fscore_support
from transformers import Trainer
def shares(z):
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    return z / z.sum(axis={axis}, keepdims=True)
def make(n):
    def compute_metrics(pair):
        {pair} = pair
        preds = np.argmax(logits, axis=-1)
        p, r, f, _ = precision_recall_fscore_support({order}, average="macro")
        return {{"f1": f, "nll": log_loss(labels, {chances})}}
    return compute_metrics
trainer = Trainer(model=model, compute_metrics=make(3))
trainer.train()
"""


def trained(
    pair: str = "logits, labels",
    order: str = "labels, preds",
    chances: str = "shares(logits)",
    axis: str = "-1",
) -> str:
    return TRAINER.format(pair=pair, order=order, chances=chances, axis=axis)


OBJECTS = """
import torch
from torchmetrics.classification import MulticlassAccuracy
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.acc = MulticlassAccuracy(num_classes=3)
def check(model, loader, criterion):
    acc = MulticlassAccuracy(num_classes=3)
    for x, y in loader:
        out = model(x)
        criterion(out, y)
        acc.update({order})
    return acc.compute()
def run(model, loader, criterion):
    criterion = torch.nn.CrossEntropyLoss()
    for x, y in loader:
        criterion(model(x), y).backward()
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (scored(), False),
        (scored(handed="preds, trues"), True),
        (scored("(out.sigmoid() > 0.5).float()"), True),
        (scored("out"), True),
        (scored("out", limit="0"), False),  # the same rows as 0.5 of the chances
        (scored("out.softmax(1)"), True),
        (scored("out.softmax(1)", loss="CrossEntropyLoss"), False),
        (scored("out.softmax(1)", limit="0.2"), False),
        (trained(), False),
        (trained(pair="labels, logits"), True),
        (trained(order="preds, labels"), True),
        (trained(order="y_true=labels, y_pred=preds"), False),
        (trained(chances="logits"), True),
        (trained(axis="0"), True),
        (trained(axis="1"), False),
        (OBJECTS.format(order="out, y"), False),
        (OBJECTS.format(order="y, out"), True),
        ("import torch\nx = 1\n", False),
    ],
)
def test_kinds_of_what_is_scored(text: str, told: bool) -> None:
    """Each slip beside the right way and beside what only looks like it."""
    assert (state("script-metric-miscounts", text) == "present") is told
