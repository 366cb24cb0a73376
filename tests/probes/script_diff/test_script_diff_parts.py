# ruff: noqa: E501
"""Which part of training an edit is in: masks that are the answer, boxes that go in, counts that start anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits, present

SEGMENT = """
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from mindspore.dataset import vision
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 4, 3)
    def construct(self, x):
        return self.body(x)
def turned(image, mask):
    k = np.random.randint(4)
    image, mask = np.rot90(image, k), np.rot90(mask, k)
    return np.ascontiguousarray(image), np.ascontiguousarray(mask)
def dataset(root, training):
    data = ds.GeneratorDataset(Tiles(root), ["image", "mask"], shuffle=training)
    if training:
        data = data.map(turned, input_columns=["image", "mask"])
    data = data.map([vision.Normalize(MEAN, STD), vision.HWC2CHW()], input_columns="image")
    return data.batch(8, drop_remainder=training)
def dice_loss(scores, mask):
    prob = ops.softmax(scores, axis=1)[:, 1]
    return 1 - (2 * (prob * mask).sum() + 1) / (prob.sum() + mask.sum() + 1)
net = Net()
opt = nn.Adam(net.trainable_params(), 1e-3)
def forward(image, mask):
    scores = net(image)
    return nn.CrossEntropyLoss()(scores, mask) + dice_loss(scores, mask)
step = ms.value_and_grad(forward, None, opt.parameters)
for epoch in range(9):
    net.set_train()
    for image, mask in dataset("train", True).create_tuple_iterator():
        loss, grads = step(image, mask)
        opt(grads)
"""
ALONE = [
    ("def turned(image, mask)", "def turned(image)"),
    ("    image, mask = np.rot90(image, k), np.rot90(mask, k)\n", "    image = np.rot90(image, k)\n"),
    ("return np.ascontiguousarray(image), np.ascontiguousarray(mask)", "return np.ascontiguousarray(image)"),
    ('data.map(turned, input_columns=["image", "mask"])', 'data.map(turned, input_columns=["image"])'),
]


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        ([("shuffle=training", "shuffle=False")], "edit-shuffling"),
        (ALONE, "edit-labels-moved"),
    ],
)
def test_a_mask_that_is_the_answer_masks_no_loss(
    tmp_path: Path, edits: list[tuple[str, str]], wanted: str
) -> None:
    mine = SEGMENT
    for old, new in edits:
        assert old in mine
        mine = mine.replace(old, new)
    found = present(tmp_path, mine, SEGMENT)
    assert wanted in found
    assert not found & {"edit-loss-masking", "edit-regularisation-lowered"}


TAGGER = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
import lightning as L
class Pages(Dataset):
    def __init__(self, pages):
        self.pages = pages
    def __getitem__(self, i):
        page = self.pages[i]
        size = torch.tensor([page["w"], page["h"]] * 2)
        boxes = torch.tensor(page["boxes"]) / size
        return torch.tensor(page["ids"]), boxes, torch.tensor(page["tags"])
class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(900, 64)
        self.place = nn.Linear(4, 64)
        self.head = nn.Linear(64, 5)
        self.counts = {}
        self.seen = []
    def forward(self, ids, boxes):
        return self.head(self.words(ids) + self.place(boxes))
    def training_step(self, batch, _):
        ids, boxes, tags = batch
        return nn.functional.cross_entropy(self(ids, boxes).flatten(0, 1), tags.flatten())
    def on_validation_epoch_start(self):
        self.counts = dict(hit=0, all=0)
        self.seen = []
    def validation_step(self, batch, _):
        ids, boxes, tags = batch
        guess = self(ids, boxes).argmax(-1)
        self.counts["hit"] += int((guess == tags).sum())
        self.counts["all"] += tags.numel()
        self.seen.append(guess)
    def on_validation_epoch_end(self):
        self.log("acc", self.counts["hit"] / self.counts["all"])
        self.log("kinds", len(torch.cat(self.seen).unique()))
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)
"""


@pytest.mark.parametrize(
    "line", ["        self.counts = dict(hit=0, all=0)\n", "        self.seen = []\n    def validation"]
)
def test_what_is_added_up_and_starts_anew_no_more(tmp_path: Path, line: str) -> None:
    kept = "    def validation" if line.endswith("validation") else ""
    assert TAGGER.count(line) == 1
    found = present(tmp_path, TAGGER.replace(line, kept), TAGGER)
    assert "edit-metric-reset" in found
    assert "edit-evaluation-inputs" not in found


def test_boxes_that_the_model_takes_are_no_labels(tmp_path: Path) -> None:
    found = present(tmp_path, TAGGER.replace(" / size", ""), TAGGER)
    assert "edit-labels-range" not in found
    assert {s for s in found if s.startswith("edit-")}


def test_what_is_emptied_at_another_place_is_no_edit(tmp_path: Path) -> None:
    mine = TAGGER.replace("        self.seen = []\n    def validation", "    def validation").replace(
        "    def configure", "        self.seen.clear()\n    def configure"
    )
    assert "edit-metric-reset" not in edits(tmp_path, mine, TAGGER)
