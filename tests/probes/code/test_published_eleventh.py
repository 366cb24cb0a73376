"""What published programs do that run well, found in the part `eleventh`: no check may flag it.

Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
STEP = """
def main(model, loader):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def _quiet(symptom: str, *texts: str) -> bool:
    return state(symptom, *texts) in ("absent", "unknown")


# ------------------------------------------------------------------- one name, other data for each side

SIDES = (
    TORCH
    + """
from torch.utils.data import DataLoader
from mine import Net, Rows, read


def train(model, loader, optimizer):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = total = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return right / total


def main():
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = read("train.pt")
    {train}
    {between}
    {held}
    for epoch in range(10):
        train(model, train_loader, optimizer)
        print(evaluate(model, val_loader))
"""
)
PAIRS = {
    "item": (
        "train_loader = DataLoader(data[0], 32, shuffle=True)",
        "val_loader = DataLoader(data[0], 32, shuffle=True)",
    ),
    "part": (
        "train_set = Rows(data)\n    train_loader = DataLoader(train_set, 32, shuffle=True)",
        "val_set = Rows(data[:1000])\n    val_loader = DataLoader(val_set, 32)",
    ),
    "columns": (
        'train_x, train_y = data["x"], data["y"]\n'
        "    train_loader = DataLoader(Rows(train_x, train_y), shuffle=True)",
        'val_x, val_y = data["x"][:500], data["y"][:500]\n    val_loader = DataLoader(Rows(val_x, val_y))',
    ),
}
AGAIN = ('data = read("valid.pt")', 'with open("valid.pt") as file:\n        data = torch.load(file)')


def _sides(pair: str, between: str) -> tuple[str, str]:
    train, held = PAIRS[pair]
    text = SIDES.replace("{train}", train).replace("{held}", held).replace("{between}", between)
    symptom = "script-evaluates-training-data" if pair == "item" else "script-training-sees-evaluation"
    return symptom, text


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("between", AGAIN)
def test_a_name_that_is_read_anew_holds_other_data(pair: str, between: str) -> None:
    assert _quiet(*_sides(pair, between))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("between", ["print(len(data))", "data = data[torch.randperm(len(data))]"])
def test_one_set_on_both_sides_is_told(pair: str, between: str) -> None:
    assert state(*_sides(pair, between)) == "present"


ESTIMATOR = """import tensorflow as tf
from functools import partial


def main(model, params, reads, checks):
    estimator = tf.estimator.Estimator(model, params=params)
    feed = partial(reads, params)
    first = tf.estimator.TrainSpec(input_fn=feed, max_steps=9000)
    {between}
    second = tf.estimator.EvalSpec(input_fn=feed, steps=None)
    tf.estimator.train_and_evaluate(estimator, first, second)
"""


def test_an_estimator_gets_another_input_under_one_name() -> None:
    text = ESTIMATOR.replace("{between}", "feed = partial(checks, params)")
    assert _quiet("script-training-sees-evaluation", text)


def test_an_estimator_that_gets_one_input_is_told() -> None:
    assert (
        state("script-training-sees-evaluation", ESTIMATOR.replace("{between}", "print(feed)")) == "present"
    )


# ---------------------------------------------------------------------- a mean plus one is a spread

NOISE = (
    TORCH
    + """
def main(generator, loader, width):
    optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
    for x, y in loader:
        {made}
        loss = F.mse_loss(generator(z), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)
SPREADS = ("std = mean + 1", "std = 1.0 + mean", "std = mean ** 2 + 1")


@pytest.mark.parametrize("spread", SPREADS)
def test_a_spread_made_of_a_mean_is_no_divergence(spread: str) -> None:
    made = f"mean = torch.zeros(len(x), width)\n        {spread}\n        z = torch.normal(mean, std)"
    assert _quiet("script-loss-wrong", NOISE.replace("{made}", made))


def test_a_divergence_with_its_mean_unsquared_is_told() -> None:
    made = (
        "mean, logvar = generator.encode(x)\n        z = mean\n"
        "        kl = -0.5 * (1 + logvar - mean - logvar.exp()).sum()"
    )
    text = NOISE.replace("{made}", made).replace(
        "mse_loss(generator(z), x)", "mse_loss(generator(z), x) + kl"
    )
    assert state("script-loss-wrong", text) == "present"


# ------------------------------------------------------------------- weights that are filled quietly

FILLED = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.Dropout(0.2), nn.Linear(64, 4))

    def forward(self, x):
        return self.body(x)


def fill(module):
    for name, value in module.named_parameters(recurse=False):
        if "bias" in name:
            with torch.no_grad():
                {inside}


def main(loader, held):
    model = Net()
    model.apply(fill)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {after}
"""
)
FILLS = (
    "new = torch.empty(value.shape[0])\n                nn.init.uniform_(new, -0.1, 0.1)\n"
    "                value.copy_(new)",
    "value.fill_(float(len(value)) ** -0.5)",
    "value.data.normal_(0, 0.02)",
)
MEASURED = "with torch.no_grad():\n        print((model(held.x).argmax(1) == held.y).float().mean().item())"


