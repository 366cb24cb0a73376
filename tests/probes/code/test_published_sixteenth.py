"""Ways of published scripts that were taken for faults: tensors alone, inputs' gradients, parts of a set."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.scripts import files as script_files

from .._scripts import state

P, A, U = "present", "absent", "unknown"

# ------------------------------------------------------------------------------------- one tensor is sought

FITTED = """
import torch
optimizer = torch.optim.AdamW({GIVEN}, lr=0.1)
for i in range(100):
    optimizer.zero_grad()
    loss = (physics.A(x) - y).abs().mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("[physics.filter]", False),
        ("[kernel_hat]", False),
        ("(self.log_alpha,)", False),
        ("[net.fc.weight]", True),
        ("[model_params]", True),
        ("[w1, b1, w2, b2]", True),
        ("physics.parameters()", True),
    ],
)
def test_the_rate_of_a_single_tensor(given: str, told: bool, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FITTED.replace("{GIVEN}", given))
    view = View(script_files.read(tmp_path / "train.py").run)
    found = read(view, load_rules().symptoms["lr-extreme"], all_probes()).state.value

    assert (found == P) is told


# --------------------------------------------------------------------------- a part that a trainer is handed

HANDED = """
import torch
prior = PatchPrior(pretrained=None)
optimizer = torch.optim.Adam(prior.flow.parameters(), lr=1e-3)
trainer = Trainer(model={MODEL}, optimizer=optimizer, epochs=5)
trainer.train()
"""


@pytest.mark.parametrize(("model", "told"), [("prior.flow", False), ("prior", True)])
def test_a_part_that_is_trained_as_the_model(model: str, told: bool) -> None:
    assert (state("script-part-not-trained", HANDED.replace("{MODEL}", model)) == P) is told


# ------------------------------------------------------------------------------- gradients of what is put in

ATTACK = """
import torch
import torch.nn as nn
criterion = nn.CrossEntropyLoss(reduction="sum")

def input_gradient(data, label, model):
    data = data.detach().clone().requires_grad_()
    criterion(model(data), label).backward()
    return data.grad

def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        {LOSS}(model(x), y).backward()
        optimizer.step()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train(model, loader, optimizer)
"""


@pytest.mark.parametrize(("loss", "told"), [("nn.functional.cross_entropy", False), ("criterion", True)])
def test_a_sum_whose_gradient_an_attack_takes(loss: str, told: bool) -> None:
    assert (state("script-loss-wrong", ATTACK.replace("{LOSS}", loss)) == P) is told


# ------------------------------------------------------------------------ states that another file may save

RESUMED = """
import torch
from part0 import save_all
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if args.resume:
    checkpoint = torch.load(args.resume)
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    start = checkpoint["epoch"]
for epoch in range(start, 9):
    for x, y in loader:
        optimizer.zero_grad()
        model(x, y).backward()
        optimizer.step()
    {SAVE}
"""
STATES = "'state_dict': model.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': epoch + 1"
OWN = "torch.save({" + STATES + "}, path)"
MORE = OWN.replace("'epoch'", "'sched': scheduler.state_dict(), 'epoch'")


LIBRARY = """
import torch
def save_all(model, optimizer, scheduler, path):
    states = {"state_dict": model.state_dict(), "sched": scheduler.state_dict()}
    torch.save(states, path)
"""
CALLED = "save_all(model, optimizer, scheduler, p)\n    " + OWN


@pytest.mark.parametrize(("save", "told"), [(OWN, False), (MORE, True), (CALLED, True)])
def test_what_is_saved_where_training_is_resumed(save: str, told: bool) -> None:
    text = RESUMED.replace("{SAVE}", save)

    assert (state("script-resume-incomplete", LIBRARY, text) == P) is told


# -------------------------------------------------------------------------- evaluation on parts of one set

HEAD = """
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler
def fit(model, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
def evaluate(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
def main(model, opt, train_set, val_set, idx):
    train_loader = DataLoader(train_set, 32, shuffle=True)
"""
ROUNDS = """
    for epoch in range(9):
        fit(model, train_loader, opt)
        {SCORES}
"""
SCORED = "print(evaluate(model, val_loader))"


