"""Right code of published programs that resembles a fault, each beside the fault that it resembles."""

from __future__ import annotations

import pytest

from .._scripts import SYMPTOMS, state

P = "present"

STEP = """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 4)
        self.patch = 2
    def forward(self, x):
        {FORWARD}
def train(net, loader):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(9):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            {LOSS}
            loss.backward()
            opt.step()
"""
LOSS = "loss = F.cross_entropy(net(x), y)"
FORWARD = "return self.head(self.body(x))"


def of(probe: str) -> list[str]:
    """The symptoms that a probe stands for."""
    return [k for k, s in SYMPTOMS.items() if s.probe == probe]


def fires(probe: str, text: str) -> bool:
    names = of(probe)
    assert names, probe
    return any(state(n, text) == P for n in names)


def step(forward: str = FORWARD, loss: str = LOSS) -> str:
    lines = forward.replace("\n", "\n        ")
    return STEP.replace("{FORWARD}", lines).replace("{LOSS}", loss.replace("\n", "\n            "))


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        ("_ = self.body(x)\nreturn self.head(x)", False),  # asked for what it does beside
        ("skip = self.body(x)\nreturn self.head(x)", True),
        ("residual = x\nreturn self.head(self.body(x))", True),
        ("residual = x\nx, residuals = self.streams(x)\nreturn self.head(x + residuals)", False),
    ],
)
def test_what_is_kept_and_never_read(forward: str, expected: bool) -> None:
    assert fires("code.model.value_unused", step(forward)) == expected


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        (
            "v = self.body(x)\nm = torch.ones_like(v)\nv = m * v + (1 - m) * v.detach()\nreturn self.head(v)",
            False,
        ),
        ("v = self.body(x)\nv = 2 * v.detach()\nreturn self.head(v)", True),
        ("real, fake = x, self.body(x).detach()\nreturn self.head(fake)", False),  # for a discriminator
        ("h, g = x, self.body(x).detach()\nreturn self.head(g)", True),
        ("h = self.body(x)\nself.more['rmse'] = shown(h.detach(), 1)\nreturn self.head(h)", False),
        ("h = self.body(x)\nn = torch.tensor(h.shape[0])\nreturn self.head(h) / n", False),
        ("b, t = x.shape\nh = self.body(x) / torch.tensor([b, t // self.patch])\nreturn self.head(h)", False),
        (
            "assert not self.body.training\nwith torch.no_grad():\n    h = self.body(x)\nreturn self.head(h)",
            False,
        ),
        ("with torch.no_grad():\n    h = self.body(x)\nreturn self.head(h)", True),
    ],
)
def test_what_has_no_gradient_on_purpose(forward: str, expected: bool) -> None:
    assert fires("code.loss.gradient_path_cut", step(forward)) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("targets = sorted(targets, key=lambda v: v.name)", False),
        ("ordered, _ = labels.sort(dim=-1)", False),
        ("rows = sorted(rows, key=lambda r: r.label)", True),
        ("order = labels.argsort()", True),
    ],
)
def test_what_is_sorted(line: str, expected: bool) -> None:
    text = step().replace(
        "def train(net, loader):", f"def train(net, loader, rows, labels, targets):\n    {line}"
    )
    assert fires("code.samples.sorts_training_data", text) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("opt.step()", True),
        ("pass", False),  # the whole is added up piece by piece before one step
    ],
)
def test_pieces_of_one_whole_have_no_order(body: str, expected: bool) -> None:
    behind = "opt.step()" if body == "pass" else "pass"
    text = f"""
import torch
def fit(net, table, aims, opt, n):
    for step in range(9):
        opt.zero_grad()
        for i in range(0, n, 16):
            loss = (net(table[i:i + 16]) - aims[i:i + 16]).pow(2).mean()
            loss.backward()
            {body}
        {behind}
"""
    assert fires("code.samples.no_shuffling", text) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("test_env.eval()", False),
        ("actor_eval.eval()", False),
        ("net.eval()", True),
    ],
)
def test_who_is_put_into_evaluation_mode(before: str, expected: bool) -> None:
    text = (
        step()
        .replace("    for epoch in", f"    {before}\n    for epoch in")
        .replace("        net.train()\n", "")
    )
    assert (state("script-eval-mode-while-training", text) == P) == expected


TAPE = """
import tensorflow as tf
def step(net, critic, x, y, opt):
    with tf.GradientTape({ASKED}) as tape:
        {WATCH}
        q = net(x, training=False)
        loss = tf.reduce_mean((q - y) ** 2)
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
for x, y in data:
    step(net, critic, x, y, opt)
"""


@pytest.mark.parametrize(
    ("asked", "watch", "expected"),
    [("", "pass", True), ("watch_accessed_variables=False", "tape.watch(x)", False)],
)
def test_slopes_of_inputs_are_no_training(asked: str, watch: str, expected: bool) -> None:
    text = TAPE.replace("{ASKED}", asked).replace("{WATCH}", watch)
    assert (state("script-eval-mode-while-training", text) == P) == expected


