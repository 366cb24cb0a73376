"""What published programs do that somebody starts (examples, recipes, notebooks): no check may flag it.

Each stands beside a program that resembles it and has the fault.
"""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
TORCH = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

# ------------------------------------------------------------------------------ states by an accelerator

RESUME = """
import torch
from accelerate import Accelerator

class Trainer:
    def __init__(self, model, lr):
        self.accelerator = Accelerator()
        optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def keep(self, step):
        held = dict(
            weights=self.accelerator.unwrap_model(self.model).state_dict(),
            optimizer=self.accelerator.unwrap_model(self.optimizer).state_dict(),
            schedule=self.scheduler.state_dict(),
            step=step,
        )
        self.accelerator.save(held, "last.pt")

    def take_up(self):
        held = torch.load("last.pt")
        self.accelerator.unwrap_model(self.model).load_state_dict(held["weights"])
        {OPTIMIZER}
        self.scheduler.load_state_dict(held["schedule"])
        return held["step"]

    def train(self, loader, epochs):
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, total_iters=100)
        step = self.take_up()
        for _ in range(epochs):
            for x, y in loader:
                self.accelerator.backward(torch.nn.functional.mse_loss(self.model(x), y))
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
                step += 1
            self.keep(step)
"""


@pytest.mark.parametrize(
    ("given_back", "told"),
    [
        ("self.accelerator.unwrap_model(self.optimizer).load_state_dict(held['optimizer'])", False),
        ("pass", True),
    ],
)
def test_a_state_that_is_read_is_given_back(given_back: str, told: bool) -> None:
    text = RESUME.replace("{OPTIMIZER}", given_back)

    assert (state("script-resume-incomplete", text) == P) is told


# ------------------------------------------------------------------------------ held-out rows cut out behind

CUT = """
import keras
from keras.datasets import mnist

class Worker:
    def __init__(self, n):
        (x_train, y_train), _ = mnist.load_data()
        x_train = x_train.astype("float32")
        {BEFORE}
        x_train /= 255
        {BEHIND}
        self.x_train, self.y_train = x_train[:n], y_train[:n]
        self.model = keras.Sequential([keras.layers.Dense(10, activation="softmax")])
        self.model.compile("adam", "sparse_categorical_crossentropy")
        self.model.fit(self.x_train, self.y_train, validation_data=(self.x_val, self.y_val))
"""
PART = "self.x_val, self.y_val = x_train[n:], y_train[n:]"


def test_rows_that_are_cut_out_of_scaled_ones_are_scaled() -> None:
    text = CUT.replace("{BEFORE}", "pass").replace("{BEHIND}", PART)

    assert state("script-splits-processed-differently", text) != P


def test_rows_that_are_cut_out_before_are_not() -> None:
    text = CUT.replace("{BEFORE}", PART).replace("{BEHIND}", "pass")

    assert state("script-splits-processed-differently", text) == P


# ------------------------------------------------------------------------------ pairs near each other

PAIRS = """
import numpy as np
from keras.models import Model

def compute_accuracy(y_true, y_pred):
    pred = y_pred.ravel() {SIGN} 0.5
    return np.mean(pred {HOLDS} y_true)

model.compile(loss=contrastive, optimizer="adam")
model.fit(x, y)
print(compute_accuracy(y_test, model.predict(x_test)))
"""


@pytest.mark.parametrize(("sign", "holds", "told"), [("<", "==", False), (">", "!=", True)])
def test_a_small_distance_says_yes(sign: str, holds: str, told: bool) -> None:
    text = PAIRS.replace("{SIGN}", sign).replace("{HOLDS}", holds)

    assert (state("script-metric-miscounts", text) == P) is told


# ------------------------------------------------------------------------------ steps of early flax

FLAX = """
import jax
from flax import optim

def train_step(optimizer, batch):
    (loss, acc), grad = jax.value_and_grad(loss_of(batch), has_aux=True)(optimizer.target)
    {STEP}
    return optimizer, loss

optimizer = optim.Adam(learning_rate=1e-4).create(params)
for batch in batches:
    optimizer, loss = train_step(optimizer, batch)
"""


