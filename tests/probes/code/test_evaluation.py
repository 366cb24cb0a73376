"""Evaluation in scripts: averages, predictions, what is evaluated, and the order of samples."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.evaluation.averages import average_of_wrong_count
from traindoctor.probes.code.evaluation.training_scored import evaluates_training_data
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run

from .test_checks import SOUND, readings

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

LOOP = """
def validate(model, loader):
    total = hits = seen = n = 0
    for x, y in loader:
        out = model(x)
        {add}
        hits += (out.argmax(1) == y).sum().item()
        seen += len(y)
        n += 1
    return {result}
"""
MEAN, SUM = "total += F.cross_entropy(out, y).item()", "total += F.cross_entropy(out, y).item() * y.size(0)"
TOTAL = 'total += F.cross_entropy(out, y, reduction="sum").item()'
UNKNOWN_SUM = "total += mystery(out, y)"
AVERAGES = [
    (PRESENT, SUM, "total / len(loader)"),
    (PRESENT, TOTAL, "total / n"),
    (PRESENT, MEAN, "total / len(loader.dataset), hits / len(loader.dataset)"),
    (PRESENT, MEAN, "total / n, 100 * hits / len(loader)"),
    (PRESENT, MEAN, "hits / len(train_set)"),
    (ABSENT, SUM, "total / seen"),
    (ABSENT, TOTAL, "total / len(loader.dataset)"),
    (ABSENT, MEAN, "total / len(loader), hits / max(1, seen)"),
    (PRESENT, "seen += out.argmax(1).eq(y).sum().item()", "seen / len(loader)"),
    (UNKNOWN, UNKNOWN_SUM, "total / len(loader)"),
    (UNKNOWN, MEAN, "total, hits / world"),
]


@pytest.mark.parametrize(("state", "add", "result"), AVERAGES)
def test_averages(state: State, add: str, result: str) -> None:
    """A sum is divided by what it was summed over, or not; unknown units are left alone."""
    text = LOOP.format(add=add, result=result) + SOUND
    run = Run(RunInfo(path="run"), {}, (), {}, (), (), {}, scripts={"train.py": text})

    found = average_of_wrong_count(View(run, None))

    assert found.state is state, found.why


BOTH = """
def fit(model, train_loader, val_loader):
    for epoch in range(9):
        for x, y in train_loader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            {trained} += 1
        with torch.no_grad():
            for x, y in val_loader:
                hits += model(x).argmax(1).eq(y).sum().item()
        print(hits / {count})
"""


@pytest.mark.parametrize(
    ("state", "trained", "count"),
    [
        (PRESENT, "n", "len(val_loader)"),
        (ABSENT, "n", "len(val_loader.dataset)"),
        (UNKNOWN, "hits", "len(val_loader)"),  # the name is one of training, too
    ],
)
def test_averages_of_a_loop_beside_training(state: State, trained: str, count: str) -> None:
    """What is summed up for evaluation is looked at in the function that trains, too."""
    text = BOTH.format(trained=trained, count=count) + SOUND
    run = Run(RunInfo(path="run"), {}, (), {}, (), (), {}, scripts={"train.py": text})

    found = average_of_wrong_count(View(run, None))

    assert found.state is state, found.why


SCORED = """
train_loader, test_loader = loaders()
def test(model, data_loader):
    return [model(x) for x in data_loader]
{}
"""


@pytest.mark.parametrize(
    ("state", "lines"),
    [
        (PRESENT, "score = test(model, train_loader)"),
        (UNKNOWN, "score = test(model, test_loader)"),
        (UNKNOWN, "a = test(model, train_loader)\nb = test(model, test_loader)"),
        (PRESENT, "a = test(model, test_loader)\ntest_loss = test(model, train_loader)"),
        (PRESENT, "def validate(model):\n    for x in train_loader:\n        model(x)"),
        (UNKNOWN, "def validate(model):\n    for x in test_loader:\n        model(x)"),
        (UNKNOWN, "def test_knn(m):\n    for x in train_loader:\n        m(x)\n    m(test_loader)"),
        (PRESENT, "for eval_batch in train_loader:\n    model(eval_batch)"),
    ],
)
def test_training_data_that_are_scored(state: State, lines: str) -> None:
    """Scores of the training data under another name; those beside others are no fault."""
    run = Run(
        RunInfo(path="run"),
        {},
        (),
        {},
        (),
        (),
        {},
        scripts={"train.py": "import torch" + SCORED.format(lines)},
    )

    found = evaluates_training_data(View(run, None))

    assert found.state is state, found.why


SETS = """
class Tags(Dataset):
    def __init__(self, table, root, {flag}=True):
        self.rows = read(table)
        {body}
