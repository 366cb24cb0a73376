"""Slips that people asked about in public threads: each as it stood there, in other words, and mended."""

from __future__ import annotations

import pytest

from traindoctor.probes.assembly.assemble import _STEPS

from .._scripts import state

FOLDERS = """
from keras.preprocessing.image import ImageDataGenerator
import numpy as np
{train}
{held}
model.fit_generator(a, validation_data=b)
p = np.argmax(model.predict_generator(b), axis=1)
print(confusion_matrix({truth}, p))
"""
TRAIN = "a = ImageDataGenerator(rescale=1. / 255, zoom_range=.1).flow_from_directory('t')"
SAME = "g = ImageDataGenerator(rescale=1 / 255.0)\nb = g.flow_from_directory('v', shuffle=False)"
DRAWN = "b = ImageDataGenerator(rescale=1 / 255).flow_from_directory('v')"
BARE = "b = ImageDataGenerator().flow_from_directory('v', shuffle=False)"
OTHER = "b = ImageDataGenerator(preprocessing_function=prep).flow_from_dataframe(v, shuffle=False)"
AT_ALL = "script-splits-processed-differently"
MISCOUNTS = "script-metric-miscounts"


@pytest.mark.parametrize(
    ("symptom", "held", "truth", "fires"),
    [
        (MISCOUNTS, DRAWN, "b.classes", True),
        (MISCOUNTS, SAME, "b.classes", False),
        (MISCOUNTS, DRAWN, "truths", False),
        (AT_ALL, BARE, "b.classes", True),
        (AT_ALL, OTHER, "b.classes", True),
        (AT_ALL, SAME, "b.classes", False),
    ],
)
def test_generators_over_folders(symptom: str, held: str, truth: str, fires: bool) -> None:
    text = FOLDERS.format(train=TRAIN, held=held, truth=truth)
    assert (state(symptom, text) == "present") is fires


def test_truths_of_a_round_of_their_own() -> None:
    text = """
import tensorflow as tf
ds = tf.keras.utils.image_dataset_from_directory("v", image_size=(64, 64){})
truth = np.concatenate([y for x, y in ds])
print(classification_report(truth, model.predict(ds).argmax(1)))
"""
    loop = text.replace(
        "truth = np.concatenate([y for x, y in ds])",
        "truth = []\nfor x, y in ds:\n    truth.extend(y.numpy())",
    )
    for one in (text, loop):
        assert state(MISCOUNTS, one.format("")) == "present"
        assert state(MISCOUNTS, one.format(", shuffle=False")) != "present"


BATCHES = """
def batches(x, y, n=100):
    {before}
    while True:
        {inside}
        yield x[i:i + n], y[i:i + n]
        i += n
        if i + n > len(x):
            i = 0
model.fit(batches(x, y), steps_per_epoch=600, epochs=5)
import keras
"""


def test_a_generator_that_begins_again() -> None:
    told = "script-training-data-cut"
    assert state(told, BATCHES.format(before="pass", inside="i = 0")) == "present"
    assert state(told, BATCHES.format(before="i = 0", inside="pass")) != "present"


REGRESSION = """
import torch
x = torch.tensor([[1.0, 2.0], [1.0, 3.0]])
y = torch.tensor([2.0, 3.0])
w = torch.randn({shape}, requires_grad=True)
b = torch.randn(1, requires_grad=True)
opt = torch.optim.Adam([w, b], lr=0.01)
for i in range(100):
    out = {out}
    loss = ((out - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("shape", "out", "fires"),
    [
        ("2, 1", "x.mm(w) + b", True),
        ("(2, 1)", "torch.matmul(x, w).add(b)", True),
        ("2, 1", "x @ w", True),
        ("2", "x @ w + b", False),
        ("2, 1", "(x @ w + b).squeeze(1)", False),
    ],
)
def test_drawn_weights_of_one_column(shape: str, out: str, fires: bool) -> None:
    text = REGRESSION.format(shape=shape, out=out)
    assert (state("script-shapes-broadcast", text) == "present") is fires


STAX = """
import jax.numpy as np
from jax import grad, jit
def bce(params, x, y):
    p = predict(params, x)
    return -np.sum(y * np.log({}) + (1 - y) * np.log(1 - {}))
@jit
def step(i, state, x, y):
    return opt_update(i, grad(bce)(get_params(state), x, y), state)
"""
OPTAX = """
import jax, optax
for x, y in data:
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = tx.update(grads, opt_state, params)
    {}optax.apply_updates(params, updates)
