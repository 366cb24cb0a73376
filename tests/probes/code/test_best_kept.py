# ruff: noqa: E501
"""What is kept as the best, by which figure, what is scored in the end; helpers that run the model or train it."""

from __future__ import annotations

import pytest

from .._scripts import state

CHOSEN, LAST, SEES, MODE = (
    "script-best-chosen-wrongly",
    "script-last-instead-of-best",
    "script-training-sees-evaluation",
    "script-mode-wrong",
)
TORCH = """
import math
import torch
def step(model, batch):
    x, y = batch
    return torch.nn.functional.mse_loss(model(x), y)
def train(model, loader, opt):
    model.train()
    for batch in loader:
        opt.zero_grad()
        loss = step(model, batch)
        loss.backward()
        opt.step()
    return loss.item()
@torch.inference_mode()
def score(model, loader):
    {EVAL}
    total = 0
    for batch in loader:
        total += step(model, batch)
    return total / len(loader)
def main(model, train_loader, val_loader, test_loader, opt):
    best = {START}
    for epoch in range(9):
        tr = train(model, {LEARNS}, opt)
        va = score(model, val_loader)
        if {TEST}:
            best = {NEW}
            torch.save(model.state_dict(), "best.pt")
    {LOAD}
    print(score(model, test_loader))
"""


def _torch(**given: str) -> str:
    usual = {
        "EVAL": "model.eval()",
        "START": "float('inf')",
        "LEARNS": "train_loader",
        "TEST": "va < best",
        "NEW": "va",
        "LOAD": "model.load_state_dict(torch.load('best.pt'))",
    }
    text = TORCH
    for key, value in {**usual, **given}.items():
        text = text.replace("{" + key + "}", value)
    return text


@pytest.mark.parametrize(
    ("start", "test", "found"),
    [
        ("float('inf')", "va < best", False),
        ("float('inf')", "va > best", True),
        ("-math.inf", "va > best", False),
        ("float('-inf')", "best > va", True),
        ("math.inf", "best > va", False),
        ("0.0", "va > best", False),
    ],
)
def test_what_is_never_better(start: str, test: str, found: bool) -> None:
    assert (state(CHOSEN, _torch(START=start, TEST=test)) == "present") is found


@pytest.mark.parametrize(("test", "new", "found"), [("va < best", "va", False), ("tr < best", "tr", True)])
def test_the_figure_that_chooses(test: str, new: str, found: bool) -> None:
    assert (state(CHOSEN, _torch(TEST=test, NEW=new)) == "present") is found


@pytest.mark.parametrize(
    ("load", "found"),
    [("model.load_state_dict(torch.load('best.pt'))", False), ("pass", True), ("restore_best(model)", True)],
)
def test_the_weights_that_are_scored(load: str, found: bool) -> None:
    assert (state(LAST, _torch(LOAD=load)) == "present") is found


def test_the_test_data_alone_are_no_choice() -> None:
    code = (
        _torch(LOAD="pass")
        .replace("val_loader", "test_loader")
        .replace("test_loader, test_loader", "test_loader")
    )
    assert state(LAST, code) != "present"


@pytest.mark.parametrize(
    ("learns", "found"), [("train_loader", False), ("val_loader", True), ("loaders[0]", False)]
)
def test_what_gradients_are_taken_of(learns: str, found: bool) -> None:
    assert (state(SEES, _torch(LEARNS=learns)) == "present") is found


@pytest.mark.parametrize(("mode", "found"), [("model.eval()", False), ("pass", True)])
def test_a_helper_that_runs_the_model(mode: str, found: bool) -> None:
    assert (state(MODE, _torch(EVAL=mode)) == "present") is found


def test_the_optimizer_of_a_loop_whose_function_is_called_train() -> None:
    code = _torch(LEARNS="train_loader").replace(
        "        tr = train", "        opt = torch.optim.Adam(model.parameters())\n        tr = train"
    )
    code = "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n" + code
    assert state("script-optimizer-rebuilt", code + "main(Net(), *loaders(), None)\n") == "present"


@pytest.mark.parametrize(
    ("name", "found"),
    [("validation", False), ("train", True)],
)
def test_parts_of_a_published_set(name: str, found: bool) -> None:
    code = f"""
import torch
from torch.utils.data import DataLoader
from datasets import load_dataset
data = load_dataset("glue", "mrpc")
train_loader = DataLoader(data["train"], batch_size=8, shuffle=True)
eval_loader = DataLoader(data["{name}"], batch_size=8)
"""
    assert (state(SEES, code) == "present") is found


@pytest.mark.parametrize(
    ("added", "found"),
    [("loss.item() * n", False), ("loss.item()", True)],
)
def test_figures_that_a_helper_hands_back_together(added: str, found: bool) -> None:
    code = f"""
import torch
def step(model, batch, criterion):
    x, y = batch
    return criterion(model(x), y), y.size(0)
@torch.no_grad()
def score(model, loader, criterion):
    model.eval()
    total = count = 0
    for batch in loader:
        loss, n = step(model, batch, criterion)
        total += {added}
        count += n
    return total / count
criterion = torch.nn.MSELoss()
"""
    assert (state("script-metric-wrong", code) == "present") is found


