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
