# ruff: noqa: E501
"""Two programs side by side: calls, batches and options in another documented form, and faults that look like them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from traindoctor.probes.readers._spelled_out import spell_out

from .._pairs import evidence, present
from .._scripts import state

TRAIN = """
import numpy as np
import torch
import torchvision
from sklearn.metrics import roc_auc_score
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

class Pieces(Dataset):
    def __init__(self, rows):
        self.rows = rows
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        words, label = self.rows[i]
        return words, label

def collate(rows):
    lengths = torch.tensor([len(w) for w, _ in rows])
    words = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for i, (w, _) in enumerate(rows):
        words[i, : len(w)] = torch.tensor(w)
    labels = torch.from_numpy((np.array([y for _, y in rows]) > 2).astype(np.int64))
    return words, labels, lengths

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(999, 64, padding_idx=0)
        self.gru = nn.GRU(64, 64, batch_first=True)
        self.head = nn.Linear(64, 1)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)))
    def forward(self, words, lengths):
        states, _ = self.gru(self.embed(words))
        t = states.shape[1]
        scores = (states @ states.transpose(1, 2)) / 8.0
        scores = scores.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        states = F.softmax(scores, dim=-1) @ states
        kept = words != 0
        states = (states * kept[:, :, None]).sum(dim=1) / kept.sum(dim=1)[:, None]
        return self.head(states).squeeze(-1)

def evaluate(net, loader):
    net.eval()
    scores, truths, hits = [], [], 0
    with torch.no_grad():
        for words, labels, lengths in loader:
            out = net(words.cuda(), lengths.cuda()).cpu()
            scores.append(torch.sigmoid(out))
            truths.append(labels)
            hits += ((torch.sigmoid(out) > 0.5) == labels).sum().item()
    return roc_auc_score(torch.cat(truths).numpy(), torch.cat(scores).numpy()), hits

def main(train_rows, val_rows):
    train = DataLoader(Pieces(train_rows), batch_size=32, shuffle=True, collate_fn=collate)
    val = DataLoader(Pieces(val_rows), batch_size=32, collate_fn=collate)
    net = Net().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.001, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.001, total_steps=20 * len(train))
    scaler = torch.cuda.amp.GradScaler()
    for epoch in range(20):
        net.train()
        for words, labels, lengths in train:
            optimizer.zero_grad()
            with torch.cuda.amp.autocast():
                loss = F.binary_cross_entropy_with_logits(net(words.cuda(), lengths.cuda()), labels.cuda().float())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
        print(evaluate(net, val))
