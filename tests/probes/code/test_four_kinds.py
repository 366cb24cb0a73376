"""Evaluation, state, start and processing in programs of other hands: what is right stays silent."""

from __future__ import annotations

import pytest

from .._scripts import state

KEPT = """
import torch
import torch.nn as nn
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset
CFG = dict(epochs=5, ckpt="lstm.pt")
def make_data(df):
    n = len(df)
    i_val, i_test = int(0.7 * n), int(0.85 * n)
    train, val, test = df.iloc[:i_val], df.iloc[i_val:i_test], df.iloc[i_test:]
    fx, fy = StandardScaler(), StandardScaler()
    fx{FIT}
    fy.fit(train[["load"]].values)
    parts = {{}}
    for name, part in (("train", train), ("val", val), ("test", test)):
        x, y = torch.tensor(fx.transform(part.values)), torch.tensor(fy.transform(part[["load"]].values))
        parts[name] = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=name == "train")
    return parts, fy
@torch.no_grad()
def evaluate(net, loader, fy):
    net.eval()
    total = seen = 0
    for x, y in loader:
        total += (net(x) - y).abs().sum().item() * fy.scale_[0]
        seen += y.numel()
    return {{"mae": total / seen}}
def save(path, net, opt, epoch, best, bad):
    state = {{"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch, "best": best, "bad": bad}}
    torch.save(state, path)
def run(c, df):
    parts, fy = make_data(df)
    net = nn.Linear(5, 1)
    opt = torch.optim.Adam(net.parameters())
    best, bad = float("inf"), 0
    for epoch in range(c["epochs"]):
        net.train()
        for x, y in parts["train"]:
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            opt.step()
        m = evaluate(net, parts["val"], fy)
        if m["mae"] < best:
            best, bad = m["mae"], 0
            torch.save(net.state_dict(), c["ckpt"])
        else:
            bad += 1
        save({PATH}, net, opt, epoch, best, bad)
        if bad > 3:
            break
    net.load_state_dict({READ})
    print("test", evaluate(net, parts["test"], fy))
run(CFG, table)
"""
OWN = {"FIT": ".fit(train.values)", "PATH": '"last.pt"', "READ": 'torch.load(c["ckpt"])'}


@pytest.mark.parametrize(
    "symptom",
    ["script-best-chosen-wrongly", "script-last-instead-of-best", "script-training-sees-evaluation"],
)
def test_what_is_written_beside_weights_is_no_path(symptom: str) -> None:
    assert state(symptom, KEPT.format(**OWN)) != "present"


def test_what_a_function_hands_on_is_its_path() -> None:
    each = KEPT.format(**{**OWN, "PATH": '"best.pt"'})
    assert state("script-best-chosen-wrongly", each) == "present"
    last = KEPT.format(**{**OWN, "READ": 'torch.load("last.pt")["net"]'}).replace('c["ckpt"])', '"best.pt")')
    assert state("script-last-instead-of-best", last) == "present"


@pytest.mark.parametrize("fit", [" = fx.fit(df.values[:i_val])", ".fit(df.iloc[:i_val].values)"])
def test_rows_up_to_the_held_out_ones_are_those_of_training(fit: str) -> None:
    assert state("script-splits-processed-differently", KEPT.format(**{**OWN, "FIT": fit})) != "present"


def test_held_out_rows_are_no_ground_for_a_scale() -> None:
    text = KEPT.format(**{**OWN, "FIT": ".fit(val.values[:50])"})
    assert state("script-splits-processed-differently", text) == "present"


SHARED = """
import torch
import torch.distributed as dist
class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0
    def update(self, value, n):
        self.sum += value * n
        self.count += n
    def all_reduce(self):
        t = torch.tensor([self.sum, self.count])
        dist.all_reduce(t)
        self.sum, self.count = t.tolist()
def validate(loader, model):
    top = Meter()
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            top.update((model(x).argmax(1) == y).float().mean().item(), len(y))
    {reduced}
    return top.sum / top.count
val_sampler = torch.utils.data.distributed.DistributedSampler(val_set, shuffle=False)
val_loader = torch.utils.data.DataLoader(val_set, 32, sampler=val_sampler)
for epoch in range(9):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(validate(val_loader, model))
"""


