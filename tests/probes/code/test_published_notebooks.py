"""Ways of published notebooks that are right, each beside the fault that it looks like."""

from __future__ import annotations

import pytest

from .._scripts import state

TRAINS = """
import torch
from torch import nn
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
def train_one_epoch(loader):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
def run():
    train_one_epoch(loader)
{}
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("run()\nsmall = model.half()\ntorch.save(small.state_dict(), 'half.pt')", False),
        ("small = model.half()\nrun()", True),
        ("run()\nsmall = model.half()\nrun()", True),
    ],
)
def test_a_model_that_is_halved_to_be_saved(end: str, expected: bool) -> None:
    found = state("script-half-without-scaler", TRAINS.format(end))

    assert (found == "present") is expected


AUTOENCODER = """
inputs = Input(shape=(784,))
h = Dense(128, activation="relu")(inputs)
h = Dense(64, activation="relu")(h)
h = Dense(32, activation="relu")(h)
{}
h = Dense(128, activation="relu")(h)
outputs = Dense(784, activation="sigmoid")(h)
model = Model(inputs, outputs)
model.compile(optimizer="adam", loss="mse")
model.fit(x, x, epochs=5)
"""


def test_models_that_each_begin_at_an_input_are_not_one() -> None:
    head = "from tensorflow.keras.layers import Dense, Input\nfrom tensorflow.keras.models import Model\n"
    small = AUTOENCODER.format("")
    deep = AUTOENCODER.format('h = Dense(32, activation="relu")(h)\n' * 12)

    assert state("script-deep-without-normalisation", head + small * 3) == "absent"
    assert state("script-deep-without-normalisation", head + deep) == "present"


SCORES = """
import torch
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, y in train_loader:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
with torch.no_grad():
    preds = model(x_test)
    {}