train_set = Tags(args.train_csv, args.root, True)
valid_set = Tags({mine})
"""
PLAIN = "self.change = flips() if aug else crop()"
CHECKS = [
    (
        "evaluates-training-data",
        PRESENT,
        SETS.format(flag="aug", body=PLAIN, mine="args.train_csv, args.root, False"),
    ),
    (
        "evaluates-training-data",
        PRESENT,
        SETS.format(flag="aug", body=PLAIN, mine="args.train_csv, args.other"),
    ),
    (
        "evaluates-training-data",
        ABSENT,
        SETS.format(flag="aug", body=PLAIN, mine="args.val_csv, args.root, False"),
    ),
    (
        "evaluates-training-data",
        ABSENT,
        SETS.format(flag="aug", body=PLAIN, mine="args.train_csv, args.root, 'val'"),
    ),
    (
        "evaluates-training-data",
        ABSENT,
        SETS.format(
            flag="fit",
            body="self.rows = self.rows[:9] if fit else self.rows[9:]",
            mine="args.train_csv, 1, False",
        ),
    ),
    ("metric-wrong", PRESENT, "hits = logits.softmax(1).argmin(1) == y"),
    ("metric-wrong", PRESENT, "top = torch.topk(scores, 5, largest=False)"),
    ("metric-wrong", ABSENT, "hits = torch.argmax(logits, 1) == y"),
    ("metric-wrong", UNKNOWN, "highest, _ = torch.max(mem_out, 0)\nloss = F.cross_entropy(highest, y)"),
    ("metric-wrong", PRESENT, "_, guess = torch.max(out, 0)\nhits = guess == y"),
    ("metric-wrong", ABSENT, "near = score_distances.argmin(1)\nhits = pred.argmax(1)"),
    ("metric-wrong", UNKNOWN, "near = codes.argmin(1)"),
    ("evaluates-training-data", PRESENT, "val_loss, val_acc = evaluate(model, train_loader)"),
    ("evaluates-training-data", PRESENT, "test_score = forest.score(x_train, y_train)"),
    ("evaluates-training-data", ABSENT, "train_acc = evaluate(model, train_loader)"),
    (
        "evaluates-stale-copy",
        PRESENT,
        "averaged = AveragedModel(model)\ndef end():\n    evaluate(averaged, val_loader)",
    ),
    (
        "evaluates-stale-copy",
        ABSENT,
        "swa = AveragedModel(model)\ndef end():\n    swa.update_parameters(model)\n    evaluate(swa, 1)",
    ),
    (
        "evaluates-stale-copy",
        ABSENT,
        "ema = ModelEMA(model)\ntrainer = Trainer(model, ema)\nevaluate(ema.ema, 1)",
    ),
    ("evaluates-stale-copy", UNKNOWN, "small = prune(model)\nevaluate(small, 1)"),
]


@pytest.mark.parametrize(("symptom", "state", "code"), CHECKS)
def test_what_is_evaluated(symptom: str, state: State, code: str) -> None:
    """Least likely classes, training data, copies that nothing refreshes."""
    before, after = SOUND.split("for epoch", 1)

    found = readings(f"{before}{code}\nfor epoch{after}")["script-" + symptom]

    assert found.state is state, found.why


BY_HAND = """
import torch
from torch import nn
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
images = rng.integers(0, 255, (n, 4))
{before}
for epoch in range(9):
    for k in range(0, n, 32):
        {inside}
        loss = nn.functional.cross_entropy(net(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
ORDER = [
    ("no-shuffling", PRESENT, "", "rows = slice(k, k + 32)"),
    ("no-shuffling", ABSENT, "order = rng.permutation(n)", "rows = order[k : k + 32]"),
    ("no-shuffling", ABSENT, "", "rows = rng.integers(0, n, 32)"),
    ("no-shuffling", UNKNOWN, "from .order import rows_of", "rows = rows_of(k)"),
    ("sorts-training-data", PRESENT, "labels = np.sort(rng.integers(0, 9, n))", "rows = slice(k, k + 32)"),
    (
        "sorts-training-data",
        ABSENT,
        "first = labels.argsort()\norder = rng.permutation(n)",
        "rows = order[k:]",
    ),
    ("sorts-training-data", UNKNOWN, "labels = sorted(os.listdir(root))", "rows = slice(k, k + 32)"),
]


@pytest.mark.parametrize(("symptom", "state", "before", "inside"), ORDER)
def test_order_of_samples(symptom: str, state: State, before: str, inside: str) -> None:
    """Random data are not random order; a sort that is followed by a shuffle does no harm."""
    found = readings(BY_HAND.format(before=before, inside=inside))["script-" + symptom]

    assert found.state is state, found.why


WEIGHED = """
class Work:
    def __init__(self):
        self.mse = nn.MSELoss()
        self.bce = nn.BCEWithLogitsLoss()
    def step(self, batch):
        x, y, warn = batch
        flow, told = self.model(x)
        loss = self.mse(flow, y) + self.cfg.warn_weight * self.bce(told, warn)
        return loss, flow, y
    def evaluate(self, loader):
        total, seen = 0.0, 0
        for batch in loader:
            loss, flow, y = self.step(batch)
            total += {add}
            seen += len(y)
        return {{"loss": total / seen}}
"""
DICT = """
def validate(model, loader):
    sums, seen = {{"loss": 0.0, "hits": 0.0}}, 0
    for x, y in loader:
        out = model(x)
        sums["loss"] += F.cross_entropy(out, y).item() * len(x)
        sums["hits"] += {add}
        seen += len(x)
    return {{k: v / seen for k, v in sums.items()}}
"""


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (PRESENT, WEIGHED.format(add="loss.item()")),
        (ABSENT, WEIGHED.format(add="loss.item() * len(y)")),
        (PRESENT, DICT.format(add="(out.argmax(1) == y).float().mean().item()")),
        (ABSENT, DICT.format(add="(out.argmax(1) == y).sum().item()")),
    ],
)
def test_averages_of_weighed_sums_and_of_all_in_a_dict(state: State, text: str) -> None:
    run = Run(RunInfo(path="run"), {}, (), {}, (), (), {}, scripts={"train.py": text + SOUND})
    found = average_of_wrong_count(View(run, None))
    assert found.state is state, found.why
