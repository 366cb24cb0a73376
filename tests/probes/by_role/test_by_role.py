"""What training does on either side, role by role: slips of three frameworks, and the same in other words."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_role.compare import told
from traindoctor.probes.scripts.syntax import Script

TORCH = """
import math
import torch
from torch import nn
import torch.nn.functional as F
from torchvision import datasets, transforms
MEAN, STD = [0.48, 0.45, 0.40], [0.22, 0.22, 0.22]
train_tf = transforms.Compose([
    transforms.Resize((96, 96), interpolation=transforms.InterpolationMode.BILINEAR),
    transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
loader = torch.utils.data.DataLoader(datasets.ImageFolder("a/train", train_tf), batch_size=32, shuffle=True)
EPOCHS = 20
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.LeakyReLU(0.1))
        self.act = nn.GELU()
        self.head = nn.Linear(32, 10)
    def attend(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / math.sqrt(64)
        return F.softmax(scores, -1) @ v
    def forward(self, x):
        h = self.act(self.body(x).mean((2, 3)))
        return self.head(h)
net = Net()
for m in net.modules():
    if isinstance(m, nn.Linear):
        nn.init.trunc_normal_(m.weight, std=0.02)
norms = [p for p in net.parameters() if p.ndim < 2]
rest = [p for p in net.parameters() if p.ndim > 1]
groups = [{"params": rest, "weight_decay": 0.05}, {"params": norms, "weight_decay": 0.0}]
opt = torch.optim.AdamW(groups, lr=1e-3)
warmup_steps = 100
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, s / warmup_steps))
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(EPOCHS):
    for x, y in loader:
        loss = loss_fn(net(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
    torch.save(net.state_dict(), "best.pt")
net.load_state_dict(torch.load("best.pt"))
"""
KERAS = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
mean = tf.constant([0.48, 0.45, 0.40]) * 255.0
std = tf.constant([0.22, 0.22, 0.22]) * 255.0
data = keras.utils.image_dataset_from_directory(
    "a/train", image_size=(96, 96), interpolation="bilinear", shuffle=True)
steps = len(data)
data = data.map(lambda x, y: (tf.image.random_flip_left_right(x), y)).map(lambda x, y: ((x - mean) / std, y))
init = keras.initializers.TruncatedNormal(stddev=0.02)
x = inputs = keras.Input((96, 96, 3))
x = layers.Conv2D(32, 3, padding="same")(x)
x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
x = layers.LeakyReLU(0.1)(x)
x = layers.GlobalAveragePooling2D()(x)
x = keras.activations.gelu(x)
model = keras.Model(inputs, layers.Dense(10, kernel_initializer=init)(x))
warmup_steps = 100
rate = keras.optimizers.schedules.CosineDecay(0.0, 20 * steps, warmup_target=1e-3, warmup_steps=warmup_steps)
opt = keras.optimizers.AdamW(rate, weight_decay=0.05, global_clipnorm=1.0)
opt.exclude_from_weight_decay(var_names=["gamma", "beta", "bias"])
model.compile(opt, keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1))
keep = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
model.fit(data, epochs=20, callbacks=[keep])
"""
MINDSPORE = """
import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
from mindspore import nn, ops
from mindspore.common.initializer import TruncatedNormal
def loader(folder, training):
    data = ds.ImageFolderDataset(folder, shuffle=training)
    steps = [vision.Decode(), vision.Resize((96, 96), vision.Inter.LINEAR)]
    steps += [vision.RandomHorizontalFlip()] if training else []
    steps += [vision.Rescale(1 / 255.0, 0.0), vision.Normalize([0.48, 0.45, 0.40], [0.22, 0.22, 0.22])]
    return data.map(steps + [vision.HWC2CHW()], "image").batch(32)
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 32, 3, pad_mode="pad", padding=1)
        self.norm = nn.BatchNorm2d(32)
        self.slope = nn.LeakyReLU(0.1)
        self.gelu = nn.GELU(approximate=False)
        self.head = nn.Dense(32, 10, weight_init=TruncatedNormal(0.02))
        self.scale = 64 ** -0.5
    def attend(self, q, k, v):
        scores = ops.matmul(q, k.swapaxes(-2, -1)) * self.scale
        return ops.matmul(ops.softmax(scores, axis=-1), v)
    def construct(self, x):
        return self.head(self.gelu(self.slope(self.norm(self.conv(x))).mean((2, 3))))
net = Net()
train = loader("a/train", True)
no_decay = [p for p in net.trainable_params() if p.ndim < 2]
decay = [p for p in net.trainable_params() if p.ndim > 1]
warmup_steps, total = 100, 20 * train.get_dataset_size()
rate = nn.WarmUpLR(1e-3, warmup_steps)
groups = [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}]
optimizer = nn.AdamWeightDecay(groups, learning_rate=rate)
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
def step(x, y):
    loss, grads = grad_fn(x, y)
    optimizer(ops.clip_by_global_norm(grads, 1.0))
    return loss
for epoch in range(20):
    net.set_train()
    for x, y in train.create_tuple_iterator():
        step(x, y)
ms.load_param_into_net(net, ms.load_checkpoint("best.ckpt"))
"""
PROGRAMS = {"torch": TORCH, "keras": KERAS, "mindspore": MINDSPORE}


def _script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


def _kinds(mine: str, theirs: str) -> set[str]:
    return {t.kind for t in told(_script(mine), _script(theirs))}


@pytest.mark.parametrize("mine", PROGRAMS)
@pytest.mark.parametrize("theirs", PROGRAMS)
def test_one_recipe_in_three_frameworks_differs_in_nothing(mine: str, theirs: str) -> None:
    assert _kinds(PROGRAMS[mine], PROGRAMS[theirs]) == set()


SLIPS = [
    ("keras", ", global_clipnorm=1.0", "", "clipping-left-out"),
    ("mindspore", "ops.clip_by_global_norm(grads, 1.0)", "grads", "clipping-left-out"),
    ("keras", "global_clipnorm=1.0", "clipvalue=1.0", "clipping-by-value"),
    ("mindspore", "clip_by_global_norm(grads, 1.0)", "clip_by_value(grads, -1.0, 1.0)", "clipping-by-value"),
    ("keras", "optimizers.AdamW(rate, weight_decay=0.05", "optimizers.SGD(rate", "optimizer"),
    ("mindspore", "nn.AdamWeightDecay(", "nn.Adam(", "optimizer"),
    ("mindspore", "nn.AdamWeightDecay(groups", "nn.AdamWeightDecay(net.trainable_params()", ""),
    ("keras", "0.0, 20 * steps, warmup_target=1e-3, warmup_steps=warmup_steps", "1e-3, 20 * steps", "warmup"),
    ("keras", "warmup_steps = 100", "warmup_steps = 0", "warmup"),
    ("mindspore", "warmup_steps, total = 100", "warmup_steps, total = 0", "warmup"),
    ("keras", "CosineDecay(0.0, 20 * steps", "CosineDecay(0.0, 20", "schedule-stepped"),
    ("keras", ", label_smoothing=0.1", "", "regularisation-lowered"),
    ("mindspore", "label_smoothing=0.1", "", "regularisation-lowered"),
    ("keras", "(tf.image.random_flip_left_right(x), y)", "(x, y)", "regularisation-lowered"),
    ("mindspore", "[vision.RandomHorizontalFlip()] if training else []", "[]", "regularisation-lowered"),
    ("keras", ", shuffle=True", ", shuffle=False", "shuffling"),
    ("mindspore", "shuffle=training", "shuffle=False", "shuffling"),
    ("keras", 'interpolation="bilinear"', 'interpolation="nearest"', "interpolation"),
    ("keras", " * 255.0", "", "normalisation-values"),
    ("mindspore", "vision.Rescale(1 / 255.0, 0.0), ", "", "normalisation-values"),
    ("keras", 'padding="same"', 'padding="valid"', "padding"),
    ("mindspore", 'pad_mode="pad", padding=1', 'pad_mode="valid"', "padding"),
    ("keras", "LeakyReLU(0.1)", "LeakyReLU()", "activation"),
    ("mindspore", "nn.GELU(approximate=False)", "nn.GELU()", "activation"),
    ("keras", "x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)\n", "", "norm-layer"),
    ("mindspore", ", weight_init=TruncatedNormal(0.02)", "", "init"),
    ("mindspore", "64 ** -0.5", "256 ** -0.5", "scores-scale"),
    ("mindspore", "axis=-1", "axis=1", "softmax-axis"),
    ("keras", "restore_best_weights=True", "", ""),
    ("mindspore", 'ms.load_param_into_net(net, ms.load_checkpoint("best.ckpt"))', "", ""),
    (
        "keras",
        "CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)",
        "MeanSquaredError()",
        "loss-function",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "kind"), SLIPS)
def test_a_slip_of_the_port_is_told_by_its_role(name: str, old: str, new: str, kind: str) -> None:
    text = PROGRAMS[name].replace(old, new)
    assert text != PROGRAMS[name]
    assert (kind in _kinds(text, TORCH)) == bool(kind)


@pytest.mark.parametrize(
    ("scaled", "silent"),
    [
        ("transforms.ConvertImageDtype(torch.float32)", True),
        ("transforms.v2.ToDtype(torch.float32, scale=True)", True),
        ("transforms.Lambda(img_as_float32)", True),
        ("transforms.Lambda(torch.from_numpy)", False),
    ],
)
def test_other_ways_to_bring_images_to_one(scaled: str, silent: bool) -> None:
    text = TORCH.replace("transforms.ToTensor()", scaled)
    assert ("normalisation-values" not in _kinds(text, TORCH)) == silent


DRAWN = """
import torch
table = torch.nn.Embedding(90, 16)
torch.nn.init.normal_(table.weight, std=0.1)
opt = torch.optim.Adam(table.parameters(), lr=1e-3)
"""


@pytest.mark.parametrize(
    ("made", "silent"),
    [
        ("table = torch.nn.Parameter(0.1 * torch.randn(90, 16))", True),
        ("table = (0.1 * torch.randn(90, 16)).requires_grad_()", True),
        ("table = torch.randn(90, 16, requires_grad=True)", True),
        ("first = 0.1 * torch.randn(90, 16)\ntable = torch.nn.Parameter(first)", True),
        ("table = torch.nn.Embedding(90, 16)\nnoise = torch.randn(90, 16)", False),
    ],
)
def test_numbers_that_are_drawn_may_be_the_weights(made: str, silent: bool) -> None:
    text = f"import torch\n{made}\nopt = torch.optim.Adam([table], lr=1e-3)\n"
    assert ("init" not in _kinds(text, DRAWN)) == silent


TASKS = """
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel
positives, negatives = (labels == 1).sum(), (labels == 0).sum()
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(900, 64)
        self.head = nn.Linear(64, 900)
        self.head.weight = self.embed.weight
    def forward(self, x):
        return self.head(self.embed(x))
net = Tagger()
smooth = AveragedModel(net)
groups = [{"params": net.embed.parameters()}, {"params": net.head.parameters()}]
opt = torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True)
for epoch in range(5):
    for x, y in batches(tokens(max_length=128)):
        opt.zero_grad()
        aux = F.binary_cross_entropy_with_logits(net(x).mean(-1), y, pos_weight=negatives / positives)
        loss = F.cross_entropy(net(x), y) + 0.3 * aux
        loss.backward()
        opt.step()
        smooth.update_parameters(net)
    print(f1_score(truth, predict(smooth), average="macro"))
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("        self.head.weight = self.embed.weight\n", "", "weight-sharing"),
        ("        smooth.update_parameters(net)\n", "", "average-left-out"),
        ("predict(smooth)", "predict(net)", "average-left-out"),
        ("smooth = AveragedModel(net)\n", "", ""),
        (", nesterov=True", "", "optimizer-details"),
        ("momentum=0.9", "momentum=0.5", "optimizer-details"),
        ('{"params": net.embed.parameters()}, ', "", "optimizer-parameters"),
        ("max_length=128", "max_length=32", "sequence-length"),
        (", pos_weight=negatives / positives", "", "loss-weight"),
        ("negatives / positives", "positives / negatives", "loss-weight"),
        ('average="macro"', 'average="micro"', "metric"),
        (" + 0.3 * aux", "", "loss-function"),
        # the same in other words
        ("average=\"macro\"", "average='macro'", ""),
        ("negatives / positives", "(labels == 0).sum() / (labels == 1).sum()", ""),
        (
            "loss = F.cross_entropy(net(x), y) + 0.3 * aux",
            "ce_loss = F.cross_entropy(net(x), y)\n        loss = ce_loss + aux * 0.3", ""),
        ("self.head.weight = self.embed.weight", "self.embed.weight = self.head.weight", ""),
    ],
)  # fmt: skip
def test_slips_of_one_framework(old: str, new: str, kind: str) -> None:
    text = TASKS.replace(old, new)
    assert text != TASKS
    assert (kind in _kinds(text, TASKS)) if kind else _kinds(text, TASKS) <= {"average-left-out"}


def test_helpers_that_nothing_calls_do_nothing() -> None:
    unused = "\ndef clip_all(net):\n    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
    text = TORCH.replace("        nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n", "") + unused
    assert "clipping-left-out" in _kinds(text, TORCH)
    assert "clipping-left-out" not in _kinds(text + "clip_all(net)\n", TORCH)


TUNED = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torchvision.models import resnet50, ResNet50_Weights
dist.init_process_group("nccl")
world = dist.get_world_size()
frame = frame.fillna(frame.median())
net = resnet50(weights=ResNet50_Weights.DEFAULT)
for p in net.layer1.parameters():
    p.requires_grad = False
net = nn.parallel.DistributedDataParallel(net.cuda())
sampler = torch.utils.data.DistributedSampler(images)
loader = torch.utils.data.DataLoader(images, batch_size=32, sampler=sampler)
base = 0.1
opt = torch.optim.SGD(net.parameters(), lr=base * world, momentum=0.9)
for epoch in range(9):
    for x, y in loader:
        x = x.float() / 127.5 - 1.0
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("weights=ResNet50_Weights.DEFAULT", "weights=None", "pretrained"),
        ("weights=ResNet50_Weights.DEFAULT", "weights='IMAGENET1K_V2'", ""),
        ("net.layer1.parameters", "net.layer2.parameters", "frozen"),
        (
            "for p in net.layer1.parameters():\n    p.requires_grad = False",
            "net.layer1.requires_grad_(False)",
            "",
        ),
        ("base * world", "base * world * world", "rate-raised"),
        ("base * world", "base * dist.get_world_size()", ""),
        ("batch_size=32", "batch_size=256 // world", "rate-raised"),
        ("frame.median()", "0", "missing-values"),
        ("/ 127.5 - 1.0", "/ 255.0", "normalisation-values"),
        ("/ 127.5 - 1.0", "/ 255.0 * 2.0 - 1.0", ""),
    ],
)
def test_what_training_starts_from(old: str, new: str, kind: str) -> None:
    text = TUNED.replace(old, new)
    assert text != TUNED
    assert _kinds(text, TUNED) == ({kind} if kind else set())


def test_one_device_and_many_with_the_rate_of_the_batch_are_one_recipe() -> None:
    alone = TUNED.replace('dist.init_process_group("nccl")\nworld = dist.get_world_size()\n', "")
    alone = alone.replace("nn.parallel.DistributedDataParallel(net.cuda())", "net.cuda()")
    alone = alone.replace("base * world", "base").replace("sampler=sampler", "shuffle=True")
    alone = alone.replace("sampler = torch.utils.data.DistributedSampler(images)\n", "")
    assert _kinds(TUNED, alone) == set()
    assert _kinds(TUNED.replace("base * world", "base * world ** 0 * world"), alone) == set()


def test_one_weight_decay_for_all_is_told_where_the_benchmark_spares_norms() -> None:
    plain = TORCH.replace("AdamW(groups, lr=1e-3)", "AdamW(net.parameters(), lr=1e-3, weight_decay=0.05)")
    plain = plain.replace(TORCH[TORCH.index("norms = ") : TORCH.index("opt = ")], "")
    assert "groups-left-out" in _kinds(plain, TORCH)
    assert _kinds(TORCH, plain) == set()


BY_HAND = """
import numpy as np
import torch
import torch.nn.functional as F
rows = np.arange(len(x))
np.random.shuffle(rows)
held, rest = rows[:200], rows[200:]
def cross_entropy(a, b):
    return F.cross_entropy(a, b, ignore_index=255)
for epoch in range(30):
    order = np.random.permutation(rest)
    for start in range(0, len(order), 64):
        batch = order[start : start + 64]
        loss = cross_entropy(net(x[batch]), y[batch]) + 0.4 * cross_entropy(aux(x[batch]), y[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("order = np.random.permutation(rest)", "order = rest", "shuffling"),
        ("order = np.random.permutation(rest)", "order = rest[torch.randperm(len(rest))]", ""),
        (" + 0.4 * cross_entropy(aux(x[batch]), y[batch])", "", "loss-function"),
    ],
)
def test_batches_and_losses_written_by_hand(old: str, new: str, kind: str) -> None:
    text = BY_HAND.replace(old, new)
    assert text != BY_HAND
    assert _kinds(text, BY_HAND) == ({kind} if kind else set())


CLIP = "    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
SCALED = """        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        for p in net.parameters():
            {}
"""


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("p.grad.mul_(torch.clamp(1.0 / norm, max=1.0))", False),
        ("p.grad *= min(1.0, 1.0 / norm)", False),
        ("p.grad = p.grad * scale", False),
        ("p.grad.mul_(0.5)", True),
        ("print(p.grad.norm())", True),
    ],
)
def test_gradients_cut_by_hand_are_cut(step: str, said: bool) -> None:
    text = TORCH.replace("    " + CLIP, SCALED.format(step))
    assert text != TORCH
    assert ("clipping-left-out" in _kinds(text, TORCH)) is said


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("F.cross_entropy(net(x), y, shares)", False),
        ("nn.CrossEntropyLoss(shares)(net(x), y)", False),
        ("F.cross_entropy(net(x), y)", True),
    ],
)
def test_weights_of_classes_may_be_given_by_their_place(loss: str, said: bool) -> None:
    text = TORCH.replace("loss_fn(net(x), y)", loss).replace(", label_smoothing=0.1", "")
    right = TORCH.replace("label_smoothing=0.1", "weight=torch.tensor([0.3, 1.0])")
    assert ("loss-weight" in _kinds(text, right)) is said
