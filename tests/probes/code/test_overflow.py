"""MindSpore's loss scale: steps by hand, managers and optimizers, lists of cells, bytes as inputs."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.calls.field import _scale_left
from traindoctor.probes.code.mindspore import overflow
from traindoctor.probes.code.mindspore.steps import half_without_scale
from traindoctor.probes.code.model.registered import _in_list
from traindoctor.probes.code.scaling.ranges import _before_unit
from traindoctor.probes.code.shared.sides import default
from traindoctor.probes.scripts.syntax import Script

CELL = """
from mindspore import nn, ops
from mindspore.ops import functional as F

class Step(nn.TrainOneStepWithLossScaleCell):
    def construct(self, x, y):
        loss = self.network(x, y)
        scale = self.scale_sense
        status, scale = self.start_overflow_check(loss, scale)
        sens = F.ones_like(loss) * F.cast(scale, F.dtype(loss))
        grads = self.grad(self.network, self.weights)(x, y, sens)
        grads = self.hyper_map(F.partial(grad_scale, scale), grads)
        grads = ops.clip_by_global_norm(grads, 1.0)
        cond = self.get_overflow_status(status, grads)
        overflow = self.process_loss_scale(cond)
        if not overflow:
            self.optimizer(grads)
        return loss, cond, scale

step = Step(net, optimizer, nn.DynamicLossScaleUpdateCell(2**16, 2, 1000))
"""
STEP = """
import mindspore as ms
from mindspore import amp, ops

def train_step(x, y):
    loss, grads = grad_fn(x, y)
    finite = amp.all_finite(grads)
    if finite:
        grads = scaler.unscale(grads)
        optimizer(grads)
    scaler.adjust(finite)
    return loss
"""
MODEL = """
from mindspore import nn
from mindspore.train.loss_scale_manager import FixedLossScaleManager
from mindspore.train.model import Model

class Config(dict):
    __getattr__ = dict.__getitem__

config = Config(scale=1024, momentum=0.9)
opt = nn.Momentum(net.trainable_params(), lr, config.momentum, 1e-4, config.scale)
manager = FixedLossScaleManager(config.scale, drop_overflow_update=False)
model = Model(net, loss, opt, loss_scale_manager=manager, amp_level="O2")
model.train(10, data)
"""


def script(text: str, *edits: tuple[str, str]) -> Script:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


def state(check: object, text: str, *edits: tuple[str, str]) -> State | None:
    found = check(script(text, *edits))  # type: ignore[operator]
    return found.state if found is not None else None


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (
            CELL,
            ("        if not overflow:\n            self.optimizer(grads)", "        self.optimizer(grads)"),
        ),
        (CELL, ("if not overflow:", "if overflow:")),
        (
            CELL,
            (
                "        overflow = self.process_loss_scale(cond)\n        if not overflow",
                "        if not cond",
            ),
        ),
        (
            STEP,
            (
                "    if finite:\n        grads = scaler.unscale(grads)\n        optimizer(grads)",
                "    optimizer(scaler.unscale(grads))",
            ),
        ),
        (STEP, ("if finite:", "if not finite:")),
        (
            STEP,
            (
                "finite = amp.all_finite(grads)\n    if finite",
                "finite = ops.logical_not(amp.all_finite(grads))\n    if finite",
            ),
        ),
    ],
)
def test_overflow_that_the_step_does_not_heed(text: str, edit: tuple[str, str]) -> None:
    assert state(overflow.overflow_unheeded, text) is State.ABSENT
    assert state(overflow.overflow_unheeded, text, edit) is State.PRESENT


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        (
            CELL,
            (
                "        if not overflow:\n            self.optimizer(grads)",
                "        if overflow:\n            pass\n        else:\n            self.optimizer(grads)",
            ),
        ),
        (CELL, ("if not overflow:", "if not self.drop or not overflow:")),
        (STEP, ("if finite:", "if finite or not drop_overflow_update:")),
        (
            STEP,
            (
                "    if finite:\n        grads = scaler.unscale(grads)\n        optimizer(grads)",
                "    grads = ops.select(finite, scaler.unscale(grads), zeros)\n    optimizer(grads)",
            ),
        ),
    ],
)
def test_overflow_that_is_heeded_in_another_way(text: str, edit: tuple[str, str]) -> None:
    assert state(overflow.overflow_unheeded, text, edit) is State.ABSENT


def test_no_step_asks_for_overflow() -> None:
    assert state(overflow.overflow_unheeded, "import torch\nloss.backward()\n") is None
    assert state(overflow.overflow_unheeded, "import mindspore\noptimizer(grads)\n") is None


def test_gradients_that_start_at_one_and_are_divided_by_the_scale() -> None:
    plain = ("F.ones_like(loss) * F.cast(scale, F.dtype(loss))", "F.ones_like(loss)")

    assert state(overflow.sens_without_scale, CELL) is None
    assert state(overflow.sens_without_scale, CELL, plain) is State.PRESENT
    unscaled = ("        grads = self.hyper_map(F.partial(grad_scale, scale), grads)\n", "")
    assert state(overflow.sens_without_scale, CELL, plain, unscaled) is None


def test_a_clip_before_the_map_that_takes_the_scale_out() -> None:
    clip, unscale = (
        "        grads = ops.clip_by_global_norm(grads, 1.0)\n",
        "        grads = self.hyper_map(F.partial(grad_scale, scale), grads)\n",
    )

    assert state(overflow.clipped_before_map, CELL) is None
    assert state(overflow.clipped_before_map, CELL, (unscale + clip, clip + unscale)) is State.PRESENT


@pytest.mark.parametrize(
    "edit",
    [
        (", config.scale)\nmanager", ")\nmanager"),
        ("Manager(config.scale, drop", "Manager(128, drop"),
        ("drop_overflow_update=False", "drop_overflow_update=True"),
        ("Manager(config.scale, drop_overflow_update=False)", "Manager(config.scale)"),
    ],
)
def test_manager_and_optimizer_that_scale_apart(edit: tuple[str, str]) -> None:
    assert state(_scale_left, MODEL) is State.ABSENT
    assert state(_scale_left, MODEL, edit) is State.PRESENT


@pytest.mark.parametrize(
    "edits",
    [
        (
            (", config.scale)\nmanager", ")\nmanager"),
            ("drop_overflow_update=False", "drop_overflow_update=True"),
        ),
        (("Manager(config.scale, drop", "Manager(1024, drop"),),
        (("1e-4, config.scale)", "1e-4, loss_scale=config.scale)"),),
        (("config.scale)\nmanager", "args.scale)\nmanager"),),
    ],
)
def test_manager_and_optimizer_that_agree(edits: tuple[tuple[str, str], ...]) -> None:
    assert state(_scale_left, MODEL, *edits) is State.ABSENT


def test_settings_that_an_object_is_made_with() -> None:
    source = script(MODEL)
    read = next(n for n in source.of(ast.Attribute) if n.attr == "scale")
    assert default(source, read) == 1024

    changed = script(MODEL, ("opt = nn", "config.scale = args.scale\nopt = nn"))
    read = [n for n in changed.of(ast.Attribute) if n.attr == "scale"][-1]
    assert default(changed, read) is None


LISTS = """
from mindspore import nn

