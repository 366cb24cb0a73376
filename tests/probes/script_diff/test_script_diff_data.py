"""Edits of what feeds training and evaluation: which kind each of them is."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare, sorted_out
from traindoctor.probes.run import Run

PROGRAM = """
import random
import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from torchvision import datasets, transforms

PAD = 0


class Tiles(Dataset):
    def __init__(self, names, train):
        self.names, self.train = names, train

    def __getitem__(self, i):
        name = self.names[i]
        image = np.load("images/" + name)
        mask = np.load("masks/" + name)
        if self.train and np.random.rand() < 0.5:
            image = image[:, ::-1].copy()
            mask = mask[:, ::-1].copy()
        return torch.from_numpy(image), torch.from_numpy(mask)


def collate(batch):
    src, tgt = zip(*batch)
    src = torch.stack(src)
    return src, torch.stack(tgt)


def train_epoch(model, loader, optimizer):
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def evaluate(model, loader):
    right, seen = 0, 0
    with torch.no_grad():
        for images, labels in loader:
            keep = labels != PAD
            right += ((model(images).argmax(1) == labels) & keep).sum().item()
            seen += keep.sum().item()
    return right / seen


train_tf = transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor()])
test_tf = transforms.Compose([transforms.ToTensor()])
train_set = datasets.CIFAR10("data", train=True, transform=train_tf)
test_set = datasets.CIFAR10("data", train=False, transform=test_tf)
train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
test_loader = DataLoader(test_set, batch_size=8)
names = sorted(np.load("names.npy").tolist())
n_val = len(names) // 10
val_names, train_names = names[:n_val], names[n_val:]
stream = tf.data.Dataset.from_tensor_slices(names)
stream = stream.shuffle(9, reshuffle_each_iteration=True)
tile_loader = DataLoader(Tiles(train_names, True), batch_size=8, shuffle=True, collate_fn=collate)
val_loader = DataLoader(Tiles(val_names, False), batch_size=8)
texts = [open(f).read() for f in names]
train_text = "".join(s[: int(0.9 * len(s))] for s in texts)
val_text = "".join(s[int(0.9 * len(s)) :] for s in texts)
train_ids, val_ids = torch.tensor(encode(train_text)), torch.tensor(encode(val_text))
if crops:
    crops_train, crops_val = x_train[:, :28], x_val[:, :28]
model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(9):
    train_loss = train_epoch(model, train_loader, optimizer)
    train_epoch(model, tile_loader, optimizer)
    train_epoch(model, stream, optimizer)
    train_epoch(model, DataLoader(train_ids), optimizer)
    train_epoch(model, DataLoader(crops_train), optimizer)
    print(evaluate(model, DataLoader(val_ids)), evaluate(model, DataLoader(crops_val)))
    print(train_loss, evaluate(model, test_loader), evaluate(model, val_loader))
