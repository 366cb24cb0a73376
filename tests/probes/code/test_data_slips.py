"""Slips of data, labels and evaluation: each faulty text beside the right one."""

from __future__ import annotations

import pytest

from .._scripts import state

RANKS = """
import torch
K = 10
def ranks(model, rows, seen):
    scores = model.all(rows.user)
    mine = scores.gather(1, rows.item[:, None])
    scores[{}seen[rows.user]] = -torch.inf
    return (scores {} mine).sum(1)
def report(r):
    return (r < K).float().mean(), (1 / torch.log2(r + {})).mean()
print(report(ranks(model, rows, seen)))
"""
ALIKE = """
import numpy as np
def cmc(q, g, qp, gp):
    near = {}
    order = np.argsort(near[0])
    hit = (gp == qp)[order]
    return hit[:10].any()
"""
AP = """
import numpy as np
def average_precision(dets, truths, total):
    dets = sorted(dets, key=lambda d: {})
    used = {{k: np.zeros(len(v), bool) for k, v in truths.items()}}
    tp = np.zeros(len(dets))
    for i, (img, s, box) in enumerate(dets):
        ious = box_iou(box[None], truths[img])[0]
        j = int(ious.argmax())
        if ious[j] >= 0.5{}:
            tp[i] = 1
            used[img][j] = True
    cum = np.cumsum(tp)
    return np.sum(cum / np.arange(1, len(dets) + 1) / total)
"""
FILTERED = """
import numpy as np
def compute_metrics(p):
    preds, labels = np.argmax(p[0], -1), p[1]
    said = [[names[a] for a, b in zip(x, y) if {} != -100] for x, y in zip(preds, labels)]
    true = [[names[b] for a, b in zip(x, y) if b != -100] for x, y in zip(preds, labels)]
    return seqeval.compute(predictions=said, references=true)
"""
ORDER = """
import torch
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader
def infer(net, loader):
    net.eval()
    res = []
    with torch.no_grad():
        for batch in loader:
            res.append(net(batch[0]))
    return torch.cat(res)
dl_va = DataLoader(pack(va), batch_size=64{})
for epoch in range(9):
    for x, y in dl_tr:
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
    p = infer(net, dl_va)
    print(roc_auc_score(va["claim"], p))
"""
UNITS = """
import numpy as np
truth = np.concatenate([y for _, y in test]) * y_std + y_mean
pred = model.predict(test){}
print("mae", np.abs(pred - truth).mean())
"""
FOLDS = """
import torch
for fold, (a, b) in enumerate(folds.split(x)):
    net = Net()
    for epoch in range(9):
        score = run(net, a, b)
        if score > best:
            best = score
            torch.save(net.state_dict(), f"f{{fold}}.pth")
    net.load_state_dict(torch.load({}))
    print(run(net, b))
"""
HOOK = """
import lightning as L
from torch.utils.data import DataLoader
class Data(L.LightningDataModule):
    def setup(self, stage=None):
        self.train_set = Clips("train.csv")
        self.val_set = Clips("val.csv")
    def train_dataloader(self):
        return DataLoader(self.train_set, 32, shuffle=True)
    def val_dataloader(self):
        return DataLoader({}, 32)
"""
NEGATIVES = """
import random
def sample(user):
    seq = train[user]
    had = set(seq)
    negs = []
    for item in seq:
        t = random.randint(1, n_items)
        while t {} had:
            t = random.randint(1, n_items)
        negs.append(t)
    return seq, negs
"""
READER = """
import json
def read(path):
    rows = [json.loads(line) for line in open(path)]
    names = {}
    return [r["text"] for r in rows], [names.index(r["label"]) for r in rows]
train_x, train_y = read("train.jsonl")
test_x, test_y = read("test.jsonl")
"""
WORDS = """
from collections import Counter
PAD, UNK = 0, 1
def build_vocab(texts):
    count = Counter(w for t in texts for w in t)
    return {{w: i{} for i, (w, _) in enumerate(count.most_common(9000))}}
vocab = build_vocab(texts)
ids = [vocab.get(w, UNK) for w in words]
"""
POOLED = """
import torch
from torch import nn
PAD = 0
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(99, 8, padding_idx=PAD)
        self.rnn = nn.LSTM(8, 8, batch_first=True)
        self.fc = nn.Linear(8, 3)
    def forward(self, ids, lengths):
        h, _ = self.rnn(self.emb(ids))
        {}
        return self.fc(pooled)
"""
_MEAN = """m = (ids {} PAD).float().unsqueeze(-1)
        print(lengths)
        pooled = (h * m).sum(1) / m.sum(1)"""
