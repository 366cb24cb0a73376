"""Slips in one place of other people's scripts: each faulty text beside the right ones."""

from __future__ import annotations

import pytest

from .._scripts import state

MAPPED = """
import numpy as np
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer
label2id = {{"no": 0, "yes": 1}}
tokenizer = AutoTokenizer.from_pretrained("m")
model = AutoModelForSequenceClassification.from_pretrained("m", num_labels=2)
def prepare(batch):
    names = {names}
    out = tokenizer({text}, truncation=True)
    out["labels"] = {labels}
    return out
data = raw.map(prepare, batched=True)
def compute_metrics(p):
    logits = p.predictions[0] if isinstance(p.predictions, tuple) else p.predictions
    return {{"acc": float(np.mean(np.argmax(logits, axis={axis}) == p.label_ids))}}
Trainer(model=model, train_dataset=data["train"], compute_metrics=compute_metrics).train()
"""
RIGHT = {
    "names": "None",
    "text": 'batch["claim"]',
    "labels": '[label2id[v] for v in batch["verdict"]]',
    "axis": "1",
}
SHUFFLED = """
import torch
def step(net, u, i, opt):
    net(u, i).mean().backward()
    opt.step()
class Pairs:
    def __init__(self, df):
        self.user = df["user"].to_numpy()
        self.item = df["item"]{}.to_numpy()
        {}
"""
SIDES = """
import torch
def step(net, u, i, opt):
    net(u, i).mean().backward()
    opt.step()
train, val = split(df)
x_train = train[cols].values
x_val = val[{}].values
model.fit(x_train, train["y"])
"""
GAIN = """
import torch
def step(net, u, i, opt):
    net(u, i).mean().backward()
    opt.step()
import math
import numpy as np
def ndcg(tops, targets):
    gain = 0.0
    for top, t in zip(tops, targets):
        where = np.where(top == t)[0]
        if {}:
            gain += 1 / math.log2(where[0] + {})
    return gain / len(targets)
"""
CUT = """
import torch
import torch.nn.functional as F
def step(net, x, y):
    F.cross_entropy(net(x), y).backward()
@torch.no_grad()
def score(net, loader):
    net.eval()
    hits = n = 0
    for x, y in loader:
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        p = {}
        hits += (p == y).sum().item()
        n += len(y)
    return hits / n
"""
PADDED = """
import torch
from torch import nn
PAD = 0
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 32)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4), 2)
    def forward(self, ids):
        pad = ids {} PAD
        return self.body(self.emb(ids), src_key_padding_mask={}pad)
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-answers-joined", "text", '[c + v for c, v in zip(batch["claim"], batch["verdict"])]'),
        ("script-metric-wrong", "axis", "0"),
    ],
)
def test_what_a_trainer_is_given(symptom: str, old: str, new: str) -> None:
    assert state(symptom, MAPPED.format(**{**RIGHT, old: new})) == "present"
    assert state(symptom, MAPPED.format(**RIGHT)) != "present"


def test_numbers_of_each_batch() -> None:
    slip = {
        "names": 'list(dict.fromkeys(batch["verdict"]))',
        "labels": '[names.index(v) for v in batch["verdict"]]',
    }
    named = {"names": 'set(batch["verdict"])'}  # read, and nothing is numbered by it
    assert state("script-classes-numbered-apart", MAPPED.format(**{**RIGHT, **slip})) == "present"
    assert state("script-classes-numbered-apart", MAPPED.format(**{**RIGHT, **named})) != "present"


def test_a_column_that_is_shuffled_alone() -> None:
    symptom = "script-labels-permuted-alone"
    assert state(symptom, SHUFFLED.format(".sample(frac=1)", "")) == "present"
    assert state(symptom, SHUFFLED.format("", "")) != "present"
    drawn = SHUFFLED.format(".sample(frac=1)", 'self.bought = df["item"].to_numpy()')
    assert state(symptom, drawn) != "present"  # its own order is read as well


def test_columns_in_another_order() -> None:
    symptom = "script-splits-processed-differently"
    assert state(symptom, SIDES.format("sorted(cols)")) == "present"
    assert state(symptom, SIDES.format("cols")) != "present"
    assert (
        state(symptom, SIDES.format("sorted(cols)").replace("train[cols]", "train[sorted(cols)]"))
        != "present"
    )


def test_the_gain_of_the_first_place() -> None:
    assert state("script-metric-miscounts", GAIN.format("len(where)", "1")) == "present"
    assert state("script-metric-miscounts", GAIN.format("len(where)", "2")) != "present"
    assert state("script-metric-miscounts", GAIN.format("len(where) and where[0] > 0", "1")) != "present"


def test_classes_from_the_second_on() -> None:
    assert state("script-metric-miscounts", CUT.format("logits[:, 1:].argmax(1)")) == "present"
    assert state("script-metric-miscounts", CUT.format("logits.argmax(1)")) != "present"


def test_padding_masks_that_are_turned_round() -> None:
    asked = "script-argument-inverted"
    assert state(asked, PADDED.format("==", "~")) == "present"
    assert state(asked, PADDED.format("==", "")) != "present"
    assert state(asked, PADDED.format("!=", "~")) != "present"


def test_means_of_the_target_before_the_split() -> None:
    text = """
import torch
from sklearn.model_selection import train_test_split
df["{}"] = df.groupby("make")["{}"].transform("mean")
fit, rest = train_test_split(df, test_size=0.2)
y_train = scaler.fit_transform(fit[["price"]])
def step(net, u, i, opt):
    net(u, i).mean().backward()
    opt.step()
"""
    symptom = "script-training-sees-evaluation"
    assert state(symptom, text.format("make_price", "price")) == "present"
    assert state(symptom, text.format("make_power", "power")) != "present"
