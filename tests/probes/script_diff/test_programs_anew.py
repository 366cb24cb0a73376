"""A program that was written anew does the same in other words: settings and findings of both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.model import State

from .._pairs import evidence, present

PLAIN = """
import torch
from torch import nn
from torchvision import models
torch.manual_seed(0)
net = models.resnet18(pretrained=True)
for p in net.layer1.parameters():
    p.requires_grad = False
net.fc = nn.Linear(512, 37)
net = net.cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=3e-4)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=15, gamma=0.1)
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
def accuracy(net, loader):
    net.eval()
    n = right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (net(x.cuda()).argmax(1).cpu() == y).sum().item()
            n += len(y)
    return right / n
for epoch in range(45):
    net.train()
    opt.zero_grad()
    for i, (x, y) in enumerate(make_loader("pets/train", 24, True)):
        loss = loss_fn(net(x.cuda()), y.cuda()) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            opt.step()
            opt.zero_grad()
    sched.step()
    print(epoch, accuracy(net, make_loader("pets/val", 48, False)))
"""
ANEW = '''
import torch
import torch.nn as nn
from torchvision.models import resnet18
BATCH, MICRO = 24, 4


def build(classes=37):
    model = resnet18()
    model.load_state_dict(torch.load("resnet18-imagenet.pth"))
    model.layer1.requires_grad_(False)
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model.to("cuda")


@torch.no_grad()
def accuracy(model, batches):
    """The share of right answers."""
    model.eval()
    count = right = 0
    for images, labels in batches:
        predicted = model(images.cuda()).argmax(dim=1).cpu()
        right += (predicted == labels).sum().item()
        count += labels.size(0)
    return right / count


class Training:
    def __init__(self):
        torch.manual_seed(0)
        self.model = build()
        self.train_batches = make_loader("pets/train", BATCH, True)
        self.val_batches = make_loader("pets/val", 2 * BATCH, False)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9, weight_decay=3e-4)
        self.scheduler = torch.optim.lr_scheduler.MultiStepLR(self.optimizer, milestones=[15, 30], gamma=0.1)

    def epoch(self):
        self.model.train()
        rows = iter(self.train_batches)
        for _ in range(len(self.train_batches) // MICRO):
            self.optimizer.zero_grad(set_to_none=True)
            for _ in range(MICRO):
                images, labels = next(rows)
                (self.criterion(self.model(images.cuda()), labels.cuda()) / MICRO).backward()
            self.optimizer.step()
        self.scheduler.step()

    def run(self):
        for number in range(45):
            self.epoch()
            print(number, accuracy(self.model, self.val_batches))


Training().run()
'''


def test_what_was_written_anew_and_is_equal_shows_nothing(tmp_path: Path) -> None:
    found = present(tmp_path, ANEW, PLAIN)
    assert {
        s for s in found if s.startswith(("edit-", "script-", "schedule-", "batch-", "lr-", "accum"))
    } == set()


@pytest.mark.parametrize(
    ("mine", "symptom"),
    [
        (ANEW.replace("BATCH, MICRO = 24, 4", "BATCH, MICRO = 24, 16"), "accumulation-differs"),
        (ANEW.replace("    model.eval()\n", ""), "script-mode-wrong"),
        (ANEW.replace("MultiStepLR(self.optimizer, milestones=[15, 30]", "ExponentialLR(self.optimizer"), ""),
    ],
)
def test_what_differs_is_told_all_the_same(tmp_path: Path, mine: str, symptom: str) -> None:
    assert mine != ANEW
    found = present(tmp_path, mine, PLAIN)
    assert (symptom or "schedule-differs") in found


def test_another_program_has_other_figures_and_names(tmp_path: Path) -> None:
    other = """
import torch
from torch import nn
words = open("corpus.txt").read().split()
table = {w: i for i, w in enumerate(sorted(set(words)))}
ids = torch.tensor([table[w] for w in words])
class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20000, 256)
        self.cell = nn.LSTM(256, 512, num_layers=3, batch_first=True)
        self.out = nn.Linear(512, 20000)
    def forward(self, x):
        h, _ = self.cell(self.table(x))
        return self.out(h)
lm = Language()
update = torch.optim.RMSprop(lm.parameters(), lr=7e-4, alpha=0.95)
for start in range(0, 90000, 64):
    a = ids[start : start + 64][None]
    b = ids[start + 1 : start + 65][None]
    update.zero_grad()
    entropy = nn.functional.cross_entropy(lm(a).transpose(1, 2), b)
    entropy.backward()
    update.step()
"""
    assert evidence(tmp_path, other, PLAIN)["script-other-program"].state is State.PRESENT
