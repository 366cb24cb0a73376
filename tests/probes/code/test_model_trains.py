"""MindSpore's Model puts its network into training mode by itself; a loop of one's own does not."""

import pytest

from .._scripts import state

MODEL = """
import mindspore as ms
from mindspore import nn
net = Net()
def dice(net, data):
    net.set_train(False)
    return sum(score(net(x), y) for x, y in data.create_tuple_iterator())
loss, opt = nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), learning_rate=1e-3)
model = ms.Model(net, loss_fn=loss, optimizer=opt)
model.train(20, train_set)
print(dice(net, test_set))
"""


def test_a_model_that_trains_sets_its_mode() -> None:
    assert state("script-eval-mode-while-training", MODEL) != "present"


def test_a_loop_of_ones_own_does_not() -> None:
    begin = MODEL.index("model = ")
    own = (
        MODEL[:begin]
        + """
grad = ms.value_and_grad(lambda x, y: loss(net(x), y), None, opt.parameters)
for epoch in range(20):
    net.set_train(False)
    for x, y in train_set.create_tuple_iterator():
        value, grads = grad(x, y)
        opt(grads)
"""
    )
    own = own.replace(MODEL[MODEL.index("def dice") : MODEL.index("loss, opt")], "")
    assert state("script-eval-mode-while-training", own) == "present"


GLOBAL = """
import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(net.parameters())
def embed(x):
    return nn.functional.normalize(net(x), dim=1)
def loss_of(rows):
    return ((embed(rows[0]) - embed(rows[1])) ** 2).mean()
def evaluate():
    net.eval()
    with torch.no_grad():
        return embed(held).std().item()
for epoch in range(9):
    {MODE}
    for step in range(50):
        loss = loss_of(draw())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, evaluate())
"""


@pytest.mark.parametrize(
    ("mode", "present"), [("net.train()", False), ("net.train(True)", False), ("pass", True)]
)
def test_a_model_that_functions_read_from_outside(mode: str, present: bool) -> None:
    """The loop asks it by way of a function, and sets its mode itself."""
    text = GLOBAL.replace("{MODE}", mode)
    assert (str(state("script-eval-mode-while-training", text)) == "present") is present