@pytest.mark.parametrize("step", ["optimizer = optimizer.apply_gradient(grad)"])
def test_an_optimizer_that_gives_the_next_one_steps(step: str) -> None:
    assert state("script-step-missing", FLAX.replace("{STEP}", step)) != P


# ------------------------------------------------------------------------------ models that only answer

ANSWERS = (
    TORCH
    + """
def timed(loader):
    base = build()
    {FROZEN}
    for x, _ in loader:
        base(x)

def train(loader):
    model = build()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

timed(loader)
train(loader)
"""
)


def test_a_model_made_ready_to_answer_does_not_learn() -> None:
    text = ANSWERS.replace("{FROZEN}", "base.eval().requires_grad_(False).cuda()")

    assert state("script-part-not-trained", text) != P


# ------------------------------------------------------------------------------ all batches but the last

GATHERED = (
    TORCH
    + """
def train(model, batches, accumulation_steps):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(1000):
        for _ in range(accumulation_steps - 1):
            x, y = next(batches)
            loss = F.cross_entropy(model(x), y){DIVIDED}
            loss.backward()
        x, y = next(batches)
        loss = F.cross_entropy(model(x), y){DIVIDED}
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
)


@pytest.mark.parametrize(("divided", "told"), [(" / accumulation_steps", False), ("", True)])
def test_the_last_batch_is_gathered_too(divided: str, told: bool) -> None:
    assert (state("script-accumulation-wrong", GATHERED.replace("{DIVIDED}", divided)) == P) is told


# ------------------------------------------------------------------------------ constant weights

PATCHED = (
    TORCH
    + """
def RMSNorm_reset_parameters(self):
    with torch.no_grad():
        self.weight.fill_(1)

Norm.reset_parameters = RMSNorm_reset_parameters
loss.backward()
"""
)
GATE = (
    TORCH
    + """
class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        combine = nn.Linear(dim, 3 * heads)
        nn.init.zeros_(combine.weight)
        {BIAS}
        self.combine = nn.Sequential(combine, nn.Sigmoid())
        self.out = nn.Linear(3 * heads, dim)

    def forward(self, x):
        return self.out(self.combine(x))
"""
)


def test_weights_of_a_class_out_of_sight_may_be_those_of_a_norm() -> None:
    assert state("script-zero-init", PATCHED) != P


@pytest.mark.parametrize(
    ("bias", "told"),
    [("combine.bias.data.copy_(torch.tensor([-2.0, -2.0, 2.0] * heads))", False), ("pass", True)],
)
def test_a_gate_that_begins_as_its_bias_says(bias: str, told: bool) -> None:
    assert (state("script-zero-init", GATE.replace("{BIAS}", bias)) == P) is told


# ------------------------------------------------------------------------------ dropout that is told the mode

ESTIMATOR = """
import tensorflow as tf
import mesh_tensorflow as mtf

def model_fn(features, labels, mode, params):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    out = mtf.dropout(features["x"], {GIVEN}keep_prob=0.9)
    loss = mtf.reduce_mean(mtf.square(out - labels))
    train_op = tf.train.AdamOptimizer().minimize(loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

tf.estimator.Estimator(model_fn).train(input_fn)
"""


@pytest.mark.parametrize(("given", "told"), [("is_training, ", False), ("", True)])
def test_dropout_that_is_told_the_mode_by_its_place(given: str, told: bool) -> None:
    assert (state("script-mode-fixed", ESTIMATOR.replace("{GIVEN}", given)) == P) is told


# ------------------------------------------------------------------------------ scalers that are switched off

SCALER = (
    TORCH
    + """
from torch.cuda import amp
enable_amp = {ENABLED}

def train(model, loader, optimizer):
    for x, y in loader:
        with amp.autocast(enabled=enable_amp):
            loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

model = nn.Linear(3, 3)
optimizer = torch.optim.Adam(model.parameters())
scaler = amp.GradScaler(enabled=enable_amp)
train(model, loader, optimizer)
"""
)


@pytest.mark.parametrize(("enabled", "told"), [("False", False), ("True", True)])
def test_a_scaler_that_is_off_scales_nothing(enabled: str, told: bool) -> None:
    assert (state("script-loss-scale-missing", SCALER.replace("{ENABLED}", enabled)) == P) is told


# ------------------------------------------------------------------------------ samples without gradients

FLOW = (
    TORCH
    + """
class Flow(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    @torch.no_grad()
    def {NAME}(self, noise):
        return noise + self.model(noise)

    def forward(self, data):
        flow = self.model(data)
        return F.mse_loss(flow, data - self.{NAME}(data))

model = Flow(nn.Linear(3, 3))
optimizer = torch.optim.Adam(model.parameters())
for data in loader:
    optimizer.zero_grad()
    model(data).backward()
    optimizer.step()
"""
)


def test_a_sample_is_drawn_without_gradients() -> None:
    assert state("script-wiring-wrong", FLOW.replace("{NAME}", "sample")) != P


ROLLED = (
    TORCH
    + """
class Roll(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Linear(dim, dim)

    def forward(self, x, targets):
        total = 0.0
        for t in range(4):
            answer = self.net(x)
            {SCORED}
            x = (x + 0.1 * answer).detach()
        return total {LAST}

model = Roll(8)
optimizer = torch.optim.Adam(model.parameters())
for x, targets in loader:
    optimizer.zero_grad()
    model(x, targets).backward()
    optimizer.step()
"""
)


def test_a_roll_out_sets_out_from_answers_that_are_scored() -> None:
    text = ROLLED.replace("{SCORED}", "total = total + F.mse_loss(answer, targets[t])").replace("{LAST}", "")

    assert state("script-wiring-wrong", text) != P


def test_answers_that_are_scored_behind_the_cut_alone_learn_nothing() -> None:
    text = ROLLED.replace("{SCORED}", "pass").replace("{LAST}", "+ F.mse_loss(x, targets[0])")

    assert state("script-wiring-wrong", text) == P


# ------------------------------------------------------------------------------ faults missed in them

BYTES = """
import numpy as np
import torch
from torch import nn

data = np.frombuffer(open("text", "rb").read(int(95e6)), dtype=np.uint8).copy()
train, valid = data[:int(90e6)], data[{FROM}:]
loader = torch.utils.data.DataLoader(Pieces(train), shuffle=True)
held_out = torch.utils.data.DataLoader(Pieces(valid))
for x, y in loader:
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
evaluate(model, held_out)
"""


@pytest.mark.parametrize(
    ("begin", "told"), [("int(85e6)", True), ("int(90e6)", False), ("int(90e6) - 512", False)]
)
def test_cuts_that_are_written_as_counts_meet(begin: str, told: bool) -> None:
    assert (state("script-training-sees-evaluation", BYTES.replace("{FROM}", begin)) == P) is told


RANGES = """
import torch
from torch.utils.data import DataLoader, SubsetRandomSampler
from torchvision.datasets import MNIST

def loaders(n_train=8192, n_valid=1024):
    data = MNIST("data", train=True)
    mine = SubsetRandomSampler(range(n_train))
    theirs = SubsetRandomSampler(range({HELD}))
    train_loader = DataLoader(dataset=data, batch_size=64, sampler=mine)
    valid_loader = DataLoader(dataset={DATA}, batch_size=64, sampler=theirs)
    return train_loader, valid_loader

train_loader, valid_loader = loaders()
for x, y in train_loader:
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
evaluate(model, valid_loader)
"""


@pytest.mark.parametrize(
    ("held", "data", "told"),
    [
        ("n_valid", "data", True),
        ("n_train, n_train + n_valid", "data", False),
        ("n_valid", "other", False),
        ("first, last", "data", False),
    ],
)
def test_ranges_of_one_data_set_meet(held: str, data: str, told: bool) -> None:
    text = RANGES.replace("{HELD}", held).replace("{DATA}", data)

    assert (state("script-training-sees-evaluation", text) == P) is told


COUNTED = """
import torch
from torch.utils.data import DataLoader, SubsetRandomSampler

class Worker:
    def __init__(self, data, n):
        self.held_out = DataLoader(data, batch_size=64, sampler={SAMPLER})

    def train(self, loader):
        for x, y in loader:
            torch.nn.functional.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return self.accuracy(self.held_out)

    def accuracy(self, loader):
        self.model.eval()
        correct = 0
        with torch.no_grad():
            for x, y in loader:
                correct += (self.model(x).argmax(1) == y).sum().item()
        return correct / len(loader.{OF})
"""


@pytest.mark.parametrize(
    ("sampler", "of", "told"),
    [
        ("SubsetRandomSampler(range(n))", "dataset", True),
        ("SubsetRandomSampler(range(n))", "sampler", False),
        ("None", "dataset", False),
    ],
)
def test_a_part_that_is_drawn_is_less_than_the_data(sampler: str, of: str, told: bool) -> None:
    text = COUNTED.replace("{SAMPLER}", sampler).replace("{OF}", of)

    assert (state("script-metric-wrong", text) == P) is told


MARKS = (
    TORCH
    + """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=186)
    parser.add_argument("--milestones", type=int, nargs="+", default={MARKS})
    args = parser.parse_args()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=args.milestones)
    for epoch in range(1, args.epochs + 1):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            {EACH}
        {ONCE}

main()
"""
)


@pytest.mark.parametrize(
    ("marks", "each", "once", "told"),
    [
        ("[81, 122]", "schedule.step()", "pass", True),
        ("[81, 122]", "pass", "schedule.step()", False),
        ("[120]", "schedule.step()", "pass", True),
        ("[120]", "pass", "schedule.step()", False),
        ("[2]", "schedule.step()", "pass", False),
        ("[400]", "schedule.step()", "pass", False),
        ("[32000, 48000]", "schedule.step()", "pass", False),
    ],
)
def test_milestones_of_epochs_moved_with_each_batch(marks: str, each: str, once: str, told: bool) -> None:
    text = MARKS.replace("{MARKS}", marks).replace("{EACH}", each).replace("{ONCE}", once)

    assert (state("script-schedule-wrong", text) == P) is told


INLINE = (
    TORCH
    + """
from torchvision import datasets, transforms

train_loader = torch.utils.data.DataLoader(
    datasets.CIFAR10("data", train=True, transform=transforms.Compose(
        [transforms.RandomCrop(32, 4), transforms.ToTensor()])), batch_size=64, shuffle=True)
test_loader = torch.utils.data.DataLoader(
    datasets.CIFAR10("data", train=False, transform=transforms.Compose(
        [{STEP}transforms.ToTensor()])), batch_size=64)
for x, y in train_loader:
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
evaluate(model, test_loader)
"""
)


@pytest.mark.parametrize(
    ("step", "told"),
    [("transforms.RandomCrop(32, 4), ", True), ("transforms.CenterCrop(32), ", False), ("", False)],
)
def test_random_steps_that_stand_in_the_call_of_held_out_data(step: str, told: bool) -> None:
    assert (state("script-evaluation-augmented", INLINE.replace("{STEP}", step)) == P) is told


OPTIONS = (
    TORCH
    + """
def main(args):
    options = {"batch_size": args.batch_size}
    more = {"num_workers": 1{SHUFFLE}}
    if torch.cuda.is_available():
        options.update(more)
    train_loader = torch.utils.data.DataLoader(train_set, **{GIVEN})
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
)


@pytest.mark.parametrize(
    ("shuffle", "given", "told"),
    [("", "options", True), (', "shuffle": True', "options", False), ("", "args.options", False)],
)
def test_a_loader_of_options_that_never_shuffle(shuffle: str, given: str, told: bool) -> None:
    text = OPTIONS.replace("{SHUFFLE}", shuffle).replace("{GIVEN}", given)

    assert (state("script-loader-keeps-order", text) == P) is told


OUT_OF_SIGHT = """
import torch
import torch.nn.functional as F
from . import anything
from .elsewhere import help

def train(model, loader, optimizer):
    model.train()
    for x, y in loader:
        loss = F.nll_loss(model(x), y)
        loss.backward()
        optimizer.step()
        {ALSO}

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    train(model, loader, optimizer)
"""


@pytest.mark.parametrize(
    ("also", "told"), [("print(loss.item())", True), ("help(optimizer)", False), ("help(model)", False)]
)
def test_a_loop_that_hands_nothing_on_clears_nothing(also: str, told: bool) -> None:
    assert (state("script-gradients-not-cleared", OUT_OF_SIGHT.replace("{ALSO}", also)) == P) is told


OPTAX = """
import jax
import optax

opt_init, opt_update = optax.adam(1e-2)

def update(params, state):
    grads = jax.grad(loss)(params)
    updates, state = opt_update(grads, state)
    return {GIVEN}, state

for _ in range(100):
    params, state = update(params, state)
"""


@pytest.mark.parametrize(
    ("given", "told"), [("params", True), ("optax.apply_updates(params, updates)", False)]
)
def test_updates_that_nothing_applies(given: str, told: bool) -> None:
    assert (state("script-step-missing", OPTAX.replace("{GIVEN}", given)) == P) is told


LOGISTIC = (
    TORCH
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros({SIZES}))

    def forward(self, x):
        return x @ self.w

class Child:
    def begin(self):
        self.module.w.data.zero_()

    def train(self, x, y):
        F.cross_entropy(self.module(x), y).backward()
        self.optimizer.step()
"""
)


def test_the_weights_of_one_unit_may_start_at_zero() -> None:
    assert state("script-zero-init", LOGISTIC.replace("{SIZES}", "20")) != P


SEVERAL = """
import torch
import torch.nn.functional as F

def inference(network, loader):
    network.eval()
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            pred = network(data).data.max(1, keepdim=True)[1]
            correct += pred.eq(target.data.view_as(pred)).sum()
    accuracy = float(correct / len(loader.dataset))
    return accuracy

class Flow:
    def join(self, inputs):
        reached_accuracy = 0
        for one in inputs:
            accuracy_of_one = inference(one.model, self.loader)
            if accuracy_of_one > reached_accuracy:
                reached_accuracy = accuracy_of_one
        return reached_accuracy
"""


def test_a_loop_over_networks_goes_through_no_batches() -> None:
    assert state("script-metric-miscounts", SEVERAL) != P


NETS = (
    TORCH
    + """
weigher = nn.Sequential(nn.Linear(1, 100), nn.ReLU(), nn.Linear(100, 1), nn.Sigmoid())
classifier = nn.Sequential(nn.Flatten(), nn.Linear(784, 10){END})

class Problem(Base):
    def training_step(self, batch):
        x, y = batch
        loss = F.cross_entropy(self.module(x), y, reduction="none").reshape(-1, 1)
        return torch.mean(self.weigher(loss.detach()) * loss)

Engine([Problem(module=classifier)]).run()
"""
)


@pytest.mark.parametrize(("end", "told"), [("", False), (", nn.Softmax(dim=1)", True)])
def test_another_network_may_end_in_a_sigmoid(end: str, told: bool) -> None:
    assert (state("script-double-softmax", NETS.replace("{END}", end)) == P) is told


TOLD_BETTER = """
import torch

best_acc1 = 0.0
for epoch in range(90):
    train(train_loader, model, optimizer)
    acc1 = validate(val_loader, model)
    is_best = acc1 > best_acc1
    best_acc1 = {NEXT}
    save({"net": model.state_dict(), "best": best_acc1}, is_best)


def train(loader, model, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("following", "told"),
    [("acc1", True), ("max(acc1, best_acc1)", False), ("acc1 if is_best else best_acc1", False)],
)
def test_the_best_so_far_is_replaced_when_it_is_better(following: str, told: bool) -> None:
    assert (state("script-best-chosen-wrongly", TOLD_BETTER.replace("{NEXT}", following)) == P) is told


PARTS = (
    TORCH
    + """
from torchvision import datasets, transforms

train_loader = torch.utils.data.DataLoader(
    datasets.MNIST("data", train=True, download=True, transform=transforms.ToTensor()),
    batch_size=64, shuffle=True)
test_loader = torch.utils.data.DataLoader(
    datasets.MNIST("data", train={PART}, transform=transforms.ToTensor()), batch_size=64{MORE})
for x, y in train_loader:
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
evaluate(model, test_loader)
"""
)


@pytest.mark.parametrize(
    ("part", "more", "told"), [("True", "", True), ("False", "", False), ("True", ", sampler=held", False)]
)
def test_held_out_data_that_are_asked_for_as_training_data(part: str, more: str, told: bool) -> None:
    text = PARTS.replace("{PART}", part).replace("{MORE}", more)

    assert (state("script-training-sees-evaluation", text) == P) is told


RANKS = """
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from . import anything
from .elsewhere import help

def main(args):
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=64, shuffle=(sampler is None), sampler=sampler)
    for epoch in range(args.epochs):
        {SET}
        train(loader, model, optimizer)

def train(loader, model, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("pass", True),
        ("sampler.set_epoch(epoch)", False),
        ("loader.sampler.set_epoch(epoch)", False),
        ("help(sampler, epoch)", False),
    ],
)
def test_a_sampler_that_goes_into_a_loader_alone_is_told_no_epoch(how: str, told: bool) -> None:
    assert (state("script-set-epoch-missing", RANKS.replace("{SET}", how)) == P) is told


TAUGHT = """
import torch
from torch import nn

model = nn.Linear(3, 3)
optimizer = torch.optim.Adam(model.parameters())
trainer = Trainer({GIVEN}, optimizer=optimizer)
model.load_state_dict(torch.load("weights.pt"))
model = {MADE}
for x, y in loader:
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "made", "told"),
    [
        ("model", "trainer.train()", False),
        ("other", "trainer.train()", True),
        ("model", "nn.Linear(3, 3)", True),
    ],
)
def test_a_trainer_gives_back_the_model_that_it_was_given(given: str, made: str, told: bool) -> None:
    text = TAUGHT.replace("{GIVEN}", given).replace("{MADE}", made)

    assert (state("script-pretrained-lost", text) == P) is told


