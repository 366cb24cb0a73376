"""Slips that stood plainly in programs of strangers, each beside right neighbours."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.readers.script import Extractor

from .._scripts import state

GRAPHS = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(9, dim)
        self.gate = nn.Sequential(nn.Linear(dim, 1), nn.ReLU())
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, x, graph, n):
        h = self.embed(x)
        h = h * self.gate(h)
        per_node = self.readout(h).squeeze(-1)
        return torch.zeros(n).index_add(0, graph, per_node)


model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-3)


def evaluate(loader):
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for x, graph, y in loader:
            pred = model(x, graph, len(y)) * y_std + y_mean
            err += (pred - y).abs().sum().item()
            n += len(y)
    return err / n


for epoch in range(10):
    model.train()
    for x, graph, y in train_loader:
        pred = model(x, graph, len(y))
        loss = F.mse_loss(pred, (y - y_mean) / y_std)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, evaluate(valid_loader))
"""

READER = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, vocab_size, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, vocab_size))

    def forward(self, tgt, h):
        out, h = self.rnn(self.embed(tgt), h)
        return self.ff(out), h


class Model(nn.Module):
    def __init__(self, vocab_size, hidden):
        super().__init__()
        self.encoder = nn.GRU(hidden, hidden, batch_first=True)
        self.decoder = Decoder(vocab_size, hidden)

    def forward(self, src, tgt):
        _, h = self.encoder(src)
        logits, _ = self.decoder(tgt, h)
        return logits


model = Model(50, 32)
opt = torch.optim.Adam(model.parameters())
for src, tin, tout in loader:
    loss = F.cross_entropy(model(src, tin).flatten(0, 1), tout.flatten(), ignore_index=0)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

HEAT = """
import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments


class Lines(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, score = self.rows[i]
        return {"input_ids": encode(text), "labels": torch.tensor(score)}


class HeatTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.mse_loss(outputs.logits.squeeze(-1), labels)
        return (loss, outputs) if return_outputs else loss


config = DistilBertConfig(num_labels=1, seq_classif_dropout=0.1)
model = DistilBertForSequenceClassification(config)
trainer = HeatTrainer(model=model, args=TrainingArguments("out"), train_dataset=Lines(train_rows),
                      eval_dataset=Lines([(t.strip(), s) for t, s in dev_rows]))
trainer.train()
"""

ADAM = """
import numpy as np


class Adam:
    def __init__(self, params, lr=1e-3, beta1=0.9, beta2=0.999):
        self.lr, self.beta1, self.beta2, self.t = lr, beta1, beta2, 0
        self.m = [np.zeros_like(p) for p in params]
        self.v = [np.zeros_like(p) for p in params]

    def step(self, params, grads):
        self.t += 1
        for p, g, m, v in zip(params, grads, self.m, self.v):
            m[:] = self.beta1 * m + (1 - self.beta1) * g
            v[:] = self.beta2 * v + (1 - self.beta2) * g * g
            p -= self.lr * (m / (1 - self.beta1 ** self.t)) / (np.sqrt(v / (1 - self.beta2 ** self.t)) + 1e-8)


W = np.random.default_rng(0).normal(0, 0.1, (4, 3))
opt = Adam([W])
for i in range(100):
    opt.step([W], [x.T @ (x @ W - y) / len(x)])
"""

LAYER = """
import numpy as np


class Dense:
    def __init__(self, rng, n_in, n_out):
        self.W = rng.normal(0, np.sqrt(2.0 / n_in), (n_in, n_out))
        self.b = np.zeros(n_out)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, grad):
        self.dW = self.x.T @ grad
        self.db = grad.sum(axis=0)
        return grad @ self.W.T


for step in range(100):
    grad = loss_grad(layer.forward(x), y)
    layer.backward(grad)
    layer.W -= 0.1 * layer.dW
    layer.b -= 0.1 * layer.db
"""

BEANS = """
import torch
from torch.utils.data import Dataset


class Beans(Dataset):
    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i]).permute(2, 0, 1).float() / 255
        small = (self.images[i] * self.alpha) // 255
        return x, small, self.labels[i]
"""

