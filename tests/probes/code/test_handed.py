"""What scripts leave to trainers and engines, and Keras models with the loss they are compiled with."""

from __future__ import annotations

import pytest

from traindoctor.probes.code.loss import calls as code_loss
from traindoctor.probes.readers.script import parse
from traindoctor.probes.scripts.syntax import Script

from .._scripts import state

P, A, U = "present", "absent", "unknown"
NOTHING = "x = 1\n"

LIT = """
import torch, lightning as L
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 3)
    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss)
        {END}
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("pass", P),
        ("return None", P),
        ("return loss", A),
        ("return {'loss': loss}", A),
        ("raise NotImplementedError", U),
        ("self.manual_backward(loss)", U),
    ],
)
def test_a_training_step_without_a_loss(end: str, expected: str) -> None:
    assert state("script-step-returns-nothing", LIT.replace("{END}", end)) == expected


def test_a_module_that_has_no_optimizer() -> None:
    text = LIT.replace("{END}", "pass").replace("return torch.optim.Adam(self.parameters())", "pass")
    assert state("script-step-returns-nothing", text) == U


@pytest.mark.parametrize(("given", "expected"), [("torch.log(soft.mean(1))", A), ("soft", P)])
def test_the_logarithm_that_a_likelihood_takes(given: str, expected: str) -> None:
    text = (
        "import torch\nmodel = torch.nn.Linear(4, 3)\nsoft = model(x).exp()\n"
        f"mine = {given}\nloss = torch.nn.functional.nll_loss(mine, y)\n"
    )
    assert state("script-activation-missing-before-loss", text) == expected


def test_no_training_step_at_all() -> None:
    assert state("script-step-returns-nothing", NOTHING) == U


ACCELERATE = """
import torch
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
{PREPARE}
for epoch in range(3):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        {BACKWARD}
        optimizer.step()
        optimizer.zero_grad()
"""
WHOLE = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        ("pass", P),
        ("loader = accelerator.prepare(loader)", P),
        (WHOLE, A),
        ("model = accelerator.prepare_model(model)", A),
        ("parts = accelerator.prepare(*parts)", A),
        ("model = prepare_all(model)", U),
    ],
)
def test_a_model_that_accelerate_never_got(prepare: str, expected: str) -> None:
    text = ACCELERATE.replace("{PREPARE}", prepare).replace("{BACKWARD}", "accelerator.backward(loss)")
    assert state("script-model-not-prepared", text) == expected


@pytest.mark.parametrize(
    ("prepare", "backward", "expected"),
    [
        (WHOLE, "loss.backward()", P),
        (WHOLE, "accelerator.backward(loss)", A),
        (WHOLE, "scaler.scale(loss).backward()", U),
        ("loader = accelerator.prepare(loader)", "loss.backward()", U),
    ],
)
def test_a_loss_that_goes_past_the_engine(prepare: str, backward: str, expected: str) -> None:
    text = ACCELERATE.replace("{PREPARE}", prepare).replace("{BACKWARD}", backward)
    assert state("script-engine-bypassed", text) == expected


@pytest.mark.parametrize("symptom", ["script-model-not-prepared", "script-engine-bypassed"])
def test_scripts_without_accelerate(symptom: str) -> None:
    assert state(symptom, NOTHING) == U


MINDSPORE = """
import mindspore as ms
from mindspore import nn
net = nn.Dense(4, 3)
optimizer = nn.Adam(net.trainable_params(), 1e-3)
scaler = ms.amp.DynamicLossScaler(65536, 2, 2000)
def forward(x, y):
    loss = loss_fn(net(x), y)
    return scaler.scale(loss)
grad_fn = ms.value_and_grad(forward, None, {WEIGHTS})
def step(x, y):
    loss, grads = grad_fn(x, y)
    {UNSCALE}
    optimizer(grads)
"""


@pytest.mark.parametrize(
    ("unscale", "expected"),
    [
        ("pass", P),
        ("grads = ops.clip_by_global_norm(grads)", P),
        ("grads = scaler.unscale(grads)", A),
        ("grads = divide(grads)", A),
    ],
)
def test_gradients_that_stay_scaled(unscale: str, expected: str) -> None:
    text = MINDSPORE.replace("{UNSCALE}", unscale).replace("{WEIGHTS}", "optimizer.parameters")
    assert state("script-scale-not-divided-out", text) == expected


@pytest.mark.parametrize(
    ("weights", "present"), [("optimizer.parameters[-2:]", True), ("optimizer.parameters", False)]
)
def test_gradients_for_a_slice_of_the_parameters(weights: str, present: bool) -> None:
    text = MINDSPORE.replace("{UNSCALE}", "pass").replace("{WEIGHTS}", weights)
    assert (state("script-optimizer-gets-part", text) == P) is present


TRAINER = """
from mindspore import nn
from mindspore.train import Model
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.Dense(4, 3)
        self.head = nn.Dense(3, 2)
    def construct(self, x):
        return self.head(self.body(x))
