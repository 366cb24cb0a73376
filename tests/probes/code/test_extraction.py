"""What is frozen on purpose, and what is frozen although nothing trained it before."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss import negated as code_negated
from traindoctor.probes.code.loss import path as code_path
from traindoctor.probes.code.optimizer import frozen as code_frozen
from traindoctor.probes.scripts.syntax import Script

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 16)
        self.body = nn.GRU(16, 32, batch_first=True)
        self.head = nn.Linear(32, 4)
    def forward(self, x):
        return self.head(self.body(self.table(x))[0][:, -1])

net = Net()
{frozen}
{wrapped}
optimizer = torch.optim.Adam({given})
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


def frozen(lines: str, wrapped: str = "model = net", given: str = "model.parameters()") -> bool:
    text = PROGRAM.replace("{frozen}", lines).replace("{wrapped}", wrapped).replace("{given}", given)
    found = code_frozen.freezes_untrained(script(text))
    return found is not None and found.state is State.PRESENT


@pytest.mark.parametrize(
    "lines",
    [
        "net.body.requires_grad_(False)",
        "net.table.weight.requires_grad = False",
        "for m in (net.table, net.body):\n    for p in m.parameters():\n        p.requires_grad = False",
    ],
)
@pytest.mark.parametrize(
    ("wrapped", "given"),
    [
        ("model = net", "net.parameters()"),
        ("model = DDP(net)", "model.parameters()"),
        ("model = FSDP(net, device_id=0)", "model.parameters()"),
    ],
)
def test_random_weights_are_frozen(lines: str, wrapped: str, given: str) -> None:
    assert frozen(lines, wrapped, given)


@pytest.mark.parametrize(
    ("lines", "given"),
    [
        ("net.table.weight.data.copy_(vectors)\nnet.table.weight.requires_grad = False", "net.parameters()"),
        (
            "net.table.weight = nn.Parameter(vectors)\nnet.table.weight.requires_grad = False",
            "net.parameters()",
        ),
        (
            "net.body.load_state_dict(torch.load('body.pt'))\nnet.body.requires_grad_(False)",
            "net.parameters()",
        ),
        ("other = Net()\nother.requires_grad_(False)", "net.parameters()"),
        ("net = zoo.load(name)\nother = zoo.load(name).eval().requires_grad_(False)", "net.parameters()"),
    ],
)
def test_what_was_trained_elsewhere_may_be_frozen(lines: str, given: str) -> None:
    assert not frozen(lines, given=given)


FLAT = """
import torch
from transformers import AutoModel
model = AutoModel.from_pretrained("base")
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    out = model(**batch)
    loss = out.loss
    {backward}
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (FLAT.replace("loss = out.loss", "loss = out.loss.detach().requires_grad_()"), True),
        (FLAT.replace("loss = out.loss", "loss = torch.tensor(out.loss.item(), requires_grad=True)"), True),
        (FLAT, False),
        (FLAT.replace("loss = out.loss", "loss = out.loss\n    shown = loss.detach()"), False),
    ],
)
def test_a_cut_in_a_script_without_functions(text: str, cut: bool) -> None:
    found = code_path._path_cut(script(text.replace("{backward}", "loss.backward()")))
    assert (found is not None and found.state is State.PRESENT) is cut


@pytest.mark.parametrize(
    ("backward", "turned"),
    [
        ("accelerator.backward(-loss)", True),
        ("(-loss).backward()", True),
        ("accelerator.backward(loss)", False),
        ("accelerator.backward(-out.log_likelihood)", False),
    ],
)
def test_a_sign_in_a_script_without_functions(backward: str, turned: bool) -> None:
    found = code_negated._loss_negated(script(FLAT.replace("{backward}", backward)))
    assert (found is not None and found.state is State.PRESENT) is turned


KEPT = """
    torch.save(net.state_dict(), 'best.pt')
net.load_state_dict(torch.load({path}))
"""


@pytest.mark.parametrize(
    ("load", "found"),
    [
        (KEPT.replace("{path}", "'best.pt'"), True),
        (KEPT.replace("{path}", "args.start"), False),
        ("\n    best = net.state_dict()\nnet.load_state_dict(best)\n", True),
    ],
)
def test_what_the_script_wrote_itself_was_not_trained_elsewhere(load: str, found: bool) -> None:
    text = PROGRAM.replace("{frozen}", "for p in net.body.parameters():\n    p.requires_grad = False")
    text = text.replace("{wrapped}", "model = net").replace("{given}", "net.parameters()").rstrip() + load
    held = code_frozen.freezes_untrained(script(text))
    assert (held is not None and held.state is State.PRESENT) is found
