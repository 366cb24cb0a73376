"""What libraries of MindSpore and PyTorch do rightly, each beside the fault that it looks like."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

NET = """
import mindspore as ms
from mindspore import mint, nn, ops
class Net(nn.Cell):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads = heads
        self.fc = nn.Dense(dim, dim)
    def construct(self, x{GIVEN}):
        {LINES}
        return self.fc(x)
net = Net(2, 8)
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Adam(net.trainable_params(), 1e-3)
grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
net.set_train()
for x, y in data:
    loss, grads = grad_fn(x, y)
    optimizer(grads)
"""


def net(lines: str, given: str = "") -> str:
    return NET.replace("{LINES}", lines.replace("; ", "\n        ")).replace("{GIVEN}", given)


SPLIT = "b, s, d = x.shape; x = x.reshape(b, s, self.heads, d); "


@pytest.mark.parametrize(
    ("symptom", "expected", "text"),
    [
        # the factors of one size may be written in any order
        (
            "script-operator-wrong",
            A,
            net(
                "h = self.heads; b, s, d = x.shape; x = x.reshape(b // h, h, s, d); "
                "x = x.permute(0, 2, 1, 3).reshape(b // h, s, d * h)"
            ),
        ),
        (
            "script-operator-wrong",
            P,
            net("b, h, s, d = x.shape; x = x.reshape(b, s, d * h)"),
        ),
        # only a part of the values is cut
        ("script-wiring-wrong", A, net("v = self.fc(x); x = m * v + (1 - m) * v.detach()", ", m")),
        ("script-wiring-wrong", P, net("v = self.fc(x); x = m * v.detach()", ", m")),
        # the caller says how much to drop
        (
            "script-dropout-always-on",
            U,
            net("x = ops.dropout(x, dropout_p, training=True)", ", dropout_p=0.0"),
        ),
        ("script-dropout-always-on", P, net("x = ops.dropout(x, 0.1, training=True)")),
        ("script-dropout-always-on", P, net("x = ops.dropout(x, rate, training=True)", ", rate=0.3")),
    ],
)
def test_in_a_cell(symptom: str, expected: str, text: str) -> None:
    assert state(symptom, text) == expected


@pytest.mark.parametrize(("name", "expected"), [("from_pretrained", U), ("build", P)])
def test_a_model_that_is_handed_out_for_use(name: str, expected: str) -> None:
    """`from_pretrained` gives a model in evaluation mode; what builds the model to train does not."""
    text = net("pass").replace("net = Net(2, 8)", f"net = {name}()").replace("net.set_train()", "")
    made = f"def {name}():\n    model = Net(2, 8)\n    model.set_train(False)\n    return model\n"
    assert state("script-eval-mode-while-training", text.replace("net = ", made + "net = ")) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("inputs[idx] = attack.generate(inputs[idx], labels[idx])", A),
        ("inputs[idx] = inputs[idx] + labels[idx]", P),
    ],
)
def test_samples_that_are_attacked(line: str, expected: str) -> None:
    text = net("pass").replace("for x, y in data:", f"{line}\nfor x, y in data:")
    assert state("script-target-in-inputs", text) == expected


GROUPS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Linear(4, 4)
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x * self.gates(x))
model = Net()
gates = list(model.gates.parameters())
{OTHERS}
rest = [p for p in model.parameters() if p not in gates]
optimizer = torch.optim.Adam(rest, lr=1e-3)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("others", "present"), [("side = make_optimizer(gates)", False), ("pass", True)])
def test_the_rest_has_an_optimizer_of_its_own(others: str, present: bool) -> None:
    assert (state("script-part-not-trained", GROUPS.replace("{OTHERS}", others)) == P) is present
