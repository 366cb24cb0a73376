"""What published programs do that run well, in the parts `twelfth` and `thirteenth`: no check may flag it.

Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
STEP = """
def main(model, loader, optimizer):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def _quiet(symptom: str, *texts: str) -> bool:
    return state(symptom, *texts) in ("absent", "unknown")


# ------------------------------------------------------------------ casts of plain Python end no call chain

CAST = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x):
        return {returned}


def collate(rows):
    x, y = zip(*rows)
    return x, y


def main(loader):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for x, y in loader:
        y = float(y)
        loss = F.mse_loss(net(x), torch.tensor(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


@pytest.mark.parametrize("returned", ["self.fc(x)", "float(self.fc(x))"])
def test_a_cast_by_a_plain_name_ends(returned: str) -> None:
    """It has no value before the point to go on with: the checks come to an end."""
    text = CAST.replace("{returned}", returned)

    assert _quiet("script-labels-overwritten", text)
    assert _quiet("script-loss-wrong", text)


# ----------------------------------------------------------------------- a name of the library, and one's own

ADVERSARY = (
    TORCH
    + """
{own}

def discriminator_loss(fake, real):
    return (-log(1 - torch.sigmoid(fake)) - log(torch.sigmoid(real))).mean()


def main(model, judge, loader, optimizer):
    for x in loader:
        loss = discriminator_loss(judge(model(x)), judge(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_a_logarithm_of_ones_own_may_have_its_floor() -> None:
    own = "def log(t, eps=1e-10):\n    return torch.log(t + eps)\n"

    assert _quiet("script-zero-without-floor", ADVERSARY.replace("{own}", own))


def test_the_librarys_logarithm_has_none() -> None:
    assert (
        state("script-zero-without-floor", ADVERSARY.replace("{own}", "from torch import log\n")) == "present"
    )


# --------------------------------------------------------------------------------- a rate that moves nothing

RATE = TORCH + STEP + "\n\ndef build(model):\n    return torch.optim.SGD({given}, lr=0)\n"


def test_what_is_made_on_the_spot_is_moved_by_no_rate() -> None:
    assert _quiet("lr-zero", RATE.replace("{given}", "[torch.tensor(0.0, requires_grad=True)]"))


# ------------------------------------------------------------- what a caller does that is not at hand

HANDED = (
    TORCH
    + """
def train(model, loader, optimizer, scheduler):
    model.train()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 100 == 0:
            print(scheduler.get_last_lr(), loss.item())
"""
)
CALLS = """

def main(model, loader, make):
    optimizer, schedule = make(model)
    for epoch in range(10):
        train(model, loader, optimizer, schedule)
{then}"""


def test_whoever_calls_the_training_may_step_its_schedule() -> None:
    assert _quiet("script-schedule-wrong", HANDED)


def test_the_caller_steps_what_it_hands_over() -> None:
    assert _quiet("script-schedule-wrong", HANDED + CALLS.replace("{then}", "        schedule.step()\n"))


def test_a_caller_that_is_seen_and_steps_nothing_is_told() -> None:
    assert state("script-schedule-wrong", HANDED + CALLS.replace("{then}", "")) == "present"


LIGHTNING = """
import lightning as L
import torch
import torch.nn.functional as F


class Module(L.LightningModule):
    def __init__(self, net, lr=1e-3, {words}=1000):
        super().__init__()
        self.net, self.lr, self.{words} = net, lr, {words}

    def training_step(self, batch, i):
        return F.mse_loss(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.{words})
        return [optimizer], [scheduler]
"""


@pytest.mark.parametrize("words", ["decay_steps", "lr_decay_steps", "cycle_steps"])
def test_the_steps_of_a_schedule_are_the_times_that_it_moves(words: str) -> None:
    assert _quiet("script-schedule-wrong", LIGHTNING.replace("{words}", words))


@pytest.mark.parametrize("words", ["total_steps", "max_steps", "num_training_steps"])
def test_the_steps_of_a_training_are_told_where_epochs_move(words: str) -> None:
    assert state("script-schedule-wrong", LIGHTNING.replace("{words}", words)) == "present"


BUFFERS = """
import torch
from torch import nn


class {name}(nn.Module{more}):
    def __init__(self, figures):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("x_mean", torch.tensor(figures["mean"]))
        self.register_buffer("x_std", torch.tensor(figures["std"]))

    def forward(self, x):
        return self.fc(x)


def main(net, loader, optimizer):
    for x, y in loader:
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("name", "more"), [("Net", ", ABC"), ("BaseNet", ""), ("NetMixin", "")])
def test_what_a_base_class_keeps_is_for_those_that_derive_from_it(name: str, more: str) -> None:
    text = BUFFERS.replace("{name}", name).replace("{more}", more)

    assert _quiet("script-scaling-unused", ("from abc import ABC\n" if more else "") + text)


def test_figures_that_a_network_of_its_own_keeps_and_leaves_are_told() -> None:
    assert state("script-scaling-unused", BUFFERS.replace("{name}", "Net").replace("{more}", "")) == "present"


# -------------------------------------------------------------------------------------- targets, and places

TABLE = TORCH + STEP + '\n\ndef prepare(df):\n    df["{column}"] = {value}\n    return df\n'


@pytest.mark.parametrize(
    "value", ["[Point(x, y) for x, y in zip(df.x, df.y)]", 'df["x"] ** 2 + df["y"] ** 2', "make(df.x, df.y)"]
)
def test_both_fields_of_a_point_are_no_target(value: str) -> None:
    text = TABLE.replace("{column}", "geometry").replace("{value}", value)

    assert _quiet("script-target-in-inputs", text)


def test_a_column_made_of_the_target_is_told() -> None:
    text = TABLE.replace("{column}", "ratio").replace("{value}", 'df["target"] / df["amount"]')

    assert state("script-target-in-inputs", text) == "present"


# ------------------------------------------------------------------------ one constant to start

START = (
    TORCH
    + """
class Pair(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(a, b))
        self.bias = nn.Parameter(torch.zeros(b))

    def forward(self, x, z):
        return x @ self.weight @ z


class Net(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.first = nn.Linear(n, m)
        self.pair = Pair(m, m)
        self.weight_sigma = nn.Parameter(torch.empty(m, n))
        self.last = nn.Linear(m, 2)
        {fill}

    def forward(self, x):
        h = F.relu(self.first(x))
        return self.last(self.pair(h, h) + h)

    def {method}(self):
        for p in self.parameters():
            p.data.zero_()
"""
    + STEP
)


@pytest.mark.parametrize("fill", ["self.pair.weight.data.zero_()", "self.weight_sigma.data.fill_(0.017)"])
def test_what_is_no_layers_matrix_for_sure_may_start_at_a_constant(fill: str) -> None:
    assert _quiet("script-zero-init", START.replace("{fill}", fill).replace("{method}", "cleared"))


def test_a_layers_matrix_at_a_constant_is_told() -> None:
    text = START.replace("{fill}", "self.first.weight.data.fill_(0.017)").replace("{method}", "cleared")

    assert state("script-zero-init", text) == "present"


def test_all_matrices_at_a_constant_to_start_with_are_told() -> None:
    text = START.replace("{fill}", "self.init_weights()").replace("{method}", "init_weights")

    assert state("script-zero-init", text) == "present"


# ------------------------------------------------------------------------ both parts of data

PARTS = (
    TORCH
    + STEP
    + "\n\ndef prepare(train_x, val_x, make):\n    train_x {op}= make(3)\n    return train_x, val_x\n"
)


@pytest.mark.parametrize("op", ["^", "@", "|"])
def test_what_is_put_together_by_a_sign_is_not_scaled(op: str) -> None:
    assert _quiet("script-splits-processed-differently", PARTS.replace("{op}", op))


@pytest.mark.parametrize("op", ["-", "/", "*"])
def test_one_part_that_is_scaled_is_told(op: str) -> None:
    assert state("script-splits-processed-differently", PARTS.replace("{op}", op)) == "present"


# ---------------------------------------------------------------------------- slopes that teach, and others

MODES = (
    TORCH
    + """
class Classifier:
    def fit(self, loader):
        for epoch in range(9):
            {switch}
            self.epoch(loader)
            self.validate(loader)

    def epoch(self, loader):
        for x, y in loader:
            self.step(x, y)

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()

    def validate(self, loader):
        self.model.eval()
        with torch.no_grad():
            return sum(F.cross_entropy(self.model(x), y).item() for x, y in loader)

    def embed(self, loader):
        self.model.eval()
        return [self.slope(x) for x, _ in loader]

    def slope(self, x):
        loss = self.model(x).max()
        loss.backward()
        return self.model.fc.weight.grad.flatten()
"""
)


def test_slopes_that_are_only_looked_at_are_no_training() -> None:
    assert _quiet("script-eval-mode-while-training", MODES.replace("{switch}", "self.model.train()"))


def test_a_model_that_stays_in_evaluation_mode_is_told() -> None:
    assert state("script-eval-mode-while-training", MODES.replace("{switch}", "pass")) == "present"


# --------------------------------------------------------------------- the rest of an objective, out of sight

VALUES = (
    TORCH
    + """
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.values = nn.Linear(48, 4)

    def forward(self, x):
        q = self.values(x)
        return q.argmax(-1), {"q_action": q.max(-1).values}


def main(env, loader):
    agent = Agent()
    optimizer = torch.optim.SGD(agent.parameters(), lr=0.5)
    for t in range(1000):
        transition = env.{run}
        now = transition.{field}
        action, info = agent(transition.next_state)
        then = info["q_action"].detach()
        loss = (transition.reward + then - now).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_what_is_handed_the_model_may_give_the_other_value() -> None:
    assert _quiet("script-wiring-wrong", VALUES.replace("{run}", "run(agent)").replace("{field}", "q_action"))


def test_the_only_value_of_the_model_that_is_cut_is_told() -> None:
    text = VALUES.replace("{run}", "step()").replace("{field}", "worth")

    assert state("script-wiring-wrong", text) == "present"


# --------------------------------------------------------------------------------- all that a wrapper holds

WRAPPED = (
    TORCH
    + """
class Match(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
        {more}

    def forward(self, x):
        return {out}


class Trainer:
    def __init__(self, body):
        self.model = Match(body)

    def train(self, loader):
        optimizer = torch.optim.AdamW(self.model.body.parameters(), lr=1e-4)
        for x, y in loader:
            loss = F.cross_entropy(self.model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
)


def test_the_only_layer_of_a_wrapper_is_all_of_it() -> None:
    text = WRAPPED.replace("{more}", "").replace("{out}", "self.body(x)")

    assert _quiet("script-part-not-trained", text)


def test_one_of_two_layers_is_a_part() -> None:
    text = WRAPPED.replace("{more}", "self.head = nn.Linear(2, 2)").replace(
        "{out}", "self.head(self.body(x))"
    )

    assert state("script-part-not-trained", text) == "present"


# ---------------------------------------------------------------------------- what a figure is, and its name

KEPT = (
    TORCH
    + """
import math


class Trainer:
    def evaluate(self, loader):
        r2, rmse = figures(self.model, loader)
        print(r2, rmse)
        return {given}

    def fit(self, train_loader, val_loader):
        best = math.inf
        for epoch in range(9):
            self.model.train()
            for x, y in train_loader:
                loss = F.mse_loss(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.model.eval()
            test_r2 = self.evaluate(val_loader)
            if test_r2 < best:
                best = test_r2
                torch.save(self.model.state_dict(), "best.pt")
"""
)


def test_a_figure_that_is_given_back_as_an_error_falls() -> None:
    assert _quiet("script-best-chosen-wrongly", KEPT.replace("{given}", "rmse"))


def test_the_lower_of_two_shares_that_are_told_is_no_best() -> None:
    assert state("script-best-chosen-wrongly", KEPT.replace("{given}", "r2")) == "present"


# ------------------------------------------------------------------------- what left-out scripts added to it

DROPS = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self, rate=0.5, use_dropout=False):
        super().__init__()
        self.fc, self.rate, self.use_dropout = nn.Linear(8, 8), rate, use_dropout

    def forward(self, x):
        x = F.relu(self.fc(x))
        if {asked}:
            x = F.dropout(x, p=self.rate)
        return x
"""
    + STEP
)


@pytest.mark.parametrize("asked", ["self.use_dropout", "self.rate and self.use_dropout is True"])
def test_dropout_that_a_switch_asks_for(asked: str) -> None:
    assert _quiet("script-dropout-always-on", DROPS.replace("{asked}", asked))


@pytest.mark.parametrize("asked", ["self.rate", "self.rate > 0", "self.rate is not None"])
def test_dropout_that_its_rate_alone_asks_for_is_told(asked: str) -> None:
    assert state("script-dropout-always-on", DROPS.replace("{asked}", asked)) == "present"


NORM = (
    TORCH
    + STEP
    + "\n\ndef block():\n    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8, momentum={m}))\n"
)


@pytest.mark.parametrize("momentum", ["1", "1.0", "0.1"])
def test_a_norm_of_the_batch_in_hand_alone_is_meant(momentum: str) -> None:
    assert _quiet("script-batch-norm-momentum", NORM.replace("{m}", momentum))


@pytest.mark.parametrize("momentum", ["0.9", "0.99"])
def test_the_weight_of_the_old_average_is_told(momentum: str) -> None:
    assert state("script-batch-norm-momentum", NORM.replace("{m}", momentum)) == "present"


UNSWITCHED = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), {layer}, nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)


def train(net, loader, optimizer):
    net.train()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test(net, loader):
    right = 0
    with torch.no_grad():
        for x, y in loader:
            outputs = net(x)
            right += (outputs.argmax(-1) == y).sum().item()
    return right / len(loader.dataset)


def main(loader, held_out):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        train(net, loader, optimizer)
        print(test(net, held_out))


main(*loaders())
"""
)


def test_a_network_without_modes_needs_no_switch() -> None:
    assert _quiet("script-mode-wrong", UNSWITCHED.replace("{layer}", "nn.ReLU()"))


@pytest.mark.parametrize("layer", ["nn.Dropout(0.2)", "nn.BatchNorm1d(8)"])
def test_a_network_with_modes_that_is_not_switched_is_told(layer: str) -> None:
    assert state("script-mode-wrong", UNSWITCHED.replace("{layer}", layer)) == "present"


ONE_STATE = (
    TORCH
    + """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, batch):
        x = batch.view({sizes})
        return F.log_softmax(self.head(x), dim=0)
"""
    + STEP
)


def test_the_only_axis_of_one_sample_is_its_classes() -> None:
    assert _quiet("script-operator-wrong", ONE_STATE.replace("{sizes}", "-1"))


def test_the_axis_of_samples_is_told() -> None:
    assert state("script-operator-wrong", ONE_STATE.replace("{sizes}", "-1, 8")) == "present"
