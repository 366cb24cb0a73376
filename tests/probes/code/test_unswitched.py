"""A model that is evaluated in training mode, as nothing on the way there switches it off."""

import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.mode.unswitched import never_switched_off
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run

PLAIN = """
import torch

for epoch in range(30):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    right = 0
    with torch.no_grad():
        for x, y in val_loader:
            right += (model(x).argmax(1) == y).sum()
"""
CLASS = """
import torch


class Work:
    def fit(self):
        for epoch in range(30):
            self.model.train()
            for batch in self.train_loader:
                self.optimizer.zero_grad()
                self.model(batch).loss.backward()
                self.optimizer.step()
            self.measure()

    @torch.inference_mode()
    def measure(self):
        total = 0.0
        for batch in self.val_loader:
            total += self.model(batch).loss.item()
        return total

    def calm(self):
        self.model.requires_grad_(False)
"""


def state(text: str) -> State:
    """What the probe says of one script."""
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})
    return never_switched_off(View(run)).state


@pytest.mark.parametrize("text", [PLAIN, CLASS])
def test_what_trains_in_its_mode_and_is_never_switched(text: str) -> None:
    """In one loop, and over methods."""
    assert state(text) is State.PRESENT


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("    right = 0\n", "    right = 0\n    model.eval()\n"),
        PLAIN.replace("    right = 0\n", "    right = 0\n    model.train(False)\n"),
        CLASS.replace("        total = 0.0\n", "        total = 0.0\n        self.model.eval()\n"),
        CLASS.replace(
            "            self.measure()\n", "            self.calm()\n            self.measure()\n"
        ).replace("self.model.requires_grad_(False)", "self.model.eval()"),
    ],
)
def test_a_switch_here_or_with_who_calls(text: str) -> None:
    """Right there, in the caller, in a helper that the caller asks."""
    assert state(text) is State.ABSENT


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("    model.train()\n", ""),  # nobody cares for modes
        PLAIN.replace("in val_loader", "in pairs").replace("with torch.no_grad()", "with timer()"),
        PLAIN.replace("right += (model(x)", "right += (score(x)"),
    ],
)
def test_what_has_no_modes_or_no_evaluation_cannot_be_told(text: str) -> None:
    """No `.train()`, no loop without gradients, another thing that is run."""
    assert state(text) is State.UNKNOWN


def test_a_loop_that_only_measures_time_is_no_evaluation() -> None:
    """Nothing is made of the answers."""
    text = PLAIN.replace("right += (model(x).argmax(1) == y).sum()", "out = model(x)")
    assert state(text) is not State.PRESENT
    assert state(text + "            right += (out.argmax(1) == y).sum()\n") is State.PRESENT


@pytest.mark.parametrize(("line", "said"), [("teacher.eval()", State.ABSENT), ("", State.PRESENT)])
def test_the_copy_that_is_judged_is_the_one_to_switch(line: str, said: State) -> None:
    """`teacher.eval()` before the teacher itself is judged."""
    text = PLAIN.replace("model", "student").replace("(student(x).argmax", "(teacher(x).argmax")
    text = text.replace("import torch\n", "import copy\nimport torch\nteacher = copy.deepcopy(student)\n")
    text = text.replace("    right = 0\n", f"    right = 0\n    {line}\n")
    assert state(text) is said
