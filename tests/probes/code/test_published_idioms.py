"""What published programs do rightly beside the fault that it resembles: both of each pair are held."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import State
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo
from traindoctor.probes.scripts import files as script_files

from .._scripts import state as asked

TORCH = "import os\nimport numpy as np\nimport torch\nfrom functools import partial\nfrom torch import nn\n"


def state(symptom: str, text: str) -> State:
    return State(asked(symptom, TORCH + text))


# ------------------------------------------------------------------------------------------ the loss scale

SCALED = """
scaler = torch.amp.GradScaler(enabled=mixed)

def step(model, optimizer, x, y):
    with torch.amp.autocast("cuda", enabled=mixed):
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    {unscale}
    scaler.step(optimizer)
    scaler.update()

def plain_step(model, optimizer, x, y):
    {made}
    optimizer.zero_grad()
    {backward}
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""
CLIPPED = {
    "a step of its own without the scaler": ("loss = nn.functional.mse_loss(model(x), y)", "loss.backward()"),
    "the loss is scaled by hand": ("loss = scaler.scale(f(model(x), y))", "loss.backward()"),
    "the loss comes scaled from outside": ("loss = y", "loss.backward()"),
}


@pytest.mark.parametrize("name", CLIPPED)
@pytest.mark.parametrize("unscale", ["pass", "scaler.unscale_(optimizer)"])
def test_a_step_that_scales_nothing_may_clip(name: str, unscale: str) -> None:
    made, backward = CLIPPED[name]
    text = SCALED.format(unscale=unscale, made=made, backward=backward)
    found = state("script-clip-before-unscale", text)

    assert (found is State.PRESENT) == (name != next(iter(CLIPPED)) and unscale == "pass")


# ------------------------------------------------------------------------------------------- splits by draws

LISTED = """
{seed}
files = [os.path.join("data", f) for f in os.listdir("data")]
order = {draw}
train, held = order[:80], order[80:]
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in load(files, train):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("draw", ["np.random.permutation(len(files))", "torch.randperm(len(files))"])
@pytest.mark.parametrize(
    ("seed", "told"),
    [
        ("np.random.seed(0)", True),
        ("set_seed(0)", True),
        ("rng = np.random.default_rng(0)", True),
        ("def seed_worker(number):\n    np.random.seed(number)", False),
        ("", False),
    ],
)
def test_a_draw_that_nothing_seeds_divides_otherwise_in_each_run_anyway(
    draw: str, seed: str, told: bool
) -> None:
    found = state("script-split-by-listing", LISTED.format(seed=seed, draw=draw))

    assert (found is State.PRESENT) is told


def test_a_list_of_positions_that_is_not_drawn_needs_no_seed() -> None:
    text = LISTED.format(seed="", draw="list(range(len(files)))")

    assert state("script-split-by-listing", text) is State.PRESENT


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ("random_split(files, [80, 20])", False),
        ("random_split(files, [80, 20], generator=torch.Generator())", False),
        ("random_split(files, [80, 20], generator=torch.Generator().manual_seed(0))", True),
        ("train_test_split(files)", False),
        ("train_test_split(files, shuffle=False)", True),
        ("train_test_split(files, random_state=0)", True),
    ],
)
def test_a_split_that_draws_without_a_seed_has_no_order_to_lose(split: str, told: bool) -> None:
    text = LISTED.replace("order = {draw}\ntrain, held = order[:80], order[80:]", "train, held = {draw}")

    assert (state("script-split-by-listing", text.format(seed="", draw=split)) is State.PRESENT) is told


@pytest.mark.parametrize("name", ["wavs", "texts"])
def test_a_list_of_another_data_set_in_its_place_is_not_paired_with_it(name: str) -> None:
    text = f"""
import glob

def prepare(folder, language):
    if language == "a":
        wavs = glob.glob(folder + "/a/*.wav")
    if language == "b":
        {name} = glob.glob(folder + "/b/*.wav")
    return [(wavs[i], {name}[i]) for i in range(9)]

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in load(prepare("data", "a")):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
    assert (state("script-sample-torn-apart", text) is State.PRESENT) is (name != "wavs")


@pytest.mark.parametrize(("order", "told"), [("natsorted", False), ("sorted", False), ("list", True)])
def test_a_listing_may_be_sorted_as_it_is_sifted(order: str, told: bool) -> None:
    text = f"""
from pathlib import Path
from natsort import natsorted
photos = Path("photos").glob("*.tif")
photos = {order}([p for p in photos if "_mask" not in str(p)])
masks = Path("masks").glob("*.tif")
masks = {order}(m for m in masks if "_mask" in str(m))
rows = [(read(photos[i]), read(masks[i])) for i in range(99)]
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in load(rows):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
    assert (state("script-sample-torn-apart", text) is State.PRESENT) is told


# ------------------------------------------------------------------------------------ what is evaluated


@pytest.mark.parametrize(
    ("watched", "told"),
    [
        ("val_sparse_categorical_accuracy", False),
        ("val_categorical_accuracy", False),
        ("sparse_categorical_accuracy", True),
        ("top_k_categorical_accuracy", True),
    ],
)
def test_a_figure_of_validation_is_none_of_training(watched: str, told: bool) -> None:
    text = f"""
