"""Ports to another framework, role by role: what differs, defaults included, and what is the same."""

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare
from traindoctor.probes.code.shared.checks import scripts
from traindoctor.probes.run import Run
from traindoctor.probes.script_diff.ports import differences, framework, is_port
from traindoctor.probes.scripts.syntax import Script

TORCH = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3, padding=1)
        self.bn = nn.BatchNorm2d(64)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(64, 10)
    def forward(self, x):
        return self.fc(self.drop(torch.relu(self.bn(self.conv(x))).mean(dim=(2, 3))))
net = Net()
loader = torch.utils.data.DataLoader(train_set, batch_size=64, shuffle=True)
opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(20):
    net.train()
    for x, y in loader:
        loss = criterion(net(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
"""

MINDSPORE = """
import mindspore as ms
from mindspore import nn, ops
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3, has_bias=True)
        self.bn = nn.BatchNorm2d(64)
        self.drop = nn.Dropout(p=0.1)
        self.fc = nn.Dense(64, 10)
    def construct(self, x):
        return self.fc(self.drop(ops.relu(self.bn(self.conv(x))).mean(axis=(2, 3))))
net = Net()
loader = train_set.shuffle(1000).batch(64)
opt = nn.Adam(net.trainable_params(), learning_rate=1e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
def forward_fn(x, y):
    return criterion(net(x), y)
grad_fn = ms.value_and_grad(forward_fn, None, opt.parameters)
net.set_train()
for epoch in range(20):
    for x, y in loader.create_tuple_iterator():
        loss, grads = grad_fn(x, y)
        grads = ops.clip_by_global_norm(grads, 1.0)
        opt(grads)
"""

KERAS = """
from tensorflow import keras
from tensorflow.keras import layers
inputs = keras.Input((32, 32, 3))
x = layers.Conv2D(64, 3, padding="same")(inputs)
x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
x = layers.ReLU()(x)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.1)(x)
outputs = layers.Dense(10)(x)
model = keras.Model(inputs, outputs)
optimizer = keras.optimizers.Adam(1e-3, epsilon=1e-8, weight_decay=0.01, global_clipnorm=1.0)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=optimizer, loss=loss)
model.fit(train_set.shuffle(1000).batch(64), epochs=20)
"""


def script(text: str) -> Script:
    """The one script of a run."""
    return scripts(_run(text))[0]


def _run(text: str) -> Run:
    return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})


def told(mine: str, theirs: str) -> list[str]:
    """The differences in words, each with its role."""
    return [f"{d.role}: {d.text.split(': ')[0]}: {d.text}" for d in differences(script(mine), script(theirs))]


def test_an_equal_port_to_mindspore_differs_in_nothing() -> None:
    assert told(MINDSPORE, TORCH) == []


def test_an_equal_port_to_keras_differs_in_what_keras_is() -> None:
    """Other initial weights, and decoupled decay under the same argument."""
    roles = [d.text.split(" here")[0] for d in differences(script(KERAS), script(TORCH))]

    assert roles == [
        "convolution: initial weights Glorot uniform, bias 0",
        "linear: initial weights Glorot uniform, bias 0",
        "adam: kind of weight decay decoupled",
    ]


@pytest.mark.parametrize(
    ("text", "old", "new", "says"),
    [
        (MINDSPORE, "nn.Dropout(p=0.1)", "nn.Dropout(0.1)", "share that is dropped 0.9 here, 0.1"),
        (MINDSPORE, "nn.Dropout(p=0.1)", "nn.Dropout(keep_prob=0.1)", "share that is dropped 0.9 here"),
        (MINDSPORE, "has_bias=True", 'has_bias=True, pad_mode="valid"', "padding none here, same"),
        (MINDSPORE, ", has_bias=True", "", "bias False here, True in the benchmark"),
        (MINDSPORE, "nn.BatchNorm2d(64)", "nn.BatchNorm2d(64, momentum=0.1)", "statistics 0.9 here, 0.1"),
        (MINDSPORE, "nn.Adam(", "nn.AdamWeightDecay(", "adamw here, adam in the benchmark"),
        (MINDSPORE, ".shuffle(1000)", "", "shuffling of the training data: in the benchmark only"),
        (MINDSPORE, "net.set_train()\n", "", "training mode: in the benchmark only"),
        (
            MINDSPORE,
            "ops.clip_by_global_norm(grads, 1.0)",
            "grads",
            "gradient clipping: in the benchmark only",
        ),
        (MINDSPORE, ".batch(64)", ".batch(32)", "batch size 32 here, 64"),
        (KERAS, ", epsilon=1e-5", "", "epsilon 0.001 here, 1e-05"),
        (KERAS, "momentum=0.9, ", "", "statistics 0.01 here, 0.1"),
        (KERAS, "from_logits=True", "", "takes probabilities here, logits"),
        (KERAS, ", epsilon=1e-8", "", "epsilon 1e-07 here, 1e-08"),
        (KERAS, ', padding="same"', "", "padding none here, same"),
        (KERAS, "Dropout(0.1)", "Dropout(0.9)", "share that is dropped 0.9 here, 0.1"),
    ],
)
def test_each_convention_is_told(text: str, old: str, new: str, says: str) -> None:
    assert text.count(old) == 1
    before, after = told(text, TORCH), told(text.replace(old, new), TORCH)

    assert not any(says in t for t in before)
    assert any(says in t for t in after)


def test_keras_against_mindspore() -> None:
    assert any("kind of weight decay decoupled here, coupled" in t for t in told(KERAS, MINDSPORE))


def test_one_framework_or_several_are_no_port() -> None:
    both = "import tensorflow\n" + TORCH

    assert framework(script(both)) == ""
    assert not is_port(script(both), script(TORCH)) and not is_port(script(TORCH), script(TORCH))
    assert differences(script(TORCH), script(TORCH)) == []


def test_lines_of_two_frameworks_are_no_edits() -> None:
    found = compare(_run(MINDSPORE), _run(TORCH))

    assert found.edits == () and "two frameworks" in found.why


def test_a_value_that_is_not_known_is_no_difference() -> None:
    """An option, or a name with two values, says nothing."""
    assert told(MINDSPORE.replace("p=0.1", "p=args.drop"), TORCH) == []
    assert told(MINDSPORE.replace("p=0.1", "p=RATE").replace("net = ", "RATE = 0.1\nnet = "), TORCH) == []
