"""Training and held-out data that are treated differently: in scripts and in configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.scaling import pipelines as code_pipelines
from traindoctor.probes.config import splits as split_settings
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run, Setting

from ..code.test_checks import SOUND, readings

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

FLAG = """
def load(train):
    x = read()
    {body}
    return x
train_set, test_set = 1, 2
train_set = load(True)
test_set = load(False)
"""
LOOPS = """
import torch
from torch import nn
class Net(nn.Module):
    def forward(self, x):
        return self.fc(x)
def validate(model, loader):
    for images, y in loader:
        images = images.to("cuda")
        out = model({other})
model = Net()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for images, y in train_loader:
    images = {mine}
    loss = nn.functional.cross_entropy(model(images), y)
    loss.backward()
    optimizer.step()
"""
SCALED = """
train, valid = load()
mean, std = train.mean(0), train.std(0)
train = (train - mean) / std
val = loss_of(net(valid), valid)
print(f"val={val:.4f}")
"""
INPUTS = [
    (PRESENT, "train_x = train_x / 255\nval_x = val_x.float()"),
    (PRESENT, "valid_set.spectra += 3.0\ntrain_set.masking = 8"),
    (
        PRESENT,
        "val_x = [torch.cat([a / 255 for a in val_x[i : i + 8]]) for i in range(0, 64, 8)]\ntrain_x = 1",
    ),
    (
        UNKNOWN,
        "val_x = [torch.cat(val_x[i : i + 8]) for i in range(0, 8 * 8, 8)]\ntrain_x = torch.stack(train_x)",
    ),
    (ABSENT, "train_x = train_x / 255\nval_x = val_x / 255"),
    (ABSENT, "train_set.x -= mean\nval_set.x -= mean"),
    (PRESENT, FLAG.format(body="if train:\n        x = (x - x.mean()) / x.std()")),
    (PRESENT, FLAG.format(body="x = x if train else x * 0.45")),
    (UNKNOWN, FLAG.format(body="if train:\n        x = x + torch.randn_like(x)")),
    (UNKNOWN, FLAG.format(body="x = random_crop(x) if train else center_crop(x)")),
    (UNKNOWN, FLAG.format(body="if train:\n        x = x[:100]")),
    (PRESENT, SCALED),
    (ABSENT, SCALED + "valid = (valid - mean) / std\n"),  # `val` is a figure, no data
    (UNKNOWN, "val_loss = 0\ntrain_loss = 0\nval_loss = val_loss / n"),
    (PRESENT, LOOPS.format(mine="images.float() / 255", other="images.float()")),
    (PRESENT, LOOPS.format(mine="images", other="normalize(images, mean, std)")),
    (ABSENT, LOOPS.format(mine="images.float() / 255", other="images.float().cuda() / 255")),
    (ABSENT, LOOPS.format(mine="augment(images) / 255", other="images / 255")),
    (UNKNOWN, LOOPS.format(mine="prepare(images)", other="images / 255")),
]


@pytest.mark.parametrize(("state", "code"), INPUTS)
def test_inputs(state: State, code: str) -> None:
    """Scaling of one split only is named, wherever it stands; augmentation, crops and selection are not."""
    text = code if "loss.backward()" in code else code + "\n" + SOUND

    found = readings(text)["script-splits-processed-differently"]

    assert found.state is state, found.why


LABELS = [
    (
        PRESENT,
        "valid_set.words = torch.tensor([order.index(w) for w in valid_set.words])\ntrain_set.masking = 1",
    ),
    (PRESENT, "val_y = 7 - val_y\ntrain_y = train_y.long()"),
    (ABSENT, "val_y = val_y - 1\ntrain_y = train_y - 1"),
    (UNKNOWN, "val_y = val_y.long()"),
]


@pytest.mark.parametrize(("state", "code"), LABELS)
def test_labels(state: State, code: str) -> None:
    """Labels that are numbered anew for one split only."""
    words = "def score(out, batch):\n    return F.cross_entropy(out, batch.words)\n"

    found = readings(code + "\n" + words + SOUND)["script-labels-processed-differently"]

    assert found.state is state, found.why


ONE, OTHER = "T.Normalize([0.5], [0.2])", "T.Normalize([0.0], [1.0])"
PIPELINES = [
    (PRESENT, f"train_tf = T.Compose([flip, {ONE}])\ntest_tf = T.Compose([T.ToTensor()])"),
    (PRESENT, f"train_tf = T.Compose([flip, {ONE}])\ntest_tf = T.Compose([{OTHER}])"),
    (ABSENT, f"train_tf = T.Compose([flip, {ONE}])\ntest_tf = T.Compose([{ONE}])"),
    (UNKNOWN, f"train_tf = T.Compose([flip, {ONE}])"),
    (
        PRESENT,
        'data = dict(train=dict(pipeline=[dict(type="Normalize", mean=[1, 2], std=[3, 4])]),\n'
        '            val=dict(pipeline=[dict(type="Normalize", mean=[0, 0], std=[1, 1])]))',
    ),
    (
        ABSENT,
        "norm = dict(mean=[1, 2], std=[3, 4])\n"
        'train_pipeline = [dict(type="Normalize", **norm)]\ntest_pipeline = [dict(type="Normalize", **norm)]',
    ),
]


@pytest.mark.parametrize(("state", "code"), PIPELINES)
def test_pipelines(state: State, code: str) -> None:
    """Pipelines of both splits: one without normalisation, other figures, alike; also in a configuration."""
    run = Run(RunInfo(path="run"), {}, (), {}, (), (), {}, scripts={"configs/a.py": code, "train.py": SOUND})

    assert code_pipelines.normalises_one_split(View(run, None)).state is state


SETTINGS: list[tuple[State, Mapping[str, Any]]] = [
    (PRESENT, {"data.train_pipeline.3.mean": (122.0, 98.0), "data.test_pipeline.0.mean": (0, 0)}),
    (PRESENT, {"train.transforms.0.type": "Normalize", "val.transforms.0.type": "Resize"}),
    (ABSENT, {"train.transforms.std": 0.2, "val.transforms.std": 0.2}),
    (UNKNOWN, {"train.crop_size": 224, "val.crop_size": 256, "mean": 0.5}),
    (
        UNKNOWN,
        {"data.train.type": "A", "data.train.pipeline.0.type": "Normalize", "data.val.type": "A"},
    ),
]


@pytest.mark.parametrize(("state", "settings"), SETTINGS)
def test_settings_of_splits(state: State, settings: Mapping[str, Any]) -> None:
    """What must be alike for both splits, and what may differ."""
    raw = tuple(Setting(k, v, "config.yaml") for k, v in settings.items())
    run = Run(RunInfo(path="run"), {}, (), {}, raw, (), {})

    assert split_settings.splits_normalised_differently(View(run, None)).state is state


def test_a_mask_called_valid_is_no_held_out_data() -> None:
    """`pred, valid = model(x), known(depth)`: which pixels count, beside a data set called `train`."""
    text = SOUND.replace(
        "for epoch", "train = read()\npred, valid = model(train), train.valid(valid)\nfor epoch", 1
    )
    assert readings(text)["script-splits-processed-differently"].state is not PRESENT
    both = SOUND.replace("for epoch", "train, valid = one(train), other(valid) / 2\nfor epoch", 1)
    assert readings(both)["script-splits-processed-differently"].state is PRESENT
