"""Losses of pairs, nodes parted by masks, and shares over positions without a label: wrong beside right."""

from __future__ import annotations

import pytest

from .._scripts import state

PAIRS = """
import torch.nn.functional as F
def score(u, i):
    return (users(u) * items(i)).sum(-1)
opt = torch.optim.Adam([*users.parameters(), *items.parameters()])
for u, i, j in loader:
    {}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("pos, neg = score(u, i), score(u, j)\n    loss = -F.logsigmoid(neg - pos).mean()", True),
        ("loss = F.softplus(pos_scores - neg_scores).mean()", True),
        ("margin = rejected - chosen\n    loss = -F.logsigmoid(0.1 * margin).mean()", True),
        ("loss = torch.mean(-F.logsigmoid(rejected - chosen)) + reg", True),
        ("pos, neg = score(u, i), score(u, j)\n    loss = -F.logsigmoid(pos - neg).mean()", False),
        ("loss = F.softplus(neg_scores - pos_scores).mean()", False),
        ("loss = -F.logsigmoid(chosen - rejected).mean()", False),
        ("loss = -F.logsigmoid(neg_dist - pos_dist).mean()", False),  # the near one is preferred
        ("loss = F.softplus(pos_distance - neg_distance).mean()", False),
        ("loss = -F.logsigmoid(a - b).mean()", False),
    ],
)
def test_pairs(lines: str, wrong: bool) -> None:
    assert (state("script-loss-negated", PAIRS.format(lines)) == "present") is wrong


NODES = """
import torch
import torch.nn.functional as F
from torch_geometric.datasets import Planetoid
{}
data = Planetoid("data", "Cora")[0]
net = Net()
opt = torch.optim.Adam(net.parameters(), 0.005)
def learn():
    net.train()
    opt.zero_grad()
    out = net(data.x, data.edge_index)
    loss = {}
    loss.backward()
    opt.step()
def check():
    net.eval()
    with torch.no_grad():
        out = net(data.x, data.edge_index).argmax(1)
    masks = data.train_mask, data.val_mask, data.test_mask
    return [float((out[m] == data.y[m]).float().mean()) for m in masks]
for e in range(200):
    learn()
    print(check())
"""
SEES = "script-training-sees-evaluation"


@pytest.mark.parametrize(
    ("top", "loss", "wrong"),
    [
        ("", "F.cross_entropy(out, data.y)", True),
        ("", "F.nll_loss(out[~data.test_mask], data.y[~data.test_mask])", True),
        ("", "F.cross_entropy(out[data.train_mask], data.y[data.train_mask])", False),
        ("", "F.cross_entropy(out[idx_train], data.y[idx_train])", False),
        ("", "F.mse_loss(out, data.x)", False),  # nothing of the answers
        ("from torch_geometric.loader import NeighborLoader", "F.cross_entropy(out, data.y)", False),
    ],
)
def test_nodes(top: str, loss: str, wrong: bool) -> None:
    assert (state(SEES, NODES.format(top, loss)) == "present") is wrong


TAGS = """
from transformers import AutoModelForTokenClassification, DataCollatorForTokenClassification, Trainer
def compute_metrics(p):
    logits, gold = p
    guess = logits.argmax(-1)
    keep = gold != -100
    {}
joins = DataCollatorForTokenClassification(t)
trainer = Trainer(model=model, compute_metrics=compute_metrics, data_collator=joins)
"""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("return {'f1': f1(guess[keep], gold[keep]), 'acc': (guess == gold).mean()}", True),
        ("return {'acc': np.mean(guess == gold), 'n': keep.sum()}", True),
        ("return {'acc': (guess == gold)[keep].mean()}", False),
        ("return {'acc': (guess[keep] == gold[keep]).mean()}", False),
        ("gold = gold[keep]\n    guess = guess[keep]\n    return {'acc': (guess == gold).mean()}", False),
        ("return {'acc': ((guess == gold) & keep).sum() / keep.sum()}", False),
    ],
)
def test_shares_of_tokens(lines: str, wrong: bool) -> None:
    assert (state("script-metric-miscounts", TAGS.replace("{}", lines)) == "present") is wrong


SINGLE = """
import tensorflow as tf
model = tf.keras.models.load_model("best.keras")
for path in files:
    x = load(path)
    {}
"""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("print(tf.nn.softmax(model(x[None], training=True))[0])", True),
        ("print(tf.argmax(model(x[None], training=True), -1))", True),
        ("print(tf.argmax(model(x[None], training=False), -1))", False),
        ("votes = [tf.nn.softmax(model(x[None], training=True)) for _ in range(20)]", False),  # how it varies
    ],
)
def test_single_answers(lines: str, wrong: bool) -> None:
    assert (state("script-mode-fixed", SINGLE.format(lines)) == "present") is wrong