"""


def test_a_drawing_scores_nothing() -> None:
    drawn = "ax.contourf(a, b, preds.max(0)[1].reshape((20, 20)))"
    scored = "accuracy = (preds.max(0)[1] == y_test).float().mean()"

    assert state("script-metric-wrong", SCORES.format(drawn)) != "present"
    assert state("script-metric-wrong", SCORES.format(scored)) == "present"


SEARCH = """
import torch
from torch import nn
{}
model = nn.Linear(4, 1)
optimizer = {}(model.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randn(64, 1)
def closure():
    optimizer.zero_grad()
    return nn.functional.mse_loss(model(x), y)
loss = closure()
loss.backward()
for i in range(20):
    loss = optimizer.step({})
"""


def test_an_optimizer_that_searches_along_a_line_computes_gradients_itself() -> None:
    given = "{'closure': closure, 'current_loss': loss, 'max_ls': 10}"
    right = SEARCH.format("from LBFGS import FullBatchLBFGS", "FullBatchLBFGS", given)
    wrong = SEARCH.format("", "torch.optim.SGD", "")

    assert state("script-gradients-not-cleared", right) != "present"
    assert state("script-gradients-not-cleared", wrong) == "present"


SESSION = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.int64, [None])
logits = tf.layers.dense(x, 2{use})
cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
optimizer = tf.train.AdamOptimizer(1e-3).minimize(cost)
sess = tf.InteractiveSession()
sess.run(tf.global_variables_initializer())
{start}
for epoch in range(5):
    for xs, ys in batches:
        sess.run([cost, optimizer], feed_dict={{x: xs, y: ys}})
{end}
"""


def session(start: str = "", end: str = "", use: str = "") -> str:
    return SESSION.format(start=start, end=end, use=use)


def test_variables_of_another_session_are_not_drawn_anew() -> None:
    """A notebook trains in one session, and scores what it saved in another one."""
    restore = "saver = tf.train.Saver()\nsaver.restore(sess, 'base/model.ckpt')"
    again = "sess.run(tf.global_variables_initializer())\nsaver.restore(sess, 'tuned/model.ckpt')"
    anew = f"tf.reset_default_graph()\nsess = tf.InteractiveSession()\n{again}"

    assert state("script-resume-incomplete", session(restore, anew)) != "present"
    wrong = session(f"{restore}\nsess.run(tf.global_variables_initializer())")
    assert state("script-resume-incomplete", wrong) == "present"


def test_weights_that_are_restored_to_be_used_need_no_moments() -> None:
    saved = "saver = tf.train.Saver(tf.trainable_variables())"
    used = session(saved, "saver.save(sess, 'out/model.ckpt')\nsaver.restore(sess, 'out/model.ckpt')")
    resumed = session(f"{saved}\nsaver.restore(sess, 'out/model.ckpt')")

    assert state("script-resume-incomplete", used) != "present"
    assert state("script-resume-incomplete", resumed) == "present"


def test_a_graph_that_grows_while_it_is_scored_harms_nothing() -> None:
    scored = "for xs in held:\n    print(sess.run(tf.nn.softmax(logits), feed_dict={x: xs}))"
    trained = (
        "for xs, ys in batches:\n"
        "    sess.run(optimizer, feed_dict={x: xs, y: ys})\n"
        "    print(sess.run(tf.nn.softmax(logits), feed_dict={x: xs}))"
    )

    assert state("script-graph-grows", session(end=scored)) != "present"
    assert state("script-graph-grows", session(end=trained)) == "present"


@pytest.mark.parametrize(("share", "expected"), [("0.8", False), ("0.2", True)])
def test_a_large_share_that_is_called_dropout_is_what_is_kept(share: str, expected: bool) -> None:
    text = session().replace("x = tf", f"dropout = {share}\nx = tf", 1)
    text = text.replace(
        "logits = tf.layers.dense(x,", "h = tf.nn.dropout(x, dropout)\nlogits = tf.layers.dense(h,"
    )

    assert (state("script-argument-inverted", text) == "present") is expected


REPLAY = """
import numpy as np
import tensorflow as tf

class Memory:
    def keep(self, state, action, reward, state_, done):
        self.terminal[self.at] = {stored}

class Agent:
    def learn(self):
        states, actions, rewards, states_, dones = self.memory.sample(64)
        q_next = self.model.predict(states_)
        q_target = self.model.predict(states)
        q_target[index, actions] = rewards + self.gamma * np.max(q_next, axis=1) * dones
        self.model.fit(states, q_target, verbose=0)
"""


def test_memories_that_store_that_it_goes_on() -> None:
    assert state("script-loss-wrong", REPLAY.format(stored="1 - done")) != "present"
    assert state("script-loss-wrong", REPLAY.format(stored="done")) == "present"


EXPERIMENTS = """
import torch
from torch import nn
import torch.nn.functional as F
def run_experiment(net, {head}):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for {inner}:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(X), y)
        loss.backward()
        optimizer.step()
    return loss.item()
{make}
for epoch in {rounds}:
    {made}
    last = run_experiment(net, {given})
"""


def test_experiments_of_different_lengths_each_have_an_optimizer() -> None:
    right = EXPERIMENTS.format(
        head="epochs=60",
        inner="_ in range(epochs)",
        make="",
        rounds="[10, 20, 50]",
        made="net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))",
        given="epochs=epoch",
    )
    wrong = EXPERIMENTS.format(
        head="loader",
        inner="X, y in loader",
        make="net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))",
        rounds="range(20)",
        made="net.train()",
        given="loader",
    )

    assert state("script-optimizer-rebuilt", right) != "present"
    assert state("script-optimizer-rebuilt", wrong) == "present"


def test_images_without_labels_are_reordered_alone() -> None:
    head = "import torch\nfrom torchvision.datasets import MNIST\ndataset = MNIST('data', train=True)\n"
    images = head + "images = dataset.data.float()\nimages = images[torch.randperm(len(images))]\n"
    labelled = images + "labels = dataset.targets\nloss = criterion(model(images), labels)\n"

    assert state("script-labels-permuted-alone", images) != "present"
    assert state("script-labels-permuted-alone", labelled) == "present"


LINEAR = """
import torch
from torch import nn
class {name}(nn.Module):
    def __init__(self, size):
        super().__init__()
{layers}
    def forward(self, x):
        return {forward}
"""


def test_linear_models_beside_one_another_are_no_stack() -> None:
    one = "        self.classifier = nn.Linear(size, 10)"
    three = "\n".join(f"        self.layer{k} = nn.Linear(size, size)" for k in range(3))
    through = "self.layer2(self.layer1(self.layer0(x)))"
    beside = "".join(
        LINEAR.format(name=n, layers=one, forward="self.classifier(x)") for n in ("Plain", "WithPca", "Wide")
    )

    loop = "\nmodel = {}(20)\nopt = torch.optim.Adam(model.parameters())\nloss.backward()\nopt.step()\n"

    assert state("script-layers-unbent", beside + loop.format("Plain")) != "present"
    stack = LINEAR.format(name="Net", layers=three, forward=through)
    assert state("script-layers-unbent", stack + loop.format("Net")) == "present"


def test_layers_of_a_library_that_nobody_knows_may_hold_weights() -> None:
    text = """
import tensorflow as tf
from quantum import phasespace as ps
vacuum, random = ps.VacuumLayer(20), ps.RandomLayer(20)
inputs = tf.keras.layers.Input(20)
real, imaginary = vacuum(random(inputs))
model = tf.keras.Model(inputs=inputs, outputs=[real, imaginary])
model.compile(optimizer=tf.keras.optimizers.Adam(learning_rate=0.01), loss="mean_squared_error")
model.fit(x=x_train, y=(a, b), epochs=100)
"""

    assert state("script-gradient-path-cut", text) != "present"


SECOND = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 3)
    def forward(self, x):
        return self.last(x)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(500):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(X), y)
    loss.backward()
    optimizer.step()
