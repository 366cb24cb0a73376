"""What stands deep in a large package is told, and is no evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.cli.script_work import report
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.readings import readings
from traindoctor.probes.scripts import files as script_files
from traindoctor.probes.scripts import packages

RULES = load_rules()
FAULT = """
def step(net, x, y, opt):
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""
HEAD = "import torch\nimport torch.nn.functional as F\n"
MAIN = """
torch.manual_seed(3)
def main(net, loader):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        step(net, x, y, opt)
main(build(), load())
"""


def project(folder: Path, others: int, where: str) -> Path:
    """A program of `others` + 2 files whose training step clears no gradients; `where` it stands."""
    for i in range(others):
        (folder / f"part{i}.py").write_text(f"def tool{i}(x):\n    return x + {i}\n")
    imports = "".join(f"from part{i} import tool{i}\n" for i in range(others))
    (folder / "steps.py").write_text(HEAD + (FAULT if where == "steps.py" else "def no(x):\n    return x\n"))
    mine = "from steps import step\n" if where == "steps.py" else "from steps import no\n" + FAULT
    (folder / "train.py").write_text(HEAD + imports + mine + MAIN)
    return folder / "train.py"


@pytest.mark.parametrize(
    ("others", "where", "weighs"),
    [
        (2, "steps.py", True),
        (packages.PACKAGE - 2, "steps.py", True),
        (packages.PACKAGE - 1, "steps.py", False),
        (packages.PACKAGE + 9, "train.py", True),
    ],
)
def test_deep_findings_are_remarks(tmp_path: Path, others: int, where: str, weighs: bool) -> None:
    read = script_files.read(project(tmp_path, others, where))
    evidence = readings(read.run, None, RULES.symptoms.values())
    found = evidence["script-gradients-not-cleared"]
    told = report(RULES, read, "train.py")

    assert found.where[0].file == where
    assert (found.state is State.PRESENT) == weighs
    assert packages.is_deep(found) != weighs
    assert ("script-gradients-not-cleared" in {f.symptom for f in told.faults}) == weighs
    assert ("script-gradients-not-cleared" in {f.symptom for f in told.remarks}) != weighs
    assert bool(told.ranking) == weighs


NET = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.out(x).detach()
"""


@pytest.mark.parametrize(
    ("others", "where", "weighs"),
    [
        (2, "steps.py", True),
        (packages.PROJECT - 2, "steps.py", True),
        (packages.PROJECT - 1, "steps.py", False),
        (packages.PROJECT - 2, "train.py", True),
        (packages.PROJECT, "train.py", False),
    ],
)
def test_what_takes_more_than_one_place_weighs_in_small_programs(
    tmp_path: Path, others: int, where: str, weighs: bool
) -> None:
    entry = project(tmp_path, others, "train.py")
    (tmp_path / "steps.py").write_text(HEAD + (NET if where == "steps.py" else "def no(x):\n    return x\n"))
    text = entry.read_text().replace("    loss.backward()", "    opt.zero_grad()\n    loss.backward()")
    used = text.replace("from steps import no\n", "from steps import Net\n" if where == "steps.py" else NET)
    entry.write_text(used.replace("main(build(), load())", "main(Net(), load())"))
    found = readings(script_files.read(entry).run, None, RULES.symptoms.values())["script-wiring-wrong"]

    assert found.where[0].file == where
    assert (found.state is State.PRESENT) == weighs
    assert packages.is_deep(found) != weighs
