"""What published programs and notebooks do that run well, found in the part `wide`: no check may flag it.

Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def _quiet(symptom: str, *texts: str) -> bool:
    return state(symptom, *texts) in ("absent", "unknown")


# ------------------------------------------------------------------------------ rates or factors, by epoch

STEPS = (
    TORCH
    + """
def main(model, loader, args, periods):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    lr = args.lr

    def factor(epoch):
        {body}
        return 1.0

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for epoch in range(90):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
"""
)
NAMED_IN_LIST = "for start, lr in reversed(periods):\n            if epoch >= start: return lr"


def test_a_list_of_factors_may_name_them_rates() -> None:
    assert _quiet("script-schedule-wrong", STEPS.replace("{body}", NAMED_IN_LIST))


def test_the_rate_itself_for_a_factor_is_told() -> None:
    text = STEPS.replace("{body}", "if epoch >= 30: return lr * 0.1")

    assert state("script-schedule-wrong", text) == "present"


# ------------------------------------------------------------------------ a summary that is taken of outputs

SUMMARY = (
    TORCH
    + """
class Distance(nn.Module):
    def forward(self, input, target):
        return ((input - target) ** 2).mean()

class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.distance = Distance()
        self.told = []

    def forward(self, output, target):
        value = self.distance(input=output{cut}, target=target)
        self.summarise(output, target)
        return value

    {decorated}
    def summarise(self, output, target):
        distance = Distance()
        output = output.squeeze(1).detach()
        self.told.append(distance(output, target=target))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)

    def forward(self, x):
        return self.body(x)