@pytest.mark.parametrize("fill", FILLS)
def test_weights_filled_without_gradients_are_no_evaluation(fill: str) -> None:
    text = FILLED.replace("{inside}", fill).replace("{after}", "print('done')")
    assert _quiet("script-mode-wrong", text)


def test_an_evaluation_beside_filled_weights_is_told() -> None:
    text = FILLED.replace("{inside}", FILLS[0]).replace("{after}", MEASURED)
    assert state("script-mode-wrong", text) == "present"


# ------------------------------------------------------------- a cut value that feeds a network of its own

TWO = (
    TORCH
    + """
class Maker(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 16))
        self.second = nn.Sequential(nn.Linear(16 + width, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, noise):
        made = self.first(noise)
        {cut}
        {given}
"""
    + STEP
)
CUTS = (
    (
        "kept = made.detach()\n        more = self.second(torch.cat((kept, noise), dim=1))",
        "return torch.cat((made, more), dim=1)",
    ),
    (
        "kept = made.detach()\n        more = self.second(torch.cat([noise, kept], 1))",
        "return made + more.sum(1, keepdim=True)",
    ),
    (
        "made_no_grad = made.detach()\n        more = self.second(torch.cat((made_no_grad, noise), 1))",
        "return made, more",
    ),
)


@pytest.mark.parametrize(("cut", "given"), CUTS)
def test_a_copy_that_feeds_a_second_network_is_meant(cut: str, given: str) -> None:
    assert _quiet("script-wiring-wrong", TWO.replace("{cut}", cut).replace("{given}", given))


def test_the_only_way_of_a_network_that_is_cut_is_told() -> None:
    cut = "kept = made.detach()\n        more = self.second(torch.cat((kept, noise), dim=1))"
    assert (
        state("script-wiring-wrong", TWO.replace("{cut}", cut).replace("{given}", "return more")) == "present"
    )


# ------------------------------------------------------------ sums of figures, sums of layers' answers

SUMS = (
    TORCH
    + """
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.skips = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        total = 0
        for layer, skip in zip(self.layers, self.skips):
            x = torch.relu(layer(x))
            {added}
        return x
"""
    + STEP
)


@pytest.mark.parametrize(
    "added",
    ["total += torch.mean(torch.abs(x))", "total = total + x.abs().mean()", "total += F.mse_loss(x, x * 0)"],
)
def test_a_figure_that_nothing_reads_costs_nothing(added: str) -> None:
    used = SUMS.replace("torch.relu(layer(x))", "torch.relu(layer(x)) + skip(x)")
    assert _quiet("script-wiring-wrong", used.replace("{added}", added))


@pytest.mark.parametrize("added", ["total += skip(x)", "h = skip(x)\n            total = total + h"])
def test_answers_of_layers_that_nothing_reads_are_told(added: str) -> None:
    assert state("script-wiring-wrong", SUMS.replace("{added}", added)) == "present"


# ---------------------------------------------------------------------- best by the mode that is asked

KEEPER = (
    TORCH
    + """
class Keeper:
    def __init__(self, path, mode="max"):
        self.path, self.mode = path, mode
        self.best_score = None

    def __call__(self, model, score):
        if self.best_score is None:
            self.best_score = score
            torch.save(model.state_dict(), self.path)
            return True
{chosen}
        return False


def main(model, loader, measure):
    keep = Keeper("best.pt")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        accuracy = measure(model)
        keep(model, accuracy)
"""
)
SAVED = """            self.best_score = score
            torch.save(model.state_dict(), self.path)
            return True
"""
WAYS = (
    '        if self.mode == "max":\n            better = score > self.best_score\n        else:\n'
    "            better = score < self.best_score\n        if better:\n",
    '        if self.mode == "max" and score > self.best_score:\n'
    + SAVED
    + '        if self.mode == "min" and score < self.best_score:\n',
    '        better = score < self.best_score if self.mode == "min" else score > self.best_score\n'
    "        if better:\n",
)


