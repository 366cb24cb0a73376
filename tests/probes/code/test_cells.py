"""MindSpore's calls that give back a new value, refuse an argument, or leave ranks apart."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

STEP = """
import mindspore as ms
from mindspore import nn, ops
net = nn.SequentialCell(nn.Conv2d(3, 8, 3{CONV}), nn.Flatten(), nn.Dense(8, 2))
optimizer = nn.Adam(net.trainable_params(), 1e-3)
loss_fn = nn.CrossEntropyLoss()
grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
def train_step(x, y):
    loss, grads = grad_fn(x, y)
    {LINES}
    return loss
net.set_train()
for x, y in data:
    train_step(x, y)
"""


def step(lines: str = "optimizer(grads)", conv: str = "") -> str:
    return STEP.replace("{LINES}", lines.replace("; ", "\n    ")).replace("{CONV}", conv)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("ops.clip_by_global_norm(grads, 1.0); optimizer(grads)", P),
        ("clipped = ops.clip_by_global_norm(grads, 1.0); optimizer(grads)", P),
        ("optimizer(grads); grads = ops.clip_by_norm(grads, 1.0)", P),
        ("grads = ops.clip_by_global_norm(grads, 1.0); optimizer(grads)", A),
        ("clipped = ops.clip_by_value(grads, -1, 1); optimizer(clipped)", A),
        ("optimizer(ops.clip_by_global_norm(grads, 1.0))", A),
        ("norm = ops.clip_by_global_norm(grads, 1.0); optimizer(grads); print(norm)", A),
        ("optimizer(grads)", U),
    ],
)
def test_clipped_gradients_are_taken(lines: str, expected: str) -> None:
    assert state("script-clip-without-effect", step(lines)) == expected


@pytest.mark.parametrize(
    ("conv", "expected"),
    [
        (", padding=1", P),
        (', pad_mode="same", padding=1', P),
        (', 1, "valid", (1, 1, 1, 1)', P),
        (", 2, 1", P),
        ("", A),
        (', pad_mode="pad", padding=1', A),
        (", padding=0", A),
        (', 1, "pad", 1', A),
        (", pad_mode=mode, padding=1", A),
    ],
)
def test_a_padding_needs_its_mode(conv: str, expected: str) -> None:
    assert state("script-argument-inverted", step(conv=conv)) == expected


def test_paddings_of_other_libraries() -> None:
    """PyTorch and `mindspore.mint` pad by the number alone."""
    text = step(conv=", padding=1")
    mint = text.replace("from mindspore import nn, ops", "from mindspore.mint import nn, ops")
    torch = text.replace("import mindspore as ms", "import torch as ms").replace(
        "from mindspore", "from torch"
    )
    assert state("script-argument-inverted", mint) != P
    assert state("script-argument-inverted", torch) != P


RANKS = """
import os
import time
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.communication import init, get_rank, get_group_size
from mindspore.train import Model
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 2)
    def construct(self, x):
        return self.fc(x)
