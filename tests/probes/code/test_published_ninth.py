"""What published programs do that run well, found in the part `ninth`: no check may flag it.

Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def _quiet(symptom: str, *texts: str) -> bool:
    return state(symptom, *texts) in ("absent", "unknown")


# ------------------------------------------------------------------- a value that is cut, and goes on uncut

HEADS = (
    TORCH
    + """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.LSTM(8, 16)
        self.actor = nn.Linear(16, 4)
        self.critic = nn.Linear(16, 1)

    def forward(self, x):
        h, _ = self.body(x)
        {body}


def main(policy, loader):
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for x, y, gain in loader:
        out, value = policy(x)
        loss = F.cross_entropy(out, y) + F.mse_loss(value, gain)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)
RUNNING = """self.mean += 0.1 * (h.mean(0).detach() - self.mean)
        return self.actor(h - self.mean), self.critic(h)"""
RENORM = """var = h.var(0)
        std = (var + 1e-5).sqrt()
        r = (std / self.std).detach()
        return self.actor(h / var.sqrt() * r), self.critic(h)"""


@pytest.mark.parametrize(
    "body",
    [
        "value = h.detach()\n        return self.actor(h), self.critic(value)",
        "self.seen.append(h.detach().cpu())\n        return self.actor(h), self.critic(h)",
        RUNNING,
        RENORM,
    ],
)
def test_what_goes_on_uncut_as_well_is_no_lost_path(body: str) -> None:
    assert _quiet("script-wiring-wrong", HEADS.replace("{body}", body))


@pytest.mark.parametrize(
    "body",
    [
        "h = h.detach()\n        return self.actor(h), self.critic(h)",
        "low = h.detach()\n        return self.actor(low), self.critic(low)",
        "low = h.detach()\n        h = torch.cat([h, low], -1)\n        return self.actor(h), self.critic(h)",
        "ways = [h.detach()]\n        return self.actor(h + ways.pop()), self.critic(h)",
    ],
)
def test_what_is_cut_on_the_way_is_told(body: str) -> None:
    assert state("script-wiring-wrong", HEADS.replace("{body}", body)) == "present"


# -------------------------------------------------------------------------- labels made of what was reordered

PARITY = (
    TORCH
    + """
class Rows(torch.utils.data.Dataset):
    def __getitem__(self, i):
        x, label = self.x[i], {first}
        x = x[torch.randperm(len(x))]
        {then}
        return x, label


def main(model, rows):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in torch.utils.data.DataLoader(rows, batch_size=8, shuffle=True):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_labels_may_be_made_of_what_was_reordered() -> None:
    text = PARITY.replace("label = {first}", "size = 64").replace(
        "x, label = self.x[i], {first}", "x = torch.zeros(64)"
    )
    text = text.replace("x, size = 64", "x = torch.zeros(64)").replace("{then}", "label = (x == 1).sum() % 2")

    assert _quiet("script-labels-permuted-alone", text)


def test_inputs_reordered_beside_their_labels_are_told() -> None:
    text = PARITY.replace("{first}", "self.y[i]").replace("{then}", "pass")

    assert state("script-labels-permuted-alone", text) == "present"


# ------------------------------------------------------------------------------- what a plateau waits for

PLATEAU = (
    TORCH
    + """
def main(model, loader, held):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min")
    best = float("inf")
    for epoch in range(90):
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        val_score = evaluate(model, held)
        schedule.step(val_score)
        if val_score {sign} best:
            best = val_score
            torch.save(model.state_dict(), "best.pt")
"""
)


def test_a_score_that_is_best_when_low_may_be_waited_for_to_fall() -> None:
    assert _quiet("script-schedule-wrong", PLATEAU.replace("{sign}", "<"))


def test_a_score_that_is_best_when_high_is_waited_for_to_rise() -> None:
    assert state("script-schedule-wrong", PLATEAU.replace("{sign}", ">")) == "present"


# ------------------------------------------------------------------------------- the weight of a loss

COURSE = (
    TORCH
    + """
class Module(nn.Module):
    def on_train_batch_end(self):
        def {name}(step):
            if step < self.warmup_steps:
                return 1.0
            return max(0.0, 1.0 - (step - self.warmup_steps) / self.max_steps)

        {use}
"""
)


def test_the_weight_of_a_loss_may_be_held_during_the_warmup() -> None:
    text = COURSE.replace("{name}", "mel_decay").replace(
        "{use}", "self.mel_coeff = self.base * mel_decay(self.step)"
    )

    assert _quiet("script-warmup-flat", text)


def test_a_rate_that_is_held_during_the_warmup_is_told() -> None:
    text = COURSE.replace("{name}", "decay").replace(
        "{use}", "for group in self.opt.param_groups: group['lr'] = decay(self.step)"
    )

    assert state("script-warmup-flat", text) == "present"


# ----------------------------------------------------------------------------- a model that an object holds

HELD = (
    TORCH
    + """
class Trainer:
    def __init__(self, model):
        self.net = model.torch_part
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.model = model

    def run(self, loader):
        {switch}
        for x, y in loader:
            loss = F.cross_entropy({run}(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""
)


def test_a_network_that_an_object_holds_is_all_there_is() -> None:
    text = HELD.replace("{switch}", "self.net.train()").replace("{run}", "self.net")

    assert _quiet("script-part-not-trained", text)


def test_a_part_of_the_model_that_is_run_is_told() -> None:
    text = HELD.replace("{switch}", "self.model.train()").replace("{run}", "self.model")

    assert state("script-part-not-trained", text) == "present"


# --------------------------------------------------------------------------------- the name that is loaded

KEPT = (
    TORCH
    + """
def main(model, loader, held):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = float("inf")
    for state in optimizer.state.values():
        for k, v in state.items():
            state[k] = v.cuda()
    for epoch in range(90):
        model.train()
        for x, y in loader:
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        val = evaluate(model, held)
        if val < best:
            best = val
            state = {"epoch": epoch, "weights": model.state_dict()}
            torch.save(state, "best.pt")
    {load}
    model.load_state_dict(state["weights"])
    return model
"""
)


def test_what_was_read_from_the_file_is_no_live_copy() -> None:
    assert _quiet("script-best-chosen-wrongly", KEPT.replace("{load}", 'state = torch.load("best.pt")'))


def test_what_was_put_aside_without_a_copy_is_told() -> None:
    assert state("script-best-chosen-wrongly", KEPT.replace("{load}", "model.eval()")) == "present"