def test_an_optimizer_that_is_built_for_its_rate() -> None:
    code = _torch().replace(
        "        tr = train",
        "        {RATE}opt = torch.optim.Adam(model.parameters(), {LR})\n        tr = train",
    )
    code = (
        "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"
        + code
        + "main(Net(), *loaders(), None)\n"
    )
    rebuilt = "script-optimizer-rebuilt"
    assert (
        state(rebuilt, code.replace("{RATE}", "lr = 0.1 / (1 + epoch); ").replace("{LR}", "lr")) != "present"
    )
    assert state(rebuilt, code.replace("{RATE}", "").replace("{LR}", "1e-3")) == "present"


KEPT = """
import torch
def validation_loss(model, loader):
    return sum(model(x, y).item() for x, y in loader)
def evaluate(model, loader):
    return sum(model(x, y).item() for x, y in loader)
def save(path, model, best):
    torch.save({"model": model.state_dict(), "best": best}, path)
def main(model, optimizer, train, valid, epochs):
    best = {START}
    for epoch in range(epochs):
        for x, y in train:
            optimizer.zero_grad()
            model(x, y).backward()
            optimizer.step()
        value = {SCORE}(model, valid)
        {BEFORE}
        if {TEST}:
            {RAISE}
            save("best.pt", model, best)
"""


@pytest.mark.parametrize(
    ("start", "score", "before", "test", "raised", "wrong"),
    [
        ("0.0", "evaluate", "pass", "value > best", "best = value", False),
        ("0.0", "evaluate", "pass", "value > best", "pass", True),
        ("0.0", "evaluate", "best = max(value, best)", "value > best", "pass", True),
        (
            "0.0",
            "evaluate",
            "better = value > best\n        best = max(value, best)",
            "better",
            "pass",
            False,
        ),
        ("0.0", "evaluate", "best = max(best, value)", "value >= best", "pass", False),
        ("9.0", "validation_loss", "best = min(best, value)", "value < best", "pass", True),
        ("9.0", "validation_loss", "pass", "value < best", "best = value", False),
        ("-1.0", "validation_loss", "pass", "value > best", "best = value", True),
    ],
)
def test_the_best_figure_moves_once_it_is_beaten(
    start: str, score: str, before: str, test: str, raised: str, wrong: bool
) -> None:
    text = KEPT.replace("{START}", start).replace("{SCORE}", score).replace("{BEFORE}", before)
    text = text.replace("{TEST}", test).replace("{RAISE}", raised)
    assert (state("script-best-chosen-wrongly", text) == "present") is wrong


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("print(score(model, val_loader))", True),
        ("model.load_state_dict(torch.load(path))\n    print(score(model, val_loader))", False),
        ("print(len(val_loader))", False),
    ],
)
@pytest.mark.parametrize("path", ["out", "'best.pt'"])
def test_the_last_round_is_scored_once_more(load: str, found: bool, path: str) -> None:
    code = _torch(LOAD=load).replace("    print(score(model, test_loader))\n", "").replace("'best.pt'", path)
    resumed = "    if best:\n        model.load_state_dict(torch.load('last.pt'))\n    for epoch"
    code = code.replace('"best.pt"', path)
    assert (state(LAST, code.replace("    for epoch", resumed)) == "present") is found


EACH_ROUND = """
import torch

def main(model, loader, held, optimizer, epochs):
    best = 0.0
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        score = evaluate(model, held)
        if score > best:
            best = score
            torch.save(model.state_dict(), "best.pt")
        torch.save({{"model": model.state_dict(), "best": best}}, "{name}")
"""


@pytest.mark.parametrize(("name", "told"), [("last.pt", "absent"), ("model_best.pt", "present")])
def test_the_best_figure_may_stand_in_what_is_written_each_round(name: str, told: str) -> None:
    assert (state(CHOSEN, EACH_ROUND.format(name=name)) == "present") == (told == "present")


TWO = """
import torch
import torch.nn.functional as F

def fit_teacher(net, loader):
    opt = torch.optim.Adam(net.parameters())
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        opt.step()
    torch.save(net.state_dict(), "teacher.pt")

fit_teacher(teacher, loader)
opt = torch.optim.SGD(student.parameters(), lr=0.05)
best = 0.0
for epoch in range(30):
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(student(x), y).backward()
        opt.step()
    score = accuracy(student, held)
    if score > best:
        best = score
        torch.save(student.state_dict(), "ckpt/best.pt")
    if epoch == 0:
        torch.save(student.state_dict(), "ckpt/first.pt")
    torch.save(student.state_dict(), "ckpt/last.pt")
final = Student()
final.load_state_dict(torch.load("ckpt/{name}.pt"))
print(accuracy(final, test))
"""


@pytest.mark.parametrize(
    ("name", "stale", "last"), [("first", True, False), ("last", False, True), ("best", False, False)]
)
def test_which_file_is_read_after_the_training_that_keeps_its_best(
    name: str, stale: bool, last: bool
) -> None:
    """Another training stands before it, and a file of the first epoch is not that of the last."""
    text = TWO.replace("{name}", name)
    assert (state("script-evaluates-stale-copy", text) == "present") is stale
    assert (state(LAST, text) == "present") is last