class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Dense(width, width)

    def construct(self, x):
        return self.fc(x)

class Net(nn.Cell):
    def __init__(self, depth):
        super().__init__()
        blocks, width = [], 64
        for _ in range(depth):
            blocks.append(Block(width))
        self.first = nn.SequentialCell(blocks)
        self.second = self._make(depth)

    def _make(self, depth):
        layers = [Block(64)]
        for _ in range(1, depth):
            layers.append(Block(64))
        return nn.SequentialCell(layers)

    def construct(self, x):
        return self.second(self.first(x))
"""


@pytest.mark.parametrize(
    "edit",
    [("nn.SequentialCell(blocks)", "blocks"), ("return nn.SequentialCell(layers)", "return layers")],
)
def test_cells_in_lists_that_are_unpacked_or_given_back(edit: tuple[str, str]) -> None:
    assert state(_in_list, LISTS) is State.ABSENT
    assert state(_in_list, LISTS, edit) is State.PRESENT


def test_a_list_that_is_given_back_and_registered() -> None:
    edits = (
        ("return nn.SequentialCell(layers)", "return layers"),
        ("self._make(depth)", "nn.CellList(self._make(depth))"),
    )

    assert state(_in_list, LISTS, *edits) is State.ABSENT


BYTES = """
import mindspore.dataset as ds
import mindspore.dataset.vision as V
import numpy as np
from PIL import Image

class Pictures:
    def __getitem__(self, i):
        return np.asarray(Image.open(self.paths[i]), dtype=np.uint8), self.labels[i]

data = ds.GeneratorDataset(Pictures(), ["image", "label"])
MEAN = [0.5, 0.5, 0.5]
steps = [V.Resize(64), V.Rescale(1.0 / 255.0, 0.0), V.Normalize(MEAN, [0.2, 0.2, 0.2]), V.HWC2CHW()]
data = data.map(steps, "image")
"""


def test_figures_of_the_unit_range_on_pictures_read_as_bytes() -> None:
    bare = ("V.Rescale(1.0 / 255.0, 0.0), ", "")

    assert state(_before_unit, BYTES) is not State.PRESENT
    assert state(_before_unit, BYTES, bare) is State.PRESENT
    divided = ("dtype=np.uint8)", "dtype=np.float32) / 255.0")
    assert state(_before_unit, BYTES, bare, divided) is not State.PRESENT
    of_bytes = ("[0.5, 0.5, 0.5]", "[127.0, 127.0, 127.0]")
    assert state(_before_unit, BYTES, bare, of_bytes) is not State.PRESENT


BY_HAND = """
import mindspore as ms
from mindspore import nn, ops
from mindspore.train import Model

class Step(nn.Cell):
    def __init__(self, net, optimizer, scale):
        super().__init__()
        self.net, self.optimizer, self.weights = net, optimizer, optimizer.parameters
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)
        self.start = scale

    def construct(self, x, y):
        loss = self.net(x, y)
        sens = ops.fill(loss.dtype, loss.shape, self.start)
        grads = self.grad(self.net, self.weights)(x, y, sens)
        grads = self.map(self.divide, grads)
        return ops.depend(loss, self.optimizer(grads))

for _, cell in net.cells_and_names():
    cell.to_float(ms.float16)
Model(Step(net, optimizer, 4096.0)).train(10, data)
"""


def test_gradients_that_start_from_a_scale_of_the_script_are_scaled() -> None:
    ones = ("ops.fill(loss.dtype, loss.shape, self.start)", "ops.ones_like(loss)")

    assert state(half_without_scale, BY_HAND) is None
    assert state(half_without_scale, BY_HAND, ones) is State.PRESENT
    multiplied = ("loss = self.net(x, y)", "loss = self.net(x, y) * self.scale_by")
    assert (
        state(half_without_scale, BY_HAND, ones, ("sens_param=True", "sens_param=False"), multiplied) is None
    )