@pytest.mark.parametrize("way", WAYS)
def test_a_way_for_each_mode_is_not_the_wrong_one(way: str) -> None:
    assert _quiet("script-best-chosen-wrongly", KEEPER.replace("{chosen}", way + SAVED))


def test_the_lower_accuracy_kept_is_told() -> None:
    way = "        if score < self.best_score:\n"
    assert state("script-best-chosen-wrongly", KEEPER.replace("{chosen}", way + SAVED)) == "present"


# ---------------------------------------------------------------------- a switch that a class is given

FIXED = """import tensorflow as tf


class Trainer(tf.keras.Model):
    def __init__(self, encoder, decoder, fixed=False):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.fixed = fixed
        {frozen}

    def train_step(self, images):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.decoder(self.encoder(images)) - images) ** 2)
        weights = self.encoder.trainable_variables + self.decoder.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}
"""


@pytest.mark.parametrize("asked", ["if self.fixed:", "if fixed:"])
def test_a_switch_that_a_class_is_given_freezes_when_asked(asked: str) -> None:
    text = FIXED.replace("{frozen}", f"{asked}\n            self.decoder.trainable = False")
    assert _quiet("script-part-not-trained", text)


def test_a_decoder_that_is_always_frozen_is_told() -> None:
    text = FIXED.replace("{frozen}", "self.decoder.trainable = False")
    assert state("script-part-not-trained", text) == "present"


# ----------------------------------------------------------------- what is handed over is no data

RUNS = (
    TORCH
    + """
def evaluate(model, {taken}):
    model.eval()
    with torch.no_grad():
        return {figure}


def main(model, train_loader, val_loader, training_assets):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(10):
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        val_score = evaluate(model, {given})
        print(val_score)
"""
)


@pytest.mark.parametrize("given", ["training_assets", "train_args"])
def test_what_training_brought_is_no_training_data(given: str) -> None:
    text = RUNS.replace("{taken}", "extras").replace("{figure}", "model.score(extras)")
    text = text.replace("{given}", given).replace("training_assets):", f"{given}):")
    assert _quiet("script-evaluates-training-data", text)


def test_a_score_of_the_training_loader_is_told() -> None:
    text = RUNS.replace("{taken}", "loader")
    text = text.replace("{figure}", "sum((model(x).argmax(1) == y).sum().item() for x, y in loader)")
    assert state("script-evaluates-training-data", text.replace("{given}", "train_loader")) == "present"


# ---------------------------------------------------------------- figures of targets are no targets

AVERAGES = (
    TORCH
    + """
class Trainer:
    def __init__(self, model, optimizers):
        self.model, self.optimizers = model, optimizers

    def fit(self, loader, held):
        for x, y in loader:
            loss = F.cross_entropy(self.model(x), y)
            self.optimizers[0].zero_grad()
            loss.backward()
            self.optimizers[0].step()
        train_loss = self.pick(loader.averages, {})
        eval_loss = self.pick({}, held.averages)
        return train_loss, eval_loss

    def pick(self, averages, kept):
        target_avg_loss = 0
        for i in range(len(self.optimizers)):
            if f"loss_{i}" in kept:
                target_avg_loss += kept[f"loss_{i}"]
        return target_avg_loss
"""
)


def test_a_sum_of_losses_is_no_target() -> None:
    assert _quiet("script-labels-processed-differently", AVERAGES)


# ------------------------------------------------------------------ weights that are copied now and then

COPIES = (
    TORCH
    + """
import copy


class Agent:
    def __init__(self, net, every=1000, tau=0.995):
        self.net, self.target = net, copy.deepcopy(net)
        self.optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        self.every, self.tau, self.count = every, tau, 0

    def step(self, x, y):
        with torch.no_grad():
            goal = y + 0.99 * self.target(x).max(1)[0]
        loss = F.mse_loss(self.net(x).max(1)[0], goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.count += 1
        {when}
            self.follow(self.tau)

    def follow(self, tau):
        for old, new in zip(self.target.parameters(), self.net.parameters()):
            old.data.copy_(tau * new.data + (1.0 - tau) * old.data)
"""
)


@pytest.mark.parametrize(
    "when",
    ["if self.count % self.every == 0:", "if self.count % 500 == 0:", "if not self.count % self.every:"],
)
def test_a_copy_now_and_then_takes_most_of_the_new_weights(when: str) -> None:
    assert _quiet("script-average-astray", COPIES.replace("{when}", when))


@pytest.mark.parametrize("when", ["if self.count:", "if self.count % 2 == 0:", "if self.target is not None:"])
def test_an_average_with_its_shares_exchanged_is_told(when: str) -> None:
    assert state("script-average-astray", COPIES.replace("{when}", when)) == "present"


