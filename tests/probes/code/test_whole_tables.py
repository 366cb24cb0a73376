"""Tables that are put into another order as a whole, and inputs that leave their labels behind."""

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.labels.values import labels_permuted_alone

from .._script import finding

BEGIN = "import numpy as np\nimport torch\ntable = np.load('rents.npy')\n"
SHUFFLED = "table = table[np.random.permutation(len(table))]\n"
END = "net = torch.nn.Linear(8, 1)\nloss = torch.nn.functional.mse_loss(net(x), y)\nloss.backward()\n"


@pytest.mark.parametrize(
    ("code", "present"),
    [
        (SHUFFLED + "x, y = table[:, :-1], table[:, -1:]\n", False),
        (SHUFFLED + "held, kept = table[:40], table[40:]\nx, y = kept[:, :-1], kept[:, -1:]\n", False),
        ("y = np.load('prices.npy')\n" + SHUFFLED + "x = table[:, :-1]\n", True),
        ("y = table[:, -1:]\nx = table[:, :-1]\n" + SHUFFLED.replace("table", "x"), True),
    ],
)
def test_whole_tables(code: str, present: bool) -> None:
    assert (finding(labels_permuted_alone, BEGIN + code + END).state is State.PRESENT) == present
