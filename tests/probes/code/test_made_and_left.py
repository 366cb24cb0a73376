"""A scaler that is made and left, squared errors on labels of two classes, layers without a bend."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss.calls import regression_loss_on_classes
from traindoctor.probes.code.model.activations import layers_unbent
from traindoctor.probes.code.scaling.unused import scaling_unused

from .._script import finding

SCALER = """
from sklearn.preprocessing import StandardScaler
scaler = StandardScaler()
x = scaler.fit_transform(x)
"""


def test_a_scaler_that_nothing_is_put_through() -> None:
    left = SCALER.replace("x = scaler.fit_transform(x)\n", "y = LabelEncoder().fit_transform(y)\n")
    assert finding(scaling_unused, left).state is State.PRESENT
    assert finding(scaling_unused, SCALER).state is not State.PRESENT


@pytest.mark.parametrize(
    "text",
    [
        "y_scaler = StandardScaler()\n",
        "scaler = StandardScaler()\nother = MinMaxScaler()\nx = other.fit_transform(x)\n",
        "scaler = StandardScaler()\nx = (x - x.mean(0)) / x.std(0)\n",
        "class StandardScaler:\n    pass\nscaler = StandardScaler()\n",
    ],
)
def test_a_scaler_that_may_well_be_left(text: str) -> None:
    assert finding(scaling_unused, text).state is not State.PRESENT


SQUARED = """
from torch import nn
from sklearn.metrics import roc_auc_score
model = nn.Linear(8, 1)
loss_fn = nn.MSELoss()
for x, y in loader:
    out = model(x).squeeze(1)
    loss = loss_fn(out, y)
    loss.backward()
print(roc_auc_score(truth, torch.sigmoid(out)))
"""


def test_squared_errors_where_ranks_of_classes_are_scored() -> None:
    assert finding(regression_loss_on_classes, SQUARED).state is State.PRESENT
    right = SQUARED.replace("nn.MSELoss()", "nn.BCEWithLogitsLoss()")
    assert finding(regression_loss_on_classes, right).state is State.ABSENT
    distance = SQUARED.replace("print(", "anomaly_score = (x - out) ** 2\nprint(")
    assert finding(regression_loss_on_classes, distance).state is not State.PRESENT


DEEP = """
from torch import nn
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters())
for x, y in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*torch.load("d.pt")), shuffle=True):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""


def test_layers_with_no_activation_between_them() -> None:
    assert finding(layers_unbent, DEEP).state is State.ABSENT
    assert finding(layers_unbent, DEEP.replace("nn.ReLU(), ", "")).state is State.PRESENT
    assert finding(layers_unbent, "x = 1\n").state is State.UNKNOWN