MASKS = """
import torch, torchaudio
from torch import nn
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.spec_aug = nn.Sequential(torchaudio.transforms.FrequencyMasking(24))
        self.body = nn.Linear(8, 8)
    def forward(self, x):
        {}
        return self.body(x)
"""
PIXELS = """
from torchvision import transforms
A, B = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize({})])
"""
MIXED = """
import numpy as np, torch
def training_step(model, batch):
    x, y = batch
    lam = float(np.random.beta(0.3, 0.3))
    perm = torch.randperm(x.size(0))
    x = lam * x + (1 - lam) * x[perm]
    {}
    loss = model.loss(model(x), y)
    return loss
"""
PIPE = """
import tensorflow as tf
from tensorflow import keras
def make(x, y, training):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    {}
    return ds.batch(32).prefetch(2)
model.compile("adam", "mse")
model.fit(make(xa, ya, True), validation_data=make(xb, yb, False), epochs=20)
"""
AHEAD = """
import pandas as pd
COLS = ["load", "temp"]
df = pd.read_csv("a.csv")
df["load_ago"] = df["load"].shift({})
cols = COLS + ["load_ago"]
x = ((df[cols] - mu) / sd).to_numpy()
y = ((df["load"] - m) / s).to_numpy()
"""

PLACES = """
import numpy as np
def augment(image, label, rng):
    for axis in range(3):
        if rng.random() < 0.5:
            image = np.flip(image, axis)
            {}
    k = int(rng.integers(4))
    image, label = np.rot90(image, k, (0, 1)), np.rot90(label, k, {})
    return image, label
"""
BOXES = """
import random
def load(e, img, boxes):
    if random.random() < 0.5:
        img = img[:, ::-1]
        boxes[:, [0, 2]] = W - boxes[:, {}]
    return img, boxes, min(int(e), 3)
"""
HOT = """
import torch.nn.functional as F
def dice_loss(logits, target):
    prob = logits.softmax(dim={})
    hot = F.one_hot(target, logits.shape[1]).permute({}).float()
    return 1 - 2 * (prob * hot).sum() / (prob.sum() + hot.sum())
loss = dice_loss(net(x), y)
loss.backward()
"""
NAMES = """
names = sorted(tags)
names.remove("O")
names = ["O"] + names
label2id = {{n: i for i, n in enumerate(names)}}
id2label = dict(enumerate({}))
"""
MEANS = """
import pandas as pd
from sklearn.metrics import roc_auc_score
for tri, vai in kf.split(train, train["claim"]):
    tr, va = train.iloc[tri].copy(), train.iloc[vai].copy()
    enc = {}.groupby("agent")["claim"].mean()
    va["te"] = va["agent"].map(enc)
    {}
    print(roc_auc_score(va["claim"], run(tr, va)))
"""
READ = """
import json
def read(path, lower=True):
    texts = [json.loads(line)["text"] for line in open(path)]
    return [t.lower() if lower else t for t in texts]
train_x = read("train.jsonl")
test_x = read("test.jsonl"{})
"""
KEY = """
import random
def patient_of(path):
    return path.stem.split("_")[0]
random.shuffle(cases)
train, val = {}
"""
BY_KEY = "[c for c in cases if patient_of(c) not in held], [c for c in cases if patient_of(c) in held]"
LABELS = """
import torch
from torchmetrics.classification import MultilabelF1Score, MultilabelAveragePrecision
class Tagger:
    def __init__(self):
        self.loss = torch.nn.BCEWithLogitsLoss()
        self.f1 = MultilabelF1Score(num_labels=9)
        self.ap = MultilabelAveragePrecision(num_labels=9)
    def validation_step(self, batch, i):
        x, y = batch
        p = self(x).{}
        self.f1.update(p, y)
        {}
"""
ONE_LOG = 'self.log("val_ap", self.ap(p, y){})'
LOOKED = """
def evaluate(net, cases):
    return [score(net(c)) for c in cases]
train_cases, val_cases = split(cases)
print(len(train_cases), len(val_cases))
dice = evaluate(net, {}_cases[:20])
"""
STOPS = """
from tensorflow import keras
model.fit(x, y, epochs=40, callbacks=[keras.callbacks.EarlyStopping("val_loss", patience={})])
"""
ROOTS = """
import numpy as np
rmse = {}
print(rmse)
"""
EMA = """
import copy, torch, torchvision
class Ema:
    def __init__(self, net, decay):
        self.model = copy.deepcopy(net).eval()
        self.decay = decay
    def update(self, net):
        for a, b in zip({}, {}):
            a.mul_({}).add_(b, alpha={})
model = torchvision.models.resnet50()
norm = torch.nn.BatchNorm1d(4)
ema = Ema(model, decay)
model.train()
ema.update(model)
"""
PARAMETERS = ("self.model.parameters()", "net.parameters()")
STATES = ("self.model.state_dict().values()", "net.state_dict().values()")
SHARES = """
import numpy as np, torch
share = np.bincount(y) / len(y)
crit = torch.nn.CrossEntropyLoss(weight=torch.tensor({}))
"""
MASKED = """
for x, y, mask in loader:
    x, y, mask = x.to(dev), y.to(dev), mask.to(dev)
    m = mask[:, None]
    loss = {}
    loss.backward()
    opt.step()
"""
CONCAT = """
import pandas as pd
from sklearn.preprocessing import StandardScaler
tr, va = table.iloc[a], table.iloc[b]
scaler = StandardScaler().fit({})
x, z = scaler.transform(tr[num]), scaler.transform(va[num])
"""
CHANCE = """
import numpy as np, pandas as pd, tensorflow as tf
df = pd.read_csv("a.csv", parse_dates=["time"])
mask = {}
train = df[mask < 0.7]
val = df[mask >= 0.7]
ds = tf.data.Dataset.from_tensor_slices(train).window(24, shift=1)
"""
COLUMNS = """
cols = ["load", "temp"]
mu, sd = train[cols].to_numpy().mean({0}), train[cols].to_numpy().std({0})
x = ((train[cols] - mu) / sd).to_numpy()
"""
IDS = """
items = {{m: i for i, m in enumerate(sorted(log.item.unique()))}}
users = {{m: i for i, m in enumerate(sorted(log.user.unique()))}}
log["i"] = log.item.map(items)
log["u"] = log.user.map(users)
U, I = log.u.values, log.{}.values
"""
GAIN = """
def augment(image, label, rng):
    gain = rng.uniform(0.9, 1.1)
    image, label = image * gain, {}
    return image, label
"""
RETRIEVAL = """
train, val, query, gallery = loaders(cfg)
for epoch in range(9):
    for x, y in train:
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
    m = {}
    if m > best:
        best = m
        torch.save(net.state_dict(), "best.pt")
print(rate(extract(net, query), extract(net, gallery)))
"""
BATCHES = """
def evaluate(net, loader):
    net.eval()
    hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(1) == y).sum().item()
            n += {}
    return hits / n
"""
KEEPS = """
import tensorflow as tf
class Share(tf.keras.metrics.Metric):
    def __init__(self):
        super().__init__()
        self.hits = self.add_weight(name="hits")
    def update_state(self, y, p, sample_weight=None):
        self.hits.{}(tf.reduce_sum(y * p))
    def result(self):
        return self.hits
"""
MEMORY = """
import copy
best, kept = 0.0, None
for epoch in range(9):
    for x, y in train:
        opt.zero_grad()
        crit(net(x), y).backward()
        opt.step()
    score = evaluate(net, valid)
    if score > best:
        best = score
        kept = copy.deepcopy(net.state_dict())
{}
print(evaluate(net, test))
"""
TRAINER = """
import numpy as np
from transformers import AutoModelForSequenceClassification, Trainer
def metrics(p, thr=0.5):
    {}
    return {{"f1": f1_score(p.label_ids, hat, average="micro")}}
model = AutoModelForSequenceClassification.from_pretrained(c, problem_type="multi_label_classification")
trainer = Trainer(model, args, compute_metrics=metrics)
trainer.train()
"""
SIGMOID = "hat = 1 / (1 + np.exp(-p.predictions)) >= thr"
SOFTMAX = "e = np.exp(p.predictions)\n    hat = e / e.sum(1, keepdims=True) >= thr"
LEAVE = "train, valid, test = {}, {}, {}\nfor u, seq in s.items():\n    train[u], valid[u], test[u] = "
UNIT = """
def evaluate(net, loader):
    for x, y in loader:
        p = {}
        err = err + (p - y).abs().sum()
    return err
for x, y in train:
    loss = mae(scale.back(net(x)), y)
    loss.backward()
    opt.step()
"""
PAIRS = """
import numpy as np, torch.nn as nn, torch.nn.functional as F
item = nn.Embedding(n + 1, 64, padding_idx=0)
def sample(seq):
    pos = np.zeros(maxlen, int)
    pos[-len(seq):] = seq
    return pos
for pos, neg in batches:
    p, q = net(pos, neg)
    {}
    loss.backward()
    opt.step()
"""
REAL = (
    "real = (pos {} 0).float()\n    loss = -((F.logsigmoid(p) + F.logsigmoid(-q)) * real).sum() / real.sum()"
)
SERIES = """
xs, ys = [], []
for t in range(n, len(s)):
    xs.append(s[t - n:t])
    ys.append(s[{}])
"""
KEYS = """
loaders = {{k: make(k) for k in ("train", "val", "test")}}
best = 9.0
for epoch in range(9):
    for x, y in loaders["train"]:
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
    m = run(net, loaders["{}"])
    if m < best:
        best = m
        torch.save(net.state_dict(), "a.pt")
print(run(net, loaders["test"]))
"""
AREA = """
from sklearn.metrics import roc_auc_score
hat = (prob >= 0.5).astype(int)
print(roc_auc_score(y[:, seen], {}[:, seen]))
"""
GATHERED = """
def measure(loader):
    said, true = [], []
    with torch.no_grad():
        for x, y in loader:
            said.append(net(x))
            true.append(y)
    said = torch.cat(said){}
    true = torch.cat(true) * sigma + mu
    return (said - true).abs().mean()
"""
FLIPPED = "label = np.flip(label, axis)"
# without a step of training a text is no training script
TRAINS = """
import torch
for x, y in train_loader:
    opt.zero_grad()
    crit(net(x), y).backward()
    opt.step()
"""
CASES = [
    ("script-metric-miscounts", RANKS.format("", "<", 2), RANKS.format("", ">", 2)),
    ("script-metric-miscounts", RANKS.format("~", ">", 2), RANKS.format("", ">", 2)),
    ("script-metric-miscounts", RANKS.format("", ">", 1), RANKS.format("", ">", 2)),
    ("script-metric-miscounts", ALIKE.format("q @ g.T"), ALIKE.format("1 - q @ g.T")),
    (
        "script-metric-miscounts",
        AP.format("d[1]", " and not used[img][j]"),
        AP.format("-d[1]", " and not used[img][j]"),
    ),
    ("script-metric-miscounts", AP.format("-d[1]", ""), AP.format("-d[1]", " and not used[img][j]")),
    ("script-metric-miscounts", FILTERED.format("a"), FILTERED.format("b")),
    ("script-metric-miscounts", ORDER.format(", shuffle=True"), ORDER.format("")),
    ("script-metric-miscounts", UNITS.format(""), UNITS.format(" * y_std + y_mean")),
    ("script-best-chosen-wrongly", FOLDS.format('"f0.pth"'), FOLDS.format('f"f{fold}.pth"')),
    ("script-best-chosen-wrongly", FOLDS.format('"f0.pth"'), FOLDS.format('"resnet50.pth"')),
    ("script-evaluates-training-data", HOOK.format("self.train_set"), HOOK.format("self.val_set")),
    ("script-method-slipped", NEGATIVES.format("not in"), NEGATIVES.format("in")),
    (
        "script-classes-numbered-apart",
        READER.format('list(dict.fromkeys(r["label"] for r in rows))'),
        READER.format('["neg", "pos"]'),
    ),
    ("script-words-numbered-apart", WORDS.format(""), WORDS.format(" + 2")),
    ("script-operator-wrong", POOLED.format("pooled = h.mean(dim=1)"), POOLED.format(_MEAN.format("!="))),
    ("script-operator-wrong", POOLED.format(_MEAN.format("==")), POOLED.format(_MEAN.format("!="))),
    (
        "script-evaluation-augmented",
        MASKS.format("x = self.spec_aug(x)"),
        MASKS.format("x = self.spec_aug(x) if self.training else x"),
    ),
    ("script-range-mismatch", PIXELS.format("B, A"), PIXELS.format("A, B")),
    ("script-sample-torn-apart", MIXED.format(""), MIXED.format("y = lam * y + (1 - lam) * y[perm]")),
    (
        "script-sample-torn-apart",
        MIXED.format("y = lam * y + (1 - lam) * y[torch.randperm(y.size(0))]"),
        MIXED.format("y = lam * y + (1 - lam) * y[perm]"),
    ),
    ("script-no-shuffling", PIPE.format(""), PIPE.format("ds = ds.shuffle(999) if training else ds")),
    ("script-sample-torn-apart", PLACES.format("pass", "(0, 1)"), PLACES.format(FLIPPED, "(0, 1)")),
    ("script-sample-torn-apart", PLACES.format(FLIPPED, "(1, 0)"), PLACES.format(FLIPPED, "(0, 1)")),
    ("script-places-left", BOXES.format("[0, 2]"), BOXES.format("[2, 0]")),
    ("script-overlap-loss-wrong", HOT.format(0, "0, 3, 1, 2"), HOT.format(1, "0, 3, 1, 2")),
    ("script-overlap-loss-wrong", HOT.format(1, "0, 3, 2, 1"), HOT.format(1, "0, 3, 1, 2")),
    ("script-classes-numbered-apart", NAMES.format("sorted(names)"), NAMES.format("names")),
    ("script-training-sees-evaluation", MEANS.format("train", ""), MEANS.format("tr", "")),
    (
        "script-training-sees-evaluation",
        MEANS.format("tr", 'tr["te"] = tr["agent"].map(enc)'),
        MEANS.format("tr", 'tr["te"] = out_of_fold(tr, "agent")'),
    ),
    ("script-training-sees-evaluation", KEY.format("cases[9:], cases[:9]"), KEY.format(BY_KEY)),
    ("script-splits-processed-differently", READ.format(", lower=False"), READ.format("")),
    ("script-metric-miscounts", LABELS.format("softmax(-1)", "pass"), LABELS.format("sigmoid()", "pass")),
    (
        "script-metric-miscounts",
        LABELS.format("sigmoid()", ONE_LOG.format(".item()")),
        LABELS.format("sigmoid()", 'self.log("val_ap", self.ap)'),
    ),
    ("script-evaluates-training-data", LOOKED.format("train"), LOOKED.format("val")),
    ("script-epochs-capped", STOPS.format(0), STOPS.format(5)),
    (
        "script-metric-miscounts",
        ROOTS.format("np.sqrt((pred - truth) ** 2).mean()"),
        ROOTS.format("np.sqrt(((pred - truth) ** 2).mean())"),
    ),
    (
        "script-average-astray",
        EMA.format(*STATES, "1 - self.decay", "self.decay"),
        EMA.format(*STATES, "self.decay", "1 - self.decay"),
    ),
    (
        "script-average-astray",
        EMA.format(*PARAMETERS, "self.decay", "1 - self.decay"),
        EMA.format(*STATES, "self.decay", "1 - self.decay"),
    ),
    ("script-class-weights-upside-down", SHARES.format("share * 3"), SHARES.format("1 / (3 * share)")),
    (
        "script-label-padding-counts",
        MASKED.format("l1_loss(net(x), y)"),
        MASKED.format("(l1_loss(net(x), y) * m).sum() / m.sum()"),
    ),
    (
        "script-learns-from-held-out",
        CONCAT.format("pd.concat([tr[num], va[num]])"),
        CONCAT.format("tr[num]"),
    ),
    (
        "script-training-sees-evaluation",
        CHANCE.format("np.random.rand(len(df))"),
        CHANCE.format("np.arange(len(df)) / len(df)"),
    ),
    ("script-one-scale", COLUMNS.format(""), COLUMNS.format("axis=0")),
    ("script-words-numbered-apart", IDS.format("item"), IDS.format("i")),
    ("script-sample-torn-apart", GAIN.format("label * gain"), GAIN.format("label")),
    (
        "script-training-sees-evaluation",
        RETRIEVAL.format("rate(extract(net, query), extract(net, gallery))"),
        RETRIEVAL.format("rate(extract(net, val), extract(net, val))"),
    ),
    ("script-metric-miscounts", BATCHES.format(1), BATCHES.format("len(y)")),
    ("script-metric-miscounts", KEEPS.format("assign"), KEEPS.format("assign_add")),
    ("script-last-instead-of-best", MEMORY.format(""), MEMORY.format("net.load_state_dict(kept)")),
    ("script-metric-miscounts", TRAINER.format("hat = p.predictions >= thr"), TRAINER.format(SIGMOID)),
    ("script-metric-miscounts", TRAINER.format(SOFTMAX), TRAINER.format(SIGMOID)),
    (
        "script-training-sees-evaluation",
        LEAVE + "seq[:-1], seq[-2], seq[-1]",
        LEAVE + "seq[:-2], seq[-2], seq[-1]",
    ),
    ("script-metric-miscounts", UNIT.format("net(x)"), UNIT.format("scale.back(net(x))")),
    (
        "script-label-padding-counts",
        PAIRS.format("loss = -(F.logsigmoid(p) + F.logsigmoid(-q)).mean()"),
        PAIRS.format(REAL.format("!=")),
    ),
    ("script-label-padding-counts", PAIRS.format(REAL.format("==")), PAIRS.format(REAL.format("!="))),
    ("script-training-sees-evaluation", SERIES.format("t - 1:t + m - 1"), SERIES.format("t:t + m")),
    ("script-training-sees-evaluation", KEYS.format("test"), KEYS.format("val")),
    ("script-metric-miscounts", AREA.format("hat"), AREA.format("prob")),
    ("script-metric-miscounts", GATHERED.format(""), GATHERED.format(" * sigma + mu")),
    (
        "script-training-sees-evaluation",
        RETRIEVAL.format("rate(extract(net, query), extract(net, gallery))").replace("best", "top"),
        RETRIEVAL.format("rate(extract(net, val), extract(net, val))").replace("best", "top"),
    ),
    ("script-training-sees-evaluation", AHEAD.format("-24"), AHEAD.format("24")),
]


