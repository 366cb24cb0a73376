"""Ways of published notebooks that are right, each beside the fault that it looks like."""

from __future__ import annotations

import pytest

from .._scripts import state

TRAINS = """
import torch
from torch import nn
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
def train_one_epoch(loader):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
def run():
    train_one_epoch(loader)
{}
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("run()\nsmall = model.half()\ntorch.save(small.state_dict(), 'half.pt')", False),
        ("small = model.half()\nrun()", True),
        ("run()\nsmall = model.half()\nrun()", True),
    ],
)
def test_a_model_that_is_halved_to_be_saved(end: str, expected: bool) -> None:
    found = state("script-half-without-scaler", TRAINS.format(end))

    assert (found == "present") is expected


AUTOENCODER = """
inputs = Input(shape=(784,))
h = Dense(128, activation="relu")(inputs)
h = Dense(64, activation="relu")(h)
h = Dense(32, activation="relu")(h)
{}
h = Dense(128, activation="relu")(h)
outputs = Dense(784, activation="sigmoid")(h)
model = Model(inputs, outputs)
model.compile(optimizer="adam", loss="mse")
model.fit(x, x, epochs=5)
"""


def test_models_that_each_begin_at_an_input_are_not_one() -> None:
    head = "from tensorflow.keras.layers import Dense, Input\nfrom tensorflow.keras.models import Model\n"
    small = AUTOENCODER.format("")
    deep = AUTOENCODER.format('h = Dense(32, activation="relu")(h)\n' * 12)

    assert state("script-deep-without-normalisation", head + small * 3) == "absent"
    assert state("script-deep-without-normalisation", head + deep) == "present"


SCORES = """
import torch
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, y in train_loader:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
with torch.no_grad():
    preds = model(x_test)
    {}
"""


def test_a_drawing_scores_nothing() -> None:
    drawn = "ax.contourf(a, b, preds.max(0)[1].reshape((20, 20)))"
    scored = "accuracy = (preds.max(0)[1] == y_test).float().mean()"

    assert state("script-metric-wrong", SCORES.format(drawn)) != "present"
    assert state("script-metric-wrong", SCORES.format(scored)) == "present"


SEARCH = """
import torch
from torch import nn
{}
model = nn.Linear(4, 1)
optimizer = {}(model.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randn(64, 1)
def closure():
    optimizer.zero_grad()
    return nn.functional.mse_loss(model(x), y)
loss = closure()
loss.backward()
for i in range(20):
    loss = optimizer.step({})
"""


def test_an_optimizer_that_searches_along_a_line_computes_gradients_itself() -> None:
    given = "{'closure': closure, 'current_loss': loss, 'max_ls': 10}"
    right = SEARCH.format("from LBFGS import FullBatchLBFGS", "FullBatchLBFGS", given)
    wrong = SEARCH.format("", "torch.optim.SGD", "")

    assert state("script-gradients-not-cleared", right) != "present"
    assert state("script-gradients-not-cleared", wrong) == "present"
