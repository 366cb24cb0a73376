"""Programs of several files: what is imported is judged together, and places name the right file."""

from __future__ import annotations

from pathlib import Path

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, RunInfo, State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run
from traindoctor.probes.scripts import files
from traindoctor.probes.scripts.project import programs

MODEL = """\
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 3))

    def forward(self, x):
        return self.net(x)
"""
CONFIG = "lr = 0.05\nwidth = 16\n"
TRAIN = """\
import torch
import torch.nn as nn
import config
from model import Net
from data import loader

model = Net(config.width)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=config.lr)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
"""
DATA = "from torch.utils.data import DataLoader\nloader = DataLoader([], batch_size=8, shuffle=True)\n"
FILES = {"model.py": MODEL, "config.py": CONFIG, "train.py": TRAIN, "data.py": DATA}


def reading(files: dict[str, str], symptom: str) -> Reading:
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts=files)
    return read(View(run, None), load_rules().symptoms[symptom], all_probes())


def test_a_program_is_the_entry_after_its_imports() -> None:
    (program,) = programs(FILES)
    assert program.path == "train.py"
    assert [path for _, path in program.pieces] == ["config.py", "model.py", "data.py", "train.py"]
    place = program.place(program.classes["Net"])
    assert (place.file, place.line) == ("model.py", 3)
    place = program.place(program.backwards[0])
    assert (place.file, place.line) == ("train.py", 13)
    assert program.line(program.backwards[0]) == "criterion(model(x), y).backward()"


def test_a_fault_that_takes_two_files_is_found() -> None:
    soft = FILES | {"model.py": MODEL.replace("nn.Linear(width, 3)", "nn.Linear(width, 3), nn.Softmax(-1)")}
    found = reading(soft, "script-double-softmax")
    assert found.state is State.PRESENT
    assert (found.where[0].file, found.where[0].line) == ("model.py", 6)
    assert reading(FILES, "script-double-softmax").state is State.ABSENT


def test_a_helper_in_another_file_does_what_the_loop_lacks() -> None:
    loop = TRAIN.replace("        optimizer.zero_grad()\n", "        clear(optimizer)\n")
    helper = "def clear(optimizer):\n    optimizer.zero_grad()\n"
    away = FILES | {"train.py": loop.replace("import config", "import config\nfrom .tools import clear")}
    here = away | {"tools.py": helper}
    none = FILES | {"train.py": loop.replace("        clear(optimizer)\n", "")}
    assert reading(here, "script-gradients-not-cleared").state is State.ABSENT
    assert reading(away, "script-gradients-not-cleared").state is State.UNKNOWN
    assert reading(none, "script-gradients-not-cleared").state is State.PRESENT


def test_packages_relative_imports_and_rings() -> None:
    files = {
        "code/run.py": "import torch\nfrom nets import build\nfrom nets.loss import f\n",
        "code/nets/__init__.py": "from .base import build\nfrom . import loss\n",
        "code/nets/base.py": "from .loss import f\n",
        "code/nets/loss.py": "from . import base\n",
        "notes.py": "print(1)\n",
        "broken.py": "def (\n",
    }
    (program,) = programs(files)
    assert sorted(path for _, path in program.pieces) == sorted(f for f in files if f.startswith("code"))
    assert program.pieces[-1][1] == "code/run.py"
    assert not program.loose
    ring = programs({"a.py": "import b, torch", "b.py": "import a"})
    assert [[path for _, path in p.pieces] for p in ring] == [["b.py", "a.py"]]
    assert programs({"a.py": "import torch\nfrom .gone import x\n"})[0].loose


def test_settings_are_followed_into_modules(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "log.csv").write_text("step,loss\n" + "".join(f"{i},{1 / (i + 1)}\n" for i in range(20)))
    run = open_run(tmp_path)
    rate = run.settings["learning_rate"]
    assert (rate.value, rate.file, rate.line) == (0.05, "train.py", 9)
    assert run.settings["dropout"].value == 0.3  # not the zero of a loop that names no dropout
    assert run.settings["max_grad_norm"].value == 0.0


def test_an_entry_may_leave_the_framework_to_what_it_imports() -> None:
    files = {"main.py": "import loop\nloop.fit()\n", "loop.py": TRAIN, "notes.py": "import csv\n"}

    (program,) = programs(files)

    assert program.path == "main.py"
    assert [path for _, path in program.pieces] == ["loop.py", "main.py"]


def test_a_folder_of_a_package_needs_no_init_of_its_own(tmp_path: Path) -> None:
    """`from package.part.model import Net` in `package/part/train.py`, only `package` being one."""
    part = tmp_path / "package" / "part"
    part.mkdir(parents=True)
    (tmp_path / "package" / "__init__.py").write_text("")
    (part / "model.py").write_text(MODEL)
    text = TRAIN.replace("from model", "from package.part.model").replace("import config\n", "")
    (part / "train.py").write_text(text.replace("config.width", "16").replace("config.lr", "0.1"))
    found = files.read(part / "train.py")
    assert "package/part/model.py" in found.run.scripts


def test_a_file_that_trains_by_itself_is_a_program_though_another_imports_it() -> None:
    """`evaluate.py` takes the network out of `train.py`: the latter's `main` is judged all the same."""
    head, loop = TRAIN.split("for epoch", 1)
    body = "\n".join(f"    {line}" for line in f"for epoch{loop}".splitlines())
    trains = f"{head}def main():\n{body}\n\nif __name__ == '__main__':\n    main()\n"
    scores = "import torch\nfrom train import model\nmodel.load_state_dict(torch.load('best.pt'))\n"
    both = FILES | {"train.py": trains, "evaluate.py": scores}
    assert [p.path for p in programs(both)] == ["evaluate.py", "train.py"]
    assert reading(both, "script-gradients-not-cleared").state is State.ABSENT
    piled = both | {"train.py": trains.replace("            optimizer.zero_grad()\n", "")}
    assert reading(piled, "script-gradients-not-cleared").state is State.PRESENT
    shown = MODEL + "\nif __name__ == '__main__':\n    print(Net(4))\n"
    assert [p.path for p in programs(FILES | {"model.py": shown})] == ["train.py"]
