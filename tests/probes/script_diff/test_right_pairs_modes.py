"""Modes by where a model runs, new axes by index: equal rewrites raise no edit; slips beside them do."""

from pathlib import Path

import pytest

from .. import _pairs

Swap = tuple[str, str]
NET = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Creaks(Dataset):
    def __init__(self, rows, kinds):
        self.rows = rows
        self.kinds = kinds

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        path, kind = self.rows[i]
        wave = torch.load(path)
        return wave.unsqueeze(0), self.kinds.index(kind)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 5)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(16, classes)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.out(self.drop(x.mean(dim=2)))


def evaluate(net, loader, device):
    net.eval()
    right = total = 0
    with torch.no_grad():
        for wave, kind in loader:
            wave, kind = wave.to(device), kind.to(device)
            right += (net(wave).argmax(dim=1) == kind).sum().item()
            total += len(kind)
    net.train()
    return right / total


def main():
    torch.manual_seed(3)
    device = torch.device("cuda")
    rows, kinds = torch.load("rows.pt"), torch.load("kinds.pt")
    train = DataLoader(Creaks(rows[200:], kinds), batch_size=32, shuffle=True)
    held = DataLoader(Creaks(rows[:200], kinds), batch_size=64)
    net = Net(len(kinds)).to(device)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(20):
        running = 0.0
        for wave, kind in train:
            loss = criterion(net(wave.to(device)), kind.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        acc = evaluate(net, held, device)
        print(epoch, running / len(train), acc)


main()
"""
BACK = ("    net.train()\n    return", "    return")
EPOCH = ("        running = 0.0\n", "        net.train()\n        running = 0.0\n")
LIBRARY = ("net = Net(len(kinds)).to(device)", "net = resnet18(num_classes=8).to(device)")
EQUAL: dict[str, list[Swap]] = {
    "at the start of the epoch": [BACK, EPOCH],
    "before each step": [
        BACK,
        ("            loss = crit", "            net.train()\n            loss = crit"),
    ],
    "at both places": [EPOCH],
    "as it was": [
        ("    net.eval()\n", "    was = net.training\n    net.eval()\n"),
        ("    net.train()\n", "    net.train(was)\n"),
    ],
    "as it was, asked": [
        ("    net.eval()\n", "    was = net.training\n    net.eval()\n"),
        ("    net.train()\n", "    if was:\n        net.train()\n"),
    ],
    "inference mode": [("torch.no_grad()", "torch.inference_mode()")],
    "the loss on the device": [("loss.item()", "loss.detach()"), ("running / len", "running.item() / len")],
    "an index of None": [("wave.unsqueeze(0)", "wave[None]")],
    "an index of None and all": [("wave.unsqueeze(0)", "wave[None, :]")],
}
UNEQUAL: dict[str, list[Swap]] = {
    "not back to training": [BACK],
    "back once, before the epochs": [BACK, ("    for epoch in", "    net.train()\n    for epoch in")],
    "back at the end of the epoch, before the evaluation": [
        BACK,
        ("        acc = eval", "        net.train()\n        acc = eval"),
    ],
    "evaluated as it is": [("    net.eval()\n", "")],
    "put back to what evaluation is": [
        ("    net.eval()\n", "    net.eval()\n    was = net.training\n"),
        ("    net.train()\n", "    net.train(was)\n"),
    ],
    "another axis": [("wave.unsqueeze(0)", "wave[:, None]")],
    "two axes": [("wave.unsqueeze(0)", "wave[None, None]")],
    "an axis behind": [("wave.unsqueeze(0)", "wave[..., None]")],
}


def edits(folder: Path, swaps: list[Swap], *both: Swap) -> set[str]:
    """The edits that are seen in the program with these replacements, beside the one without."""
    theirs = NET
    for old, new in both:
        assert old in theirs
        theirs = theirs.replace(old, new)
    mine = theirs
    for old, new in swaps:
        assert old in mine
        mine = mine.replace(old, new)
    return _pairs.edits(folder, mine, theirs)


@pytest.mark.parametrize("name", EQUAL)
def test_an_equal_way_is_no_edit(tmp_path: Path, name: str) -> None:
    assert not edits(tmp_path, EQUAL[name])


@pytest.mark.parametrize("name", UNEQUAL)
def test_a_slip_is_an_edit(tmp_path: Path, name: str) -> None:
    assert edits(tmp_path, UNEQUAL[name])


def test_a_library_s_model_is_in_train_mode_when_it_is_made(tmp_path: Path) -> None:
    assert not edits(
        tmp_path,
        [BACK, EPOCH],
        LIBRARY,
        ("import torch\n", "import torch\nfrom torchvision.models import resnet18\n"),
    )


def test_a_pretrained_model_of_transformers_is_not(tmp_path: Path) -> None:
    made = ("net = Net(len(kinds))", 'net = ViTModel.from_pretrained("google/vit-base")')
    assert edits(
        tmp_path, [BACK, EPOCH], made, ("import torch\n", "import torch\nfrom transformers import ViTModel\n")
    )


def test_training_by_a_trainer_is_no_mode(tmp_path: Path) -> None:
    fit = ("    for epoch in", "    trainer = Trainer(model=net)\n    trainer.train()\n    for epoch in")
    assert edits(
        tmp_path,
        [("    trainer.train()\n", "")],
        fit,
        ("import torch\n", "import torch\nfrom transformers import Trainer\n"),
    )