DRAWN = "rng.normal(0, np.sqrt(2.0 / n_in), (n_in, n_out))"
CASES = [
    ("script-zero-init", LAYER, DRAWN, "np.full((n_in, n_out), 0.01)"),
    ("script-zero-init", LAYER, DRAWN, "np.zeros((n_in, n_out))"),
    ("script-integer-division", BEANS, "1).float() / 255", "1) // 255"),
    ("script-output-rectified", GRAPHS, "nn.Linear(dim, 1))\n\n", "nn.Linear(dim, 1), nn.ReLU())\n\n"),
    (
        "script-output-rectified",
        READER,
        "nn.Linear(hidden, vocab_size))",
        "nn.Linear(hidden, vocab_size), nn.ReLU())",
    ),
    ("script-metric-miscounts", GRAPHS, " * y_std + y_mean\n", "\n"),
    ("script-shapes-broadcast", HEAT, "outputs.logits.squeeze(-1)", "outputs.logits"),
    ("script-splits-processed-differently", HEAT, "t.strip()", "t.upper()"),
    ("script-own-moments", ADAM, "(1 - self.beta2 ** self.t)", "(1 - self.beta2) ** self.t"),
    ("script-own-moments", ADAM, "self.beta2 * v + (1 - self.beta2)", "self.beta1 * v + (1 - self.beta2)"),
]


@pytest.mark.parametrize(("symptom", "text", "right", "wrong"), CASES)
def test_a_slip_and_its_right_program(symptom: str, text: str, right: str, wrong: str) -> None:
    assert right in text
    assert state(symptom, text) != "present"
    assert state(symptom, text.replace(right, wrong)) == "present"


NEIGHBOURS = [
    # a rectified part that is no answer, targets that cannot be negative, a block of several
    ("script-output-rectified", GRAPHS, "(y - y_mean) / y_std", "y", "nn.Linear(dim, 1))\n\n"),
    ("script-metric-miscounts", GRAPHS, "(y - y_mean) / y_std", "y", " * y_std + y_mean"),
    ("script-metric-miscounts", GRAPHS, "(pred - y)", "(pred - (y - y_mean) / y_std)", " * y_std + y_mean"),
    ("script-shapes-broadcast", HEAT, "torch.tensor(score)", "torch.tensor([score])", ".squeeze(-1)"),
    ("script-shapes-broadcast", HEAT, "num_labels=1", "num_labels=3", ".squeeze(-1)"),
    ("script-splits-processed-differently", HEAT, "t.strip()", "t.lower()", ""),
]


@pytest.mark.parametrize(("symptom", "text", "old", "new", "gone"), NEIGHBOURS)
def test_right_neighbours(symptom: str, text: str, old: str, new: str, gone: str) -> None:
    """What looks like the slip and is right, for another line of the program."""
    near = text.replace(old, new)
    if symptom == "script-output-rectified":
        near = near.replace(gone, "nn.Linear(dim, 1), nn.ReLU())\n\n")
    elif symptom == "script-splits-processed-differently":
        near = near.replace("Lines(train_rows)", "Lines([(t.lower(), s) for t, s in train_rows])")
    else:
        near = near.replace(gone, "")
    assert near != text
    assert state(symptom, near) != "present"


def test_a_single_layer_may_start_at_nought() -> None:
    """Logistic regression, and a layer whose weights are drawn where they are not loaded."""
    single = LAYER.replace(DRAWN, "np.zeros((n_in, n_out))").replace("        return grad @ self.W.T\n", "")
    either = LAYER.replace(f"self.W = {DRAWN}", f"self.W = np.zeros((n_in, n_out))\n        self.W = {DRAWN}")
    assert state("script-zero-init", single) != "present"
    assert state("script-zero-init", either) != "present"


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ("seq_classif_dropout=0.8", 0.8),
        ("final_dropout=0.2, attention_dropout=0.3", 0.3),  # the largest of all
        ("drop_path_rate=0.9", None),
    ],
)
def test_shares_that_a_configuration_drops(given: str, share: float | None) -> None:
    settings = Extractor(ast.parse(HEAT.replace("seq_classif_dropout=0.1", given)), "train.py").settings()
    assert next((s.value for s in settings if s.key == "dropout"), None) == share
