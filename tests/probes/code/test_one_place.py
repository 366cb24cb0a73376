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


def test_the_label_in_the_text_of_a_collated_batch() -> None:
    text = """
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from torch.utils.data import DataLoader
tok = AutoTokenizer.from_pretrained("m")
model = AutoModelForSequenceClassification.from_pretrained("m", num_labels=2)
def collate(rows):
    enc = tok([{}r["text"] for r in rows], padding=True)
    enc["labels"] = [r["kind"] for r in rows]
    return enc
for batch in DataLoader(data, 8, collate_fn=collate):
    model(**batch).loss.backward()
    opt.step()
"""
    assert state("script-answers-joined", text.format('names[r["kind"]] + ')) == "present"
    assert state("script-answers-joined", text.format('r["title"] + ')) != "present"


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


DOUBLED = """
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
df = pd.read_csv("loans.csv")
{}
fit, rest = train_test_split(df, test_size=0.2)
def step(net, u, i, opt):
    net(u, i).mean().backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("df = pd.concat([df, df[df.bad == 1]])", True),
        ("df = df.sample(n=9000, replace=True)", True),
        ("rare = df[df.bad == 1]\ndf = pd.concat([df, rare.sample(frac=1)])", True),
        ("df = pd.concat([df, pd.read_csv('more.csv')])", False),
        ("df = pd.concat([df, pd.get_dummies(df['town'])], axis=1)", False),
        ("more = pd.concat([df, df[df.bad == 1]])", False),  # and nothing is cut of it
    ],
)
def test_rows_that_stand_twice_before_the_split(line: str, found: bool) -> None:
    assert (state("script-training-sees-evaluation", DOUBLED.format(line)) == "present") is found


@pytest.mark.parametrize(("outer", "inner", "found"), [("+= 1", "pass", True), ("+= 0", "count += 1", False)])
def test_rows_over_batches(outer: str, inner: str, found: bool) -> None:
    text = f"""
import torch
def step(net, u, i, opt):
    net(u, i).mean().backward()
    opt.step()
@torch.no_grad()
def rate(net, held, k=10):
    net.eval()
    hits = count = 0
    for start in range(0, len(held), 512):
        top = net(held[start : start + 512]).topk(k).indices
        for row, t in enumerate(held.target[start : start + 512]):
            if t in top[row]:
                hits += 1
            {inner}
        count {outer}
    return hits / count
"""
    assert (state("script-metric-miscounts", text) == "present") is found


@pytest.mark.parametrize(("shuffle", "found"), [("ds = ds.shuffle(1000)", True), ("pass", False)])
def test_a_pipeline_that_shuffles_what_is_predicted(shuffle: str, found: bool) -> None:
    text = f"""
import numpy as np
import tensorflow as tf
def pipeline(table):
    ds = tf.data.Dataset.from_tensor_slices((table["x"], table["y"]))
    {shuffle}
    return ds.batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
model.compile("adam", "mse")
test_ds = pipeline(test)
model.fit(pipeline(train), epochs=3)
said = np.argmax(model.predict(test_ds), axis=1)
truth = test["y"].to_numpy()
print(np.mean(said == truth))
"""
    assert (state("script-metric-miscounts", text) == "present") is found


def test_parts_that_are_told_by_a_part_of_each_name() -> None:
    text = """
import torch
items = pairs("photos")
days = sorted({p.stem[:8] for p in items})
train_items = [p for p in items if p.stem[:8] not in days[-2:]]
val_items = [p for p in items if p.stem[:8] in held_days]
def step(net, u, i, opt):
    net(u, i).mean().backward()
    opt.step()
"""
    assert state("script-training-sees-evaluation", text) != "present"
    both = text.replace("[p for p in items if p.stem[:8] not in days[-2:]]", "items[:80]")
    both = both.replace("[p for p in items if p.stem[:8] in held_days]", "items[:20]")
    assert state("script-training-sees-evaluation", both) == "present"
