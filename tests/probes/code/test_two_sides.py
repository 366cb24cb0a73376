"""What the two sides of a program, or two ends of it, say differently: losses, numbers of classes, states."""

from __future__ import annotations

import pytest

from .._scripts import SYMPTOMS, state

P = "present"
PADDED = next(k for k, s in SYMPTOMS.items() if s.probe == "code.labels.label_padding_counts")
RESUMED = next(k for k, s in SYMPTOMS.items() if s.probe == "code.resume.resume_incomplete")
NUMBERED = next(k for k, s in SYMPTOMS.items() if s.probe == "code.labels.classes_numbered_apart")

TAGS = """
import torch
import torch.nn.functional as F
def learn(model, loader, opt):
    for x, y in loader:
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(){MINE})
        opt.zero_grad()
        loss.backward()
        opt.step()
@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    return sum(F.cross_entropy(model(x).flatten(0, 1), y.flatten(){THEIRS}).item() for x, y in loader)
"""


@pytest.mark.parametrize(
    ("mine", "theirs", "fires"),
    [
        ("", ", ignore_index=0", True),
        (", ignore_index=-100", ", ignore_index=0", True),
        (", ignore_index=1", ", ignore_index=0", True),
        (", ignore_index=0", ", ignore_index=0", False),
        ("", "", False),
        (", ignore_index=PAD", ", ignore_index=0", False),
    ],
)
def test_both_losses_leave_out_the_same_labels(mine: str, theirs: str, fires: bool) -> None:
    assert (state(PADDED, TAGS.replace("{MINE}", mine).replace("{THEIRS}", theirs)) == P) == fires


TILES = """
import torch
from torch import nn
from torch.utils.data import Dataset
FAULTS = ["crack", "hole", "sound"]
class Tiles(Dataset):
    def __getitem__(self, i):
        return read(i), {LABEL}
net = nn.Sequential(nn.Flatten(), nn.Linear(64, {WIDTH}))
ask = nn.CrossEntropyLoss()
for x, y in loader:
    loss = ask(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("label", "width", "fires"),
    [
        ("FAULTS.index(name(i)) + 1", "len(FAULTS)", True),
        ("torch.tensor(FAULTS.index(name(i)) + 1)", "len(FAULTS)", True),
        ("{n: k for k, n in enumerate(FAULTS, start=1)}[name(i)]", "len(FAULTS)", True),
        ("FAULTS.index(name(i))", "len(FAULTS)", False),
        ("FAULTS.index(name(i)) + 1", "len(FAULTS) + 1", False),
        ("{n: k for k, n in enumerate(FAULTS)}[name(i)]", "len(FAULTS)", False),
    ],
)
def test_classes_are_numbered_from_zero(label: str, width: str, fires: bool) -> None:
    assert (state(NUMBERED, TILES.replace("{LABEL}", label).replace("{WIDTH}", width)) == P) == fires


LIGHTNING = """
import lightning as L
import torch
class Net(L.LightningModule):
    def training_step(self, batch, i):
        return self(batch).mean()
model = Net()
trainer = L.Trainer(max_epochs=3)
{BODY}
"""


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        ('model = Net.load_from_checkpoint("last.ckpt")\ntrainer.fit(model, data)', True),
        ('model.load_state_dict(torch.load("runs/last.ckpt")["state_dict"])\ntrainer.fit(model, data)', True),
        ('model = Net.load_from_checkpoint("out/latest.ckpt")\ntrainer.fit(model)', True),
        ('trainer.fit(model, data, ckpt_path="last.ckpt")', False),
        ('model = Net.load_from_checkpoint("pretrained.ckpt")\ntrainer.fit(model, data)', False),
        ('trainer.fit(model, data)\nmodel = Net.load_from_checkpoint("last.ckpt")', False),
    ],
)
def test_a_trainer_takes_up_its_own_checkpoint(body: str, fires: bool) -> None:
    assert (state(RESUMED, LIGHTNING.replace("{BODY}", body)) == P) == fires


SCORES = """
import numpy as np
import torch
def evaluate(model, loader):
    {BEFORE}
    with torch.no_grad():
        for x, y in loader:
            {EACH}
            out = model(x)
            scores.append(out)
            truth.append(y)
    {AFTER}
"""
READ = "return auc(torch.cat(truth), torch.cat(scores))"


@pytest.mark.parametrize(
    ("before", "each", "after", "fires"),
    [
        ("pass", "scores, truth = [], []", READ, True),
        ("truth = []", "scores = []", READ, True),
        ("scores = []", "truth = []", "return np.concatenate(truth).mean()", True),
        ("scores, truth = [], []", "pass", READ, False),
        ("scores, truth = [], []", "rows = []; rows.append(x); show(rows)", READ, False),
        ("pass", "scores, truth = [], []", "return 1", False),
        ("scores, truth = [], []", "x = x / 2", "mae = (torch.cat(scores) - torch.cat(truth)).mean()", True),
        ("scores, truth = [], []", "x = x / 2", "return accuracy_score(truth, truth)", True),
        ("scores, truth = [], []", "x = x / 2", "return accuracy_score(truth, scores)", False),
        ("scores, truth = [], []", "x = x / 2", "mae = (cat(scores) - cat(truth)).abs().mean()", False),
        (
            "scores, truth = [], []",
            "x = x / 2",
            "bias = (torch.cat(scores) - torch.cat(truth)).mean()",
            False,
        ),
    ],
)
def test_scores_say_what_they_are_named_for(before: str, each: str, after: str, fires: bool) -> None:
    text = SCORES.replace("{BEFORE}", before).replace("{EACH}", each).replace("{AFTER}", after)
    probes = {
        f"code.evaluation.{p}" for p in ("metric_miscounts", "metric_of_a_share", "evaluation_drops_samples")
    }
    wanted = [k for k, s in SYMPTOMS.items() if s.probe in probes]

    assert any(state(k, text) == P for k in wanted) == fires