def build(path, training, rank, size):
    data = ds.MindDataset(path, num_shards=size, shard_id=rank, shuffle=training)
    return data.batch(32)
{SEED}
init()
rank, size = get_rank(), get_group_size()
{CONTEXT}
train_set = build("train", True, {TRAIN})
valid_set = build("valid", False, rank, size)
net = Net()
model = Model(net, nn.CrossEntropyLoss(), optimizer=nn.Adam(net.trainable_params(), 1e-3))
model.train(10, train_set)
"""
SHARED = (
    "ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True{MORE})"
)


def ranks(
    seed: str = "ms.set_seed(1)", context: str = SHARED, more: str = "", train: str = "rank, size"
) -> str:
    text = RANKS.replace("{SEED}", seed).replace("{CONTEXT}", context).replace("{TRAIN}", train)
    return text.replace("{MORE}", more)


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("", P),
        (SHARED.replace("DATA_PARALLEL", "STAND_ALONE"), P),
        (SHARED, A),
        ("ms.set_auto_parallel_context(parallel_mode=mode)", A),
        ("model = AutoParallel(net)", U),
    ],
)
def test_a_parallel_mode_joins_gradients(context: str, expected: str) -> None:
    assert state("script-no-gradient-synchronisation", ranks(context=context)) == expected


@pytest.mark.parametrize(
    ("seed", "more", "expected"),
    [
        ("ms.set_seed(1 + int(os.environ['RANK_ID']))", "", P),
        ("ms.set_seed(int(time.time()))", ", parameter_broadcast=False", P),
        ("", "", U),
        ("", ", parameter_broadcast=True", A),
        ("ms.set_seed(1)", "", A),
        ("np.random.seed(1)", "", U),
        ("ms.set_seed(1 + rank)", ", parameter_broadcast=True", A),
    ],
)
def test_all_processes_draw_the_same_weights(seed: str, more: str, expected: str) -> None:
    assert state("script-seed-by-rank", ranks(seed=seed, more=more)) == expected


@pytest.mark.parametrize(("train", "present"), [("size, rank", True), ("0, 1", True), ("rank, size", False)])
def test_each_process_reads_its_share(train: str, present: bool) -> None:
    assert (state("script-same-shard", ranks(train=train)) == P) is present


RESUME = """
import mindspore as ms
from mindspore import nn
net = nn.Dense(4, 2)
optimizer = nn.Adam(net.trainable_params(), 1e-3)
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
first = 0
if args.{FLAG}:
    saved = ms.load_checkpoint(args.{FLAG})
    {LOAD}
for epoch in range(first, 50):
    step.set_train()
    for x, y in data:
        step(x, y)
    ms.save_checkpoint({SAVE}, "last.ckpt", append_dict={"epoch": epoch + 1})
"""
COUNT = "\n    first = int(saved['epoch'])"


@pytest.mark.parametrize(
    ("flag", "load", "save", "present"),
    [
        ("resume", "ms.load_param_into_net(net, saved)" + COUNT, "step", True),
        ("resume", "ms.load_param_into_net(step, saved)" + COUNT, "step", False),
        (
            "resume",
            "ms.load_param_into_net(net, saved)\n    ms.load_param_into_net(optimizer, saved)" + COUNT,
            "step",
            False,
        ),
        ("resume", "ms.load_param_into_net(net, saved)" + COUNT, "net", False),
        ("pretrained", "ms.load_param_into_net(net, saved)", "step", False),
    ],
)
def test_the_optimizer_is_given_back(flag: str, load: str, save: str, present: bool) -> None:
    text = RESUME.replace("{FLAG}", flag).replace("{LOAD}", load).replace("{SAVE}", save)
    assert (state("script-resume-incomplete", text) == P) is present


BEST = """
import mindspore as ms
from mindspore import nn
from mindspore.train import Model
class Keep(ms.Callback):
    def epoch_end(self, run_context):
        acc = self.model.eval(self.data)["acc"]
        if acc > self.best:
            self.best = acc
            ms.save_checkpoint(self.net, "best.ckpt")
def main():
    net = nn.Dense(4, 2)
    {BEGIN}
    model = Model(net, nn.CrossEntropyLoss(), optimizer=nn.Adam(net.trainable_params()), metrics={"acc"})
    model.train(10, train_set, callbacks=[Keep(model, valid_set)])
    {END}
    print("test", model.eval({DATA}))
main()
"""
LOAD = "ms.load_param_into_net(net, ms.load_checkpoint('best.ckpt'))"


@pytest.mark.parametrize(
    ("begin", "end", "data", "present"),
    [
        ("pass", "pass", "test_set", True),
        (
            "if args.pre_trained: ms.load_param_into_net(net, ms.load_checkpoint('x'))",
            "pass",
            "test_set",
            True,
        ),
        ("pass", LOAD, "test_set", False),
        ("pass", "return", "test_set", False),
    ],
)
def test_the_best_weights_are_tested(begin: str, end: str, data: str, present: bool) -> None:
    text = BEST.replace("{BEGIN}", begin).replace("{END}", end).replace("{DATA}", data)
    if end == "return":
        text = text.replace('    return\n    print("test", model.eval(test_set))\n', "    print('done')\n")
    assert (state("script-last-instead-of-best", text) == P) is present


HALF = """
import mindspore as ms
from mindspore import nn
from mindspore.amp import DynamicLossScaler, all_finite
{MAKE}
net = nn.Dense(4, 2)
ms.amp.auto_mixed_precision(net, "O2")
optimizer = nn.Adam(net.trainable_params(), 1e-3)
def forward(x, y):
    return {LOSS}
grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
def update(x, y):
    loss, grads = grad_fn(x, y)
    {UNSCALE}
    finite = all_finite(grads)
    if finite:
        optimizer(grads)
    {ADJUST}
    return finite
for x, y in data:
    {CALL}
"""


@pytest.mark.parametrize(
    ("symptom", "scaled", "adjust", "call", "expected"),
    [
        ("script-half-without-scaler", False, "pass", "update(x, y)", P),
        ("script-half-without-scaler", True, "scaler.adjust(finite)", "update(x, y)", U),
        ("script-scaler-not-updated", True, "pass", "update(x, y)", P),
        ("script-scaler-not-updated", True, "pass", "track(update(x, y))", U),
        ("script-scaler-not-updated", True, "scaler.adjust(finite)", "update(x, y)", A),
    ],
)
def test_the_loss_scale(symptom: str, scaled: bool, adjust: str, call: str, expected: str) -> None:
    """A name that is only imported scales nothing."""
    text = HALF.replace("{MAKE}", "scaler = DynamicLossScaler(1024, 2, 1000)" if scaled else "")
    text = text.replace("{LOSS}", "scaler.scale(loss_fn(net(x), y))" if scaled else "loss_fn(net(x), y)")
    text = text.replace("{UNSCALE}", "grads = scaler.unscale(grads)" if scaled else "pass")
    assert state(symptom, text.replace("{ADJUST}", adjust).replace("{CALL}", call)) == expected


CALLBACK = """
from mindspore import nn
from mindspore.train import Callback, Model
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(p=0.1)
        self.fc = nn.Dense(4, 2)
    def construct(self, x):
        return self.fc(self.drop(x))
class Score(Callback):
    def __init__(self, net, data):
        self.net, self.data = net, data
    def on_train_epoch_end(self, run_context):
        {QUIET}
        hits = 0
        for x, y in self.data.create_tuple_iterator():
            hits += int(({RUN}(x).argmax(1) == y).sum())
        print(hits)
net = Net()
model = Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params()))
model.train(10, train_set, callbacks=[Score(net, valid_set)])
"""


@pytest.mark.parametrize(
    ("quiet", "run", "expected"),
    [
        ("pass", "self.net", P),
        ("self.net.set_train(True)", "self.net", P),
        ("self.net.set_train(False)", "self.net", A),
        ("self.net.set_train(mode)", "self.net", A),
        ("pass", "self.judge", U),
    ],
)
def test_a_callback_that_scores(quiet: str, run: str, expected: str) -> None:
    text = CALLBACK.replace("{QUIET}", quiet).replace("{RUN}", run)
    assert state("script-train-mode-while-evaluating", text) == expected


NESTED = """
import mindspore as ms
from mindspore import nn
class Trainer:
    def __init__(self):
        self.net = nn.SequentialCell(nn.Dense(4, 8), nn.Dropout(p=0.1), nn.Dense(8, 2))
        self.optimizer = nn.Adam(self.net.trainable_params())
        self.grad_fn = ms.value_and_grad(self.forward, None, self.optimizer.parameters)
    def forward(self, x, y):
        return nn.CrossEntropyLoss()(self.net(x), y)
    def step(self, x, y):
        loss, grads = self.grad_fn(x, y)
        self.optimizer(grads)
    def epoch(self):
        self.net.set_train()
        for x, y in self.train_set:
            self.step(x, y)
    def evaluate(self, data):
        {QUIET}
        hits = 0
        for x, y in data:
            hits += int((self.net(x).argmax(1) == y).sum())
        return hits
    def fit(self):
        best = 0
        for epoch in range(20):
            self.epoch()
            hits = self.evaluate(self.{DATA})
            if hits > best:
                best = hits
                ms.save_checkpoint(self.net, "best.ckpt")
        print(self.evaluate(self.valid_set))
