"""What stands in a file that nobody starts is told, and is no evidence, unless one place shows all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.cli.script_work import report
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.readers.script import parse
from traindoctor.probes.readings import readings
from traindoctor.probes.scripts import files as script_files
from traindoctor.probes.scripts.begun import begins
from traindoctor.probes.scripts.packages import UNUSED
from traindoctor.probes.scripts.syntax import Script

RULES = load_rules()
TRAIN = """
import torch
import torch.nn.functional as F

from .nets import loader, net


def fit(net, loader):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        for x, y in loader:
            loss = F.cross_entropy(net(x).softmax(-1), y)
            {clear}
            loss.backward()
            opt.step()
"""
STARTS = [
    'if __name__ == "__main__":\n    fit(net(), loader())\n',
    "fit(net(), loader())\n",
    "for epoch in range(3):\n    step(epoch)\n",
    "def main():\n    fit(net(), loader())\n",
    "@hydra.main(config_path='conf')\ndef work(cfg):\n    fit(net(cfg), loader(cfg))\n",
    "history = model.fit(x, y)\n",
    "if torch.cuda.is_available():\n    fit(net(), loader())\n",
    "with strategy.scope():\n    model = build()\n",
]
NONE = ["", "LIMIT = 3\n", "logger = logging.getLogger(__name__)\n", "class Net(nn.Module):\n    pass\n"]


@pytest.mark.parametrize("more", STARTS)
def test_a_program_starts_something(more: str) -> None:
    text = TRAIN.replace("{clear}", "opt.zero_grad()") + more

    assert begins(Script("train.py", text, parse(text)))


@pytest.mark.parametrize("more", NONE)
def test_functions_and_classes_start_nothing(more: str) -> None:
    text = TRAIN.replace("{clear}", "opt.zero_grad()") + more

    assert not begins(Script("train.py", text, parse(text)))


def test_a_lone_file_is_judged_as_it_is() -> None:
    """It imports nothing of a project: whoever hands it in asks about what stands in it."""
    text = TRAIN.replace("{clear}", "opt.zero_grad()").replace("from .nets import loader, net\n", "")

    assert begins(Script("train.py", text, parse(text)))


@pytest.mark.parametrize(
    ("line", "lone"),
    [
        ("from rtg.common import loader\n", False),
        ("from models.nets import net\n", False),
        ("from torch.utils.data import DataLoader\n", True),
        ("from collections import deque\n", True),
        ("from sklearn.metrics import f1_score\n", True),
        ("import some_kernels\n", True),  # a module used by its name is seldom a part of the project
    ],
)
def test_a_file_that_takes_parts_of_a_project_is_none_by_itself(line: str, lone: bool) -> None:
    text = TRAIN.replace("{clear}", "opt.zero_grad()").replace("from .nets import loader, net\n", line)

    assert begins(Script("train.py", text, parse(text))) is lone
    assert begins(Script("train.py", text + STARTS[0], parse(text + STARTS[0])))


def test_cells_of_a_notebook_run() -> None:
    assert begins(Script("train.ipynb", TRAIN, parse(TRAIN.replace("{clear}", ""))))


@pytest.mark.parametrize("start", ["", STARTS[0]])
@pytest.mark.parametrize(("symptom", "clear"), [("script-double-softmax", "opt.zero_grad()")])
def test_what_others_may_use_otherwise_is_worth_a_look(
    tmp_path: Path, symptom: str, clear: str, start: str
) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("{clear}", clear) + "\n\n" + start)
    read = script_files.read(tmp_path / "train.py")
    found = readings(read.run, None, RULES.symptoms.values())[symptom]
    told = {f.symptom: f for f in report(RULES, read, "train.py").findings}

    assert found.state is (State.PRESENT if start else State.UNKNOWN)
    assert found.why.endswith(UNUSED) is not bool(start)
    assert told[symptom].kind == ("finding" if start else "remark")


def test_what_one_place_shows_weighs_without_a_start(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("{clear}", "pass"))
    (tmp_path / "nets.py").write_text("def net():\n    return None\n\n\ndef loader():\n    return []\n")
    read = script_files.read(tmp_path / "train.py")

    assert (
        readings(read.run, None, RULES.symptoms.values())["script-gradients-not-cleared"].state
        is State.PRESENT
    )


def test_a_part_that_a_program_imports_is_used(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("{clear}", "opt.zero_grad()"))
    (tmp_path / "main.py").write_text(
        "import torch\nfrom train import fit\n\nfit(torch.nn.Linear(2, 2), [])\n"
    )
    read = script_files.read(tmp_path / "main.py")

    assert readings(read.run, None, RULES.symptoms.values())["script-double-softmax"].state is State.PRESENT