@pytest.mark.parametrize(
    ("begin", "expected"),
    [("pass", True), ("if i == 0:\n            best_loss = loss", False)],
)
def test_the_first_round_is_kept_whatever_it_is(begin: str, expected: bool) -> None:
    text = f"""
import torch
def run(net, loader, opt):
    best_loss = -float("inf")
    for i, (x, y) in enumerate(loader):
        loss = fit(net, x, y, opt)
        {begin}
        if loss < best_loss:
            best_loss = loss
            torch.save(net.state_dict(), "best.pt")
def fit(net, x, y, opt):
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()
"""
    probes = ("best_is_chosen_wrongly", "last_instead_of_best")
    assert any(fires(f"code.evaluation.{p}", text) for p in probes) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [("b, t, d * n", False), ("b, t, n * d", False), ("b, n, t * d", True)],
)
def test_axes_that_are_joined_have_no_order(shape: str, expected: bool) -> None:
    forward = f"b, t, n, d = x.shape\nreturn self.head(x.reshape({shape}))"
    assert (state("script-operator-wrong", step(forward)) == P) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("for p in model.parameters():\n            p.requires_grad = False\n        model.eval()", False),
        ("for p in model.parameters():\n            p.requires_grad = False", False),
        (
            "model = nn.Linear(4, 4)\n"
            "        for p in model.parameters():\n            p.requires_grad = False",
            True,
        ),
        (
            "if lr == 0:\n            for p in model.parameters():\n                p.requires_grad = False",
            False,
        ),
    ],
)
def test_what_is_frozen_around_a_new_part(given: str, expected: bool) -> None:
    text = f"""
import torch
from torch import nn
class Scaled(nn.Module):
    def __init__(self, model, lr=1.0):
        super().__init__()
        {given}
        self.model = model
        self.scale = nn.Linear(4, 4)
    def forward(self, x):
        return self.scale(self.model(x))
    def fit(self, loader):
        opt = torch.optim.Adam(self.parameters(), lr=1e-3)
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(self(x), y).backward()
            opt.step()
"""
    assert fires("code.optimizer.freezes_parameters", text) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("self.structure = self.other_optimizer(structure)", False),
        ("print(len(structure))", True),
    ],
)
def test_the_rest_goes_to_another_optimizer(other: str, expected: bool) -> None:
    text = f"""
import torch
class Search:
    def begin(self, model):
        structure = model.structure
        rest = [p for p in model.parameters() if p not in structure]
        self.opt = torch.optim.Adam(rest, lr=1e-3)
        {other}
    def step(self, model, x, y):
        self.opt.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        self.opt.step()
"""
    assert fires("code.optimizer.optimizer_gets_part", text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("made, steps = build(opt)", True),
        ("pass", False),  # whoever calls it is not here
    ],
)
def test_a_schedule_that_is_handed_out(line: str, expected: bool) -> None:
    text = f"""
import torch
def build(optimizer):
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(s / 9, 1.0))
    return optimizer, scheduler
def train(net, loader, opt):
    {line}
    for x, y in loader:
        opt.zero_grad()
        net(x, y).backward()
        opt.step()
"""
    assert fires("code.schedule.schedule_idle", text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("threshold = self.threshold.detach() if self.training else self.threshold", False),
        ("threshold = self.low if self.training else self.high", True),
    ],
)
def test_the_same_value_without_its_gradient(line: str, expected: bool) -> None:
    text = f"""
import torch
class Rows(torch.utils.data.Dataset):
    def __getitem__(self, i):
        {line}
        label = self.amounts[i] > threshold
        return self.rows[i], label
"""
    assert (state("script-labels-processed-differently", text) == P) == expected