class Trainer:
    def __init__(self):
        self.net = Net()
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = nn.Adam({WEIGHTS}, 1e-3)
    def forward(self, x, y):
        return self.loss(self.net(x), y)
    def run(self, data):
        step = nn.TrainOneStepCell(nn.WithLossCell(self.net, self.loss), self.optimizer)
        for x, y in data:
            step(x, y)
"""


@pytest.mark.parametrize(
    ("weights", "present"),
    [("self.net.head.trainable_params()", True), ("self.net.trainable_params()", False)],
)
def test_a_trainer_that_is_no_cell(weights: str, present: bool) -> None:
    """A class without a base is no model, though it has a method `forward`."""
    text = TRAINER.replace("{WEIGHTS}", weights)
    assert (state("script-optimizer-gets-part", text) == P) is present


KERAS = """
from tensorflow import keras
from tensorflow.keras.layers import Activation, Dense, Input
{MODEL}
model.compile(optimizer="adam", loss={LOSS}, metrics=[{METRIC}])
model.fit(x, y, epochs=3)
"""
ADDED = "model = keras.Sequential()\nmodel.add(Dense(8, activation='relu'))\nmodel.add(Dense(3))\n"
FUNCTIONAL = "a = Input((4,))\nb = Dense(3)(a)\n{MORE}model = keras.Model(a, b)"
LOGITS = "keras.losses.CategoricalCrossentropy(from_logits=True)"


def _keras(model: str, loss: str, metric: str = "") -> str:
    return KERAS.replace("{MODEL}", model).replace("{LOSS}", loss).replace("{METRIC}", metric)


@pytest.mark.parametrize(
    ("model", "loss", "double", "missing"),
    [
        (ADDED, "'categorical_crossentropy'", U, P),
        (ADDED, "keras.losses.CategoricalCrossentropy(from_logits=False)", U, P),
        (ADDED, LOGITS, A, U),
        (ADDED + "model.add(Activation('softmax'))", LOGITS, P, U),
        (ADDED + "model.add(Activation('softmax'))", "'categorical_crossentropy'", U, A),
        (FUNCTIONAL.replace("{MORE}", "b = Activation('softmax')(b)\n"), LOGITS, P, U),
        (FUNCTIONAL.replace("{MORE}", ""), "'sparse_categorical_crossentropy'", U, P),
        (ADDED + "model.add(keras.layers.Dense(3, activation=last))", LOGITS, U, U),
        ("model = make()", LOGITS, U, U),
    ],
)
def test_what_a_compiled_model_ends_in_and_what_its_loss_takes(
    model: str, loss: str, double: str, missing: str
) -> None:
    text = _keras(model, loss)
    assert state("script-double-softmax", text) == double
    assert state("script-activation-missing-before-loss", text) == missing


@pytest.mark.parametrize(
    ("loss", "metric", "expected"),
    [
        ("'mse'", "'accuracy'", P),
        ("keras.losses.MeanSquaredError()", "'accuracy'", P),
        ("'mse'", "'mae'", U),
        ("'categorical_crossentropy'", "'accuracy'", A),
    ],
)
def test_a_squared_error_on_classes(loss: str, metric: str, expected: str) -> None:
    assert state("script-regression-loss-on-classes", _keras(ADDED, loss, metric)) == expected


TAPES = """
import tensorflow as tf
def attack(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=False))
    return tape.gradient(loss, x)
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training={MODE}))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""


@pytest.mark.parametrize(("mode", "expected"), [("False", P), ("True", A)])
def test_the_mode_under_the_tape_that_trains(mode: str, expected: str) -> None:
    assert state("script-eval-mode-while-training", TAPES.replace("{MODE}", mode)) == expected


SFT = """
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, Trainer
config = AutoConfig.from_pretrained(args.model_name_or_path)
tokenizer = AutoTokenizer.from_pretrained(args.model_name_or_path)
model = {MODEL}
def preprocess(texts):
    input_ids = tokenizer(texts, padding="max_length", return_tensors="pt").input_ids
    targets = input_ids.clone()
    {MASK}
    return dict(input_ids=input_ids, labels=targets)
trainer = Trainer(model=model, train_dataset=train, eval_dataset=held)
trainer.train()
"""
LOADED = "AutoModelForCausalLM.from_pretrained(args.model_name_or_path, config=config)"
RANDOM = "AutoModelForCausalLM.from_config(config)"
MASKED = "targets[targets == tokenizer.pad_token_id] = -100"