model = Net()
{}
"""


def test_a_second_model_that_is_moved_in_another_way() -> None:
    by_hand = (
        "flat = flatten(model.parameters())\nfor epoch in range(100):\n    flat = flat - solve(hessian(flat))"
    )
    again = (
        "for epoch in range(500):\n    optimizer.zero_grad()\n"
        "    nn.functional.cross_entropy(model(X), y).backward()\n    optimizer.step()"
    )

    assert state("script-optimizer-other-model", SECOND.format(by_hand)) != "present"
    assert state("script-optimizer-other-model", SECOND.format(again)) == "present"


@pytest.mark.parametrize(
    ("unit", "count", "expected"), [("Tanh", 6, False), ("Tanh", 12, True), ("Sigmoid", 6, True)]
)
def test_networks_of_physics_have_several_tanh(unit: str, count: int, expected: bool) -> None:
    text = f"""
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        layers = [nn.Linear(3, width), nn.{unit}()]
        for _ in range({count}):
            layers += [nn.Linear(width, width), nn.{unit}()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))
    def forward(self, x):
        return self.net(x)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(1000):
    optimizer.zero_grad()
    loss = residual(model, points).square().mean()
    loss.backward()
    optimizer.step()
"""

    assert (state("script-deep-saturating", text) == "present") is expected


def test_a_set_to_look_at_is_not_scored() -> None:
    text = """
import torch
from torch.utils.data import Dataset, DataLoader
class Streets(Dataset):
    def __init__(self, folder, preprocessing=None):
        self.files, self.preprocessing = sorted(folder.iterdir()), preprocessing
    def __getitem__(self, i):
        image = read(self.files[i])
        return self.preprocessing(image) if self.preprocessing else image
    def __len__(self):
        return len(self.files)
train_dataset = Streets(train_dir, preprocessing=scale)
{name} = Streets(test_dir)
loader = DataLoader(train_dataset, batch_size=8, shuffle=True)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""

    assert state("script-splits-processed-differently", text.format(name="test_dataset_vis")) != "present"
    assert state("script-splits-processed-differently", text.format(name="test_dataset")) == "present"


SIDES = """
import numpy as np
from tensorflow import keras
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
X_train_val, X_test, y_train_val, y_test = train_test_split(X, y, test_size=0.2, shuffle=True)
{}
X_train, X_val, y_train, y_val = train_test_split(X_train_val, y_train_val, test_size=0.1)
scaler = StandardScaler().fit(X_train)
X_train, X_val, X_test = scaler.transform(X_train), scaler.transform(X_val), scaler.transform(X_test)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(X_train, y_train, validation_data=(X_val, y_val), epochs=5)
answers = np.argmax(model.predict(X_test), axis=1).tolist()
print(accuracy_score(y_test, answers))
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", False),
        (
            "X_train_val, X_test, y_train_val, y_test ="
            " X_train_val.astype(np.float32), X_test.astype(np.float32), y_train_val, y_test",
            False,
        ),
        ("X_train_val = X_train_val / 255.0\nX_test = X_test / 255.0", False),
        ("X_test = X_test / 255.0", True),
    ],
)
def test_what_is_parted_twice(line: str, expected: bool) -> None:
    """`train_val` is the training side, and a split that shuffles takes samples and labels together."""
    text = SIDES.format(line)

    assert (state("script-splits-processed-differently", text) == "present") is expected
    assert state("script-metric-miscounts", text) != "present"


LEVELS = """
import torch
def optimizer_of(model):
    return torch.optim.Adam(model.parameters(), lr=1e-2)