from tensorflow import keras
model = keras.Sequential([keras.layers.Dense(3)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
best = keras.callbacks.ModelCheckpoint("best.keras", monitor="{watched}", save_best_only=True)
model.fit(x, y, epochs=5, validation_data=(x_val, y_val), callbacks=[best])
model.load_weights("best.keras")
"""
    assert (asked("script-best-chosen-wrongly", text) == "present") is told


@pytest.mark.parametrize(
    ("given", "told"), [("training: bool = True", False), ("train=True", False), ("train_rows", True)]
)
def test_a_switch_of_the_side_is_no_data_of_it(given: str, told: bool) -> None:
    name = given.partition(":")[0].partition("=")[0]
    text = f"""
def main(model, optimizer, {given}):
    train_rows, val_rows = load()
    training, validation = load()
    for x, y in rows:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    print(evaluate(model, {name}))
"""
    if not told:
        text = text.replace("    training, validation = load()\n", "    validation = val = load()\n")
    assert (state("script-evaluates-training-data", text) is State.PRESENT) is told


# --------------------------------------------------------------------------------------------------- the mode

SAMPLED = """
class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.layer(self.drop(x))

def train(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for real in loader:
            fake = torch.rand_like(real)
            fake.requires_grad = True
            model.eval()
            for _ in range(20):
                model(fake).sum().backward()
                fake.data.add_(fake.grad.data)
                fake.grad.zero_()
            fake = fake.detach()
            {back}
            optimizer.zero_grad()
            loss = (model(real) - model(fake)).mean()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("back", "told"),
    [("model.train()", False), ("model.train(True)", False), ("pass", True), ("other.train()", True)],
)
def test_a_model_that_samples_in_evaluation_mode_is_put_back_before_it_learns(back: str, told: bool) -> None:
    found = state("script-eval-mode-while-training", SAMPLED.format(back=back))

    assert (found is State.PRESENT) is told


TOOL = """
import torch

class Tool:
    def __init__(self, net):
        self.{attribute} = net

    def eval(self, image):
        return run(self.{attribute}, image)

def run(net, image):
    return _forward(net, image)

def _forward(net, image):
    net.eval()
    with torch.no_grad():
        return net(image)
"""
USER = """
import torch
from torch import nn
from tool import Tool

class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)

def main(loader, epochs):
    model = Unet()
    tool = {tool}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(tool.eval(x))
        {more}
"""


@pytest.mark.parametrize(
    ("more", "told"), [("pass", False), ("save(tool.net)", True), ("model.eval(); print(model(x))", True)]
)
def test_a_tool_that_holds_a_model_of_its_own_sets_the_mode_of_that(more: str, told: bool) -> None:
    files = TOOL.format(attribute="net"), USER.format(tool="Tool(load('cells'))", more=more)
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"tool.py": files[0], "train.py": files[1]})
    found = read(View(run), load_rules().symptoms["script-eval-mode-while-training"], all_probes())

    assert (found.state is State.PRESENT) is told


# ------------------------------------------------------------------------------------------ the gradient path

CONDITIONED = """
def encode(texts):
    return texts

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = {embed}
        self.layer = nn.Linear(8, 3)

    def forward(self, x, texts):
        with torch.inference_mode():
            more = self.embed(texts)
        return self.layer(torch.cat((x, more), dim=-1))

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, texts, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x, texts), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("embed", "told"),
    [
        ("partial(encode, name='t5')", False),
        ("partial(encoders.encode, name='t5')", False),
        ("nn.Linear(8, 8)", True),
        ("partial(Body, name='t5')()", True),
    ],
)
def test_a_function_of_elsewhere_has_nothing_to_learn(embed: str, told: bool) -> None:
    found = state("script-gradient-path-cut", CONDITIONED.format(embed=embed))

    assert (found is State.PRESENT) is told


DERIVED = """
class Field(nn.Module):
    def __init__(self, lower):
        super().__init__()
        self.body = nn.Linear(3, 8)
        self.lower = lower

    def forward(self, place, kinds):
        {start}
        wide, others = extend(flat, kinds)
        wide = wide.reshape(-1, 3)
        {leaf}
        return self.lower(self.body(wide), others)

model = Field(lower)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, kinds, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x, kinds), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("start", "leaf", "told"),
    [
        ("flat = place.detach().reshape(-1, 3)", "wide = wide.detach().requires_grad_(True)", False),
        ("flat = self.body(place).detach()", "wide = wide.detach().requires_grad_(True)", True),
        ("flat = place.detach().reshape(-1, 3)", "wide = self.body(wide).detach()", True),
        ("flat = place", "wide = wide.detach().requires_grad_(True)", False),
    ],
)
def test_inputs_that_are_made_leaves_are_what_is_derived_by(start: str, leaf: str, told: bool) -> None:
    found = state("script-gradient-path-cut", DERIVED.format(start=start, leaf=leaf))

    assert (found is State.PRESENT) is told


