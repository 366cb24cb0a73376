# ruff: noqa: E501
"""Right programs that a naive check would blame: data, preprocessing and the model's structure.

Each is whole and deviates from the textbook for a reason. The report on it must hold no finding and no cause
at 0.5 or above.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from traindoctor.cli.script_work import load, report
from traindoctor.engine.model import RuleBase
from traindoctor.probes.scripts import files as script_files

LIKELY = 0.5

# What most of the programs share: a loop over batches and an evaluation.
LOOP = """
    model = build().cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(20):
        model.train()
        for x, y in DataLoader(train_set, 64, shuffle=True):
            loss = F.cross_entropy(model(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        right = seen = 0
        with torch.no_grad():
            for x, y in DataLoader(val_set, 256):
                right += (model(x.cuda()).argmax(1).cpu() == y).sum().item()
                seen += len(y)
        print(epoch, right / seen)
"""
HEAD = """
import math
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
"""


def trained(model: str) -> str:
    """A program that trains what `build` of this code returns."""
    return f"{HEAD}\n{model}\n\ndef main(train_set, val_set):{LOOP}"


PROGRAMS: dict[str, str] = {
    # One mask for both sides, inverted for the rows to train on.
    "sides-by-one-mask": """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Tidy:
    def fit(self, x):
        self.mean, self.std = np.nanmean(x, axis=0), np.nanstd(x, axis=0) + 1e-6
        return self
    def transform(self, x):
        return torch.tensor((np.where(np.isnan(x), self.mean, x) - self.mean) / self.std, dtype=torch.float32)

def main(table, labels, epochs=20):
    rng = np.random.default_rng(3)
    is_val = rng.random(len(labels)) < 0.2
    scaler = Tidy().fit(table[~is_val])
    train_x, val_x = scaler.transform(table[~is_val]), scaler.transform(table[is_val])
    train_y, val_y = torch.from_numpy(labels[~is_val]), torch.from_numpy(labels[is_val])
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(table.shape[1], 64), nn.ReLU(), nn.Linear(64, 3))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(epoch, (model(val_x).argmax(1) == val_y).float().mean().item())
""",
    # The scale goes onto the queries before the product.
    "queries-scaled-first": trained("""
class Mixer(nn.Module):
    def __init__(self, width=64, heads=4, classes=10):
        super().__init__()
        self.heads = heads
        self.into = nn.Linear(16, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        h = self.into(x)
        b, t, w = h.shape
        q, k, v = self.qkv(h).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        q = q * (w // self.heads) ** -0.5
        scores = torch.einsum("bhid,bhjd->bhij", q, k)
        mixed = torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)
        return self.out(mixed.transpose(1, 2).reshape(b, t, w).mean(1))


def build():
    return Mixer()
"""),
    # The classifier starts at zero, so that the first loss is log(classes).
    "head-starts-at-zero": trained("""
class Small(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(32, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(self.body(x))


def build():
    return Small()
"""),
    # What is returned is the layer's value by another name.
    "returned-layer-starts-at-zero": trained("""
class Small(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.one = nn.Linear(20, 64)
        self.two = nn.Linear(64, classes)
        self.two.weight.data.zero_()

    def forward(self, x):
        z = self.two(F.gelu(self.one(x)))
        return z.float()


def build():
    return Small()
"""),
    "last-of-stack-starts-at-zero": trained("""
class Refine(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        return x + self.net(x)


def build():
    return nn.Sequential(nn.Linear(20, 32), Refine(), Refine(), nn.LayerNorm(32), nn.Linear(32, 10))
"""),
    # The padding's row is zero: padding adds nothing to a sum.
    "padding-row-is-zero": trained("""
class Bag(nn.Module):
    def __init__(self, words=5000, width=64, classes=4):
        super().__init__()
        self.words = nn.Embedding(words, width)
        nn.init.normal_(self.words.weight, std=0.05)
        with torch.no_grad():
            self.words.weight[0].fill_(0)
        self.out = nn.Linear(width, classes)

    def forward(self, ids):
        return self.out(self.words(ids).sum(1))


def build():
    return Bag()
"""),
    # The linear part of a factorisation machine starts at zero beside factors that are drawn.
    "first-order-starts-at-zero": """
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.metrics import roc_auc_score

FIELDS = ["shop", "brand", "hour"]


def prepare(table):
    ids = np.stack([pd.util.hash_array(table[f].fillna("").astype(str).to_numpy()) % 10000 for f in FIELDS], 1)
    return TensorDataset(torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(table["bought"].to_numpy(np.float32)))


class Machine(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Embedding(10000, 1)
        self.factors = nn.Embedding(10000, 8)
        nn.init.zeros_(self.linear.weight)
        nn.init.xavier_uniform_(self.factors.weight)

    def forward(self, ids):
        v = self.factors(ids)
        pairs = 0.5 * (v.sum(1).pow(2) - v.pow(2).sum(1)).sum(1)
        return self.linear(ids).sum((1, 2)) + pairs


table = pd.read_parquet("visits.parquet").sort_values("time")
train, valid = table[table["day"] < 6], table[table["day"] == 6]
held = DataLoader(prepare(valid), 4096)
model = Machine()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(3):
    model.train()
    for ids, bought in DataLoader(prepare(train), 2048, shuffle=True):
        opt.zero_grad()
        criterion(model(ids), bought).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        z, y = (torch.cat(c) for c in zip(*[(model(ids), b) for ids, b in held]))
    print(epoch, roc_auc_score(y, z))
""",
    # Gains and biases, told by their number of axes.
    "one-axis-to-zero": trained("""
def init(model):
    for p in model.parameters():
        if p.ndim < 2:
            nn.init.zeros_(p)
        else:
            nn.init.xavier_uniform_(p)


def build():
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10))
    init(model)
    return model
"""),
    # The bias of the classifier starts at the log-odds of a rare tag.
    "bias-at-log-odds": """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Tagger(nn.Module):
    def __init__(self, tags=40):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(64, 128, 3), nn.BatchNorm1d(128), nn.ReLU())
        self.where = nn.Conv1d(128, tags, 1)
        self.what = nn.Conv1d(128, tags, 1)
        nn.init.constant_(self.what.bias, -4.0)

    def forward(self, x):
        h = self.body(x)
        return (torch.softmax(self.where(h), dim=-1) * self.what(h)).sum(-1)


def main(train_set, val_set, average_precision):
    model = Tagger()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(30):
        model.train()
        for x, y in DataLoader(train_set, 32, shuffle=True):
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            z, y = (torch.cat(c) for c in zip(*[(model(x), y) for x, y in DataLoader(val_set, 64)]))
        print(epoch, average_precision(z, y).nanmean().item())
""",
    # Only training waves get another gain, drawn anew for each.
    "gain-drawn-in-training": """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __init__(self, waves, labels, train):
        self.waves, self.labels, self.train = waves, labels, train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        wave = self.waves[i] / 32768.0
        if self.train:
            wave = wave * 10 ** (torch.empty(()).uniform_(-6, 6) / 20)
        return wave[None], self.labels[i]


def main(waves, labels, held_waves, held_labels):
    train = Waves(waves, labels, train=True)
    valid = Waves(held_waves, held_labels, train=False)
    model = nn.Sequential(nn.Conv1d(1, 64, 64, 16), nn.BatchNorm1d(64), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(64, 8))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(20):
        model.train()
        for x, y in DataLoader(train, 32, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(valid, 64))
        print(epoch, hits / len(valid))
""",
    # One function makes both sets and is told which.
    "one-maker-for-both-sets": """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

AUTOTUNE = tf.data.AUTOTUNE


def read(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(tf.cast(image, tf.float32), (128, 128)), label


def flip(image, label):
    return tf.image.random_flip_left_right(image), label


def pipeline(paths, labels, training):
    ds = tf.data.Dataset.from_tensor_slices((paths, labels)).map(read, AUTOTUNE).cache()
    if training:
        ds = ds.shuffle(4096).map(flip, AUTOTUNE)
    return ds.batch(64).prefetch(AUTOTUNE)


def main(train, val):
    train_ds, val_ds = pipeline(*train, True), pipeline(*val, False)
    model = keras.Sequential([
        layers.Rescaling(1 / 127.5, offset=-1), layers.Conv2D(32, 3, 2), layers.BatchNormalization(), layers.ReLU(),
        layers.GlobalAveragePooling2D(), layers.Dense(12),
    ])
    model.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(train_ds, epochs=10, validation_data=val_ds)
""",
    # A linear probe: the encoder stays as it was pretrained, the head alone has an optimizer.
    "head-on-frozen-features": """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


def pretrain(encoder, pairs):
    opt = torch.optim.AdamW(encoder.parameters(), 1e-3)
    for epoch in range(100):
        for a, b in DataLoader(pairs, 256, shuffle=True, drop_last=True):
            a, b = F.normalize(encoder(a)), F.normalize(encoder(b))
            loss = F.cross_entropy(a @ b.T / 0.1, torch.arange(len(a)))
            opt.zero_grad()
            loss.backward()
            opt.step()
    return encoder


def score(encoder, train, test, classes=10):
    encoder.eval().requires_grad_(False)
    head = nn.Linear(512, classes)
    opt = torch.optim.SGD(head.parameters(), 0.1, momentum=0.9)
    for epoch in range(20):
        for x, y in DataLoader(train, 256, shuffle=True):
            with torch.no_grad():
                h = encoder(x)
            loss = F.cross_entropy(head(h), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        return sum((head(encoder(x)).argmax(1) == y).sum().item() for x, y in DataLoader(test, 256)) / len(test)
""",
    # The first stages of a pretrained body stay as they are.
    "early-stages-stay": trained("""
from torchvision.models import resnet50


def build(classes=20):
    net = resnet50(weights="IMAGENET1K_V2")
    for name, p in net.named_parameters():
        if not name.startswith(("layer3", "layer4")):
            p.requires_grad_(False)
    net.fc = nn.Linear(net.fc.in_features, classes)
    return net
"""),
    "new-head-on-pretrained": trained("""
from torchvision import models


def build(classes=5):
    net = models.mobilenet_v3_large(weights="DEFAULT")
    for p in net.parameters():
        p.requires_grad = False
    net.classifier = nn.Sequential(nn.Linear(960, 256), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(256, classes))
    return net
"""),
    # The bottleneck's batch norm has no shift by design.
    "one-bias-stays-zero": trained("""
class Embedder(nn.Module):
    def __init__(self, classes=700):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 64, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.neck = nn.BatchNorm1d(64)
        self.neck.bias.requires_grad_(False)
        self.classes = nn.Linear(64, classes, bias=False)

    def forward(self, x):
        return self.classes(self.neck(self.body(x)))


def build():
    return Embedder()
"""),
    # The schedule's multiplier is the rate itself; the configured one is a factor.
    "rate-of-one-times-noam": """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

PAD = 0


def noam(step, width=256, warmup=4000):
    step += 1
    return width**-0.5 * min(step**-0.5, step * warmup**-1.5)


def main(model, train_set, val_set, collate):
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    opt = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, noam)
    for epoch in range(20):
        model.train()
        for src, tgt in DataLoader(train_set, 64, shuffle=True, collate_fn=collate):
            z = model(src, tgt[:, :-1])
            loss = criterion(z.flatten(0, 1), tgt[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        model.eval()
        with torch.no_grad():
            held = [criterion(model(s, t[:, :-1]).flatten(0, 1), t[:, 1:].flatten()).item() for s, t in DataLoader(val_set, 64, collate_fn=collate)]
        print(epoch, sum(held) / len(held))
""",
    # The values of a packed sequence, not a tensor cut off from the graph.
    "values-of-packed-sequence": """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader


class Reader(nn.Module):
    def __init__(self, words, width=128):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, words)

    def forward(self, ids, lengths):
        h, _ = self.rnn(pack_padded_sequence(self.words(ids), lengths, batch_first=True))
        return self.out(h.data)


def main(train_set, val_set, collate, words):
    model = Reader(words)
    opt = torch.optim.Adam(model.parameters(), 1e-3)

    def loss_of(ids, lengths):
        gold = pack_padded_sequence(ids[:, 1:], lengths, batch_first=True).data
        return nn.functional.cross_entropy(model(ids[:, :-1], lengths), gold)

    for epoch in range(9):
        model.train()
        for ids, lengths in DataLoader(train_set, 64, shuffle=True, collate_fn=collate):
            opt.zero_grad()
            loss_of(ids, lengths).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            held = [loss_of(*batch).item() for batch in DataLoader(val_set, 64, collate_fn=collate)]
        print(epoch, sum(held) / len(held))
""",
    # What is called a score is an error: lower is better.
    "score-made-of-errors": """
import torch
from torch import nn
from torch.utils.data import DataLoader


def main(train_set, val_set):
    model = nn.Sequential(nn.Conv1d(4, 64, 5, padding=2), nn.ReLU(), nn.Conv1d(64, 4, 1))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    best = float("inf")
    for epoch in range(40):
        model.train()
        for x, y in DataLoader(train_set, 64, shuffle=True):
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            errors = torch.cat([((model(x) - y) ** 2).mean((1, 2)) for x, y in DataLoader(val_set, 256)])
        score = errors.mean().item()
        if score < best:
            best = score
            torch.save(model.state_dict(), "best.pt")
""",
    # A stream has no length: an epoch is so many samples, the schedule counts batches.
    "epoch-of-so-many-samples": """
import torch
from torch import nn

EPOCH, BATCH = 1_000_000, 256


def main(stream, held_out, model, epochs=30):
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    steps = epochs * (EPOCH // BATCH)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-3, total_steps=steps)
    for epoch in range(epochs):
        model.train()
        for x, y in stream(BATCH).with_epoch(EPOCH // BATCH):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        model.eval()
        hits = n = 0
        with torch.no_grad():
            for x, y in held_out(BATCH):
                hits += (model(x).argmax(1) == y).sum().item()
                n += len(y)
        print(epoch, hits / n)
""",
    # The labels have chosen one class before the order is drawn; they are not needed any more.
    "one-class-then-shuffled": """
import numpy as np
import torch
from sklearn.metrics import average_precision_score
from torch import nn
from torch.utils.data import DataLoader


def main():
    seen, test = np.load("seen.npz"), np.load("test.npz")
    x, y = seen["x"].astype(np.float32), seen["y"]
    x = x[y == 0]
    x = x[np.random.default_rng(0).permutation(len(x))]
    mean, std = x.mean(0), x.std(0) + 1e-6
    normal = torch.from_numpy((x - mean) / std)
    net = nn.Sequential(nn.Linear(x.shape[1], 8), nn.ReLU(), nn.Linear(8, x.shape[1]))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for epoch in range(50):
        for b in DataLoader(normal, 256, shuffle=True):
            loss = ((net(b) - b) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        z = torch.from_numpy(((test["x"] - mean) / std).astype(np.float32))
        print(average_precision_score(test["y"], ((net(z) - z) ** 2).mean(1)))


main()
""",
    # Levels of an ordinal target become a number in each evaluation.
    "sigmoid-in-the-evaluation-loop": """
import torch
from torch import nn
from torch.utils.data import DataLoader


def main(train_set, val_set, build):
    net = nn.Sequential(build(), nn.Linear(64, 80))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for epoch in range(30):
        net.train()
        for x, levels in DataLoader(train_set, 64, shuffle=True):
            loss = nn.functional.binary_cross_entropy_with_logits(net(x), levels)
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        off = n = 0
        with torch.no_grad():
            for x, levels in DataLoader(val_set, 64):
                off += ((net(x).sigmoid() > 0.5).sum(1) - levels.sum(1)).abs().sum().item()
                n += len(x)
        print(epoch, off / n)
""",
    # The model keeps most of its batch norms in evaluation mode; `train` still switches the rest.
    "partial-batch-norm": trained("""
from torchvision.models import resnet18


class Clips(nn.Module):
    def __init__(self, body, classes=10):
        super().__init__()
        self.body, self.out = body, nn.Linear(64, classes)

    def train(self, mode=True):
        super().train(mode)
        for m in self.body.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()
        return self

    def forward(self, x):
        return self.out(self.body(x))


def build():
    net = resnet18(weights="DEFAULT")
    net.fc = nn.Linear(512, 64)
    return Clips(net)
"""),
    # Each fold trains a model of its own and gives it back ready for use.
    "one-model-for-each-fold": """
import numpy as np
import torch
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch import nn


def fit(x, y, classes):
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, classes))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(40):
        for i in torch.randperm(len(x)).split(128):
            loss = nn.functional.cross_entropy(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return net.eval()


def main(x, y):
    scores = []
    for a, b in StratifiedKFold(5, shuffle=True, random_state=0).split(x, y):
        scaler = StandardScaler().fit(x[a])
        xa, xb = (torch.from_numpy(scaler.transform(x[i]).astype(np.float32)) for i in (a, b))
        net = fit(xa, torch.from_numpy(y[a]), int(y.max()) + 1)
        with torch.no_grad():
            scores.append(log_loss(y[b], net(xb).softmax(1).numpy()))
    print(np.mean(scores))
""",
    # Norms of one's own by a short name, branches that start at nothing, a wide table of tokens.
    "own-norms-and-zero-branches": """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader


class RMS(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.g


class Attention(nn.Module):
    def __init__(self, d, heads=8):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.o = nn.Linear(d, d, bias=False)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2, self.attn = RMS(d), RMS(d), Attention(d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class LM(nn.Module):
    def __init__(self, vocab, d=512, depth=8):
        super().__init__()
        self.emb, self.pos = nn.Embedding(vocab, d), nn.Embedding(1024, d)
        self.layers = nn.ModuleList(Layer(d) for _ in range(depth))
        self.last, self.head = RMS(d), nn.Linear(d, vocab, bias=False)
        nn.init.normal_(self.emb.weight, std=1.0)
        for layer in self.layers:
            nn.init.zeros_(layer.attn.o.weight)
            nn.init.zeros_(layer.down.weight)

    def forward(self, ids):
        x = self.emb(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.last(x))


def main(train_set, val_set, vocab):
    net = LM(vocab)
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    for epoch in range(4):
        net.train()
        for ids in DataLoader(train_set, 32, shuffle=True):
            loss = F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            held = [F.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten()).item() for b in DataLoader(val_set, 64)]
        print(epoch, sum(held) / len(held))
""",
}


@lru_cache(maxsize=1)
def _rules() -> RuleBase:
    return load((), quiet=True)


@pytest.mark.parametrize("slug", sorted(PROGRAMS))
def test_right_code_is_not_blamed(slug: str, tmp_path: Path) -> None:
    """Neither a finding nor a cause that is held likely."""
    script = tmp_path / "train.py"
    script.write_text(PROGRAMS[slug], encoding="utf-8")
    told = report(_rules(), script_files.read(script), "train.py")
    assert [f.symptom for f in told.faults if f.kind == "finding"] == []
    assert [cause for cause, _, p in told.ranking if p >= LIKELY] == []