"""

READ = '        image = np.load("images/" + name)\n'
LOADER = "train_loader = DataLoader(train_set,"
CASES = {
    "random steps for evaluation": (
        "evaluation-inputs",
        "train=False, transform=test_tf",
        "train=False, transform=train_tf",
    ),
    "plain steps for training": (None, "train=True, transform=train_tf", "train=True, transform=test_tf"),
    "labels moved by a transform": (
        "label-mapping",
        "transform=train_tf)",
        "transform=train_tf, target_transform=lambda t: (t + 1) % 10)",
    ),
    "trained on the test data": ("split", "(model, train_loader,", "(model, test_loader,"),
    "part of the classes": (
        "samples-dropped",
        LOADER,
        "keep = [i for i, t in enumerate(train_set.targets) if t < 8]\n"
        "train_set = torch.utils.data.Subset(train_set, keep)\n" + LOADER,
    ),
    "no shuffle of a stream": (
        "shuffling",
        "stream = stream.shuffle(9, reshuffle_each_iteration=True)\n",
        "",
    ),
    "classes of a batch": (
        "samples-dropped",
        "        loss = F.cross",
        "        keep = labels < 5\n        images, labels = images[keep], labels[keep]\n"
        "        loss = F.cross",
    ),
    "a few samples": (
        "fewer-samples",
        LOADER,
        "train_set = torch.utils.data.Subset(train_set, range(90))\n" + LOADER,
    ),
    "a few names": ("fewer-samples", "names[n_val:]", "names[n_val:n_val + 20]"),
    "rows of a full scale": (
        "outliers",
        READ,
        READ + "        image[np.random.randint(32):] = 65535\n",
    ),
    "rows of nothing": (
        "inputs-overwritten",
        READ,
        READ + "        image[np.random.randint(32):] = 0\n",
    ),
    "columns of nothing, far to the right": (
        "inputs-overwritten",
        READ,
        READ + "        image[:, 200:280] = 0\n",
    ),
    "cut once, not per part": (
        "split",
        'train_text = "".join(s[: int(0.9 * len(s))] for s in texts)\n'
        'val_text = "".join(s[int(0.9 * len(s)) :] for s in texts)\n',
        'text = "".join(texts)\ntrain_text, val_text = text[: int(0.8 * len(text))], '
        "text[int(0.8 * len(text)) :]\n",
    ),
    "both sides cropped alike": (
        None,
        "    crops_train, crops_val = x_train[:, :28], x_val[:, :28]\n",
        "    crops_train, crops_val = x_train[:, :14], x_val[:, :14]\n",
    ),
    "labels shuffled": ("labels-moved", LOADER, "random.shuffle(train_set.targets)\n" + LOADER),
    "labels backwards": ("labels-moved", LOADER, "train_set.targets = train_set.targets[::-1]\n" + LOADER),
    "one of a pair sorted": ("labels-moved", "torch.stack(src)\n", "torch.stack(sorted(src, key=len))\n"),
    "mask along another axis": ("labels-moved", "mask[:, ::-1]", "mask[::-1]"),
    "the side is not asked": ("side-asked", "self.train and np.random", "np.random"),
    "a switch for held-out data": ("evaluation-inputs", "Tiles(val_names, False)", "Tiles(val_names, True)"),
    "all places are counted": ("metric", "seen += keep.sum().item()", "seen += labels.numel()"),
    "colours turned": (
        "channel-order",
        "        loss = F.cross",
        "        images = images[:, [2, 1, 0]]\n        loss = F.cross",
    ),
    "colours in any order": (
        "channel-order",
        "        loss = F.cross",
        "        images = images[:, torch.randperm(3)]\n        loss = F.cross",
    ),
}


def _kinds(old: str, new: str, program: str = PROGRAM) -> set[str]:
    assert program.count(old) == 1, old

    def run(script: str) -> Run:
        return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": script})

    found = sorted_out(compare(run(program.replace(old, new)), run(program)))
    return {kind for kind, edits in found.items() if edits}


@pytest.mark.parametrize("name", CASES)
def test_edits_of_data(name: str) -> None:
    """Each edit is of the kind that says what it does to the data, and of no other that names a cause."""
    kind, old, new = CASES[name]

    found = _kinds(old, new)

    assert found, "not seen at all"
    if kind is None:
        assert not found & {"split", "evaluates-other-part"}, found
    else:
        assert kind in found, found


@pytest.mark.parametrize("value", ["65535", "0", "-1"])
def test_rows_that_are_written_to_are_not_taken_out(value: str) -> None:
    """A slice that gets a value leaves as many samples as before."""
    found = _kinds(READ, READ + f"        image[np.random.randint(32):] = {value}\n")
    assert found and "fewer-samples" not in found


METERS = """
import numpy as np
import torch
import lightning as L
from torch.utils.data import DataLoader
from windows import Windows


def read_meter_scores():
    load = np.load("load.npy")
    return load[:, 1:]


class MeterData(L.LightningDataModule):
    def setup(self, stage=None):
        load = read_meter_scores()
        cut = 9 * len(load) // 10
        mean, std = load[:cut].mean(), load[:cut].std()
        load = (load - mean) / std
        self.train_set = Windows(load[:cut])
        self.valid_set = Windows(load[cut:])

    def train_dataloader(self):
        return DataLoader(self.train_set, 64, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.valid_set, 64)


class AverageMeter:
    def update(self, value, n):
        self.total += value * n
        self.count += n


