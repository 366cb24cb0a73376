"""Training steps of a program of several: what is missing or turned round in one of them is seen."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TWO = """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)
def train(model, loader, optimizer, device):
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        {CLEAR}
        {FORWARD}
        loss = {SIGN}F.cross_entropy({OUTPUT}, y)
        {BACK}
        {STEP}
def main():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        {BEFORE}
        train(model, loader, optimizer, "cuda")
class Other:
    def learn(self, batch):
        self.optimizer.zero_grad()
        self.loss_of(batch).backward()
        self.optimizer.step()
"""
RIGHT = {
    "CLEAR": "optimizer.zero_grad()",
    "FORWARD": "output = model(x)",
    "SIGN": "",
    "OUTPUT": "output",
    "BACK": "loss.backward()",
    "STEP": "optimizer.step()",
    "BEFORE": "pass",
}


def _two(**changed: str) -> str:
    text = TWO
    for name, value in {**RIGHT, **changed}.items():
        text = text.replace("{" + name + "}", value)
    return text


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, A),
        ({"CLEAR": "pass"}, P),  # the other class clears its own
        ({"CLEAR": "pass", "BEFORE": "optimizer.zero_grad()"}, P),  # once per epoch
        ({"CLEAR": "pass", "STEP": "optimizer.step(); reset_grads(model)"}, A),
        ({"CLEAR": "pass", "STEP": "optimizer.step(); helper.apply_and_clear(optimizer)"}, A),
        (
            {"CLEAR": "pass", "STEP": "optimizer.step()\n        for p in model.parameters(): p.grad = None"},
            A,
        ),
    ],
)
def test_gradients_that_one_of_two_steps_never_clears(changed: dict[str, str], expected: str) -> None:
    assert state("script-gradients-not-cleared", _two(**changed)) == expected


def test_clearing_in_a_helper_that_the_loop_calls_counts() -> None:
    helper = "\ndef prepare(optimizer):\n    optimizer.zero_grad()\n"

    assert state("script-gradients-not-cleared", _two(CLEAR="prepare(optimizer)") + helper) == A


def test_clearing_before_the_loop_that_steps_piles_up() -> None:
    text = _two(CLEAR="pass").replace("    for i, (x", "    optimizer.zero_grad()\n    for i, (x")

    assert state("script-gradients-not-cleared", text) == P


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, A),
        ({"STEP": "pass"}, P),
        ({"STEP": "helper.update(optimizer)"}, A),
        ({"STEP": "for p in model.parameters(): p.data -= 0.1 * p.grad"}, A),
    ],
)
def test_a_step_that_one_of_two_loops_never_takes(changed: dict[str, str], expected: str) -> None:
    assert state("script-step-missing", _two(**changed)) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, A),
        ({"BACK": "loss.detach().requires_grad_(True).backward()"}, P),
        ({"BACK": "torch.tensor(loss.item(), requires_grad=True).backward()"}, P),
        ({"OUTPUT": "output.detach().requires_grad_(True)"}, P),
        ({"FORWARD": "with torch.no_grad():\n            output = model(x)"}, P),
        # the gradient of the copy is read and handed on
        (
            {
                "FORWARD": "whole = model(x)\n        output = whole.detach().requires_grad_(True)",
                "STEP": "whole.backward(output.grad)\n        optimizer.step()",
            },
            A,
        ),
        # a target may be made without gradients
        ({"FORWARD": "output = model(x)\n        with torch.no_grad():\n            y = model(y)"}, A),
    ],
)
def test_an_objective_cut_off_in_one_of_two_steps(changed: dict[str, str], expected: str) -> None:
    assert state("script-gradient-path-cut", _two(**changed)) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, U),  # of two objectives nothing more is said
        ({"SIGN": "-"}, P),
        ({"BACK": "(-loss).backward()"}, P),
        ({"BACK": "(-adv_loss).backward()"}, U),
        ({"BACK": "elbo = -loss\n        (-elbo).backward()"}, U),
    ],
)
def test_a_loss_turned_round_in_one_of_two_steps(changed: dict[str, str], expected: str) -> None:
    assert state("script-loss-negated", _two(**changed)) == expected


CLIP = """
import torch
for x, y in loader:
    optimizer.zero_grad()
    {ONE}
    criterion(model(x), y).backward()
    {TWO}
    optimizer.step()
    {THREE}
"""
CALL = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"


@pytest.mark.parametrize(
    ("one", "two", "three", "expected"),
    [
        ("pass", CALL, "pass", A),
        (CALL, "pass", "pass", P),
        ("pass", "pass", CALL, P),
        ("pass", "if clip:\n        " + CALL, "pass", A),
        (CALL, CALL, "pass", A),  # the second one clips
        ("extra_loss_gradients(model)", "pass", "pass", U),
        ("pass", "pass", "pass", U),
    ],
)
def test_clipping_that_does_not_reach_the_update(one: str, two: str, three: str, expected: str) -> None:
    text = CLIP.replace("{ONE}", one).replace("{TWO}", two).replace("{THREE}", three)

    assert state("script-clip-without-effect", text) == expected


def test_what_comes_after_a_block_without_gradients_counts() -> None:
    again = "with torch.no_grad():\n            output = model(x)\n        output = scale(output)"

    assert state("script-gradient-path-cut", _two(FORWARD=again)) == A


def test_a_helper_that_may_do_anything_excuses_no_clearing_before_the_loop() -> None:
    text = (
        "import torch\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor epoch in range(3):\n"
        "    optimizer.zero_grad()\n    for x, y in loader:\n        criterion(model(x), y).backward()\n"
        "        optimizer.step()\n        engine.update_all(model)\n"
    )

    assert state("script-gradients-not-cleared", text) == P


ATTACK = """
import torch
def attack(model, x, y, optimizer, steps):
    adv = x.clone().requires_grad_()
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(adv), y)
        loss.backward()
        {CLEAR}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("clear", "expected"),
    [
        ("adv.grad.zero_()", (A, U)),  # an input's gradient, used and cleared
        ("optimizer.zero_grad()", (P,)),
        ("for p in model.parameters():\n            p.grad.zero_()", (P,)),
    ],
)
def test_gradients_of_inputs_are_not_the_models(clear: str, expected: tuple[str, ...]) -> None:
    found = state("script-gradients-cleared-too-early", ATTACK.replace("{CLEAR}", clear))

    assert found in expected


TURN = """
import torch
from torch import nn

model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
{calls}
"""


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [
        (("opt.zero_grad()", "opt.step()", "loss.backward()"), "present"),
        (("opt.zero_grad()", "loss.backward()", "opt.step()"), "absent"),
        # an update that is put off by one batch, as a pipeline does it
        (("opt.step()", "opt.zero_grad()", "loss.backward()"), "absent"),
        (("if x.isnan().any():", "    opt.zero_grad()", "opt.step()", "loss.backward()"), "absent"),
    ],
)
def test_a_step_before_backward_meets_no_gradient(calls: tuple[str, ...], wanted: str) -> None:
    """What backward leaves is cleared at the beginning of the next turn."""
    text = TURN.replace("{calls}", "\n".join(f"        {c}" for c in calls))
    assert state("script-gradients-cleared-too-early", text) == wanted