"""
IN_DICTS = (
    ("return words, labels, lengths", 'return {"words": words, "labels": labels, "lengths": lengths}'),
    (
        "for words, labels, lengths in loader:\n            out = net(words.cuda(), lengths.cuda()).cpu()",
        'for batch in loader:\n            labels = batch["labels"]\n            out = net(batch["words"].cuda(), batch["lengths"].cuda()).cpu()',
    ),
    (
        "for words, labels, lengths in train:",
        'for batch in train:\n            words, labels, lengths = batch["words"], batch["labels"], batch["lengths"]',
    ),
)
LOGITS = "scores.append(torch.sigmoid(out))"
EQUAL = {
    "dict batches": IN_DICTS,
    "one group": (
        (
            "(net.parameters(), lr=0.001, weight_decay=0.05)",
            '([{"params": net.parameters(), "weight_decay": 0.05}], lr=0.001)',
        ),
    ),
    "epochs and steps": (("total_steps=20 * len(train)", "epochs=20, steps_per_epoch=len(train)"),),
    "new precision": (
        ("torch.cuda.amp.GradScaler()", 'torch.amp.GradScaler("cuda")'),
        ("torch.cuda.amp.autocast()", 'torch.autocast("cuda", dtype=torch.float16)'),
    ),
    "labels by where": (
        (
            "torch.from_numpy((np.array([y for _, y in rows]) > 2).astype(np.int64))",
            "torch.tensor(np.where(np.array([y for _, y in rows]) > 2, 1, 0), dtype=torch.long)",
        ),
    ),
    "scores without sigmoid": ((LOGITS, "scores.append(out)"),),
    "logits above zero": (("(torch.sigmoid(out) > 0.5)", "(out > 0)"),),
    "compared by a method": (("(torch.sigmoid(out) > 0.5)", "out.gt(0)"),),
    "mask by lengths": (
        ("kept = words != 0", "kept = torch.arange(t, device=words.device)[None] < lengths[:, None]"),
    ),
    "upper mask": (
        ("torch.tril(torch.ones(64, 64))", "torch.triu(torch.ones(64, 64, dtype=torch.bool), diagonal=1)"),
        ("self.mask[:t, :t] == 0", "self.mask[:t, :t]"),
    ),
    "einsum": (("states @ states.transpose(1, 2)", 'torch.einsum("bid,bjd->bij", states, states)'),),
}
FAULTS = {
    "dict of other entries": (
        *IN_DICTS[:1],
        IN_DICTS[1],
        (
            IN_DICTS[2][0],
            IN_DICTS[2][1].replace(
                'labels, lengths = batch["words"], batch["labels"]',
                'labels, lengths = batch["words"], batch["lengths"]',
            ),
        ),
    ),
    "decay of the group": (
        (
            "(net.parameters(), lr=0.001, weight_decay=0.05)",
            '([{"params": net.parameters(), "weight_decay": 0.9}], lr=0.001)',
        ),
    ),
    "one epoch long": (("total_steps=20 * len(train)", "epochs=1, steps_per_epoch=len(train)"),),
    "turned labels": (
        (
            "torch.from_numpy((np.array([y for _, y in rows]) > 2).astype(np.int64))",
            "torch.tensor(np.where(np.array([y for _, y in rows]) > 2, 0, 1), dtype=torch.long)",
        ),
    ),
    "probability against zero": (("(torch.sigmoid(out) > 0.5)", "(torch.sigmoid(out) > 0)"),),
    "lower mask, not turned": (("self.mask[:t, :t] == 0", "self.mask[:t, :t]"),),
    "upper mask with the place itself": (
        ("torch.tril(torch.ones(64, 64))", "torch.triu(torch.ones(64, 64, dtype=torch.bool))"),
        ("self.mask[:t, :t] == 0", "self.mask[:t, :t]"),
    ),
    "mask of what is there": (("kept = words != 0", "kept = words == 0"),),
}


def edited(pairs: tuple[tuple[str, str], ...], text: str = TRAIN) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("name", EQUAL)
def test_another_form_is_no_edit(name: str, tmp_path: Path) -> None:
    for i, (mine, theirs) in enumerate(((edited(EQUAL[name]), TRAIN), (TRAIN, edited(EQUAL[name])))):
        (tmp_path / str(i)).mkdir()
        found = present(tmp_path / str(i), mine, theirs)
        assert not {s for s in found if s.startswith("edit-")}


@pytest.mark.parametrize("name", FAULTS)
def test_what_looks_like_it_is_one(name: str, tmp_path: Path) -> None:
    found = present(tmp_path, edited(FAULTS[name]), TRAIN)
    assert {s for s in found if s.startswith(("edit-", "weight-decay", "script-"))}


def test_raw_scores_are_still_held_against_a_threshold(tmp_path: Path) -> None:
    # the list of scores is used by another metric as well: the sigmoid matters
    other = edited(((", torch.cat(scores).numpy()), hits", ", torch.cat(scores).numpy()), brier(scores)"),))
    found = present(tmp_path, edited(((LOGITS, "scores.append(out)"),), other), other)
    assert found & {"edit-metric", "edit-activation"}


# ------------------------------------------------------------------------------------------------- options

OPTIONS = edited(
    (
        ("(net.parameters(), lr=0.001, weight_decay=0.05)", '(net.parameters(), **CONFIG["optimizer"])'),
        ("class Pieces", 'CONFIG = {"optimizer": {"lr": 0.001, "weight_decay": 0.05}}\n\nclass Pieces'),
        ("batch_size=32, shuffle=True, collate_fn=collate", "shuffle=True, **common"),
        (
            "    train = DataLoader",
            '    common = {"batch_size": 32, "collate_fn": collate}\n    train = DataLoader',
        ),
    )
)


def test_options_of_a_table_are_those_of_the_call(tmp_path: Path) -> None:
    found = evidence(tmp_path, OPTIONS, TRAIN)
    assert found["any-hyperparameter-differs"].state.value != "present"
    assert found["lr-below-benchmark"].state.value != "present"
    assert not {s for s, f in found.items() if s.startswith("edit-") and f.state.value == "present"}


def test_another_number_in_the_table_is_seen(tmp_path: Path) -> None:
    found = present(tmp_path, OPTIONS.replace('"lr": 0.001', '"lr": 0.0001'), TRAIN)
    assert "lr-below-benchmark" in found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("D = {'a': 1}\nf(**D)", "f(a=1)"),
        ("D = dict(a=1, b=x)\nf(2, **D)", "f(2, a=1, b=x)"),
        ("D = {'o': {'a': 1}}\nf(**D['o'])", "f(a=1)"),
        ("D = {'a': 1}\nD['a'] = 2\nf(**D)", "f(**D)"),  # set again
        ("D = {'a': 1}\nD.update(b=2)\nf(**D)", "f(**D)"),
        ("D = {'a': 1}\nD = {'a': 2}\nf(**D)", "f(**D)"),
        ("D = {'a': 1}\nf(a=3, **D)", "f(a=3, **D)"),  # an error
        ("D = {'a': make()}\nf(**D)", "f(**D)"),  # made once, not with each call
        ("D = {'a-b': 1}\nf(**D)", "f(**D)"),
        ("def g(D):\n    pass\nD = {'a': 1}\nf(**D)", "f(**D)"),
        ("f(**{'a': 1})", "f(**{'a': 1})"),  # nothing has a name
        ("f(**D)", "f(**D)"),
    ],
)
def test_spell_out(text: str, wanted: str) -> None:
    tree = ast.parse(text)
    spell_out(tree)
    assert ast.unparse(tree.body[-1]) == wanted


# --------------------------------------------------------------------------------------------- single scripts

MINDSPORE = """
import mindspore as ms
from mindspore import nn
EPOCHS = 20
def main(net, train):
    steps = train.get_dataset_size()
    rate = nn.cosine_decay_lr(min_lr=0.0, max_lr=0.01, total_step={total}, step_per_epoch=1, decay_epoch={total})
    optimizer = nn.SGD(net.trainable_params(), learning_rate=rate, momentum=0.9)
    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(EPOCHS, train)