def test_a_meter_puts_its_counts_together() -> None:
    assert state("script-metric-of-a-share", SHARED.format(reduced="top.all_reduce()")) == "absent"
    assert state("script-metric-of-a-share", SHARED.format(reduced="pass")) == "present"


ALIKE = """
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
class Products(Dataset):
    def __init__(self, rows):
        self.rows = rows
        ids = {{p: i for i, p in enumerate(sorted({{p for _, p in rows}}))}}
        self.labels = [ids[p] for _, p in rows]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return read(self.rows[i][0]), self.labels[i]
train_dl = DataLoader(Products(index["train"]), 64, shuffle=True)
val_dl = DataLoader(Products(index["val"]), 64)
for epoch in range(9):
    for x, y in train_dl:
        z = net(x)
        loss = {loss}
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        for x, y in val_dl:
            {scored}
"""
AMONG = "pull(z, {same})"


@pytest.mark.parametrize(
    "same",
    [
        "y[:, None] == y[None, :]",
        "y.unsqueeze(0) == y.unsqueeze(1)",
        "torch.eq(y.view(-1, 1), y.view(1, -1))",
    ],
)
def test_numbers_that_tell_rows_apart_alone_may_be_of_each_part(same: str) -> None:
    text = ALIKE.format(loss=AMONG.format(same=same), scored="print(recall(net(x), y))")
    assert state("script-classes-numbered-apart", text) != "present"


def test_numbers_of_outputs_have_one_table() -> None:
    text = ALIKE.format(loss="F.cross_entropy(z, y)", scored="print((net(x).argmax(1) == y).float().mean())")
    assert state("script-classes-numbered-apart", text) == "present"


FLAX = """
import pickle
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import tensorflow_datasets as tfds
from flax import serialization
from flax.training import train_state
BATCH = 512
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Dense(64)(x.reshape(x.shape[0], -1)))
        x = nn.Dropout(0.1)(x, deterministic=not train)
        return nn.Dense(10)(x)
class State(train_state.TrainState):
    ema: dict = None
def load():
    def arrays(split):
        d = tfds.as_numpy(tfds.load("cifar10", split=split, batch_size=-1))
        return d["image"].astype(np.float32) / 255.0, d["label"].astype(np.int32)
    return arrays("{train}"), arrays("train[45000:]"), arrays("test")
@jax.jit
def train_step(state, x, y, key):
    key = jax.random.fold_in(key, state.step)
    def loss_fn(params):
        logits = state.apply_fn({{"params": params}}, x, train={learns}, rngs={{"dropout": key}})
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    state = state.apply_gradients(grads=grads)
    ema = jax.tree_util.tree_map(lambda e, p: 0.99 * e + 0.01 * p, state.ema, state.params)
    return state.replace(ema=ema), loss
@jax.jit
def eval_step(params, x, y):
    logits = Net().apply({{"params": params}}, x, train={scores}, rngs={{"dropout": jax.random.PRNGKey(0)}})
    return jnp.sum(jnp.argmax(logits, -1) == y)
def evaluate(params, images, labels):
    hits = 0
    for i in range(0, len(images), BATCH):
        hits += int(eval_step(params, images[i:i + BATCH], labels[i:i + BATCH]))
    return hits / len(images)
def main():
    (xt, yt), (xv, yv), (xs, ys) = load()
    steps = len(xt) // BATCH
    key = jax.random.PRNGKey(0)
    params = Net().init(key, jnp.zeros((1, 32, 32, 3)), train=False)["params"]
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    ema = jax.tree_util.tree_map(jnp.copy, params)
    state = State.create(apply_fn=Net().apply, params=params, tx=tx, ema=ema)
    if last.exists():
        state = serialization.from_bytes(state, last.read_bytes())
    for epoch in range(30):
        order = np.random.default_rng(epoch).permutation(len(xt))
        for i in range(steps):
            idx = order[i * BATCH:(i + 1) * BATCH]
            state, loss = train_step(state, xt[idx], yt[idx], key)
        print("val acc", evaluate({weights}, {held}))
main()
"""
JAX = {
    "train": "train[:45000]", "learns": "True", "scores": "False", "weights": "state.ema", "held": "xv, yv"
}  # fmt: skip


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"weights": "state.params"},
        {"train": "train[:80%]"},
        {"train": "train[:40000]"},
        {"learns": "not False"},
    ],
)
def test_right_programs_of_flax(edit: dict[str, str]) -> None:
    text = FLAX.format(**{**JAX, **edit})
    for symptom in (
        "script-train-mode-while-evaluating",
        "script-eval-mode-while-training",
        "script-training-sees-evaluation",
        "script-evaluates-training-data",
    ):
        assert state(symptom, text) != "present"


