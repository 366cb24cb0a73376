"""What PyTorch and MindSpore take differently: shares of dropout, sizes of norms, axes, gradients, fp16."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

NET = """
import mindspore as ms
from mindspore import nn, ops
from mindspore.common.initializer import Normal, initializer
class Config:
    hidden_dropout_rate = 0.1
    keep = 0.9
    width = 64
    dtype = ms.float16
class Net(nn.Cell):
    def __init__(self, dim=64, drop=0.2, keep_prob=0.8, shape=(64,)):
        super().__init__()
        config = Config()
        self.fc = nn.Dense(dim, dim)
        self.mid = nn.Dense(dim, dim)
        self.head = nn.Dense(dim, 2)
        {MADE}
    def construct(self, x):
        return self.head(self.mid(self.fc(x)){USED})
net = Net()
optimizer = nn.Adam({GROUPS}, 1e-3)
loss_fn = nn.CrossEntropyLoss()
{FORWARD}
grad_fn = ms.value_and_grad({ASKED})
def train_step(x, y):
    loss, grads = grad_fn(x, y)
    {UPDATE}
    return loss
net.set_train()
for x, y in data:
    train_step(x, y)
"""
FORWARD = """
def forward(x, y):
    out = net(x)
    return loss_fn(out, y)
"""
PAIR = FORWARD.replace("return loss_fn(out, y)", "return loss_fn(out, y), out")


def net(
    made: str = "pass",
    used: str = "",
    groups: str = "net.trainable_params()",
    forward: str = FORWARD,
    asked: str = "forward, None, optimizer.parameters",
    update: str = "optimizer(grads)",
) -> str:
    """A program of MindSpore that trains, with parts of it exchanged."""
    text = NET.replace("{MADE}", made).replace("{USED}", used).replace("{GROUPS}", groups)
    return text.replace("{FORWARD}", forward).replace("{ASKED}", asked).replace("{UPDATE}", update)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("self.d = nn.Dropout(drop)", P),
        ("self.d = nn.Dropout(config.hidden_dropout_rate)", P),
        ("self.d = nn.Dropout(keep_prob=drop)", P),
        ("self.d = ops.Dropout(keep_prob=drop)", P),
        ("self.d = nn.Dropout(1 - keep_prob)", P),
        ("self.d = nn.Dropout(keep_prob)", A),
        ("self.d = nn.Dropout(1 - drop)", A),
        ("self.d = nn.Dropout(config.keep)", A),
        ("self.d = nn.Dropout(p=drop)", U),
        ("self.d = nn.Dropout2d(drop)", U),
        ("self.n = nn.LayerNorm(dim)", P),
        ("self.n = nn.LayerNorm(64, epsilon=1e-6)", P),
        ("self.n = nn.LayerNorm(dim * 4)", P),
        ("self.n = nn.LayerNorm((dim,))", A),
        ("self.n = nn.LayerNorm([dim], epsilon=1e-6)", A),
        ("self.n = nn.LayerNorm(shape)", A),
        ("self.n = nn.GroupNorm(8, dim)", U),
    ],
)
def test_shares_and_sizes(made: str, expected: str) -> None:
    """A padding of the gradient's arguments is judged as well: those are right here."""
    found = state("script-argument-inverted", net(made))
    assert found == (P if expected == P else A)


def test_other_layers_take_other_things() -> None:
    """`mint` and PyTorch drop by the first argument and take a number; so does a class of the script."""
    text = net("self.d = nn.Dropout(drop)").replace(
        "from mindspore import nn, ops", "from mindspore.mint import nn, ops"
    )
    assert state("script-argument-inverted", text) != P
    own = net("self.n = LayerNorm(dim)") + "\nclass LayerNorm(nn.Cell):\n    pass\n"
    assert state("script-argument-inverted", own) != P
    half = net("self.d = nn.Dropout(drop)").replace("drop=0.2", "drop=0.5")
    assert state("script-argument-inverted", half) != P