# ---------------------------------------------------------------- shapes and sizes are no processing

SIZES = """
import numpy as np
import torch

def load():
    data = np.load("x.npy")
    train, dev = int(len(data) * 0.8), int(len(data) * 0.1)
    trainX, testX = data[:train], data[train:]
    trainX = trainX.reshape(50, 20, 3)
    {TEST}
    return trainX, testX
"""


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("testX = testX.reshape(1, 2 * 20, 3)", False),
        ("testX = testX / 2.5", True),
        ("testX = (testX / 2.5).reshape(1, 2 * 20, 3)", True),
    ],
)
def test_another_shape_is_no_other_processing(test: str, told: bool) -> None:
    assert (state("script-splits-processed-differently", SIZES.replace("{TEST}", test)) == P) is told


LENGTHS = """
import torch
from torch.utils.data import Dataset

class Hours(Dataset):
    def __init__(self, df, part, held=0.1):
        self.df = df
        self.dev_slice = int(len(self.df) * held)
        self.train_slice = int(len(self.df) * (1 - 2 * held))
        ends = self.train_slice + self.dev_slice
        self.rows = df[: self.train_slice] if part == "train" else df[self.train_slice : ends]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return torch.tensor(self.rows[i])

train, dev = Hours(df, "train"), Hours(df, "dev")
"""


def test_sizes_of_sides_are_not_done_to_them() -> None:
    assert state("script-splits-processed-differently", LENGTHS) != P
