"""Values are followed through what libraries wrap and give back, and through moves to a device."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss import negated as code_negated
from traindoctor.probes.code.loss import path as code_path
from traindoctor.probes.code.loss import summed as code_summed
from traindoctor.probes.scripts.flow import flow
from traindoctor.probes.scripts.syntax import Script

NET = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)
    def forward(self, x):
        return self.fc(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
"""
LOOP = """
for x, y in loader:
    optimizer.zero_grad()
    out = model(x)
    loss = criterion(out, y)
    {backward}
    optimizer.step()
"""


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


@pytest.mark.parametrize(
    "line",
    [
        "model, optimizer, loader = accelerator.prepare(net, optimizer, loader)",
        "model, optimizer = fabric.setup(net, optimizer)",
        "model, optimizer = amp.initialize(net, optimizer, opt_level='O1')",
        "model, _, loader, _ = deepspeed.initialize(model=net, model_parameters=net.parameters())",
        "model = DDP(net)",
    ],
)
def test_the_model_is_known_behind_its_wrapper(line: str) -> None:
    source = script(NET + line + LOOP.format(backward="loss.backward()"))
    call = source.named("model")[0]
    assert flow(source).made(call.func) is source.classes["Net"]


@pytest.mark.parametrize(
    "line",
    [
        "model = helper(net)",
        "loader, model = accelerator.prepare(loader, *rest)",
        "model, loader = split(net, loader)",
    ],
)
def test_what_is_not_known_is_left(line: str) -> None:
    source = script(NET + line + LOOP.format(backward="loss.backward()"))
    assert flow(source).made(source.named("model")[0].func) is None


@pytest.mark.parametrize("move", ["", ".to(device)", ".cuda()", ".npu()", ".to(device).cuda()"])
def test_a_loss_is_known_on_its_device(move: str) -> None:
    text = (
        NET
        + f"model = net\ncriterion = nn.CrossEntropyLoss(){move}"
        + LOOP.format(backward="loss.backward()")
    )
    assert [k for _, k in script(text).losses] == ["crossentropyloss"]
    turned = text.replace("loss = criterion(out, y)", "loss = -criterion(out, y)")
    found = code_negated._loss_negated(script(turned))
    assert found is not None and found.state is State.PRESENT


@pytest.mark.parametrize(
    ("old", "new", "cut"),
    [
        ("criterion(out, y)", "criterion(torch.tensor(out.tolist(), requires_grad=True), y)", True),
        ("out = model(x)", "out = model(x).detach()", True),
        ("out = model(x)", "out = model(x)\n    print(out.tolist())", False),
    ],
)
def test_a_cut_behind_the_wrapper(old: str, new: str, cut: bool) -> None:
    text = NET + "criterion = nn.CrossEntropyLoss()\nmodel, optimizer = accelerator.prepare(net, optimizer)"
    source = script((text + LOOP.format(backward="accelerator.backward(loss)")).replace(old, new))
    found = code_path._path_cut(source)
    assert (found is not None and found.state is State.PRESENT) is cut


@pytest.mark.parametrize(
    ("backward", "summed"),
    [
        ("(loss / ACCUMULATE).backward()", True),
        ("(loss / len(x)).backward()", False),
        ("accelerator.backward(loss / x.size(0))", False),
    ],
)
def test_micro_batches_make_no_mean_of_a_sum(backward: str, summed: bool) -> None:
    text = (
        NET + "model = net\ncriterion = nn.CrossEntropyLoss(reduction='sum')" + LOOP.format(backward=backward)
    )
    found = code_summed._loss_summed(script(text))
    assert (found is not None and found.state is State.PRESENT) is summed
