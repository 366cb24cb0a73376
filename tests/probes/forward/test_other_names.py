"""Networks of MindSpore and Paddle, worked out as those of PyTorch are."""

from __future__ import annotations

import pytest

from .._scripts import state
from ._train import kinds, known

MINDSPORE = """
import mindspore as ms
from mindspore import nn, ops
import mindspore.dataset as ds
from mindspore.dataset import vision, transforms


class Net(nn.Cell):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3, stride=2, pad_mode="pad", padding=1, has_bias=True)
        self.bn = nn.BatchNorm2d(16)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.mean = ops.ReduceMean(keep_dims=True)
        self.head = nn.Dense(16 * 7 * 7, classes)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.relu(self.bn(self.conv2(x)))
        x = self.flatten(x)
        return {end}


train = ds.MnistDataset("data/train").map(vision.ToTensor(), "image").batch(32)
net = Net()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Adam(net.trainable_params(), 1e-3)


def forward(x, y):
    return loss_fn(net(x), y)


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
for epoch in range(3):
    net.set_train()
    for x, y in train.create_tuple_iterator():
        loss, grads = grad_fn(x, y)
        optimizer(grads)
"""
PADDLE = """
import paddle
from paddle import nn
import paddle.nn.functional as F


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2D(8)
        self.pool = nn.MaxPool2D(2, 2)
        self.head = nn.Linear(8 * 14 * 14, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.bn(self.conv(x))))
        x = paddle.flatten(x, 1)
        return {end}


train = paddle.vision.datasets.MNIST(mode="train", transform=paddle.vision.transforms.ToTensor())
loader = paddle.io.DataLoader(train, batch_size=64, shuffle=True)
net = Net()
optimizer = paddle.optimizer.Adam(1e-3, parameters=net.parameters())
for epoch in range(3):
    net.train()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize("program", [MINDSPORE, PADDLE])
def test_right_networks_are_worked_out_and_silent(program: str) -> None:
    text = program.replace("{end}", "self.head(x)")
    assert known(text).question.answers[0].shape == (3, 10)
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("program", "end", "kind"),
    [
        (MINDSPORE, "ops.softmax(self.head(x), axis=1)", "bent-twice"),
        (MINDSPORE, "ops.Softmax()(self.head(x))", "bent-twice"),
        (MINDSPORE, "self.relu(self.head(x))", "rectified"),
        (MINDSPORE, "self.head(x) - self.mean(self.head(x), 0)", "met"),
        (PADDLE, "F.softmax(self.head(x), axis=-1)", "bent-twice"),
        (PADDLE, "F.log_softmax(self.head(x), axis=0)", "met"),
    ],
)
def test_faulty_ends(program: str, end: str, kind: str) -> None:
    assert kinds(program.replace("{end}", end)) == [kind]


def test_the_finding_of_a_cell() -> None:
    text = MINDSPORE.replace("{end}", "self.head(x) - self.mean(self.head(x), 0)")
    assert state("script-axis-wrong", text) == "present"