@pytest.mark.parametrize(
    ("mask", "expected"), [("pass", P), (MASKED, A), ("targets[:3] = IGNORE_TOKEN_ID", A)]
)
def test_labels_that_copy_padded_tokens(mask: str, expected: str) -> None:
    text = SFT.replace("{MODEL}", LOADED).replace("{MASK}", mask)
    assert state("script-label-padding-counts", text) == expected


def test_labels_of_tokens_that_nothing_pads() -> None:
    text = SFT.replace("{MODEL}", LOADED).replace("{MASK}", "pass").replace('padding="max_length", ', "")
    assert state("script-label-padding-counts", text) == U


@pytest.mark.parametrize(
    ("text", "present"),
    [
        (SFT.replace("{MODEL}", RANDOM), True),
        (SFT.replace("{MODEL}", LOADED), False),
        (SFT.replace("{MODEL}", RANDOM) + "# trained from scratch\n", False),
        (SFT.replace("{MODEL}", RANDOM).replace("or_path)\ntok", "or_path, n_layer=4)\ntok"), False),
    ],
)
def test_a_named_model_that_starts_at_random(text: str, present: bool) -> None:
    assert (state("script-pretrained-lost", text.replace("{MASK}", MASKED)) == P) is present


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("trainer.fit(model, loaders.train(), loaders.train())", P),
        ("trainer.fit(model, train_dataloaders=a, val_dataloaders=a)", P),
        ("model.fit(x[i], y[i], validation_data=(x[i], y[i]))", P),
        ("trainer.fit(model, loaders.train(), loaders.val())", A),
        ("model.fit(x[i], y[i], validation_data=(x[~i], y[~i]))", A),
        ("model.fit(x, y)", U),
    ],
)
def test_one_call_that_trains_and_evaluates_on_the_same(call: str, expected: str) -> None:
    assert state("script-training-sees-evaluation", f"import lightning\nimport keras\n{call}\n") == expected


EVALUATES = """
import torch
class Estimator:
    def predict(self, x, {ARG}):
        self.model.train({MODE})
        for batch in x:
            self.out.append(self.model(batch))
"""


def test_a_mode_that_the_caller_chooses() -> None:
    off = EVALUATES.replace("{ARG}", "training_mode=False").replace("{MODE}", "training_mode")
    assert state("script-mode-astray", off) != P
    on = EVALUATES.replace("{ARG}", "training_mode=True").replace("{MODE}", "training_mode")
    assert state("script-mode-astray", on) == P


@pytest.mark.parametrize(("test", "expected"), [("finish_fast", A), ("True", P)])
def test_few_samples_under_a_switch_for_speed(test: str, expected: str) -> None:
    text = f"import torch\nif {test}:\n    train_stories = train_stories[:64]\n"
    assert state("script-training-data-cut", text) == expected


def test_a_loss_that_does_not_fit_is_shown_beside_the_layer() -> None:
    text = _keras(ADDED + "model.add(Activation('softmax'))", "told").replace(
        "model.compile", f"told = {LOGITS}\nmodel.compile"
    )
    found = code_loss._keras_double(Script("train.py", text, parse(text)))
    lines = text.splitlines()

    shown = [lines[p.line - 1] for p in found.where if p.line] if found is not None else []
    assert len(shown) == 2 and "Activation('softmax')" in shown[0] and "from_logits=True" in shown[1]


SPARSE = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(100, 8, sparse=True)
        self.fc = nn.Linear(8, 3)
    def forward(self, x):
        return self.fc(self.bag(x))
model = Net()
rows = torch.optim.{SPARSE}
rest = torch.optim.AdamW([*model.fc.parameters()], lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for x, y in loader:
    loss = loss_fn(model(x), y)
    rows.zero_grad()
    rest.zero_grad()
    loss.backward()
    rows.step()
    rest.step()
"""


@pytest.mark.parametrize(
    ("made", "present"),
    [
        ("SparseAdam([model.bag.weight], lr=1e-3)", False),
        ("Muon(model.bag.parameters(), lr=1e-3)", False),
        ("SparseAdam([model.fc.weight], lr=1e-3)", True),
    ],
)
def test_an_optimizer_for_the_rows_of_an_embedding(made: str, present: bool) -> None:
    assert (state("script-part-not-trained", SPARSE.replace("{SPARSE}", made)) == P) is present