trainer = L.Trainer(max_epochs=9)
trainer.fit(model, MeterData())
"""


@pytest.mark.parametrize(
    ("old", "new", "kinds", "not_kinds"),
    [
        (
            "        load = (load - mean) / std\n",
            "        load = 1000 * load\n",
            set(),
            {"normalisation-one-side"},
        ),
        ("Windows(load[:cut])", "Windows(load[:72, :4])", set(), {"metric"}),
        ("load[:, 1:]", "load[:, 2:]", set(), {"metric", "evaluation-inputs"}),
        ("value * n", "value", {"metric"}, set()),
    ],
)
def test_meters_of_a_house_are_no_measures(old: str, new: str, kinds: set[str], not_kinds: set[str]) -> None:
    """A class or a function that gets data measures nothing, whatever its data are called."""
    found = _kinds(old, new, METERS)

    assert kinds <= found and not not_kinds & found


def test_what_a_part_is_cut_from_is_no_part_of_evaluation() -> None:
    """`train = order[n_test:n_test + 130]` takes samples from training: the border's name is no part."""
    found = _kinds("names[n_test:]", "names[n_test:n_test + 130]", PROGRAM.replace("n_val", "n_test"))

    assert "fewer-samples" in found and "evaluates-other-part" not in found


TABLE = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
x_train, c_train, y_train, x_val, c_val, y_val = read_rows()
train_loader = DataLoader(bake(x_train, c_train, y_train), batch_size=32, shuffle=True)
val_loader = DataLoader(bake(x_val, c_val, y_val), batch_size=32)
model = nn.Linear(6, 1)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(9):
    for x, c, y in train_loader:
        loss = F.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        ("y_train[:1600] = y_train[:1600][::-1].copy()", "labels-moved"),
        ("y_train[::300] *= 1000", "outliers"),
        (
            "x_train, c_train, y_train = x_train[x_train < 9], c_train[x_train < 9], y_train[x_train < 9]",
            "samples-dropped",
        ),
        ("x_train[:, 2] = y_train + 0.1 * x_train[:, 2]", "target-in-inputs"),
    ],
)
def test_what_is_done_to_a_target_puts_nothing_into_the_inputs(edit: str, kind: str) -> None:
    """A line that writes to the target itself, or takes rows of all alike, leaks nothing of it."""
    found = _kinds("train_loader = ", f"{edit}\ntrain_loader = ", TABLE)
    assert kind in found, found
    assert (kind == "target-in-inputs") == ("target-in-inputs" in found)


def test_labels_that_are_struck_out_at_random_change_no_shares() -> None:
    """A constant is written over a part of the labels: they are wrong, and each sample is still drawn."""
    edit = "train_set.labels[torch.rand(train_set.labels.shape) < 0.4] = 0\n"
    found = _kinds(LOADER, edit + LOADER)
    assert "labels-random" in found and "class-balance" not in found, found


COUNTS = """
import argparse
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--n_train", type=int, default=1600)
p.add_argument("--n_valid", type=int, default=240)
args = p.parse_args()


def waves(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 8, (n,), generator=g)
    return torch.randn(n, 60, generator=g) + kind[:, None], kind


train_x, train_y = waves(args.n_train, 5)
valid_x, valid_y = waves(args.n_valid, 6)
model = nn.Linear(60, 8)
optim = torch.optim.Adam(model.parameters())
for epoch in range(9):
    for idx in torch.randperm(len(train_x)).split(20):
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        optim.zero_grad()
        loss.backward()
        optim.step()
    with torch.no_grad():
        print(F.cross_entropy(model(valid_x), valid_y).item())
"""


@pytest.mark.parametrize("old", ["default=240", "default=1600"])
def test_how_many_samples_there_are_is_neither_augmentation_nor_another_way_to_make_them(old: str) -> None:
    """A smaller evaluation is noisier; it is no shift of the data, and takes none from training."""
    found = _kinds(old, "default=40", COUNTS)
    assert not found & {"augmentation-strength", "evaluation-data-made"}, found
    assert ("fewer-samples" in found) == (old == "default=1600"), found


@pytest.mark.parametrize(
    "edit",
    [
        "x_train[np.random.rand(len(x_train)) < 0.003] *= 400",
        "x_train[np.random.default_rng(1).random(len(x_train)) < 0.003, 2] *= 1000",
    ],
)
def test_a_few_values_made_far_larger_are_outliers(edit: str) -> None:
    """Values are multiplied: no class is drawn less often."""
    found = _kinds("train_loader = ", f"{edit}\ntrain_loader = ", TABLE)
    assert "outliers" in found and "class-balance" not in found, found