@pytest.mark.parametrize(
    ("made", "scores", "told"),
    [
        ("val_loader = DataLoader(train_set, 32)", SCORED, True),
        ("val_loader = DataLoader(dataset=train_set)", SCORED, True),
        ("val_loader = train_loader", SCORED, True),
        ("val_loader = DataLoader(val_set)", "val_acc = evaluate(model, train_loader)", True),
        ("val_loader = DataLoader(train_set, sampler=SubsetRandomSampler(idx[:99]))", SCORED, False),
        ("val_loader = DataLoader(Subset(train_set, idx[:99]), 32)", SCORED, False),
        ("if args.overfit:\n        val_loader = train_loader", SCORED, False),
        (
            "eval_loader = DataLoader(train_set)\n    val_loader = DataLoader(val_set)",
            "print('train', evaluate(model, eval_loader), 'val', evaluate(model, val_loader))",
            False,
        ),
        (
            "val_loader = DataLoader(val_set)",
            "local_test = evaluate(model, train_loader)\n        test = evaluate(model, val_loader)",
            False,
        ),
    ],
)
def test_training_data_under_another_name(made: str, scores: str, told: bool) -> None:
    text = HEAD + f"    {made}\n" + ROUNDS.replace("{SCORES}", scores)

    assert (state("script-evaluates-training-data", text) == P) is told


def test_another_held_out_set_that_lies_idle() -> None:
    text = HEAD + ROUNDS.replace("{SCORES}", "bad = validate_models(model, train_loader)")
    text += "    far_test_set = load()\n    test_loader = DataLoader(val_set)\n"
    text += "    print(evaluate(model, test_loader))\n"

    assert state("script-evaluates-training-data", text) != P


BUILT = """
import torch
{BASE}
class Rows({OF}):
    def __init__(self, path, train):
        {INSIDE}
train_set = Rows(args.train_path, True)
val_set = Rows(args.train_path, False)
for x in train_set:
    opt.zero_grad()
    net(x).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("of", "inside", "told"),
    [
        ("torch.utils.data.Dataset", "self.rows, self.jitter = open(path).readlines(), train", True),
        ("torch.utils.data.Dataset", "self.rows = read_part(path, train)", False),
        ("library.Table", "super().__init__(path)\n        self.train = train", False),
        (
            "torch.utils.data.Dataset",
            "rows = read(path)\n        self.rows = rows[9:] if train else rows[:9]",
            False,
        ),
    ],
)
def test_both_sides_of_one_file(of: str, inside: str, told: bool) -> None:
    text = BUILT.replace("{BASE}", "import library").replace("{OF}", of).replace("{INSIDE}", inside)

    assert (state("script-evaluates-training-data", text) == P) is told


# -------------------------------------------------------------------- ordinary programs, written in few lines

CRITIC = """
import torch
def train(G, D, loader, n_critic=5):
    og = torch.optim.Adam(G.parameters(), 1e-4)
    od = torch.optim.Adam(D.parameters(), 1e-4)
    for step, real in enumerate(loader):
        loss_d = D(G(noise(real)).detach()).mean() - D(real).mean()
        {CLEAR}.zero_grad()
        loss_d.backward()
        od.step()
        if step % n_critic == 0:
            loss_g = -D(G(noise(real))).mean()
            og.zero_grad()
            loss_g.backward()
            og.step()
"""


@pytest.mark.parametrize("clear", ["od", "D"])
def test_a_critic_that_steps_more_often(clear: str) -> None:
    assert state("script-accumulation-wrong", CRITIC.replace("{CLEAR}", clear)) != P


@pytest.mark.parametrize(
    ("last", "told"), [("loss.backward(); opt.step()", False), ("opt.step(); loss.backward()", True)]
)
def test_statements_of_one_line_have_an_order(last: str, told: bool) -> None:
    text = f"""
