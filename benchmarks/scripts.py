"""How long `diagnose script` takes over a program of many modules, and how that grows: `make bench`.

Programs of 5, 10, 20 and 40 modules of some 28 kB each are made here: networks, data sets, losses, meters and
a loop of training that uses them all. 40 modules are the most that are read of one script. Each is judged in
a process of its own that times itself in CPU seconds (user + system), with rules and checks loaded before.
Beside it stands Python's own parser over the same files, and by how much the time grew where the program
grew to twice its size: about 2 is right, 4 means that something goes through the whole for each of its parts.

`--most 10` makes no larger program, to see that it works.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (5, 10, 20, 40)
PARTS = 14  # classes of each kind in a module

JUDGED = """
import gc, sys, time
from pathlib import Path
from traindoctor import cli
from traindoctor.cli.script_work import report
from traindoctor.engine.load import load_rules
from traindoctor.probes import readings
from traindoctor.probes.scripts import files as script_files
gc.set_threshold(cli.COLLECT_EVERY, 10, 10)
readings.all_probes()
rules = load_rules()
start = time.process_time()
report(rules, script_files.read(Path(sys.argv[1])), "train.py")
print(time.process_time() - start)
"""
PARSED = """
import ast, sys, time
from pathlib import Path
start = time.process_time()
for file in Path(sys.argv[1]).parent.glob("*.py"):
    ast.parse(file.read_text())
print(time.process_time() - start)
"""
HEAD = """import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

DEFAULTS_{m} = {{"width": 64, "depth": 4, "rate": 1e-3, "batch_size": 32, "workers": 4}}
"""
PART = '''

class Block{m}x{n}(nn.Module):
    """One block of a network."""

    def __init__(self, width=64, drop=0.1):
        super().__init__()
        self.width_{n} = width
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(drop)

    def forward(self, x, mask=None):
        kept = x
        x = F.gelu(self.inner(self.norm(x)))
        x = self.drop(self.outer(x))
        if mask is not None:
            x = x * mask.unsqueeze(-1)
        return kept + x


class Rows{m}x{n}(Dataset):
    """Rows of one file."""

    def __init__(self, rows, classes=10):
        self.rows = [r for r in rows if r is not None]
        self.classes = classes

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        row = self.rows[at]
        x = torch.tensor(row["x"], dtype=torch.float32)
        return (x - x.mean()) / (x.std() + 1e-6), int(row["y"])


class Meter{m}x{n}:
    """A mean over batches."""

    def __init__(self):
        self.total = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    def mean(self):
        return self.total / max(1, self.count)


def loss_{m}x{n}(scores, labels, weight=None, smooth=0.0):
    """The loss of one part."""
    known = labels >= 0
    scores, labels = scores[known], labels[known]
    found = F.cross_entropy(scores, labels, weight=weight, label_smoothing=smooth)
    settings = {{"weight": weight, "smooth": smooth, "part": {n}}}
    return found, settings


def score_{m}x{n}(model, loader, device="cpu"):
    """The share of right answers."""
    meter = Meter{m}x{n}()
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            right = (model(x).argmax(dim=1) == y).float().mean().item()
            meter.update(right, n=len(y))
    model.train()
    return meter.mean()
'''
TRAIN = """

class Network(nn.Module):
    def __init__(self, width=64, classes=10):
        super().__init__()
        self.blocks = nn.ModuleList([{blocks}])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main(train_rows, val_rows, epochs=10, device="cpu"):
    torch.manual_seed(1)
    model = Network().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    train_loader = DataLoader(Rows0x0(train_rows), batch_size=32, shuffle=True)
    val_loader = DataLoader(Rows0x0(val_rows), batch_size=32)
    best = 0.0
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            scores = model(x.to(device))
            loss, _ = loss_0x0(scores, y.to(device))
            loss.backward()
            optimizer.step()
        score = sum([{scores}])
        if score > best:
            best = score
            torch.save(model.state_dict(), "best.pt")


if __name__ == "__main__":
    main(torch.load("train.pt"), torch.load("val.pt"))
"""


def main() -> None:
    """Make each program, judge and parse it, print CPU seconds, ratio and growth."""
    parser = argparse.ArgumentParser(
        description="CPU time of `diagnose script` over programs of many modules."
    )
    parser.add_argument("--most", type=int, default=SIZES[-1], help="modules of the largest program")
    most = parser.parse_args().most
    before = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for modules in (n for n in SIZES if n <= most):
            entry, size = made(Path(folder) / str(modules), modules)
            taken, parsed = timed(JUDGED, entry), timed(PARSED, entry)
            grown = f"  {taken / before:4.1f} x that of half the modules" if before else ""
            name = f"diagnose script, {modules} modules, {size / 1e3:.0f} kB"
            print(f"{name:44} {taken:6.2f} s  {taken / parsed:5.1f} x ast.parse alone{grown}", flush=True)
            before = taken


def made(folder: Path, modules: int) -> tuple[Path, int]:
    """Write a program of so many modules; return its entry file and the size of all its text in bytes."""
    folder.mkdir()
    for m in range(modules):
        parts = "".join(PART.format(m=m, n=n) for n in range(PARTS))
        (folder / f"part_{m}.py").write_text(HEAD.format(m=m) + parts)
    every = [(m, n) for m in range(modules) for n in range(PARTS)]
    blocks = ", ".join(f"Block{m}x{n}(width)" for m, n in every)
    scores = ", ".join(f"score_{m}x{n}(model, val_loader)" for m, n in every)
    imports = "".join(f"from part_{m} import *\n" for m in range(modules))
    entry = folder / "train.py"
    entry.write_text(HEAD.format(m="all") + imports + TRAIN.format(blocks=blocks, scores=scores))
    return entry, sum(p.stat().st_size for p in folder.iterdir())


def timed(code: str, entry: Path) -> float:
    """Run code on a program in a process of its own; return the CPU seconds that it tells."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(entry)], check=True, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