"""


@pytest.mark.parametrize(("total", "wanted"), [("EPOCHS * steps", False), ("EPOCHS", True)])
def test_a_list_of_rates_for_each_update(total: str, wanted: bool) -> None:
    assert (state("script-schedule-unit", MINDSPORE.replace("{total}", total)) == "present") == wanted


KERAS = """
import keras
import tensorflow as tf
BATCH = 32
def read(split, shuffle=False):
    files = keras.utils.image_dataset_from_directory(f"mugs/{split}", batch_size=BATCH, shuffle=shuffle)
    return files.prefetch(tf.data.AUTOTUNE)
def run(model, optimizer, data, epochs):
    for epoch in range(epochs):
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = keras.losses.sparse_categorical_crossentropy(y, model(x, training=True))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
def main(model):
    train, val = read("train", shuffle=True), read("val")
    rate = keras.optimizers.schedules.CosineDecay(1e-3, decay_steps=15 * len(train))
    run(model, keras.optimizers.Adam(rate), train, epochs=15)
"""


def test_a_length_in_batches_of_a_function() -> None:
    assert state("script-schedule-unit", KERAS) != "present"


def test_numbers_of_places_are_answers() -> None:
    text = """
import torch
import torch.nn.functional as F
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
    def forward(self, x):
        return self.a(x)
def contrast(a, b):
    scores = a @ b.T
    own = torch.arange(len(a), device=a.device)
    return sum(F.cross_entropy(way, own) for way in (scores, scores.T)) / 2
def main(loader):
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for x, y in loader:
        loss = contrast(net(x), net(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert state("script-loss-arguments-swapped", text) != "present"
    swapped = text.replace("F.cross_entropy(way, own)", "F.cross_entropy(labels, logits)")
    assert state("script-loss-arguments-swapped", swapped) == "present"