@pytest.mark.parametrize(
    ("symptom", "edit"),
    [
        ("script-train-mode-while-evaluating", {"scores": "True"}),
        ("script-eval-mode-while-training", {"learns": "False"}),
        ("script-training-sees-evaluation", {"train": "train"}),
        ("script-evaluates-training-data", {"held": "xt, yt"}),
    ],
)
def test_faults_of_flax_programs(symptom: str, edit: dict[str, str]) -> None:
    assert state(symptom, FLAX.format(**{**JAX, **edit})) == "present"


SEQUENCES = """
import torch
from torch import nn
from torch.utils.data import DataLoader
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = {body}
        self.head = nn.Linear(32, 4)
    def forward(self, x):
        h = self.body(x)
        return self.head({first}[:, -1])
net = Net()
opt = torch.optim.Adam(net.parameters())
crit = nn.CrossEntropyLoss()
train_dl, val_dl = DataLoader(train_set, 32, shuffle=True), DataLoader(val_set, 32)
def score():
    {sleeps}
    hits = n = 0
    with torch.no_grad():
        for x, y in val_dl:
            hits += ({said} == y).sum().item()
            n += len(y)
    return hits / n
for epoch in range(10):
    {wakes}
    for x, y in train_dl:
        loss = crit(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("val acc", score())
"""
WAYS = {"first": "h[0]", "sleeps": "net.eval()", "wakes": "net.train()", "said": "net(x).argmax(1)"}
LSTM = "nn.LSTM(32, 32, 2, batch_first=True, dropout=0.2)"
ENCODER = "nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, batch_first=True), 2)"


@pytest.mark.parametrize(
    ("body", "first"), [(LSTM, "h[0]"), (ENCODER, "h"), ("nn.GRU(32, 32, num_layers=3, dropout=0.1)", "h[0]")]
)
def test_layers_over_sequences_drop(body: str, first: str) -> None:
    ways = {**WAYS, "body": body, "first": first}
    assert state("script-train-mode-while-evaluating", SEQUENCES.format(**ways)) != "present"
    awake = SEQUENCES.format(**{**ways, "sleeps": "pass"})
    assert state("script-train-mode-while-evaluating", awake) == "present"
    asleep = SEQUENCES.format(**{**ways, "wakes": "pass"})
    assert state("script-eval-mode-while-training", asleep) == "present"


@pytest.mark.parametrize(
    "body",
    [
        "nn.LSTM(32, 32, batch_first=True, dropout=0.2)",
        "nn.LSTM(32, 32, 2, batch_first=True)",
        "nn.GRU(32, 32, num_layers=3, dropout=0.0)",
        "nn.LSTM(32, 32, 2, batch_first=True, dropout=0)",
    ],
)
def test_layers_that_drop_nothing_have_one_mode(body: str) -> None:
    text = SEQUENCES.format(**{**WAYS, "body": body, "sleeps": "pass", "wakes": "pass"})
    assert state("script-train-mode-while-evaluating", text) != "present"


@pytest.mark.parametrize("said", ["net(x).argmin(1)", "torch.argmin(net(x), dim=-1)"])
def test_the_smallest_score_of_a_network_of_classes(said: str) -> None:
    text = SEQUENCES.format(**{**WAYS, "body": LSTM, "said": said})
    assert state("script-metric-wrong", text) == "present"
    assert state("script-metric-wrong", text.replace("CrossEntropyLoss", "MSELoss")) != "present"