def main(loader):
    model, criterion = Net(), Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in loader:
        output = model(x)
        loss = criterion(output, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_a_summary_without_gradients_cuts_no_loss() -> None:
    text = SUMMARY.replace("{cut}", "").replace("{decorated}", "@torch.no_grad()")

    assert _quiet("script-wiring-wrong", text)


def test_an_output_cut_before_its_distance_is_told() -> None:
    text = SUMMARY.replace("{cut}", ".detach()").replace("{decorated}", "@torch.no_grad()")

    assert state("script-wiring-wrong", text) == "present"


# ------------------------------------------------------------------------------------- a judge within a loss

JUDGE = (
    TORCH
    + """
class {name}(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = {made}
        self.body.requires_grad_(False)
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        return self.head(self.body(x))

def main(model, loader):
    part = {name}(model)
    optimizer = torch.optim.Adam(part.parameters(), lr=1e-3)
    for x, y in loader:
        loss = F.mse_loss(part(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


@pytest.mark.parametrize("name", ["SpeechLoss", "StyleCriterion", "RecognitionLosses"])
def test_what_a_loss_holds_only_judges(name: str) -> None:
    text = JUDGE.replace("{name}", name).replace("{made}", "load_model('base')")

    assert _quiet("script-part-not-trained", text)


def test_a_body_of_random_weights_that_is_frozen_is_told() -> None:
    text = JUDGE.replace("{name}", "Net").replace("{made}", "nn.Linear(8, 8)")

    assert state("script-part-not-trained", text) == "present"


# ------------------------------------------------------------------------------------- files in their order

ORDER = (
    TORCH
    + """
from pathlib import Path
def main(model, root, samples, labels):
    {order}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(9):
        for x, y in load(samples, labels):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
)


@pytest.mark.parametrize(
    "order",
    [
        "labels = sorted(Path(root, 'target').glob('*.tif'))",
        "target_files = sorted(root.rglob('*_label.png'))",
        "label_paths = list(root.glob('*.png')); label_paths.sort()",
        "targets = sorted(os.path.join(root, n) for n in names_of_targets)",
    ],
)
def test_files_are_read_in_the_order_of_their_names(order: str) -> None:
    assert _quiet("script-sorts-training-data", ORDER.replace("{order}", order))


@pytest.mark.parametrize(
    "order",
    [
        "order = labels.argsort(); samples, labels = samples[order], labels[order]",
        "samples = sorted(samples, key=lambda s: s['label'])",
        "samples = sorted(Path(root).rglob('*.png'), key=lambda p: labels[p.stem])",
    ],
)
def test_samples_in_the_order_of_their_labels_are_told(order: str) -> None:
    assert state("script-sorts-training-data", ORDER.replace("{order}", order)) == "present"


# -------------------------------------------------------------------------------------- numbers of categories

NUMBERED = (
    TORCH
    + """
import sklearn.preprocessing
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.model_selection import train_test_split
def main(model, x, y):
    {learns}
    x_train, x_test, y_train, y_test = train_test_split(x, y)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(9):
        loss = F.cross_entropy(model(x_train), y_train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(accuracy(model(x_test), y_test))
"""
)


@pytest.mark.parametrize(
    "learns",
    [
        "y = sklearn.preprocessing.LabelEncoder().fit_transform(y)",
        "x = sklearn.preprocessing.OneHotEncoder().fit_transform(x)",
        "y = LabelEncoder().fit_transform(y)",
    ],
)
def test_numbers_of_categories_are_learned_of_all(learns: str) -> None:
    text = NUMBERED.replace("{learns}", learns)

    assert _quiet("script-training-sees-evaluation", text)
    assert _quiet("script-learns-from-held-out", text)


@pytest.mark.parametrize(
    "learns",
    [
        "x = sklearn.preprocessing.StandardScaler().fit_transform(x)",
        "x = sklearn.preprocessing.MinMaxScaler().fit_transform(x)",
    ],
)
def test_scales_of_all_samples_are_told(learns: str) -> None:
    assert state("script-learns-from-held-out", NUMBERED.replace("{learns}", learns)) == "present"


@pytest.mark.parametrize(
    ("learns", "told"),
    [
        ("label_encoder = LabelEncoder(); y = label_encoder.fit_transform(y)", False),
        ("encoder = OneHotEncoder(); x = encoder.fit_transform(x)", False),
        ("encoder = TargetEncoder(); x = encoder.fit_transform(x, y)", True),
        ("scaler = StandardScaler(); x = scaler.fit_transform(x)", True),
    ],
)
def test_what_is_learned_before_a_split(learns: str, told: bool) -> None:
    text = NUMBERED.replace("{learns}", learns)

    assert (state("script-fits-before-split", text) == "present") is told


FITTED_APART = """
import keras
def main(model, x_train, y_train, x_val, y_val):
    made = keras.preprocessing.image.ImageDataGenerator({train})
    made.fit(x_train)
    held = keras.preprocessing.image.ImageDataGenerator({held})
    held.fit(x_val)
    model.compile("adam", "categorical_crossentropy")
    model.fit_generator(made.flow(x_train, y_train), validation_data=held.flow(x_val, y_val))
"""


def test_a_generator_that_is_asked_for_no_figures_learns_none() -> None:
    for held in ("", "preprocessing_function=scale", "featurewise_center=False"):
        text = FITTED_APART.replace("{train}", held).replace("{held}", held)
        assert _quiet("script-splits-processed-differently", text), held


def test_a_generator_that_centres_held_out_data_by_themselves_is_told() -> None:
    text = FITTED_APART.replace("{train}", "featurewise_center=True").replace(
        "{held}", "featurewise_center=True"
    )

    assert state("script-splits-processed-differently", text) == "present"


# ---------------------------------------------------------------------------------- outputs after a training

FITTED = """
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
def main(model, data):
    trainer = Trainer(max_epochs=9, callbacks=[ModelCheckpoint(monitor="val_loss", save_last=True)])
    trainer.fit(model, datamodule=data)
    return {asks}
"""


def test_outputs_of_the_trained_model_are_no_score() -> None:
    text = FITTED.replace("{asks}", "trainer.predict(model, datamodule=data)")

    assert _quiet("script-last-instead-of-best", text)


@pytest.mark.parametrize("asks", ["test(model, datamodule=data)", "predict(ckpt_path='last')"])
def test_a_score_of_the_last_weights_is_told(asks: str) -> None:
    assert state("script-last-instead-of-best", FITTED.replace("{asks}", f"trainer.{asks}")) == "present"


# ------------------------------------------------------------------------------------------ links of a chain

CHAIN = """
import tensorflow as tf
def main(model, path):
    data = tf.data.Dataset.from_tensor_slices(path)
    data = {chain}
    model.compile(optimizer="adam", loss="mse")
    model.fit(data, epochs=9)
"""


@pytest.mark.parametrize(
    "chain",
    [
        "data.cache().repeat().shuffle(\n        buffer_size=50000).batch(8)",
        "(data.cache()\n        .shuffle(50000).batch(8))",
    ],
)
def test_a_cache_before_the_shuffle_of_a_chain(chain: str) -> None:
    assert _quiet("script-order-fixed", CHAIN.replace("{chain}", chain))


def test_a_cache_behind_the_shuffle_of_a_chain_is_told() -> None:
    text = CHAIN.replace("{chain}", "(data.shuffle(50000)\n        .cache().batch(8))")

    assert state("script-order-fixed", text) == "present"


# --------------------------------------------------------------------------------- columns put beside samples

BESIDE = (
    TORCH
    + """
import numpy as np
def fit(model, x_train, y_train, predictions, scale):
    x_train = np.concatenate((x_train, predictions), axis=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(9):
        loss = F.cross_entropy(model(torch.tensor(x_train)), y_train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

def infer(model, x_test, predictions, scale):
    x_test = np.concatenate(({test}), axis=1)
    return model(torch.tensor(x_test))
"""
)


def test_columns_that_are_put_beside_samples_are_not_done_to_them() -> None:
    text = BESIDE.replace("{test}", "x_test, predictions * scale")

    assert _quiet("script-splits-processed-differently", text)


def test_samples_scaled_as_they_are_joined_are_told() -> None:
    text = BESIDE.replace("{test}", "x_test / scale, predictions")

    assert state("script-splits-processed-differently", text) == "present"


# ------------------------------------------------------------------------------------ a value called val

VALUE = (
    TORCH
    + """
class Grows:
    def __init__(self, step, train, val, last):
        self.step_size, self.val, self.last = step, val, last
        self.train = train

    def step(self):
        {grows}
        return self.val

def main(model, loader, grows):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in loader:
        loss = F.cross_entropy(model(x), y) * grows.step()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_a_value_that_is_held_against_a_bound_is_no_data() -> None:
    text = VALUE.replace("{grows}", "if self.val < self.last:\n            self.val += self.step_size")

    assert _quiet("script-splits-processed-differently", text)


def test_data_of_one_split_that_are_moved_are_told() -> None:
    text = VALUE.replace("{grows}", "self.val -= self.step_size")

    assert state("script-splits-processed-differently", text) == "present"


# ----------------------------------------------------------------------------------- labels that are optional

JOINED = (
    TORCH
    + """
import numpy as np
def fit(model, x, found, y=None):
    {joins}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(9):
        loss = F.cross_entropy(model(torch.tensor(x)), found)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)


def test_labels_that_may_be_left_out_are_further_inputs() -> None:
    text = JOINED.replace("{joins}", "if y is not None:\n        x = np.concatenate((x, y), axis=1)")

    assert _quiet("script-target-in-inputs", text)


def test_labels_joined_to_inputs_are_told() -> None:
    text = JOINED.replace("{joins}", "x = np.concatenate((x, y), axis=1)")

    assert state("script-target-in-inputs", text) == "present"


# -------------------------------------------------------------------------------------- a small example

SMALL = """
import tensorflow as tf
SAMPLES = 128
def main(model, x_train, y_train, x_test, y_test):
    x_train, y_train = x_train[:{n}], y_train[:{n}]
    {test}
    model.compile(optimizer="adam", loss="mse")
    model.fit(x_train, y_train, epochs=9)
    print(model.evaluate(x_test, y_test))
"""


def test_a_named_number_that_cuts_both_sides_is_meant() -> None:
    test = "x_test, y_test = x_test[:SAMPLES], y_test[:SAMPLES]"

    assert _quiet("script-training-data-cut", SMALL.replace("{n}", "SAMPLES").replace("{test}", test))


@pytest.mark.parametrize(("n", "test"), [("SAMPLES", "pass"), ("128", "x_test = x_test[:128]")])
def test_training_data_cut_for_trying_out_are_told(n: str, test: str) -> None:
    text = SMALL.replace("{n}", n).replace("{test}", test)

    assert state("script-training-data-cut", text) == "present"


# ------------------------------------------------------------------------- shown untrained, and then trained

SHOWN = (
    TORCH
    + """
import numpy as np
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
model.eval()
with torch.no_grad():
    print(model(torch.zeros(1, 8)))
{back}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(50):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    {each}
model.eval()
"""
)


def test_a_model_that_is_switched_on_again_before_it_trains() -> None:
    text = SHOWN.replace("{back}", "model.train()").replace("{each}", "print(loss.item())")

    assert _quiet("script-eval-mode-while-training", text)


@pytest.mark.parametrize(("back", "each"), [("pass", "pass"), ("model.train()", "model.eval()")])
def test_a_model_that_trains_switched_off_is_told(back: str, each: str) -> None:
    text = SHOWN.replace("{back}", back).replace("{each}", each)

    assert state("script-eval-mode-while-training", text) == "present"


# ------------------------------------------------------------------------------ what is aimed at stands first

AIMED = (
    TORCH
    + """
class Agent:
    def update(self, x, after, reward):
        output = self.net(x)
        target = reward + 0.9 * self.net(after)
        loss = F.mse_loss({first}.detach(), {second})
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)


def test_what_is_aimed_at_may_stand_first() -> None:
    assert _quiet("script-wiring-wrong", AIMED.replace("{first}", "target").replace("{second}", "output"))


def test_an_output_that_is_cut_off_before_the_loss_is_told() -> None:
    text = AIMED.replace("{first}", "output").replace("{second}", "target")

    assert state("script-wiring-wrong", text) == "present"


# ------------------------------------------------------------------------------ a network's word on two alike

SCORED = (
    TORCH
    + """
class Brain:
    def est_score(self, given, wanted):
        {gives}

    def step(self, clean):
        score = self.est_score(clean, clean)
        loss = F.mse_loss(score, torch.ones_like(score))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)


def test_a_critic_is_shown_a_value_beside_itself() -> None:
    text = SCORED.replace("{gives}", "return self.critic(torch.cat([given, wanted], 1))")

    assert _quiet("script-metric-miscounts", text)


def test_a_value_scored_against_itself_is_told() -> None:
    text = SCORED.replace("{gives}", "return (given == wanted).float().mean()")

    assert state("script-metric-miscounts", text) == "present"


PARTS = """
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.offsets = nn.Linear(8, 1)
        self.layer = nn.Linear(8, 1)
        {filled}
        for weight in self.offsets.parameters():
            weight.requires_grad = False

    def forward(self, x):
        return self.layer(x) + self.offsets(x)

def main(loader, epochs):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs)
    for epoch in range(epochs):
        for number, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x).squeeze(-1), y).backward()
            optimizer.step()
            {moved}
"""


def test_a_part_that_is_filled_from_a_table_may_be_frozen() -> None:
    filled = PARTS.format(filled="self.offsets.initialize_from('elements')", moved="pass")
    anew = PARTS.format(filled="self.offsets.reset_parameters()", moved="pass")

    assert state("script-part-not-trained", filled) != "present"
    assert state("script-part-not-trained", anew) == "present"


@pytest.mark.parametrize("test", ["number + 1 in tenths", "number == len(loader) - 1"])
def test_a_schedule_may_move_at_some_batches_of_an_epoch(test: str) -> None:
    some = PARTS.format(filled="pass", moved=f"if {test}:\n                scheduler.step()")
    every = PARTS.format(filled="pass", moved="scheduler.step()")

    assert state("script-schedule-wrong", some) != "present"
    assert state("script-schedule-wrong", every) == "present"


def test_a_copy_whose_data_is_set_may_be_frozen() -> None:
    copied = STEP_OF_COPY.format(first="weak.data = weight.data")

    assert state("script-part-not-trained", copied) != "present"
    assert state("script-part-not-trained", STEP_OF_COPY.format(first="pass")) == "present"


STEP_OF_COPY = """
import torch
from torch import nn

def hold(model, second):
    for weight, weak in zip(model.parameters(), second.parameters()):
        {first}
        weak.requires_grad = False

def main(loader):
    model, second = nn.Linear(8, 3), nn.Linear(8, 3)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in loader:
        hold(model, second)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x) + second(x), y).backward()
        optimizer.step()
"""


def test_what_is_trained_for_may_decide_about_gradients_of_inputs() -> None:
    asked = """
def main(loader, model, optimizer, targets):
    forces = "f" in targets
    for x, y in loader:
        x.places.requires_grad = forces
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""
    named = """
def main(loader, model, optimizer, targets):
    for name, weight in model.named_parameters():
        weight.requires_grad = "head" in name
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""

    assert state("script-part-not-trained", "import torch\n" + asked) != "present"
    assert state("script-part-not-trained", "import torch\n" + named) == "present"


def test_values_that_are_only_counted_may_be_divided_by_their_spread() -> None:
    text = """
import torch

def repeats(x):
    z = (x - x.mean(1)) / x.std(1)
    {last}

def main(loader, model, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(repeats(x)), y).backward()
        optimizer.step()
"""
    assert (
        state("script-unsafe-division", text.format(last="return len(torch.unique(z, dim=0))")) != "present"
    )
    assert state("script-unsafe-division", text.format(last="return z")) == "present"


@pytest.mark.parametrize(("per_epoch", "told"), [("-(-len(loader) // 2)", False), ("1", True)])
def test_a_length_that_is_rounded_up_by_two_signs_counts_steps(per_epoch: str, told: bool) -> None:
    text = PARTS.format(filled="pass", moved="scheduler.step()").replace(
        "T_max=epochs", f"T_max=epochs * {per_epoch}"
    )

    assert (state("script-schedule-wrong", text) == "present") == told