model = Transform()
for {over}:
    fixed, moving = target.at(k), source.at(k)
    optimizer = optimizer_of(model)
    for _ in range(100):
        loss = (model(moving) - fixed).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_each_level_of_a_pyramid_has_an_optimizer() -> None:
    right, wrong = "level, (k, steps) in enumerate(plan)", "epoch, k in enumerate(order)"

    assert state("script-optimizer-rebuilt", LEVELS.format(over=right)) != "present"
    assert state("script-optimizer-rebuilt", LEVELS.format(over=wrong)) == "present"


@pytest.mark.parametrize(("asked", "expected"), [("n=36, series=train_air", False), ("train_air", True)])
def test_a_forecast_goes_on_from_the_training_series(asked: str, expected: bool) -> None:
    text = f"""
import torch
from darts.models import NBEATSModel
train_air, val_air = series[:-36], series[-36:]
model = NBEATSModel(input_chunk_length=24, output_chunk_length=12, n_epochs=100)
model.fit(train_air)
pred = model.predict({asked})
print(mape(series, pred))
"""

    assert (state("script-evaluates-training-data", text) == "present") is expected


TRIED = """
import torch
from torch import nn
import torch.nn.functional as F
model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def bce_loss(p, y):
    return F.binary_cross_entropy(p, y)
for epoch in range(100):
    p = model(X)
    loss = F.binary_cross_entropy({}, Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
{}
"""


@pytest.mark.parametrize(
    "line",
    [
        "print(bce_loss(X, X))  # 0 where all is right",
        "print(F.binary_cross_entropy(p.detach(), Y) / X.shape[0])",
        "F.binary_cross_entropy(p.detach(), Y) / X.shape[0]",
        "F.binary_cross_entropy(p.detach(), Y)",
    ],
)
def test_a_loss_is_tried_out(line: str) -> None:
    text = TRIED.format("p", line)

    assert state("script-gradient-path-cut", text) != "present"
    assert state("script-metric-miscounts", text) != "present"
    assert state("script-gradient-path-cut", TRIED.format("p.detach()", line)) == "present"


@pytest.mark.parametrize("library", ["np", "anp", "jnp"])
def test_a_softmax_takes_the_largest_score_off(library: str) -> None:
    text = f"""
import torch
def softmax(x):
    e = {library}.exp(x{{}})
    return e / e.sum(axis=1, keepdims=True)
"""

    assert state("script-softmax-by-hand", text.format(f" - {library}.max(x)")) == "absent"
    assert state("script-softmax-by-hand", text.format("")) == "present"


@pytest.mark.parametrize(
    ("spread", "expected"),
    [("jnp.std(x[:n_train])", False), ("x[:n_train].std()", False), ("jnp.std(x)", True)],
)
def test_the_spread_of_the_first_samples_is_that_of_all(spread: str, expected: bool) -> None:
    text = f"""
import jax, optax
import jax.numpy as jnp
def get(x, n_train, n_test):
    x = (x - x.mean()) / {spread}
    return x[:n_train], x[n_train:]
"""

    assert (state("script-unsafe-division", text) == "present") is expected


LOOKED_AT = """
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
from mindspore import nn, Model
ds_train = ds.MnistDataset("MNIST/train")
ds_test = ds.MnistDataset("MNIST/test")
print(ds_train.get_dataset_size(), ds_test.get_dataset_size())
def pipeline(folder):
    data = ds.MnistDataset(folder).map(vision.Rescale(1 / 255, 0), input_columns="image")
    return data.map(vision.HWC2CHW(), input_columns="image").batch(32)
ds_train = pipeline("MNIST/train")
ds_eval = pipeline("MNIST/test")
model = Model(net, loss, nn.Adam(net.trainable_params()), metrics=metrics)
model.train(3, ds_train)
print(model.eval({}))
"""


def test_a_data_set_that_is_only_counted_is_not_scored() -> None:
    symptom = "script-splits-processed-differently"

    assert state(symptom, LOOKED_AT.format("ds_eval")) != "present"
    assert state(symptom, LOOKED_AT.format("ds_test.batch(32)")) == "present"
