"""Keras and tapes in a rehearsal."""

import numpy as np
import pytest

from traindoctor.probes.rehearsal.journal import Asked, Backward, Stepped, Told

from ._journals import learns, modes, rehearsal

DATA = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

x, y = np.load("x.npy"), np.load("y.npy")
xv, yv = np.load("xv.npy"), np.load("yv.npy")
"""
SEQUENTIAL = """
net = keras.Sequential([keras.Input((8,)), layers.Dense(16), layers.Dropout(0.3), layers.Dense(3)])
"""
CALLS = """
inputs = keras.Input((8,))
h = layers.Dense(16, activation="relu")(inputs)
h = layers.Concatenate()([h, inputs])
h = layers.Dropout(0.3)(h)
net = keras.Model(inputs, layers.Dense(3)(h))
"""
OWN = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = [layers.Dense(16), layers.Dense(16)]
        self.drop = layers.Dropout(0.3)
        self.out = layers.Dense(3)
    def call(self, x, training=False):
        for one in self.hidden:
            x = one(x)
        return self.out(self.drop(x, training=training))
net = Net()
"""
FIT = """
net.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
net.fit(x, y, epochs=20, validation_data=(xv, yv), callbacks=[keras.callbacks.EarlyStopping(patience=3)])
p = net.predict(xv)
right = (p.argmax(1) == yv).mean()
print("val", right)
"""
TAPE = """
opt = keras.optimizers.Adam(1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
held = tf.data.Dataset.from_tensor_slices((xv, yv)).batch(32)

@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        loss = loss_fn(b, net(aTRAINING))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss

for epoch in range(10):
    for a, b in data:
        step(a, b)
    acc = keras.metrics.SparseCategoricalAccuracy()
    for a, b in held:
        acc.update_state(b, net(a, training=False))
    print("held", acc.result())
"""


@pytest.mark.parametrize("net", [SEQUENTIAL, CALLS, OWN])
def test_fit_learns_in_training_mode_and_scores_in_evaluation_mode(net: str) -> None:
    machine = rehearsal(DATA + net + FIT)
    journal = machine.journal
    assert learns(journal)
    assert len(journal.of(Backward)) == len(journal.of(Stepped)) == 24
    assert modes(journal) == [True, False] * 3
    assert {m for a in journal.of(Asked) for m in a.modal if a.mode} == {("Dropout", True)}
    assert {"val_loss", "val_accuracy", "val"} <= {t.label for t in journal.of(Told)}
    last = journal.of(Asked)[-1]
    assert machine.tables[last.table][0] == "file xv.npy"
    assert np.array_equal(last.rows, np.arange(240))


@pytest.mark.parametrize("net", [SEQUENTIAL, CALLS, OWN])
@pytest.mark.parametrize(
    ("training", "mode"), [(", training=True", True), ("", False), (", training=False", False)]
)
def test_a_tape_asks_in_the_mode_of_its_call(net: str, training: str, mode: bool) -> None:
    journal = rehearsal(DATA + net + TAPE.replace("TRAINING", training)).journal
    assert learns(journal)
    assert {a.mode for a in journal.of(Asked) if a.graph} == {mode}
    assert {a.mode for a in journal.of(Asked) if not a.graph} == {False}
    assert len(journal.of(Stepped)[0].optimizer.weights or ()) >= 4


def test_a_loss_after_the_tape_reaches_nothing() -> None:
    text = TAPE.replace("TRAINING", ", training=True").replace(
        "        loss = loss_fn(b, net(a, training=True))",
        "        p = net(a, training=True)\n    loss = loss_fn(b, p)",
    )
    journal = rehearsal(DATA + SEQUENTIAL + text).journal
    assert {e.reached for e in journal.of(Backward)} == {frozenset()}
    assert not any(any(s.gradients.values()) for s in journal.of(Stepped))


def test_frozen_layers_and_fixed_modes() -> None:
    machine = rehearsal(
        DATA
        + """
base = keras.applications.ResNet50(include_top=False, pooling="avg")
base.trainable = False
inputs = keras.Input((64, 64, 3))
net = keras.Model(inputs, layers.Dense(3)(layers.Dropout(0.2)(base(inputs, training=False))))
"""
        + FIT
    )
    journal = machine.journal
    weights = journal.of(Stepped)[0].optimizer.weights or []
    assert [w.name for w in weights] == ["Dense.weight", "Dense.bias"]
    trained = next(a for a in journal.of(Asked) if a.mode)
    assert trained.modal == [("Dropout", True)]  # the body is kept still on purpose


def test_own_steps_and_own_callbacks_are_gone_through() -> None:
    journal = rehearsal(
        DATA
        + OWN.replace(
            "net = Net()",
            """
    def train_step(self, data):
        a, b = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=b, y_pred=self(a, training=True))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}
class Score(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        f1 = (self.model.predict(xv).argmax(1) == yv).mean()
        print("f1", f1)
net = Net()
""",
        )
        + FIT.replace("keras.callbacks.EarlyStopping(patience=3)", "Score()")
    ).journal
    assert learns(journal)
    assert "f1" in {t.label for t in journal.of(Told)}


def test_parts_of_a_chain_have_the_rows_that_are_left() -> None:
    machine = rehearsal(
        DATA
        + SEQUENTIAL
        + """
whole = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000, reshuffle_each_iteration=AGAIN)
train, held = whole.skip(40).batch(32), whole.take(40).batch(32)
for a, b in train:
    net(a)
for a, b in held:
    net(a)
""".replace("AGAIN", "False")
    )
    rows = [a.rows for a in machine.journal.of(Asked)]
    assert not set(np.concatenate(rows[:8])) & set(np.concatenate(rows[8:]))
    assert len(np.concatenate(rows)) == 240


@pytest.mark.parametrize(("first", "rest"), [(":9000", "9000:"), (":-2000", "-2000:"), (":100", "100:")])
def test_constants_beyond_a_made_table_cut_it(first: str, rest: str) -> None:
    text = DATA + SEQUENTIAL + f"net(x[{first}])\nnet(x[{rest}])\n"
    one, other = (a.rows for a in rehearsal(text).journal.of(Asked))
    assert len(one) and len(other) and sorted([*one, *other]) == list(range(240))