TRAINER = """
import os
import torch
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
args = parse()
model = AutoModelForSequenceClassification.from_pretrained(args.base)
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=data)
if {asked}:
    {reads}
trainer.train({given})
"""
READS = 'trainer.model.load_state_dict(torch.load(os.path.join(args.resume, "pytorch_model.bin")))'


@pytest.mark.parametrize(
    "reads", [READS, "model = AutoModelForSequenceClassification.from_pretrained(args.resume)"]
)
def test_a_trainer_is_told_to_go_on(reads: str) -> None:
    text = TRAINER.format(asked="args.resume", reads=reads, given="")
    assert state("script-resume-incomplete", text) == "present"
    for asked, given in (("args.resume", "resume_from_checkpoint=args.resume"), ("args.warm_start", "")):
        assert (
            state("script-resume-incomplete", TRAINER.format(asked=asked, reads=reads, given=given))
            != "present"
        )


TAKEN_UP = """
import copy
import torch
class Trainer:
    def __init__(self, net, resume):
        self.net, self.ema = net, copy.deepcopy(net)
        self.opt = torch.optim.Adam(net.parameters())
        self.epoch = 0
        if resume:
            self.restore("last.pt")
    def restore(self, path):
        ck = torch.load(path)
        self.net.load_state_dict(ck["net"])
        self.opt.load_state_dict(ck["opt"])
        {ema}
        self.epoch = ck["epoch"]
    def store(self, path):
        state = {{"net": self.net.state_dict(), "ema": self.ema.state_dict(), "opt": self.opt.state_dict()}}
        torch.save({{**state, "epoch": self.epoch}}, path)
    def fit(self):
        while self.epoch < 9:
            self.one_epoch()
            self.store("last.pt")
        best = torch.load("best.pt")
        self.ema.load_state_dict(best["ema"])
"""


def test_what_is_read_of_the_best_file_is_not_given_back() -> None:
    text = TAKEN_UP + "Trainer(net, args.resume).fit()\n"
    assert state("script-resume-incomplete", text.format(ema="pass")) == "present"
    whole = text.format(ema='self.ema.load_state_dict(ck["ema"])')
    assert state("script-resume-incomplete", whole) != "present"


WORDS = """
import torch
def score(net, loader):
    net.eval()
    {n} = exact = 0
    with torch.no_grad():
        for x, refs in loader:
            for ids, ref in zip(net.greedy(x).tolist(), refs):
                exact += {hit}
                {n} += 1
    return exact / {below}
"""


@pytest.mark.parametrize("hit", ["decode(ids) == ref", "int(decode(ids) == ref)"])
def test_rows_are_divided_by_rows(hit: str) -> None:
    wrong = WORDS.format(n="n", hit=hit, below="len(loader)")
    assert state("script-metric-miscounts", wrong) == "present"
    for below in ("n", "len(loader.dataset)", "max(n, 1)"):
        assert state("script-metric-miscounts", WORDS.format(n="n", hit=hit, below=below)) != "present"


FIGURES = """
import numpy as np
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.metrics import precision_recall_fscore_support
from transformers import Trainer
def metrics(answers):
    logits, labels = answers
    pred = np.argmax(logits, axis=-1)
    {p}, {r}, f, _ = precision_recall_fscore_support(labels, pred, average="macro", zero_division=0)
    rows = {{"accuracy": accuracy_score(labels, pred), "precision": p, "recall": r, "macro_f1": f}}
    {more}
    return rows
Trainer(model=model, args=args, train_dataset=data, compute_metrics=metrics).train()
"""


@pytest.mark.parametrize(
    ("p", "r", "more"),
    [
        ("r", "p", "pass"),
        ("p", "r", 'rows["f1"] = precision_score(labels, pred, average="macro")'),
        ("p", "r", 'rows["f1_macro"] = f1_score(labels, pred, average="micro")'),
        ("p", "r", "recall = float(precision_score(labels, pred, average='macro'))"),
        ("p", "r", "recall, precision, f1, n = precision_recall_fscore_support(labels, pred)"),
    ],
)
def test_figures_of_a_library_under_another_name(p: str, r: str, more: str) -> None:
    assert state("script-metric-miscounts", FIGURES.format(p=p, r=r, more=more)) == "present"