@pytest.mark.parametrize(
    ("forward", "asked", "expected"),
    [
        (FORWARD, "forward", P),
        (FORWARD, "forward, 0, None", P),
        (PAIR, "forward, None, optimizer.parameters", P),
        (PAIR, "forward, None, net.trainable_params(), has_aux=False", P),
        (PAIR, "forward, None, optimizer.parameters, has_aux=True", A),
        (PAIR.replace(", out\n", ", ops.stop_gradient(out)\n"), "forward, None, optimizer.parameters", A),
        (PAIR.replace(", out\n", ", (out.argmax(1) == y).sum()\n"), "forward, None, optimizer.parameters", A),
        (FORWARD, "forward, None, weights=net.trainable_params()", A),
    ],
)
def test_gradients_are_those_of_the_weights(forward: str, asked: str, expected: str) -> None:
    assert state("script-argument-inverted", net(forward=forward, asked=asked)) == expected


def test_gradients_of_inputs_that_no_optimizer_gets() -> None:
    """An attack, or a penalty on the slope, asks for them on purpose."""
    text = net() + "\nslope = ms.grad(forward)\nfor x, y in data:\n    x = x + 0.1 * ops.sign(slope(x, y))\n"
    assert state("script-argument-inverted", text) == A


@pytest.mark.parametrize(
    ("update", "expected"),
    [("pass", P), ("grads = ops.clip_by_global_norm(grads, 1.0)", P), ("optimizer(grads)", A)],
)
def test_gradients_reach_an_optimizer(update: str, expected: str) -> None:
    assert state("script-step-missing", net(update=update)) == expected


def test_gradients_go_somewhere_else() -> None:
    by_hand = net(update="[ops.assign_sub(p, 0.1 * g) for p, g in zip(optimizer.parameters, grads)]")
    assert state("script-step-missing", by_hand) != P


CELL = """
import mindspore as ms
from mindspore import nn, ops
class Step(nn.TrainOneStepCell):
    def construct(self, x, y):
        loss = self.network(x, y)
        grads = self.grad(self.network, self.weights)(x, y, ops.ones_like(loss))
        grads = self.grad_reducer(grads)
        {END}
net = nn.Dense(4, 2)
step = Step(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.Adam(net.trainable_params()))
step.set_train()
for x, y in data:
    step(x, y)
"""


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("return loss", P),
        ("return ops.depend(loss, self.optimizer(grads))", A),
        ("self.optimizer(grads); return loss", A),
        ("return ops.depend(loss, self.hyper_map(update_cell, grads))", U),
    ],
)
def test_a_cell_of_one_step_updates(end: str, expected: str) -> None:
    found = state("script-step-missing", CELL.replace("{END}", end))
    assert found == expected or (expected != P and found != P)


@pytest.mark.parametrize(
    ("made", "used", "expected"),
    [
        ("self.gamma = ops.ones((dim,), ms.float32)", " * self.gamma", P),
        ("self.pos_embed = initializer(Normal(0.02), (1, dim)).init_data()", " + self.pos_embed", P),
        ("self.gamma = ms.Parameter(ops.ones((dim,)), name='gamma')", " * self.gamma", A),
        ("self.gamma = ops.ones((dim,), ms.float32)", "", A),
        ("self.step = ops.ones((dim,), ms.float32)", " * self.step", A),
    ],
)
def test_tensors_that_should_train(made: str, used: str, expected: str) -> None:
    groups = "[p for p in net.trainable_params() if not p.name.endswith(('pos_embed', 'gamma'))]"
    text = net(made, used) + f"\nplain = {groups}\n"
    found = state("script-part-not-trained", text)
    assert (found == P) is (expected == P)


FP16 = "self.a = nn.Dense(dim, dim).to_float({T}); self.b = nn.Dense(dim, dim).to_float({T}); " * 2


@pytest.mark.parametrize(
    ("made", "update", "expected"),
    [
        (FP16.replace("{T}", "ms.float16"), "optimizer(grads)", P),
        (FP16.replace("{T}", "config.dtype"), "optimizer(grads)", P),
        (FP16.replace("{T}", "ms.bfloat16"), "optimizer(grads)", U),
        (FP16.replace("{T}", "ms.float32"), "optimizer(grads)", U),
        ("self.a = nn.Dense(dim, dim).to_float(ms.float16)", "optimizer(grads)", U),
        (FP16.replace("{T}", "ms.float16"), "optimizer(loss_scaler.unscale(grads))", U),
    ],
)
def test_layers_in_half_need_a_scale(made: str, update: str, expected: str) -> None:
    assert (state("script-half-without-scaler", net(made, update=update)) == P) is (expected == P)


