"""Slips of questions asked in public, in small programs of our own: found, and what looks alike is not."""

from __future__ import annotations

import pytest

from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

from .._scripts import PROBES, SYMPTOMS

KERAS = "from keras.models import Sequential\nfrom keras.layers import Activation, Dense\n"
LOOP = """\
for x, y in loader:
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
"""
NET = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.fc = nn.Linear(3, 1)
    def forward(self, x):
        return self.fc(self.body(x).relu())
net = Net()
"""


def _present(symptom: str, text: str) -> bool:
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})
    return read(View(run), SYMPTOMS[symptom], PROBES).state == "present"


@pytest.mark.parametrize(
    ("layers", "found"),
    [
        ("m.add(Dense(8))\nm.add(Activation('relu'))\nm.add(Dense(1))\nm.add(Activation('softmax'))\n", True),
        (
            "m.add(Dense(8))\nm.add(Activation('relu'))\nm.add(Dense(4))\nm.add(Activation('softmax'))\n",
            False,
        ),
        ("m.add(Dense(1))\nm.add(Activation('sigmoid'))\n", False),
        ("m.add(Dense(n))\nm.add(Activation('softmax'))\n", False),
    ],
)
def test_a_softmax_that_is_added_behind_one_unit(layers: str, found: bool) -> None:
    text = f"{KERAS}m = Sequential()\n{layers}m.compile(loss='categorical_crossentropy', optimizer='adam')\n"

    assert _present("script-operator-wrong", text) == found


@pytest.mark.parametrize(
    ("last", "loss", "found"),
    [
        ("Dense(3, activation='sigmoid')", "categorical_crossentropy", True),
        ("Dense(n, activation='sigmoid')", "sparse_categorical_crossentropy", True),
        ("Dense(3, activation='sigmoid')", "binary_crossentropy", False),
        ("Dense(1, activation='sigmoid')", "binary_crossentropy", False),
        ("Dense(3, activation='softmax')", "categorical_crossentropy", False),
    ],
)
def test_sigmoids_before_the_loss_of_one_class(last: str, loss: str, found: bool) -> None:
    model = f"m = Sequential([Dense(8, activation='relu'), {last}])\n"
    text = f"{KERAS}{model}m.compile(loss='{loss}')\nm.fit(x, y)\n"

    assert _present("script-loss-wrong", text) == found


@pytest.mark.parametrize(
    ("optimizer", "found"),
    [
        ("opt = torch.optim.SGD(net_0.parameters(), lr=0.1)\n", True),
        ("opt = torch.optim.SGD(net.parameters(), lr=0.1)\n", False),
        ("net_0 = net\nopt = torch.optim.SGD(net_0.parameters(), lr=0.1)\n", False),
        ("from models import net_0\nopt = torch.optim.SGD(net_0.parameters(), lr=0.1)\n", False),
    ],
)
def test_the_optimizer_of_a_model_that_is_made_nowhere(optimizer: str, found: bool) -> None:
    assert _present("script-optimizer-other-model", NET + optimizer + LOOP) == found


FREEZE = "for p in net.parameters():\n    p.requires_grad = False\n"


@pytest.mark.parametrize(
    ("given", "switched", "found"),
    [
        ("net.parameters()", FREEZE, True),
        ("net.parameters()", FREEZE.replace("net.", "net.body."), False),
        ("net.parameters()", FREEZE + FREEZE.replace("False", "True"), False),
    ],
)
def test_what_the_optimizer_is_given_is_frozen(given: str, switched: str, found: bool) -> None:
    text = f"{NET}opt = torch.optim.SGD({given}, lr=0.1)\n{switched}{LOOP}"
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})
    why = read(View(run), SYMPTOMS["script-part-not-trained"], PROBES).why

    assert ("that the optimizer is given" in why) == found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("KerasClassifier(build_fn=build, nb_epoch=200, batch_size=5)", True),
        ("KerasClassifier(build_fn=build, epochs=200, batch_size=5)", False),
        ("KerasClassifier(build_fn=build, **settings)", False),
    ],
)
def test_epochs_by_their_old_name(made: str, found: bool) -> None:
    text = f"{KERAS}layer = Dense(3, kernel_initializer='normal')\nmodel = {made}\nmodel.fit(x, y)\n"

    assert _present("script-epochs-capped", text) == found
    assert not _present("script-epochs-capped", text.replace("kernel_initializer", "init"))