@pytest.mark.parametrize(
    "more",
    [
        "pass",
        'rows["f1_macro"] = f1_score(labels, pred, average="macro")',
        'rows["accuracy"] = f1_score(labels, pred, average="micro")',
        'rows["weighted_f1"] = round(f1_score(labels, pred, average="weighted"), 4)',
        "sensitivity = recall_score(labels, pred, average='macro')",
        'rows["f1_per_class"] = f1_score(labels, pred, average=None)',
        "precision, recall, f1, n = precision_recall_fscore_support(labels, pred, average='micro')",
    ],
)
def test_figures_of_a_library_under_their_names(more: str) -> None:
    assert state("script-metric-miscounts", FIGURES.format(p="p", r="r", more=more)) != "present"


MASKS = """
import cv2
import torch
from torch.utils.data import DataLoader
import numpy as np
NUM_CLASSES = 3
class Glands:
    def __getitem__(self, i):
        img = cv2.imread(self.pictures[i])
        lab = cv2.imread(self.labels[i], cv2.IMREAD_GRAYSCALE)
        img = cv2.resize(img, (256, 256), interpolation=cv2.INTER_LINEAR)
        lab = cv2.resize(lab, (256, 256){way})
        return img, {whole}
def augment(img, lab):
    if np.random.rand() < 0.5:
        img, lab = img[:, ::-1], lab[:, ::-1]
    if np.random.rand() < 0.5:
        img, lab = {second}
    return np.ascontiguousarray(img), np.ascontiguousarray(lab)
for x, y in DataLoader(Glands(), 8, shuffle=True):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
KEPT_WHOLE = {"way": ", interpolation=cv2.INTER_NEAREST", "whole": "lab.astype(np.int32)"}


def test_what_was_moved_before_is_moved_again() -> None:
    assert (
        state("script-sample-torn-apart", MASKS.format(**KEPT_WHOLE, second="img[::-1], lab[::-1]"))
        != "present"
    )
    assert state("script-sample-torn-apart", MASKS.format(**KEPT_WHOLE, second="img[::-1], lab")) == "present"
    brighter = MASKS.format(**KEPT_WHOLE, second="img * 1.1, lab")
    assert state("script-sample-torn-apart", brighter) != "present"


@pytest.mark.parametrize("way", [", interpolation=cv2.INTER_LINEAR", ""])
def test_what_becomes_whole_numbers_is_not_blended(way: str) -> None:
    both = "img[::-1], lab[::-1]"
    text = MASKS.format(way=way, whole="lab.astype(np.int32)", second=both)
    assert state("script-mask-interpolated", text) == "present"
    assert state("script-mask-interpolated", MASKS.format(**KEPT_WHOLE, second=both)) != "present"
    heights = MASKS.format(way=way, whole="lab.astype(np.float32)", second=both)
    assert state("script-mask-interpolated", heights) != "present"


KEPT_BEST = """
    best = 0.0
    for epoch in range(30):
        for i in range(steps):
            idx = order[i * BATCH:(i + 1) * BATCH]
            state, loss = train_step(state, xt[idx], yt[idx], key)
        acc = evaluate(state.{scored}, xv, yv)
        if acc > best:
            best = acc
            path.write_bytes(serialization.to_bytes(state.{kept}))
    {name} = serialization.from_bytes(state.{kept}, open("best.msgpack", "rb").read())
    print("test", evaluate({last}, xs, ys))
