"""Steps under a GradientTape: what runs beside the tape, clips that are left, metrics, strategies."""

from __future__ import annotations

import pytest

from .._scripts import state

STEP = """
import tensorflow as tf

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = tf.keras.layers.Dense(32, activation="relu")
        self.drop = tf.keras.layers.Dropout(0.2)
        self.head = tf.keras.layers.Dense(5)

    def call(self, x, training=False):
        return self.head(self.drop(self.body(x), training=training))

model = Net()
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    grads, norm = tf.clip_by_global_norm(grads, 1.0)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss

for epoch in range(3):
    for x, y in data:
        train_step(x, y)
"""
CLIP = "    grads, norm = tf.clip_by_global_norm(grads, 1.0)\n"
RUN = "        logits = model(x, training=True)\n"
APPLY = "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n"


@pytest.mark.parametrize(
    ("symptom", "old", "new", "said"),
    [
        ("script-clip-without-effect", CLIP, "    tf.clip_by_global_norm(grads, 1.0)\n", "present"),
        (
            "script-clip-without-effect",
            CLIP,
            "    small, _ = tf.clip_by_global_norm(grads, 1.0)\n",
            "present",
        ),
        ("script-clip-without-effect", CLIP, "    _ = [tf.clip_by_norm(g, 1.0) for g in grads]\n", "present"),
        (
            "script-clip-without-effect",
            CLIP,
            "    grads = [tf.clip_by_norm(g, 1.0) for g in grads]\n",
            "unknown",
        ),
        # the norm alone is asked for, to be shown
        (
            "script-clip-without-effect",
            CLIP,
            "    _, norm = tf.clip_by_global_norm(grads, 1e9)\n    tf.summary.scalar('norm', norm)\n",
            "unknown",
        ),
        ("script-clip-without-effect", "", "", "unknown"),
        ("script-gradient-path-cut", RUN, "        with tape.stop_recording():\n    " + RUN, "present"),
        ("script-gradient-path-cut", "", "", "absent"),
        ("script-step-missing", APPLY, "", "present"),
        ("script-step-missing", "", "", "absent"),
    ],
)
def test_steps(symptom: str, old: str, new: str, said: str) -> None:
    """A fault of the step in several spellings, and right steps beside it."""
    assert state(symptom, STEP.replace(old, new, 1) if old else STEP) == said


def test_run_above_the_tape() -> None:
    """What a model gives before the tape opens has no gradient; a target of a copy needs none."""
    tape = "    with tf.GradientTape() as tape:\n"
    above = STEP.replace(RUN, "").replace(tape, "    logits = model(x, training=True)\n" + tape)
    assert state("script-gradient-path-cut", above) == "present"
    # Q-learning: the next values are a target, and the same net runs under the tape
    target = STEP.replace(tape, "    y = tf.argmax(model(x, training=False), axis=1)\n" + tape)
    assert state("script-gradient-path-cut", target) == "absent"
    # two nets: the generator's images are data to the discriminator
    other = STEP.replace(tape, "    x = generator(noise, training=True)\n" + tape)
    assert state("script-gradient-path-cut", other) == "absent"


OWN = """
from tensorflow import keras
import tensorflow as tf

class Pair(keras.Model):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = keras.layers.Dense(4)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.hits = keras.metrics.SparseCategoricalAccuracy(name="hits")

    def call(self, x, training=None):
        return self.head(self.encoder(x, training=training))

    def embed(self, x, training=None):
        return self.encoder(x, training=training)

    @property
    def metrics(self):
        return [self.loss_tracker, self.hits]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            logits = self(x, training=True)
            z = self.embed(x, training=True)
            loss = tf.reduce_mean(z * z) + tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)
            )
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        self.hits.update_state(y, logits)
        return {m.name: m.result() for m in self.metrics}

model = Pair(build())
model.compile(optimizer="adam")
model.fit(train, epochs=3)
"""


def test_own_train_step() -> None:
    """Keras empties the metrics that are listed; the mode of the model itself counts, not that of a part."""
    assert state("script-metric-miscounts", OWN) != "present"
    assert (
        state("script-metric-miscounts", OWN.replace("[self.loss_tracker, self.hits]", "[self.hits]"))
        == "present"
    )
    by_hand = OWN.replace("[self.loss_tracker, self.hits]", "[self.hits]").replace(
        "        x, y = data\n", "        x, y = data\n        self.loss_tracker.reset_state()\n"
    )
    assert state("script-metric-miscounts", by_hand) != "present"

    quiet = OWN.replace("logits = self(x, training=True)", "logits = self(x, training=False)")
    assert state("script-eval-mode-while-training", quiet) == "present"
    assert state("script-eval-mode-while-training", OWN) != "present"
    target = OWN.replace(
        "z = self.embed(x, training=True)",
        "z = self.embed(x, training=True) - tf.stop_gradient(self.encoder(x, training=False))",
    )
    assert state("script-eval-mode-while-training", target) != "present"
    twin = OWN.replace(
        "z = self.embed(x, training=True)", "z = tf.stop_gradient(self.embed(x)) * self.embed(y)"
    )
    assert state("script-gradient-path-cut", twin) != "present"
    both = twin.replace("* self.embed(y)", "* tf.stop_gradient(self.embed(y))")
    assert state("script-gradient-path-cut", both) == "present"


SPREAD = """
import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
GLOBAL = 64 * strategy.num_replicas_in_sync
data = strategy.experimental_distribute_dataset(make(GLOBAL))

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.head = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.head(x)

with strategy.scope():
    model = Net()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    loss_object = tf.keras.losses.MeanSquaredError(reduction="none")

def step(batch):
    x, y = batch
    with tf.GradientTape() as tape:
        per_example = loss_object(y, model(x))
        loss = tf.nn.compute_average_loss(per_example, global_batch_size=GLOBAL)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss

@tf.function
def train_step(batch):
    losses = strategy.run(step, args=(batch,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

for batch in data:
    train_step(batch)
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-mean-of-parts", "global_batch_size=GLOBAL", "global_batch_size=per_replica_batch"),
        ("script-mean-of-parts", 'MeanSquaredError(reduction="none")', "MeanSquaredError()"),
        ("script-metric-miscounts", "ReduceOp.SUM", "ReduceOp.MEAN"),
        (
            "script-no-gradient-synchronisation",
            "with strategy.scope():\n    model = Net()\n",
            "model = Net()\nwith strategy.scope():\n",
        ),
        ("script-no-gradient-synchronisation", "strategy.run(step, args=(batch,))", "step(batch)"),
    ],
)
def test_strategies(symptom: str, old: str, new: str) -> None:
    """Shares of the global mean are summed, and what trains is made and run by the strategy."""
    assert state(symptom, SPREAD.replace(old, new)) == "present"
    assert state(symptom, SPREAD) != "present"


def test_fit_under_a_strategy() -> None:
    """A strategy whose scope is never entered spreads nothing."""
    fit = (
        "import tensorflow as tf\nstrategy = tf.distribute.MirroredStrategy()\n"
        "with strategy.scope():\n    model = build()\n    model.compile('adam', 'mse')\n"
        "model.fit(x, y, epochs=3)\n"
    )
    assert state("script-no-gradient-synchronisation", fit) != "present"
    idle = fit.replace("with strategy.scope():\n    model", "model").replace(
        "    model.compile", "model.compile"
    )
    assert state("script-no-gradient-synchronisation", idle) == "present"