# ------------------------------------------------------------------------------- the output of several values

DECODER = """
import tensorflow as tf

class Attention(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.score = tf.keras.layers.Dense(1)

    def call(self, query, values):
        weights = tf.nn.softmax(self.score(query + values), axis=1)
        return tf.reduce_sum(weights * values, axis=1), weights

class Decoder(tf.keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.attention = Attention(8)
        self.head = tf.keras.layers.Dense(classes{activation})

    def call(self, query, values):
        context, weights = self.attention(query, values)
        return self.head(context), weights

decoder = Decoder(9)
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for query, values, labels in rows:
    with tf.GradientTape() as tape:
        scores, weights = decoder(query, values)
        loss = loss_object(labels, scores)
    grads = tape.gradient(loss, decoder.trainable_variables)
    optimizer.apply_gradients(zip(grads, decoder.trainable_variables))
"""


@pytest.mark.parametrize(("activation", "told"), [("", False), (", activation='softmax'", True)])
def test_attention_weights_that_are_given_back_beside_scores_are_no_output(
    activation: str, told: bool
) -> None:
    found = State(asked("script-double-softmax", DECODER.format(activation=activation)))

    assert (found is State.PRESENT) is told


# ----------------------------------------------------------------------------- optimizers that train no model

SOUGHT = """
def explain(model, x, wanted):
    mask = nn.Parameter(torch.zeros_like(x))
    net = nn.Linear(8, 3)
    optimizer = torch.optim.Adam({given}, lr=2.0)
    for epoch in range(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x * mask.sigmoid()), wanted)
        loss.backward()
        optimizer.step()
"""
EXCITED = """
import tensorflow as tf

def excite(model, images):
    optimizer = tf.keras.optimizers.Adam(learning_rate=2.0)
    {moved} = {made}
    for step in range(50):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(model(images))
        grads = tape.gradient(loss, {moved})
        optimizer.apply_gradients(zip(grads, {moved}))
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TORCH + SOUGHT.format(given="[mask]"), False),
        (TORCH + SOUGHT.format(given="[{'params': mask}]"), False),
        (TORCH + SOUGHT.format(given="net.parameters()"), True),
        (TORCH + SOUGHT.format(given="[weight]"), True),
        (EXCITED.format(moved="input_variables", made="[tf.Variable(i) for i in images]"), False),
        (EXCITED.format(moved="variables", made="model.trainable_variables"), True),
    ],
)
def test_the_rate_of_what_seeks_an_image_is_none_of_a_training(text: str, told: bool, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(text)
    rules = load_rules()
    view = View(script_files.read(tmp_path / "train.py").run)
    found = read(view, rules.symptoms["lr-very-large"], all_probes()).state

    assert (found is State.PRESENT) is told


# ------------------------------------------------------------------------------------ constants of a package

FIGURES = "MEAN = (0.48, 0.45, 0.40)\nSTD = (0.26, 0.26, 0.27)\nIMAGE = 'image'\n"
USES = """
import torch
from torch import nn
from constants import IMAGE

model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(batch[IMAGE]), batch["y"]).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("more", "told"), [("", False), ("\ndef load(path):\n    return read(path) / 255.0\n", True)]
)
def test_a_module_of_constants_alone_has_other_users(more: str, told: bool, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(USES)
    (tmp_path / "constants.py").write_text(FIGURES + more)
    rules = load_rules()
    view = View(script_files.read(tmp_path / "train.py").run)
    found = read(view, rules.symptoms["script-scaling-unused"], all_probes()).state

    assert (found is State.PRESENT) is told


# ------------------------------------------------------------------------------------- the part that is all


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("nn.CrossEntropyLoss()", False),
        ("nn.Dropout(0.1)", False),
        ("Accuracy(num_classes=3)", False),
        ("nn.Linear(8, 3)", True),
        ("ArcFaceLoss(8, 3)", True),
    ],
)
def test_what_has_no_weights_is_not_left_out(other: str, told: bool) -> None:
    text = f"""
import lightning as L

class ArcFaceLoss(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.centres = nn.Linear(width, classes)

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.centres(x), y)

class Task(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.other = {other}

    def forward(self, x, y):
        return self.other(self.body(x))

    def training_step(self, batch, number):
        return self.other(self.body(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.Adam(self.body.parameters(), lr=1e-3)
"""
    assert (state("script-optimizer-gets-part", text) is State.PRESENT) is told


@pytest.mark.parametrize(("part", "told"), [("neural_networks", False), ("networks", False), ("head", True)])
def test_the_networks_of_a_bundle_are_all_that_learns(part: str, told: bool) -> None:
    text = f"""
from somewhere import make
model = make()
optimizer = torch.optim.SGD(model.{part}.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
    assert (state("script-optimizer-gets-part", text) is State.PRESENT) is told
