"""What was done on the way: layers, pictures and masks, listed files, kept figures, quantiles."""

from __future__ import annotations

import pytest

from ._program import told

PICTURES = """
import os
import random
import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Roads(Dataset):
    def __init__(self, names, augment):
        self.names, self.augment = names, augment
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        img = Image.open(os.path.join("images", self.names[i] + ".jpg")).convert("RGB").resize((64, 64))
        mask = Image.open(os.path.join("masks", self.names[i] + ".png")).resize((64, 64), Image.NEAREST)
        img, mask = np.array(img, dtype=np.float32) / 255, np.array(mask, dtype=np.int64)
        if self.augment and random.random() < 0.5:
            img, mask = img[:, ::-1].copy(), mask[:, ::-1].copy()
        return torch.from_numpy(img).permute(2, 0, 1), torch.from_numpy(mask)

def score(net, loader):
    net.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += nn.functional.cross_entropy(net(x), y).item() * len(y)
            n += len(y)
    return total / n

names = sorted(f[:-4] for f in os.listdir("images") if f.endswith(".jpg"))
random.shuffle(names)
cut = int(0.8 * len(names))
train = DataLoader(Roads(names[:cut], True), batch_size=8, shuffle=True)
val = DataLoader(Roads(names[cut:], False), batch_size=8)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 1), nn.ReLU(), nn.Conv2d(8, 5, 1))
opt = torch.optim.Adam(net.parameters())
best = 1e9
for epoch in range(9):
    net.train()
    for x, y in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    vl = score(net, val)
    print("val", vl)
    if vl < best:
        best = vl
        torch.save(net.state_dict(), "best.pt")
net.load_state_dict(torch.load("best.pt"))
print("val", score(net, val))
"""
MINE = {
    "moved-apart",
    "kept-for-more",
    "linear-only",
    "scored-rows-taught",
    "scores-training-rows",
    "last-batch",
}
FAULTS = {
    "mask left": ("mask[:, ::-1].copy()", "mask", "moved-apart"),
    "mask turned otherwise": ("mask[:, ::-1].copy()", "mask[::-1].copy()", "moved-apart"),
    "worst kept": ("if vl < best", "if vl > best", "kept-for-more"),
    "no activation": (", nn.ReLU(), nn.Conv2d(8, 8, 1), nn.ReLU(),", ", nn.Conv2d(8, 8, 1),", "linear-only"),
    "held out are all": ("Roads(names[cut:], False)", "Roads(names, False)", "scores-training-rows"),
    "trained on all": ("Roads(names[:cut], True)", "Roads(names, True)", "scored-rows-taught"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told(name: str) -> None:
    old, new, kind = FAULTS[name]
    assert kind in told((old, new), text=PICTURES)


SOUND = {
    "as it is": ("", ""),
    "colours turned": ("img[:, ::-1].copy(), mask[:, ::-1].copy()", "img[:, :, ::-1].copy(), mask"),
    "colours turned by an ellipsis": (
        "img[:, ::-1].copy(), mask[:, ::-1].copy()",
        "img[..., ::-1].copy(), mask",
    ),
    "two layers": (
        "nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 1), nn.ReLU()",
        "nn.Conv2d(3, 8, 1)",
    ),
    "kept in the other branch": (
        "    if vl < best:\n        best = vl\n",
        "    if vl > best:\n        pass\n    else:\n        best = vl\n",
    ),
    "negated": ("    if vl < best", "    vl = -vl\n    if vl > best"),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_programs_are_left_alone(name: str) -> None:
    old, new = SOUND[name]
    assert not MINE & set(told((old, new), text=PICTURES) if old else told(text=PICTURES))


def test_another_ending_in_the_same_folder_may_choose_other_files() -> None:
    other = "names = sorted(f[:-4] for f in os.listdir('images') if f.endswith('.jpg'))\n"
    edit = (
        "Roads(names[cut:], False)",
        "Roads([f for f in os.listdir('images') if f.endswith('.bmp')], False)",
    )
    assert not MINE & set(told(edit, text=PICTURES.replace("names = ", other + "names = ", 1)))


SHARED = """
import torch
from torch import nn
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader, TensorDataset

def run(net, loader, opt=None):
    net.train(opt is not None)
    said, truth = [], []
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            out = net(x).squeeze(1)
            if opt is not None:
                opt.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(out, y).backward()
                opt.step()
            said.append(torch.sigmoid(out).detach())
            truth.append(y)
    return roc_auc_score(torch.cat(truth).numpy(), torch.cat(said).numpy())

a = DataLoader(TensorDataset(*torch.load("train.pt")), batch_size=32, shuffle=True)
b = DataLoader(TensorDataset(*torch.load("val.pt")), batch_size=32)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    print(epoch, "train", run(net, a, opt), "val auc", run(net, b))
"""


def test_the_last_batch_of_a_loop_that_trains_and_scores() -> None:
    cut = (
        "            truth.append(y)\n",
        "            truth.append(y)\n            said, truth = said[-1:], truth[-1:]\n",
    )
    assert "last-batch" in told(cut, text=SHARED)
    assert "last-batch" not in told(text=SHARED)


CLICKS = """
import pandas as pd
import torch
from torch import nn
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

df = pd.read_parquet("clicks.parquet").sort_values("ts")
t_val, t_test = df["ts"].quantile([0.8, 0.9])
train = df[df["ts"] < t_val].copy()
val = df[(df["ts"] >= t_val) & (df["ts"] < t_test)].copy()
scaler = StandardScaler().fit(train.drop(columns=["clicked", "user"]))

def pack(part, mix):
    x = torch.tensor(scaler.transform(part.drop(columns=["clicked", "user"])), dtype=torch.float32)
    return DataLoader(TensorDataset(x, torch.tensor(part["clicked"].values)), batch_size=32, shuffle=mix)

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    for x, y in pack(train, True):
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y).backward()
        opt.step()
    total = 0.0
    with torch.no_grad():
        for x, y in pack(val, False):
            total += nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y).item()
    print(epoch, "val", total)
"""
ROWS = {"scored-rows-taught", "scores-training-rows", "target-among-inputs"}


def test_quantiles_cut_a_column_in_their_order() -> None:
    assert not ROWS & set(told(text=CLICKS))
    early = ('(df["ts"] >= t_val) & (df["ts"] < t_test)', 'df["ts"] < t_test')
    assert ROWS & set(told(early, text=CLICKS))
    drawn = ('train = df[df["ts"] < t_val].copy()', "train = df.sample(frac=0.8, random_state=0)")
    assert "scored-rows-taught" in told(drawn, text=CLICKS)


def test_a_target_that_was_dropped_goes_through_no_scaler() -> None:
    kept = ('part.drop(columns=["clicked", "user"])', 'part.drop(columns=["user"])')
    assert "target-among-inputs" in told(kept, text=CLICKS)