MODEL = """
import mindspore as ms
from mindspore import nn
from mindspore.train import Model, FixedLossScaleManager
net = nn.SequentialCell(nn.Dense(8, 8), nn.ReLU(), nn.Dense(8, 2))
{CAST}
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
model = Model(net, nn.CrossEntropyLoss(), optimizer{MORE})
model.train(10, data)
"""


@pytest.mark.parametrize(
    ("cast", "more", "expected"),
    [
        ("net.to_float(ms.float16)", "", P),
        ("net.to_float(ms.float16)", ", loss_scale_manager=FixedLossScaleManager(1.0)", P),
        ("net.to_float(ms.float16)", ", loss_scale_manager=FixedLossScaleManager(1024)", U),
        ("", ", amp_level='O2'", U),
        ("net.to_float(ms.float32)", "", U),
    ],
)
def test_a_model_in_half_needs_a_scale(cast: str, more: str, expected: str) -> None:
    text = MODEL.replace("{CAST}", cast).replace("{MORE}", more)
    assert (state("script-half-without-scaler", text) == P) is (expected == P)


IMAGES = """
import mindspore.dataset as ds
from mindspore.dataset import vision, transforms
def build(folder):
    data = ds.ImageFolderDataset(folder, shuffle=True)
    normalize = {NORM}
    steps = [{STEPS}]
    return data.map(steps, "image").batch(32)
"""
UNIT = "vision.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]"
BYTES = "vision.Normalize([123.7, 116.3, 103.5], [58.4, 57.1, 57.4]"


@pytest.mark.parametrize(
    ("norm", "steps", "expected"),
    [
        (UNIT + ", is_hwc=False)", "vision.Decode(), vision.ToTensor(), normalize", A),
        (UNIT + ")", "vision.Decode(), vision.ToTensor(), normalize", P),
        (BYTES + ", is_hwc=False)", "vision.Decode(), vision.ToTensor(), normalize", P),
        (BYTES + ")", "vision.Decode(), normalize, vision.HWC2CHW()", A),
        (BYTES + ", is_hwc=False)", "vision.Decode(), normalize, vision.HWC2CHW()", P),
        (BYTES + ")", "vision.Decode(), vision.Rescale(1.0 / 255, 0.0), normalize, vision.HWC2CHW()", P),
        (UNIT + ")", "vision.Decode(), vision.Rescale(1.0 / 255, 0.0), normalize, vision.HWC2CHW()", A),
        (BYTES + ", False)", "vision.Decode(), vision.HWC2CHW(), normalize", A),
        (BYTES + ")", "vision.Decode(), vision.HWC2CHW(), normalize", P),
    ],
)
def test_normalize_fits_what_stands_before_it(norm: str, steps: str, expected: str) -> None:
    text = IMAGES.replace("{NORM}", norm).replace("{STEPS}", steps)
    assert (state("script-range-mismatch", text) == P) is (expected == P)


GROUPED = """
import mindspore as ms
from mindspore import nn
def group(net, decay):
    plain = [p for p in net.trainable_params() if p.name.endswith("bias")]
    rest = [p for p in net.trainable_params() if not p.name.endswith("bias")]
    return [{"params": rest, "weight_decay": decay}, {"params": plain}]
def main(data):
    net = nn.SequentialCell(nn.Dense(8, 8), nn.Dense(8, 2))
    {BEFORE}
    optimizer = nn.Adam(group(net, 0.1), 1e-3)
    {AFTER}
    model = ms.train.Model(net, nn.CrossEntropyLoss(), optimizer)
    model.train(10, data)
"""


def test_layers_replaced_behind_groups_of_a_function() -> None:
    symptom, new = "script-layer-replaced-after-optimizer", "net.head = nn.Dense(8, 4)"
    late = GROUPED.replace("{BEFORE}", "pass").replace("{AFTER}", new)
    early = GROUPED.replace("{BEFORE}", new).replace("{AFTER}", "pass")
    other = GROUPED.replace("{BEFORE}", "pass").replace("{AFTER}", "teacher.head = nn.Dense(8, 4)")
    assert [state(symptom, t) for t in (late, early, other)] == [P, A, A]
