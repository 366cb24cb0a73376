"""Which folder a script imports from, and so which files are of its program."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.scripts import files as script_files

TRAIN = """
import torch
from big.nets.parts import Net
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""
PARTS = "import torch\nclass Net(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(4, 1)\n"


@pytest.mark.parametrize(
    ("script", "parts", "entry", "files"),
    [
        ("src/big/tasks/first/train.py", "src/big/nets/parts.py", "big/tasks/first/train.py", 2),
        ("src/big/train.py", "src/big/nets/parts.py", "big/train.py", 2),
        ("src/big/train.py", "src/other/parts.py", "train.py", 1),  # the module is not there
        ("src/tasks/train.py", "src/big/nets/parts.py", "train.py", 1),  # and this is of no such package
    ],
)
def test_a_package_needs_no_mark_where_its_own_files_name_it(
    tmp_path: Path, script: str, parts: str, entry: str, files: int
) -> None:
    for name, text in ((script, TRAIN), (parts, PARTS)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    read = script_files.read(tmp_path / script)

    assert [p.entry for p in read.programs] == [entry]
    assert len(read.lines) == files