"""


def test_steps_of_jax_that_move_nothing() -> None:
    assert state("script-loss-wrong", STAX.format("y", "y")) == "present"
    assert state("script-loss-wrong", STAX.format("p", "p")) != "present"
    dropped = "script-part-not-trained"
    assert state(dropped, OPTAX.format("")) == "present"
    assert state(dropped, OPTAX.format("params = ")) != "present"


GAN = """
import torch
from torch import nn
G = nn.Sequential(nn.Linear(64, 784), nn.Tanh())
D = nn.Sequential(nn.Linear(784, 1), nn.Sigmoid())
og, od = torch.optim.Adam(G.parameters(), 2e-4), torch.optim.Adam(D.parameters(), 2e-4)
bce = nn.BCELoss()
for real, _ in loader:
    {}
    d_loss = bce(D(real), one) + bce(D(fake.detach()), zero)
    od.zero_grad(); d_loss.backward(); od.step()
    g_loss = bce(D(fake), one)
    og.zero_grad(); g_loss.backward(); og.step()
"""


@pytest.mark.parametrize(
    ("made", "fires"),
    [
        ("fake = G(torch.randn(8, 64)).detach()", True),
        ("with torch.no_grad():\n        fake = G(torch.randn(8, 64))", True),
        ("fake = G(torch.randn(8, 64))", False),
    ],
)
def test_a_generator_that_is_cut_off(made: str, fires: bool) -> None:
    assert (state("script-gradient-path-cut", GAN.format(made)) == "present") is fires


def test_a_loaded_model_in_half_is_trained_unscaled() -> None:
    text = """
import torch
from transformers import AutoModelForCausalLM
net = AutoModelForCausalLM.from_pretrained("x", torch_dtype={})
opt = torch.optim.AdamW({}.parameters(), lr=1e-4)
for batch in loader:
    loss = net(**batch).loss
    loss.backward()
    opt.step()
    opt.zero_grad()
"""
    told = "script-half-without-scaler"
    assert state(told, text.format("torch.float16", "net")) == "present"
    assert state(told, text.format("torch.bfloat16", "net")) != "present"
    assert state(told, text.format("torch.float16", "head")) != "present"


def test_a_cell_with_softmax_that_a_model_trains() -> None:
    text = """
import mindspore as ms
from mindspore import nn
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(64, 10)
        self.softmax = nn.Softmax(axis=1)
    def construct(self, x):
        return {}
net = Net()
model = ms.Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True), opt)
model.train(10, data)
"""
    assert state("script-double-softmax", text.format("self.softmax(self.fc(x))")) == "present"
    assert state("script-double-softmax", text.format("self.fc(x)")) != "present"


@pytest.mark.parametrize(
    ("line", "trains"),
    [
        ("net.fit_generator(a, epochs=3)", True),
        ("model.train(10, batches, callbacks=[m])", True),
        ("model.train(epochs, batches)", True),
        ("clf.partial_fit(x, y)", True),
        ("g = grad(bce)(get_params(state), x, y)", True),
        ("model.train(True)", False),
        ("model.train()", False),
    ],
)
def test_what_takes_steps(line: str, trains: bool) -> None:
    assert (_STEPS.search(line) is not None) is trains


def test_pictures_that_are_asked_as_they_were_read() -> None:
    text = """
from keras.preprocessing.image import ImageDataGenerator
import cv2
a = ImageDataGenerator(rescale=1. / 255).flow_from_directory("t")
model.fit(a, epochs=3)
img = cv2.resize(cv2.imread(name), (64, 64))
print(model.predict(img[None]{}).argmax())
"""
    assert state(AT_ALL, text.format("")) == "present"
    assert state(AT_ALL, text.format(" / 255.0")) != "present"


def test_planes_of_cifar() -> None:
    text = """
import pickle, torch
with open("data_batch_1", "rb") as f:
    d = pickle.load(f, encoding="bytes")
x = d[b"data"].reshape({})
"""
    told = "script-sample-scrambled"
    assert state(told, text.format("-1, 32, 32, 3")) == "present"
    assert state(told, text.format("(10000, 32, 32, 3)")) == "present"
    assert state(told, text.format("-1, 3, 32, 32).transpose(0, 2, 3, 1")) != "present"


def test_weights_alone_that_keras_goes_on_from() -> None:
    text = """
from tensorflow import keras
model = build()
model.{}(last)
model.compile("adam", "mse")
model.fit(x, y, epochs=60, initial_epoch=start)
"""
    assert state("script-resume-incomplete", text.format("load_weights")) == "present"
    assert state("script-resume-incomplete", text.format("summary")) != "present"


def test_a_body_that_is_kept_still_on_purpose() -> None:
    """`base(x, training=False)`, as the guide of Keras to transfer learning has it."""
    text = """
import tensorflow as tf
train = tf.keras.utils.image_dataset_from_directory("t", image_size=(96, 96))
base = tf.keras.applications.MobileNetV2(input_shape=(96, 96, 3), include_top=False, weights="imagenet")
inputs = tf.keras.Input(shape=(96, 96, 3))
x = base(inputs, training=False)
x = tf.keras.layers.GlobalAveragePooling2D()(x)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(3, activation="softmax")(x))
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(train, epochs=3)
"""
    assert state("script-eval-mode-while-training", text) != "present"
    assert state("script-mode-wrong", text) != "present"