main()
"""


def _kept(**ways: str) -> str:
    head = FLAX.format(**JAX).partition("    for epoch in range(30):")[0]
    return head.replace("{{", "{").replace("}}", "}") + KEPT_BEST.format(**ways)


def test_the_weights_that_are_scored_are_kept() -> None:
    symptom = "script-best-chosen-wrongly"
    for both in ("ema", "params"):
        assert state(symptom, _kept(scored=both, kept=both, name="ema", last="ema")) != "present"
    assert state(symptom, _kept(scored="ema", kept="params", name="ema", last="ema")) == "present"
    assert state(symptom, _kept(scored="params", kept="ema", name="ema", last="ema")) == "present"


@pytest.mark.parametrize(
    ("reads", "told"),
    [
        ("state = serialization.from_bytes(state, last.read_bytes())", False),
        ("serialization.from_bytes(state, last.read_bytes())", True),
        ("checkpoints.restore_checkpoint(folder, state)", True),
    ],
)
def test_a_tree_that_is_read_is_taken(reads: str, told: bool) -> None:
    text = FLAX.format(**JAX).replace("state = serialization.from_bytes(state, last.read_bytes())", reads)
    assert (state("script-resume-incomplete", text) == "present") is told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('pos = self.param("pos", nn.initializers.normal(20.0), (1, 64, 32))', True),
        ('pos = self.param("pos", nn.initializers.normal(0.02), (1, 64, 32))', False),
        ("x = nn.Dense(64, kernel_init=nn.initializers.normal(2.0))(x)", True),
        ("x = nn.Dense(64, kernel_init=nn.initializers.normal(stddev=0.02))(x)", False),
        ("x = nn.Embed(900, 64, embedding_init=nn.initializers.normal(stddev=1.0))(x)", False),
        ("x = nn.Dense(64, kernel_init=nn.initializers.lecun_normal())(x)", False),
    ],
)
def test_how_far_weights_of_flax_start(line: str, told: bool) -> None:
    text = f"""
import flax.linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        {line}
        return x
"""
    assert (state("script-weights-start-wide", text) == "present") is told


METER = """
import numpy as np
from mindspore.train import Metric, Model
class {name}({base}):
    def __init__(self, num_classes):
        super().__init__()
        self.n = num_classes
        {starts}
    def {clear}(self):
        {clears}
    def update(self, {given}):
        {takes}
        pred = logits.argmax(axis=1)
        idx = label.reshape(-1).astype(np.int64) * self.n + pred.reshape(-1)
        self.m {adds} np.bincount(idx, minlength=self.n ** 2).reshape(self.n, self.n)
    def {gives}(self):
        inter = np.diag(self.m)
        union = {union}
        return float(np.mean(inter / np.maximum(union, 1)))
model = Model(net, loss_fn=loss, optimizer=opt, metrics={{"miou": {name}(3)}})
model.train(10, data)
"""
ZEROS = "self.m = np.zeros((self.n, self.n), dtype=np.int64)"
WHOLE = {
    "name": "MeanIoU",
    "base": "Metric",
    "starts": "self.clear()",
    "clear": "clear",
    "clears": ZEROS,
    "given": "*inputs",
    "takes": "logits, label = self._convert_data(inputs[0]), self._convert_data(inputs[1])",
    "adds": "+=",
    "gives": "eval",
    "union": "self.m.sum(0) + self.m.sum(1) - inter",
}
BARE = {
    "base": "object",
    "given": "logits, label",
    "takes": "pass",
    "gives": "compute",
    "clear": "reset",
    "starts": ZEROS,
}


@pytest.mark.parametrize(
    "edit",
    [
        {},
        {"union": "self.m.sum(axis=1) + self.m.sum(axis=0) - np.diag(self.m)"},
        {"name": "MIOUMetric"},
        BARE,
        {**BARE, "clears": "self.m[:] = 0"},
    ],
)
def test_meters_of_a_union(edit: dict[str, str]) -> None:
    assert state("script-metric-miscounts", METER.format(**{**WHOLE, **edit})) != "present"


@pytest.mark.parametrize(
    "edit",
    [
        {"union": "self.m.sum(0) + self.m.sum(1)"},
        {"union": "self.m.sum(1)"},
        {"adds": "="},
        {**BARE, "union": "self.m.sum(0)"},
        {**BARE, "clears": "pass"},
        {**BARE, "clears": "self.m = self.m + 0"},
    ],
)
def test_meters_that_count_something_else(edit: dict[str, str]) -> None:
    assert state("script-metric-miscounts", METER.format(**{**WHOLE, **edit})) == "present"