# ------------------------------------------------------------------------ a factor that Adam divides out

SUMMED = (
    TORCH
    + """
def main(model, loader):
    optimizer = torch.optim.{optimizer}
    criterion = nn.MSELoss(reduction="sum")
    for epoch in range(20):
        for x, y in loader:
            loss = criterion(model(x), y)
            {more}
            optimizer.zero_grad()
            loss.backward()
            {before}
            optimizer.step()
"""
)


@pytest.mark.parametrize(
    ("optimizer", "more", "before"),
    [
        ("Adam(model.parameters(), lr=1e-3)", "print(loss.item())", "print(epoch)"),
        ("AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)", "print(loss.item())", "print(epoch)"),
    ],
)
def test_a_sum_under_adam_is_worth_a_look_and_no_wrong_loss(optimizer: str, more: str, before: str) -> None:
    text = SUMMED.replace("{optimizer}", optimizer).replace("{more}", more).replace("{before}", before)

    assert _quiet("script-loss-wrong", text)
    assert state("script-loss-summed", text) == "present"


@pytest.mark.parametrize(
    ("optimizer", "more", "before"),
    [
        ("SGD(model.parameters(), lr=1e-3)", "print(loss.item())", "print(epoch)"),
        ("Adam(model.parameters(), lr=1e-3, weight_decay=0.1)", "print(loss.item())", "print(epoch)"),
        ("Adam(model.parameters(), lr=1e-3)", "loss = loss + model.penalty()", "print(epoch)"),
        ("Adam(model.parameters(), lr=1e-3)", "loss += model.penalty()", "print(epoch)"),
        (
            "Adam(model.parameters(), lr=1e-3)",
            "print(loss.item())",
            "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        ),
    ],
)
def test_a_sum_beside_what_has_a_size_is_told(optimizer: str, more: str, before: str) -> None:
    text = SUMMED.replace("{optimizer}", optimizer).replace("{more}", more).replace("{before}", before)

    assert state("script-loss-wrong", text) == "present"


# ------------------------------------------------------------------ losses of policies

PPO = (
    TORCH
    + """
def main(agent, batches, eps, share):
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    for batch in batches:
        logp, entropy = agent(batch.obs, batch.actions)
        ratio = (logp - batch.logp).exp()
        one = batch.advantages * ratio
        two = batch.advantages * torch.clamp(ratio, 1 - eps, 1 + eps)
        pg_loss = {surrogate}
        loss = pg_loss - 0.01 * entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


@pytest.mark.parametrize(
    "surrogate",
    [
        "-share * torch.min(one, two).mean()",
        "torch.min(one, two).mean() * -share",
        "-share * torch.min(one, two).mean() - (1 - share) * batch.other",
    ],
)
def test_a_share_with_a_minus_turns_the_surrogate(surrogate: str) -> None:
    assert _quiet("script-loss-wrong", PPO.replace("{surrogate}", surrogate))


@pytest.mark.parametrize("surrogate", ["share * torch.min(one, two).mean()", "torch.min(one, two).mean()"])
def test_a_surrogate_made_small_is_told(surrogate: str) -> None:
    assert state("script-loss-wrong", PPO.replace("{surrogate}", surrogate)) == "present"


WORTH = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.chances, self.worth = nn.Linear(8, 64), nn.Linear(64, 4), nn.Linear(64, 4)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.chances(h), self.worth(h)


def policy_loss(policy_logits, q_values):
    policy = F.softmax(policy_logits, dim=1)
    {cut}
    gain = q_values - (policy * q_values).sum(1, keepdim=True)
    return -(policy * gain).sum(1).mean()


def main(loader):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for x in loader:
        logits, worth = net(x)
        loss = policy_loss(logits, worth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_what_actions_are_worth_is_cut_in_a_loss_of_the_policy() -> None:
    assert _quiet("script-wiring-wrong", WORTH.replace("{cut}", "q_values = q_values.detach()"))


def test_a_policy_that_is_cut_is_told() -> None:
    text = WORTH.replace("{cut}", "policy = policy.detach(); q_values = q_values.detach()")
    assert state("script-wiring-wrong", text) == "present"


# ------------------------------------------------------------------ a model among settings

CLIENT = (
    TORCH
    + """
class Client:
    def __init__(self, args):
        self.model = args["{key}"]
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)


@pytest.mark.parametrize("key", ["model", "net", "network"])
def test_a_model_among_settings_is_whole(key: str) -> None:
    assert _quiet("script-part-not-trained", CLIENT.replace("{key}", key))
