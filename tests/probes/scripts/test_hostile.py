"""Scripts that would fill the memory or never end, were they worked out: each check comes to its end."""

from __future__ import annotations

import ast
from resource import RUSAGE_SELF, getrusage

import pytest

from tests.probes._scripts import PROBES, SYMPTOMS
from traindoctor.probes.readers.script.settings import Extractor
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

DOUBLED = "\n".join(
    f"a{i} = a{i - 1} * a{i - 1}\nb{i} = (b{i - 1}, b{i - 1})\nc{i} = c{i - 1} + c{i - 1}"
    for i in range(1, 90)
)
NUMBERS = f"""
a0, b0, c0 = 2, (1, 2), [0, 1]
{DOUBLED}
x = 10 ** 10 ** 8
x = 1 << 10 ** 10
for i in range(100):
    x = (x or 10) ** 10
known = {{b80: 1, b81: a80}}
same = b80 == (b79, b79)
print("%1000000000d" % 3, f"{{b80}}", c80)
"""
TEXTS = """
text = "ab"
for i in range(100):
    text = text + text
    text = text.replace("a", text)
    text = text.join([text] * 1000)
few = random.sample(range(10 ** 9), 5)
order = np.random.permutation(range(10 ** 9))
total = sum(range(10 ** 9))
order = sorted(range(60000), key=lambda i: sum(range(60000)))
rows = [0] * 10 ** 10
for i in range(100):
    rows += rows
    rows.extend(rows)
table = np.zeros((10 ** 6, 10 ** 6))
table = np.repeat(np.zeros(10 ** 4), 10 ** 8)
table = np.tile(np.zeros(10 ** 4), 10 ** 8)
table = np.array_split(np.zeros(10), 10 ** 9)
table = np.arange(0, 1000, 1e-9)
side = np.arange(60000)
table = side[:, None] * side[None, :]
"""
PROGRAM = """
import random
import numpy as np
import torch
{before}
class Model(torch.nn.Module):
    def __init__(self, width={number}):
        super().__init__()
        self.fc = torch.nn.Linear(20, width)
    def forward(self, x):
        return self.fc(x) * {number}
model = Model({number})
opt = torch.optim.Adam(model.parameters(), lr={number}, weight_decay={number})
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: min(1, e / {number}) * {number} ** e)
x, y = torch.randn({number}, 20), torch.randint(0, 5, ({number},))
data = torch.utils.data.TensorDataset(x, y)
parts = torch.utils.data.random_split(data, [int({number} * 2), {number}])
def evaluate(model, loader):
    hits, seen, table = 0, 0, np.zeros(({number}, {number}))
    for xb, yb in loader:
{within}
        said = model(xb).argmax(1)
        one_hot = torch.nn.functional.one_hot(said, {number})
        hits += (said == yb).sum().item()
        seen += len(yb) * {number}
    return hits / seen
for epoch in range({number}):
    for xb, yb in torch.utils.data.DataLoader(parts[0], batch_size={number}, shuffle=True):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(xb), yb) / {number}
        loss.backward()
        opt.step()
        sched.step()
print(evaluate(model, parts[1]))
"""


@pytest.mark.parametrize(
    ("before", "within", "number"),
    [
        (NUMBERS, "", "a80"),
        (TEXTS, TEXTS, "10 ** 10 ** 8"),
        ("import itertools", "rows = list(itertools.count())", "len(list(range(10 ** 12)))"),
        ("def f(n):\n    return f(n + 1) + f(n + 1)", "f(0)", "f(0)"),
    ],
)
def test_every_check_comes_to_its_end(before: str, within: str, number: str) -> None:
    inner = "\n".join("        " + line for line in within.splitlines())
    text = PROGRAM.format(before=before, within=inner, number=f"({number})")
    view = View(Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text}))
    before_it = getrusage(RUSAGE_SELF).ru_maxrss
    found = [read(view, s, PROBES) for s in SYMPTOMS.values() if (s.probe or "").startswith("code.")]
    more = getrusage(RUSAGE_SELF).ru_maxrss - before_it  # KiB
    assert not [f.why for f in found if "probe error" in f.why]
    assert more < 500_000


def test_a_number_beyond_floats_is_no_setting() -> None:
    """A thousand digits are passed over, and the other settings are read."""
    text = f"lr = {'9' * 1000}\nopt = torch.optim.SGD(m.parameters(), lr=lr * 2, momentum=0.9)\n"
    found = {s.key: s.value for s in Extractor(ast.parse(text), "train.py").settings()}

    assert found.get("momentum") == 0.9
    assert "learning_rate" not in found
