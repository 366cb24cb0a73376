"""A model that is made anew after the training: evaluated with random weights, or filled before."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.evaluation import loops
from traindoctor.probes.code.optimizer import replaced
from traindoctor.probes.registry import View

from .._build import run

PROGRAM = """
    import copy
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 2)
        def forward(self, x):
            return self.fc(x)
    def main():
        model = Net()
        shadow = copy.deepcopy(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        {before}
        for epoch in range(4):
            for x, y in train_loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            shadow.load_state_dict(model.state_dict())
        {after}
    main()
"""


def view(after: str, before: str = "pass") -> View:
    text = textwrap.dedent(PROGRAM).format(before=before, after=after.replace("; ", "\n    "))
    return View(run(scripts={"t.py": text}))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("model = Net().to(device); evaluate(model, test_loader)", "present"),
        ("final = Net(); final.eval(); print(evaluate(net=final))", "present"),
        ("model = Net(); model.load_state_dict(best); evaluate(model, test_loader)", "absent"),
        ("other = Net(); print(evaluate(model), evaluate(other))", "absent"),
        ("untrained = Net(); print(evaluate(untrained))", "absent"),
        ("model = Net(); fill(model); evaluate(model)", "absent"),
    ],
)
def test_made_anew_after_the_training(after: str, expected: str) -> None:
    assert loops.evaluates_stale_copy(view(after)).state.value == expected
    assert replaced.optimizer_gets_other_model(view(after)).state.value == "absent"


def test_made_anew_before_the_training() -> None:
    found = view("evaluate(model)", before="model = Net()")
    assert loops.evaluates_stale_copy(found).state.value == "absent"
    assert replaced.optimizer_gets_other_model(found).state.value == "present"
    nothing = View(run(scripts={"t.py": "import torch\nprint(torch.rand(3))"}))
    assert loops.evaluates_stale_copy(nothing).state.value == "unknown"