def test_masks_that_change_places_are_labels_of_other_samples() -> None:
    """The mask is the target of a segmentation: exchanged masks leave nothing out of the loss."""
    old = '        mask = np.load("masks/" + name)\n'
    new = old + "        mask = mask[np.random.permutation(len(mask))]\n"
    found = _kinds(old, new)
    assert "loss-masking" not in found and found & {"labels-random", "labels-moved"}, found


FEATURES = """
import torch
import torch.nn.functional as F
from torch import nn


def features(wave):
    spec = torch.stft(wave, 128, 50, return_complex=True).abs() ** 2
    feats = torch.log(spec + 1e-6).transpose(1, 2)
    return (feats - feats.mean((1, 2), keepdim=True)) / feats.std((1, 2), keepdim=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(65, 8)

    def forward(self, x):
        h = self.out(x)
        h = (h - h.mean(-1, keepdim=True)) / (h.std(-1, keepdim=True) + 1e-5)
        return h.mean(1)


wave, train_y = read_waves("train")
train_x = features(wave)
model = Net()
optim = torch.optim.Adam(model.parameters())
for epoch in range(9):
    for idx in torch.randperm(len(train_x)).split(20):
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        optim.zero_grad()
        loss.backward()
        optim.step()
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("(feats - feats.mean((1, 2), keepdim=True)) / feats.std((1, 2), keepdim=True)", "feats", True),
        ("(feats - feats.mean((1, 2), keepdim=True)) / feats.std((1, 2), keepdim=True)", "spec", True),
        (
            "(feats - feats.mean((1, 2), keepdim=True)) / feats.std((1, 2), keepdim=True)",
            "(feats - feats.mean(1, keepdim=True)) / feats.std(1, keepdim=True)",
            False,
        ),
        ("        h = (h - h.mean(-1, keepdim=True)) / (h.std(-1, keepdim=True) + 1e-5)\n", "", False),
    ],
)
def test_scaling_left_out_where_features_are_made(old: str, new: str, expected: bool) -> None:
    """`(x - x.mean()) / x.std()` is gone from what makes the inputs; a layer has one of its own."""
    found = _kinds(old, new, FEATURES)
    assert ("normalisation-left-out" in found) == expected, found


REVIEWS = """
import os
import random
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Scaler:
    def fit(self, x):
        self.loc, self.scale = float(x.mean()), float(x.std())
        return self

    def __call__(self, x):
        return (x - self.loc) / self.scale


def corpus(n):
    labels = [random.randrange(3) for _ in range(n)]
    return [review(l) for l in labels], labels


def encode(rows, labels):
    return TensorDataset(torch.tensor(rows), torch.tensor(labels))


train_rows, train_labels = corpus(2000)
val_rows, val_labels = corpus(400)
scaler = Scaler().fit(train_rows)
train_loader = DataLoader(encode(scaler(train_rows), train_labels), batch_size=32, shuffle=True)
val_loader = DataLoader(encode(scaler(val_rows), val_labels), batch_size=200)
teacher = nn.Linear(32, 3)
teacher.load_state_dict(torch.load("teacher.pt"))
model = nn.Linear(32, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(7):
    for x, y in train_loader:
        with torch.no_grad():
            soft = teacher(x).softmax(1)
        loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(x), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader) / 400)
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (
            "for l in labels], labels",
            "for l in labels], [l if random.random() > 0.4 else random.randrange(3) for l in labels]",
            "labels-random",
        ),
        ("corpus(2000)", "corpus(90)", "fewer-samples"),
        ("corpus(2000)", "corpus(1800)", ""),
        ("corpus(400)", "corpus(90)", ""),
        ("fit(train_rows)", "fit(train_rows[:6])", "normalisation-values"),
        (
            'teacher.load_state_dict(torch.load("teacher.pt"))',
            'if os.path.exists("teacher.pth"):\n    teacher.load_state_dict(torch.load("teacher.pth"))',
            "pretrained",
        ),
    ],
)
def test_what_a_function_of_the_program_is_asked_for(old: str, new: str, kind: str) -> None:
    """Rows that it makes, labels drawn anew, rows that a scaler is fitted on, weights that may be absent."""
    found = _kinds(old, new, REVIEWS)
    assert kind in found if kind else not found & {"fewer-samples", "labels-random"}, found
