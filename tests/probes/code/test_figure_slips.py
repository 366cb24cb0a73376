"""Ranks and pictures that are scored otherwise than the names say; checkpoints that are looked for."""

from __future__ import annotations

import pytest

from .._scripts import state

RANKS = """
import numpy as np
import torch
net = torch.nn.Linear(4, 8)
opt = torch.optim.Adam(net.parameters())
def recall_ndcg(scores, truth, k=10):
    top = np.argsort(-scores, axis=1)[:, :k]
    recalls, precisions, ndcgs = [], [], []
    for i, t in enumerate(truth):
        rel = np.isin(top[i], t).astype(float)
        {recall}
        precisions.append(rel.sum() / k)
        dcg = (rel / np.log2({places})).sum()
        ndcgs.append(dcg / (1 / np.log2(np.arange(2, min(len(t), k) + 2))).sum())
    return np.mean(recalls), np.mean(precisions), np.mean(ndcgs)
for x, y in rows:
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(recall_ndcg(net(held).detach().numpy(), truth))
"""
RECALL = "recalls.append(rel.sum() / len(t))"


@pytest.mark.parametrize(
    ("recall", "places", "told"),
    [
        (RECALL, "np.arange(2, k + 2)", False),
        (RECALL, "np.arange(k) + 2", False),
        ("recalls.append(rel.sum() / min(len(t), k))", "np.arange(2, k + 2)", False),
        (RECALL, "np.arange(1, k + 1)", True),
        (RECALL, "np.arange(k)", True),
        ("recalls.append(rel.sum() / k)", "np.arange(2, k + 2)", True),
        ("recall = rel.sum() / k; recalls.append(recall)", "np.arange(2, k + 2)", True),
    ],
)
def test_ranks(recall: str, places: str, told: bool) -> None:
    text = RANKS.format(recall=recall, places=places)
    assert (state("script-metric-miscounts", text) == "present") is told


PICTURES = """
import lightning as L
import torch
import torch.nn as nn
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
from torchvision import transforms as T
tf = T.Compose([T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.gen = nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.Tanh())
        self.ssim = StructuralSimilarityIndexMeasure(data_range={ssim})
        self.psnr = PeakSignalNoiseRatio(data_range={psnr})
    def training_step(self, batch, _):
        given, truth = batch
        return nn.functional.l1_loss(self.gen(given), truth)
    def validation_step(self, batch, _):
        given, truth = batch
        made = self.gen(given)
        self.ssim(made, {other})
        self.psnr(made, truth)
        self.log("ssim", self.ssim)
        self.log("psnr", self.psnr)
"""


@pytest.mark.parametrize(
    ("ssim", "psnr", "other", "told"),
    [
        ("2.0", "2.0", "truth", False),
        ("1.0", "1.0", "truth", False),
        ("1.0", "2.0", "truth", True),
        ("2.0", "1.0", "truth", True),
        ("2.0", "2.0", "given", True),
    ],
)
def test_pictures(ssim: str, psnr: str, other: str, told: bool) -> None:
    text = PICTURES.format(ssim=ssim, psnr=psnr, other=other)
    assert (state("script-metric-miscounts", text) == "present") is told


HUGGING = """
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint
last = get_last_checkpoint("out")
trainer = Trainer(model=AutoModelForSequenceClassification.from_pretrained("m"),
                  args=TrainingArguments("out"), train_dataset=rows)
trainer.train({given})
"""


@pytest.mark.parametrize(
    ("given", "told"), [("resume_from_checkpoint=last", False), ("last", False), ("", True)]
)
def test_a_checkpoint_that_is_looked_for(given: str, told: bool) -> None:
    assert (state("script-resume-incomplete", HUGGING.format(given=given)) == "present") is told


KEPT = """
import copy
import os
import torch
import torch.nn as nn
net = nn.Linear(4, 2)
slow = copy.deepcopy(net)
opt = torch.optim.Adam(net.parameters())
start = 0
if os.path.exists("last.pt"):
    d = torch.load("last.pt")
    net.load_state_dict(d["net"])
    opt.load_state_dict(d["opt"])
    {slow}
    start = d["epoch"] + 1
for epoch in range(start, 100):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, q in zip(slow.parameters(), net.parameters()):
                p.lerp_(q, 0.01)
    state = dict(net=net.state_dict(), slow=slow.state_dict(), opt=opt.state_dict(), epoch=epoch)
    torch.save(state, "last.pt")
"""


@pytest.mark.parametrize(("slow", "told"), [('slow.load_state_dict(d["slow"])', False), ("pass", True)])
def test_parts_of_a_dict_by_keywords(slow: str, told: bool) -> None:
    assert (state("script-resume-incomplete", KEPT.format(slow=slow)) == "present") is told


PIXELS = """
import torch
import torch.nn as nn
from torchvision.io import read_image
from torchvision.transforms.functional import hflip, normalize, resize
class Pictures(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files = files
    def __getitem__(self, i):
        img = read_image(self.files[i]).float(){scale}
        img = resize(img, [320, 320], antialias=True)
        if torch.rand(()) < 0.5:
            img = hflip(img)
        img = normalize(img, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        return img, 0
net = nn.Conv2d(3, 8, 3)
opt = torch.optim.Adam(net.parameters())
for x, y in torch.utils.data.DataLoader(Pictures(files), 8, shuffle=True):
    loss = net(x).mean()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(("scale", "told"), [(" / 255", False), (".div(255)", False), ("", True)])
def test_figures_of_unit_on_bytes(scale: str, told: bool) -> None:
    assert (state("script-range-mismatch", PIXELS.format(scale=scale)) == "present") is told