"""


@pytest.mark.parametrize(
    ("symptom", "quiet", "data", "present"),
    [
        ("script-train-mode-while-evaluating", "pass", "valid_set", True),
        ("script-train-mode-while-evaluating", "self.net.set_train(False)", "valid_set", False),
        ("script-evaluates-training-data", "self.net.set_train(False)", "valid_set", False),
    ],
)
def test_a_step_two_calls_below_the_epochs(symptom: str, quiet: str, data: str, present: bool) -> None:
    text = NESTED.replace("{QUIET}", quiet).replace("{DATA}", data)
    assert (state(symptom, text) == P) is present


PIPELINE = """
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
def build(path, training, size=96):
    data = ds.ImageFolderDataset(path, shuffle=training)
    if training:
        steps = [vision.RandomCropDecodeResize(size)]
    else:
        steps = [vision.Decode(), vision.Resize(size)]
    {LINES}
    return data.batch(32)
train_set = build("train", True)
valid_set = build("valid", {FLAG})
model.train(10, train_set)
model.eval(valid_set)
"""


@pytest.mark.parametrize(
    ("lines", "flag", "present"),
    [
        ("steps += [vision.RandomHorizontalFlip(), vision.HWC2CHW()]; data = data.map(steps)", "False", True),
        ("steps.append(vision.RandomRotation(9)); data = data.map(operations=steps)", "False", True),
        ("data = data.map(steps); data = data.map(vision.RandomVerticalFlip())", "False", True),
        ("steps += [vision.HWC2CHW()]; data = data.map(steps)", "False", False),
        (
            "steps += [vision.RandomHorizontalFlip()] if training else []; data = data.map(steps)",
            "False",
            False,
        ),
        ("others = [vision.RandomHorizontalFlip()]; data = data.map(steps)", "False", False),
        ("steps += [vision.RandomHorizontalFlip()]; data = data.map(steps)", "valid", False),
        ("draw = ds.RandomSampler(); data = data.map(steps)", "False", False),
    ],
)
def test_steps_for_both_sides(lines: str, flag: str, present: bool) -> None:
    text = PIPELINE.replace("{LINES}", lines.replace("; ", "\n    ")).replace("{FLAG}", flag)
    assert (state("script-evaluation-augmented", text) == P) is present


MAPS = """
import mindspore.dataset as ds
import mindspore.dataset.transforms as transforms
import mindspore.dataset.vision as vision
train_steps = transforms.Compose([vision.RandomResizedCrop(96), vision.ToTensor()])
eval_steps = transforms.Compose([vision.Resize(96), vision.ToTensor()])
train_set = ds.ImageFolderDataset("train", shuffle=True)
valid_set = ds.ImageFolderDataset("valid", shuffle=False)
train_set = train_set.map({TRAIN}, "image").batch(32)
valid_set = valid_set.map({VALID}, "image").batch(32)
model.train(10, train_set)
model.eval(valid_set)
"""


@pytest.mark.parametrize(
    ("train", "valid", "expected"),
    [
        ("train_steps", "train_steps", P),
        ("eval_steps", "train_steps", P),
        ("train_steps", "eval_steps", A),
        ("train_steps", "train_steps if both else eval_steps", A),
    ],
)
def test_maps_by_their_names(train: str, valid: str, expected: str) -> None:
    assert (
        state("script-evaluation-augmented", MAPS.replace("{TRAIN}", train).replace("{VALID}", valid))
        == expected
    )


@pytest.mark.parametrize(("made", "present"), [("nn.Norm()", False), ("nn.LayerNorm((4,))", True)])
def test_a_norm_that_measures(made: str, present: bool) -> None:
    """MindSpore's `nn.Norm` gives the length of a vector."""
    text = CALLBACK.replace("{QUIET}", "pass").replace("{RUN}", "self.net")
    text = text.replace(
        "self.drop = nn.Dropout(p=0.1)", f"self.drop = nn.Dropout(p=0.1)\n        self.norm = {made}"
    )
    assert (state("script-norm-unused", text) == P) is present