import torch
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    {last}
"""
    assert (state("script-gradients-cleared-too-early", text) == P) is told


CUT = """
import torch
from torch.utils.data import Subset
train_set, val_set = CIFAR10(True, crops), CIFAR10(True, plain)
train_set, val_set = {HALVES}
for x, y in train_set:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("halves", "told"),
    [
        ("Subset(train_set, idx[5000:]), Subset(val_set, idx[:5000])", False),
        ("train_set[:500], val_set[500:]", False),
        ("(train_set - mean) / std, val_set", True),
    ],
)
def test_rows_that_are_chosen_are_not_processed(halves: str, told: bool) -> None:
    text = CUT.replace("{HALVES}", halves)

    assert (state("script-splits-processed-differently", text) == P) is told


# ------------------------------------------------------------------------ parts that are kept as they are

ADAPTED = """
import torch
import torch.nn as nn
class Adapted(nn.Module):
    def __init__(self, base, size):
        super().__init__()
        self.base = {BASE}
        {OFF}
        self.extra = {EXTRA}
    def forward(self, x):
        return self.base(x) + self.extra(x)
model = Adapted({GIVEN}, 8)
opt = torch.optim.SGD({PARAMETERS}, lr=0.1)
for x, y in loader:
    opt.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    opt.step()
"""
LOOP = "for p in self.base.parameters():\n            p.requires_grad = False"


@pytest.mark.parametrize(
    ("base", "off", "extra", "parameters", "told"),
    [
        (
            "base",
            "self.base.weight.requires_grad_(False)",
            "nn.Linear(size, size)",
            "model.parameters()",
            False,
        ),
        ("base", LOOP, "nn.Parameter(torch.zeros(size))", "model.parameters()", False),
        ("nn.Linear(size, size)", LOOP, "nn.Linear(size, size)", "model.parameters()", True),
        ("base", LOOP, "abs", "model.parameters()", True),
        (
            "nn.Embedding(size, 8)",
            "self.base.weight.requires_grad_(False)",
            "nn.Linear(8, 8)",
            "model.parameters()",
            True,
        ),
        ("base.requires_grad_(False)", "pass", "nn.Linear(size, size)", "model.extra.parameters()", False),
        ("nn.Linear(size, size)", "pass", "nn.Linear(size, size)", "model.extra.parameters()", True),
    ],
)
def test_what_is_handed_over_and_frozen(base: str, off: str, extra: str, parameters: str, told: bool) -> None:
    text = ADAPTED.replace("{BASE}", base).replace("{OFF}", off).replace("{EXTRA}", extra)
    text = text.replace("{PARAMETERS}", parameters).replace("{GIVEN}", "nn.Linear(8, 8)")

    assert (state("script-part-not-trained", text) == P) is told


REPLACED = """
import torch
for p in model{PART}.parameters():
    p.requires_grad_(False)
swap_layers(model)
opt = torch.optim.AdamW({PARAMETERS}, lr=1e-4)
for x, y in loader:
    opt.zero_grad()
    model(x, y).backward()
    opt.step()
"""
ON = "[p for p in model.parameters() if p.requires_grad]"


@pytest.mark.parametrize(
    ("part", "parameters", "told"),
    [("", ON, False), ("", "model.parameters()", True), (".encoder", ON, True)],
)
def test_all_is_switched_off_and_something_trains(part: str, parameters: str, told: bool) -> None:
    text = REPLACED.replace("{PART}", part).replace("{PARAMETERS}", parameters)

    assert (state("script-part-not-trained", text) == P) is told


TABLES = """
import torch
import torch.nn as nn
class SkipGram(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.u = nn.Embedding(n, d)
        self.v = nn.Embedding(n, d)
        {START}
    def forward(self, a, b):
        return (self.u(a) * self.v(b)).sum(-1)
model = SkipGram(9, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for a, b, y in loader:
    opt.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(model(a, b), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("nn.init.zeros_(self.v.weight)", False),
        ("nn.init.zeros_(self.v.weight)\n        nn.init.zeros_(self.u.weight)", True),
    ],
)
def test_one_of_two_tables_at_zero(start: str, told: bool) -> None:
    assert (state("script-zero-init", TABLES.replace("{START}", start)) == P) is told