@pytest.mark.parametrize(("symptom", "faulty", "right"), CASES)
def test_a_slip_is_told_and_its_neighbour_is_not(symptom: str, faulty: str, right: str) -> None:
    """The one text is faulty by one expression; the other has it right."""
    more = "" if "loss.backward()" in faulty else TRAINS
    assert state(symptom, faulty + more) == "present"
    assert state(symptom, right + more) != "present"


@pytest.mark.parametrize(
    "symptom", ["script-metric-miscounts", "script-method-slipped", "script-no-shuffling"]
)
def test_nothing_of_the_kind(symptom: str) -> None:
    """A program that does none of it."""
    assert state(symptom, "import torch\nnet = torch.nn.Linear(2, 2)\n") == "unknown"


DICE = """
import torch.nn.functional as F
def soft_dice(logits, y):
    p = logits.softmax(1)
    return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
def dice_ce(logits, y):
    return F.cross_entropy(logits, y) + soft_dice(logits, y)
loss = dice_ce(net(x), y)
loss.backward()
"""
LOADER = """
from torch.utils.data import DataLoader
def loader(ds, train=False):
    return DataLoader(ds, 32, shuffle=train, drop_last=train)
train = loader(train_set, True)
val = loader(val_set)
"""
MAPS = """
import torch
def predict(net, image, classes):
    score = torch.zeros((classes, *image.shape))
    hits = torch.zeros(image.shape)
    for cut in grid:
        score[(slice(None), *cut)] += net(image[cut]).softmax(1)[0]
        hits[cut] += 1
    return (score / hits).argmax(0)
"""


@pytest.mark.parametrize(
    ("symptom", "text"),
    [
        ("script-overlap-loss-wrong", DICE),
        ("script-evaluation-drops-samples", LOADER),
        ("script-metric-wrong", MAPS),
    ],
)
def test_right_programs_stay_so(symptom: str, text: str) -> None:
    """The softmax stands in what is called, the caller says the side, the first axis is that of classes."""
    assert state(symptom, text + TRAINS) != "present"