@pytest.mark.parametrize(("function", "expected"), [("psnr(reference)", False), ("prepare(image)", True)])
def test_measures_divide_by_a_spread(function: str, expected: bool) -> None:
    name = function.split("(")[1].rstrip(")")
    text = f"""
import torch
def {function}:
    return ({name} - {name}.mean(dim=1, keepdim=True)) / {name}.std(dim=1, keepdim=True)
"""
    assert fires("code.loss.unsafe_division", text) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [("validate_row_format(train_rows)", False), ("validate_rows(train_rows)", True)],
)
def test_a_look_at_how_rows_are_written_is_no_evaluation(call: str, expected: bool) -> None:
    text = f"""
import torch
def main(net):
    train_rows, val_rows = load("train"), load("val")
    opt = torch.optim.Adam(net.parameters())
    for x, y in train_rows:
        opt.zero_grad()
        net(x, y).backward()
        opt.step()
    score = {call}
"""
    assert (state("script-evaluates-training-data", text) == P) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("lowest = loss", False),  # counts rounds without a better one, and keeps the rest
        ("patience = 0", True),
    ],
)
def test_the_better_figure_may_be_kept_on_the_other_way(other: str, expected: bool) -> None:
    text = f"""
import torch
def run(net, loader, opt):
    lowest, patience = float("inf"), 0
    for epoch in range(9):
        loss = fit(net, loader, opt)
        if loss >= lowest:
            patience += 1
            {"lowest = loss" if expected else "pass"}
            torch.save(net.state_dict(), "last.pt")
        else:
            {other}
            torch.save(net.state_dict(), "best.pt")
def fit(net, loader, opt):
    for x, y in loader:
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()
"""
    assert (state("script-best-chosen-wrongly", text) == P) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("names = list(set(labels))\n    names.sort()", False),
        ("box = box.sort_values([IMAGE, CLASS])", False),
        ("box = box.sort_values([CLASS, IMAGE])", True),
    ],
)
def test_what_is_put_in_order(made: str, expected: bool) -> None:
    text = step().replace("def train(net, loader):", f"def train(net, loader, labels, box):\n    {made}")
    assert (state("script-sorts-training-data", text) == P) == expected


@pytest.mark.parametrize(("slopes", "expected"), [("[mask]", False), ("net.trainable_variables", True)])
def test_slopes_of_a_mask_are_no_training(slopes: str, expected: bool) -> None:
    text = f"""
import tensorflow as tf
def step(net, x, y, mask, opt):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x * mask, training=False) - y) ** 2)
    grads = tape.gradient(loss, {slopes})
    opt.apply_gradients(zip(grads, {slopes}))
for x, y in data:
    step(net, x, y, mask, opt)
"""
    assert (state("script-eval-mode-while-training", text) == P) == expected


@pytest.mark.parametrize(
    ("given", "expected"), [("[self.node_mask, self.edge_mask]", False), ("self.net.parameters()", True)]
)
def test_a_finished_model_is_explained(given: str, expected: bool) -> None:
    text = f"""
import torch
class Explainer:
    def run(self, x, y):
        self.net.eval()
        opt = torch.optim.Adam({given}, lr=0.01)
        for epoch in range(99):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(self.net(x * self.node_mask), y).backward()
            opt.step()
"""
    assert (state("script-eval-mode-while-training", text) == P) == expected


@pytest.mark.parametrize(("row", "expected"), [("scores.reshape(-1)", False), ("scores", True)])
def test_the_scores_of_one_sample_in_a_row(row: str, expected: bool) -> None:
    text = f"""
import torch
def evaluate(model, loader):
    hits = 0
    for x, y in loader:
        scores = model(x)
        p = {row}.softmax(dim=0)
        hits += (p.argmax(-1) == y).sum().item()
    return hits
"""
    assert (state("script-metric-miscounts", text) == P) == expected


@pytest.mark.parametrize(("best", "expected"), [("min_score", False), ("best_accuracy", True)])
def test_the_name_of_the_best_says_which_way(best: str, expected: bool) -> None:
    new = "score" if best == "min_score" else "accuracy"
    text = f"""
import torch
def judge({new}, {best}, model):
    if {new} <= {best}:
        {best} = {new}
        torch.save(model.state_dict(), "best.pt")
    return {best}
"""
    assert (state("script-best-chosen-wrongly", text) == P) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('inputs["labels"][i] = torch.cat((labels[i], pad))', False),  # the target itself
        ('inputs["speed"] = labels + noise', True),
    ],
)
def test_a_part_of_the_labels_is_no_input(line: str, expected: bool) -> None:
    assert (
        fires(
            "code.model.target_in_inputs",
            f"import torch\ndef fill(inputs, labels, i, pad, noise):\n    {line}\n",
        )
        == expected
    )


@pytest.mark.parametrize(("kind", "expected"), [("LinearScheduler", False), ("Ramp", True)])
def test_a_schedule_of_its_own_may_count_epochs(kind: str, expected: bool) -> None:
    text = f"""
import torch
def train(net, loader, max_epochs):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    ramp = {kind}(0.1, max_steps=max_epochs)
    for epoch in range(max_epochs):
        for x, y in loader:
            opt.zero_grad()
            net(x, y).backward()
            opt.step()
            ramp.step()
"""
    assert (state("script-schedule-wrong", text) == P) == expected


@pytest.mark.parametrize(("values", "expected"), [('"vae_mean", "vae_var"', False), ("[0.5], [0.2]", True)])
def test_names_of_figures_are_none(values: str, expected: bool) -> None:
    text = f"""
import torch
MEAN, STD = {values}
def train(net, loader):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        net(x, y).backward()
        opt.step()
""".replace('MEAN, STD = "vae_mean", "vae_var"', 'MEAN = "vae_mean"\nSTD = "vae_var"')
    assert (state("script-scaling-unused", text) == P) == expected
