"""Ways of published training scripts that are right, each beside the fault that it looks like."""

from __future__ import annotations

import pytest

from .._scripts import state

LOOP = """
import torch, torch.nn as nn, torch.nn.functional as F
{}
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for x, y in train_loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


def told(symptom: str, *texts: str) -> list[str]:
    return [state(symptom, t) for t in texts]


def test_layers_with_a_named_activation_between_them() -> None:
    block = """
class Net(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        act = nn.ReLU()
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), {}nn.Linear(4 * dim, dim))
    def forward(self, x):
        return self.mlp(x)
"""
    right, wrong = LOOP.format(block.format("act, ")), LOOP.format(block.format(""))

    assert told("script-operator-wrong", right, wrong) == ["absent", "present"]


def test_a_bend_by_another_name() -> None:
    net = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 64), nn.Linear(64, 64), nn.Linear(64, 2)
    def forward(self, x):
        return self.c(self.b(self.a(x){0}){0})
"""
    right, wrong = LOOP.format(net.format(".asinh()")), LOOP.format(net.format(""))

    assert told("script-operator-wrong", right, wrong) == ["absent", "present"]


KERAS = """
import keras
from keras.models import Sequential
from keras.layers import Dense
{}
"""


def test_several_models_under_one_name_are_several() -> None:
    one = "model = Sequential()\n" + "model.add(Dense(32, activation='relu'))\n" * 7
    rest = "model.add(Dense(1))\nmodel.compile('adam', 'mse')\nmodel.fit(x, y, epochs=9)\n"
    right = KERAS.format((one + rest) * 3)
    wrong = KERAS.format(one + "model.add(Dense(32, activation='relu'))\n" * 16 + rest)

    assert told("script-norm-missing", right, wrong) == ["absent", "present"]


def test_last_layers_of_two_ways() -> None:
    text = """
def build(multi):
    model = Sequential()
    model.add(Dense(64, activation="relu"))
    {}
    return model
model = build(True)
model.fit(x_train, y_train)
"""
    ways = (
        "if multi:\n        model.add(Dense(4, activation='softmax'))\n        "
        "model.compile('adam', 'categorical_crossentropy')\n    else:\n        "
        "model.add(Dense(4, activation='sigmoid'))\n        model.compile('adam', 'binary_crossentropy')"
    )
    both = (
        "model.add(Dense(4, activation='softmax'))\n    model.add(Dense(4, activation='sigmoid'))\n    "
        "model.compile('adam', 'binary_crossentropy')"
    )
    right, wrong = KERAS.format(text.format(ways)), KERAS.format(text.format(both))

    assert told("script-operator-wrong", right, wrong) == ["absent", "present"]


def test_two_nets_that_take_turns_in_one_step() -> None:
    step = """
import torch, lightning as L
class Gan(L.LightningModule):
    def training_step(self, batch, batch_idx):
        {}
        d = self.score(self.gen(batch))
        self.manual_backward(d)
        self.opt_d.step()
        self.gen.train()
        g = self.score(self.gen(batch))
        self.manual_backward(g)
        self.opt_g.step()
        self.gen.eval()
"""
    wrong = step.replace("        self.gen.train()\n", "").format("pass")

    assert told("script-eval-in-training-step", step.format("self.gen.eval()"), wrong) == [
        "absent",
        "present",
    ]


def test_a_teacher_inside_the_model_may_be_put_into_evaluation_mode() -> None:
    text = """
import lightning as L
class Student(L.LightningModule):
    def on_train_epoch_start(self):
        self.model.{}eval()
    def training_step(self, batch, batch_idx):
        return self.loss(self.model(batch))
"""

    found = told("script-eval-in-training-step", text.format("teacher."), text.format(""))
    assert found == ["absent", "present"]


def test_detectors_give_losses_in_training_mode_alone() -> None:
    text = """
import lightning as L
class Detector(L.LightningModule):
    def training_step(self, batch, batch_idx):
        return sum(self.model(*batch).values())
    def validation_step(self, batch, batch_idx):
        self.train()
        {}
"""
    right = text.format("loss_dict = self.model(*batch)\n        self.log('val', sum(loss_dict.values()))")
    wrong = text.format("self.log('val', self.loss(self.model(batch[0]), batch[1]))")

    assert told("script-mode-astray", right, wrong) == ["absent", "present"]


def test_a_matrix_of_features_holds_no_samples() -> None:
    text = """
import torch
def step(model, batch):
    a, b = batch
    x, y = model(a), model(b)
    {}
    return off.sum()
for epoch in range(9):
    for batch in loader:
        opt.zero_grad()
        loss = step(model, batch)
        loss.backward()
        opt.step()
"""
    right = text.format("c = (x.T @ y) / len(x)\n    off = (c - torch.eye(len(c))).pow(2)")
    wrong = text.format("off = (x - y).pow(2)")

    assert told("script-loss-wrong", right, wrong)[1] == "present"
    assert state("script-loss-wrong", right) != "present"


BEST = """
import copy, torch
def fit(net, loader, opt, epochs):
    best_loss = float("inf")
    for epoch in range(epochs):
        train_one(net, loader, opt)
        val_loss = validate(net)
        if {}:
            best_loss = val_loss
            best = copy.deepcopy(net.state_dict())
    net.load_state_dict(best)
    return net
def train_one(net, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize("test", ["val_loss - best_loss < tol", "best_loss - val_loss > 1e-4"])
def test_a_difference_to_the_best_by_some_tolerance(test: str) -> None:
    assert state("script-best-chosen-wrongly", BEST.format(test)) == "absent"


@pytest.mark.parametrize("test", ["val_loss - best_loss > tol", "val_loss > best_loss"])
def test_a_difference_to_the_best_the_wrong_way_round(test: str) -> None:
    assert state("script-best-chosen-wrongly", BEST.format(test)) == "present"


def test_a_count_against_its_limit_is_no_figure() -> None:
    text = """
class Stop:
    def __init__(self):
        self.max_stale, self.stale = 5, 0
    def update(self, trainer, loss):
        self.stale += 1
        if self.stale >= self.max_stale:
            self.stale = 0
            torch.save(trainer.net.state_dict(), "last.pt")
"""

    assert state("script-best-chosen-wrongly", LOOP.format(text)) != "present"


def test_the_lowest_of_scores_that_are_losses() -> None:
    right = BEST.replace("best_loss", "lowest_loss").replace("val_loss", "score_ma")
    wrong = right.format("score_ma > lowest_loss")

    found = told("script-best-chosen-wrongly", right.format("score_ma < lowest_loss"), wrong)
    assert found == ["absent", "present"]


def test_the_newest_of_several_nets_is_no_part() -> None:
    text = """
import torch
class Grower:
    def __init__(self):
        self.nets = [Net(8)]
    def fit(self, x, y):
        net = self.nets{}
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for epoch in range(20):
            opt.zero_grad()
            loss = crit(net(x), y)
            loss.backward()
            opt.step()
"""

    assert told("script-part-not-trained", text.format("[-1]"), text.format("[0]")) == ["absent", "present"]


def test_accumulation_divided_by_a_number_with_a_point() -> None:
    text = """
import torch
for i, (x, y) in enumerate(loader):
    loss = crit(net(x), y){}
    loss.backward()
    if (i + 1) % accum == 0:
        opt.step()
        opt.zero_grad()
"""

    found = told("script-accumulation-wrong", text.format(" / float(accum)"), text.format(""))
    assert found == ["absent", "present"]


def test_a_loss_that_counts_by_its_share() -> None:
    text = """
import torch
for batch in batches:
    for part in batch.chunk(steps):
        loss = crit(net(part.x), part.y)
        {}
        loss.backward()
    opt.step()
    opt.zero_grad()
"""

    assert state("script-accumulation-wrong", text.format("loss *= len(part) / len(batch)")) != "present"


def test_turns_of_two_nets_are_no_accumulation() -> None:
    text = """
import torch
for i, real in enumerate(loader):
    d_opt.zero_grad()
    d_loss = crit(dis(torch.cat([real, gen(noise())])), labels)
    if i % every_dis == 0:
        d_loss.backward(retain_graph=True)
        d_opt.step()
    if i % every_gen == 0:
        g_opt.zero_grad()
        g_loss = crit(dis(gen(noise())), ones)
        g_loss.backward()
        g_opt.step()
"""
    wrong = """
import torch
for i, (x, y) in enumerate(loader):
    opt.zero_grad()
    loss = crit(net(x), y) / accum
    loss.backward()
    if (i + 1) % accum == 0:
        opt.step()
"""

    assert state("script-accumulation-wrong", text) != "present"
    assert state("script-accumulation-wrong", wrong) == "present"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("print(runs[pred_scores.argmin()])", False),
        ("best = np.argmax(scores) if mode == 'max' else np.argmin(scores)", False),
        ("print(class_names[logits.argmin()])", True),
        ("pred = logits.argmin(dim=1)\nhits = (pred == y).sum()", True),
    ],
)
def test_the_place_of_the_smallest(line: str, found: bool) -> None:
    text = LOOP.format("class Net(nn.Module):\n    pass\n") + line

    assert (state("script-metric-wrong", text) == "present") is found


def test_the_degrees_of_a_rotation() -> None:
    text = "from torchvision import transforms\n" + LOOP.format(
        "class Net(nn.Module):\n    pass\ntf = transforms.Compose([transforms.RandomRotation({})])"
    )
    right, wrong = text.format("degrees=5, fill=255"), text.format("degrees=120, fill=0")

    assert told("script-augmentation-extreme", right, wrong) == ["absent", "present"]


@pytest.mark.parametrize(
    "lines",
    [
        "labels = sorted(labels)\nids = {}\nfor i, label in enumerate(labels):\n    ids[label] = i",
        "labels = sorted(table.keys())",
        "labels = sorted(labels)\nprint([l for l in labels])",
    ],
)
def test_sorted_classes_are_no_sorted_rows(lines: str) -> None:
    text = LOOP.format("class Net(nn.Module):\n    pass\n" + lines)

    assert state("script-labels-permuted-alone", text) != "present"


def test_sorted_targets_are_told() -> None:
    text = """
class Net(nn.Module):
    pass
x, y = load("rows.csv")
y = torch.tensor(sorted(y))
train_loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
"""

    assert state("script-labels-permuted-alone", LOOP.format(text)) == "present"


def test_a_codebook_learns_by_the_other_side() -> None:
    text = """
class Quantizer(nn.Module):
    def forward(self, z):
        quantized = self.codebook(self.nearest(z))
        book = F.mse_loss(quantized.detach(), z)
        commit = F.mse_loss(quantized, z.detach())
        return book + 0.25 * commit
class Net(Quantizer):
    pass
"""

    assert state("script-wiring-wrong", LOOP.format(text)) != "present"


def test_layers_of_a_library_that_nobody_knows() -> None:
    text = """
import torch
import {0}
model = torch.nn.Sequential({1}(256, 512), torch.nn.GELU(), {1}(512, 64))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(50):
    x = torch.rand(128, 256)
    opt.zero_grad()
    loss = model(x).float().pow(2).mean()
    loss.backward()
    opt.step()
"""

    assert state("script-wiring-wrong", text.format("fast_layers", "fast_layers.Dense")) != "present"


def test_words_numbered_by_one_list() -> None:
    text = """
import torch
chars = read("songs.txt")
idx_to_char = {0}
char_to_idx = dict([(c, i) for i, c in enumerate({1})])
for x, y in loader:
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
"""
    right = text.format("list(set(chars))", "idx_to_char")
    wrong = text.format("sorted(set(chars))", "chars")

    assert state("script-words-numbered-apart", right) != "present"
    assert state("script-words-numbered-apart", wrong) == "present"


def test_a_part_that_is_split_off_is_other_data() -> None:
    text = """
import torch
from torchvision import transforms as T
from torchvision.datasets import MNIST
from torch.utils.data import DataLoader, random_split
import lightning as L
class Data(L.LightningDataModule):
    def setup(self, stage=None):
        full = MNIST(root="d", train=True, transform=self.tf)
        self.train_set, self.val_set = random_split(dataset=full, lengths=[55000, 5000])
        self.test_set = MNIST(root="d", train=False, transform={})
    def train_dataloader(self):
        return DataLoader(dataset=self.train_set, batch_size=64, shuffle=True)
    def val_dataloader(self):
        return DataLoader(dataset=self.val_set, batch_size=64)
    def test_dataloader(self):
        return DataLoader(dataset=self.test_set, batch_size=64)
    def __init__(self):
        self.tf = T.Compose([T.ToTensor(), T.Normalize((0.1307,), (0.3081,))])
L.Trainer().fit(Net(), Data())
"""

    assert state("script-held-out-shifted", text.format("self.tf")) != "present"
    assert state("script-splits-processed-differently", text.format("self.tf")) != "present"
    parted = "self.train_set, self.val_set = random_split(dataset=full, lengths=[55000, 5000])"
    wrong = text.replace(parted, "self.train_set = full").replace("self.test_set", "self.val_set")
    wrong = wrong.format("T.ToTensor()")
    assert state("script-splits-processed-differently", wrong) == "present"


def test_folders_of_one_augmenting_maker() -> None:
    text = """
import numpy as np
from tensorflow import keras
base = keras.applications.InceptionV3(include_top=False, pooling="avg")
maker = keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255)
flow = maker.flow_from_directory("data/train", shuffle=False, batch_size=16)
x = base.predict(flow)
y = np.eye(5)[flow.classes][:3168]
flow = maker.flow_from_directory({}, shuffle=False, batch_size=16)
x_val = base.predict(flow)
y_val = np.eye(5)[flow.classes][:496]
model = keras.Sequential([keras.layers.Dense(5, activation="softmax")])
model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=20, validation_data=(x_val, y_val))
"""

    found = told("script-training-sees-evaluation", text.format("'data/val'"), text.format("'data/train'"))
    assert found == ["absent", "present"]


def test_labels_by_where_are_of_all_rows() -> None:
    text = """
import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split
(x_a, y_a), (x_b, y_b) = tf.keras.datasets.cifar10.load_data()
x, y = np.concatenate([x_a, x_b]), np.concatenate([y_a, y_b]).flatten()
mask = (y == 0) | (y == 9)
x, y = x[mask] / 255.0, np.where(y[mask] == 0, 0, 1)
x_train, x_rest, y_train, y_rest = train_test_split(x, y, test_size=0.4, random_state=3)
x_val, x_test, y_val, y_test = train_test_split({}, test_size=0.5, random_state=3)
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=5)
print(model.evaluate(x_test, y_test))
"""

    found = told("script-training-sees-evaluation", text.format("x_rest, y_rest"), text.format("x, y"))
    assert found == ["absent", "present"]


def test_a_name_of_a_part_that_is_only_a_label() -> None:
    text = """
import torch
def step({0}):
    x, y = {1}
    return crit(net(x), y)
for epoch in range(9):
    opt.zero_grad()
    loss = step("train"{2})
    loss.backward()
    opt.step()
    print(step("val"{3}))
"""
    right = text.format("stage, batch", "batch", ", next(train_batches)", ", next(val_batches)")
    wrong = text.format("stage", "draw(data)", "", "")

    assert state("script-training-sees-evaluation", right) != "present"
    assert state("script-training-sees-evaluation", wrong) == "present"


def test_numbers_of_rows_beside_the_rows() -> None:
    text = """
import torch
from sklearn.model_selection import train_test_split
x_train, x_val, y_train, y_val, index_train, index_val = train_test_split(x, y, index, test_size=0.1)
best = 0
for epoch in range(20):
    train(net, x_train, y_train)
    score = evaluate(net, {}, y_{})
    if score > best:
        best = score
        torch.save(net.state_dict(), "best.pt")
print(evaluate(net, x_test, y_test))
"""

    assert state("script-training-sees-evaluation", text.format("x_val", "val")) != "present"


def test_an_average_that_another_method_moves_on() -> None:
    text = """
import copy, torch
class EMA:
    def __init__(self, net):
        self.net, self.average = net, copy.deepcopy(net)
    def update(self):
        self.update_average()
    def update_average(self):
        for a, b in zip(self.average.parameters(), self.net.parameters()):
            a.data.mul_(self.decay).add_(b.data, alpha=1 - self.decay)
ema = EMA(net)
for x, y in loader:
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
    {}
print(evaluate(ema.average, val_loader))
"""
    found = told("script-evaluates-stale-copy", text.format("ema.update()"), text.format("pass"))

    assert found == ["absent", "present"]


def test_files_of_two_classes_are_no_pair() -> None:
    text = """
from pathlib import Path
class Images(Dataset):
    def __init__(self, folder):
        self.paths = {0}(Path(folder).glob("*.png"))
        {1}
    def __getitem__(self, index):
        return read(self.paths[index]){2}
class Memory(Dataset):
    def __init__(self, table):
        self.table = table
    def __getitem__(self, index):
        return self.table[index]
class Net(nn.Module):
    pass
"""
    right = LOOP.format(text.format("list", "pass", ""))
    wrong = LOOP.format(text.format("list", "self.marks = load(folder)", ", self.marks[index]"))

    assert state("script-sample-torn-apart", right) != "present"
    assert state("script-sample-torn-apart", wrong) == "present"


def test_the_answers_of_the_last_epoch_are_all_that_is_meant() -> None:
    text = """
import torch
for epoch in range(250):
    {}
    for x in loader:
        {}
        out, code = net(x)
        loss = crit(out, x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        codes.append(code)
all_codes = torch.stack(codes)
"""

    assert state("script-metric-miscounts", text.format("codes = []", "pass")) != "present"


def test_gradients_for_every_caller_and_a_second_step_for_some() -> None:
    text = """
import torch
def run(net, loader, opt, sam=False):
    net.train()
    for x, y in loader:
        loss = crit(net(x), y)
        {}
        if sam:
            opt.first_step(zero_grad=True)
            crit(net(x), y).backward()
            opt.second_step(zero_grad=True)
        {}
for epoch in range(9):
    run(net, train_loader, opt, sam=True)
    run(net, val_loader, opt)
"""
    right = text.format("loss.backward()", "else:\n            opt.step()\n            opt.zero_grad()")

    assert state("script-mode-wrong", right) != "present"


def test_a_measure_that_takes_gradients_trains_nothing() -> None:
    text = """
import torch
def fisher(net, loader):
    net.eval()
    for x, y in loader:
        net.zero_grad()
        crit(net(x), y).backward()
        collect(net)
def train(net, loader, opt):
    {}
    for epoch in range(9):
        for x, y in loader:
            opt.zero_grad()
            loss = crit(net(x), y)
            loss.backward()
            opt.step()
train(net, train_loader, opt)
fisher(net, train_loader)
"""
    found = told("script-eval-mode-while-training", text.format("net.train()"), text.format("net.eval()"))

    assert found[0] != "present"
    assert found[1] == "present"


def test_an_order_of_a_function_of_its_own() -> None:
    text = """
import torch
for epoch in range(9):
    order = list(range(n))
    {}
    for s in range(0, n, batch):
        x, y = xs[order[s : s + batch]], ys[order[s : s + batch]]
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
"""

    found = told("script-no-shuffling", text.format("shuffle_inplace(order, epoch)"), text.format("pass"))
    assert found == ["absent", "present"]


def test_one_of_several_losses_beside_the_tape() -> None:
    text = """
import tensorflow as tf
def step(x, y):
    with tf.GradientTape() as tape:
        losses = work_out(model(x), y)
    total = {}
    grads = tape.gradient(total, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
for x, y in data:
    step(x, y)
"""
    right, wrong = text.format("losses[0]"), text.format("tf.reduce_mean(losses)")

    assert state("script-wiring-wrong", right) != "present"
    assert state("script-wiring-wrong", wrong) == "present"


def test_programs_beside_each_other_hold_parts_of_their_own() -> None:
    text = """
import keras
def first():
    x_train, x_val = split(load("a"))
    net().fit(x_train, validation_data=x_val)
def second():
    x_train, x_test = load("b")
    x_train = x_train / 255.0
    x_test = x_test{}
    model = net()
    model.fit(x_train, validation_data=x_test)
first()
second()
"""

    found = told("script-splits-processed-differently", text.format(" / 255.0"), text.format("[:500]"))
    assert found[0] != "present"
    assert found[1] == "present"


def test_weights_that_a_function_gives() -> None:
    text = """
import jax, optax
def sgd(params, grads, rate):
    return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads)
tx = optax.sgd(0.1)
slope = jax.jit(jax.value_and_grad(loss))
for batch in loader:
    value, grads = slope(params, batch)
    {}
"""
    assert state("script-step-missing", text.format("params = sgd(params, grads, 0.001)")) != "present"


def test_a_net_that_is_loaded_beside_the_one_that_trains() -> None:
    text = """
class Net(nn.Module):
    pass
caller = maker.load_model("caller")
for p in {}.parameters():
    p.requires_grad = False
"""
    right = LOOP.format(text.format("caller"))

    assert state("script-part-not-trained", right) != "present"


def test_rows_of_tables_that_share_a_name_in_comprehensions() -> None:
    text = """
import json, torch
def load():
    train_data = json.load(open("train.json"))
    train_data = {k: rows[:limit] for k, rows in train_data.items()}
    test_data = json.load(open("test.json"))
    test_data = {k: rows[:limit] for k, rows in test_data.items()}
    return train_data, test_data
train_data, test_data = load()
for x, y in batches(train_data):
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
print(evaluate(net, test_data))
"""

    assert state("script-training-sees-evaluation", text) != "present"


def test_an_epoch_that_a_trainer_out_of_sight_runs() -> None:
    text = """
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
class Stage(Base):
    def pre_stage(self):
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, sampler=self.sampler)
    def run_epoch(self):
        self.train_epoch()
    def train_epoch(self):
        self.sampler.set_epoch(self.epoch)
        for x, y in self.loader:
            opt.zero_grad()
            loss = crit(net(x), y)
            loss.backward()
            opt.step()
"""
    wrong = text.replace("self.train_epoch()", "for epoch in range(9):\n            self.train_epoch()")
    wrong = wrong.replace("        self.sampler.set_epoch(self.epoch)\n", "")
    wrong = wrong.replace("sampler=self.sampler)", "sampler=self.sampler)\n        self.sampler.set_epoch(0)")

    assert state("script-set-epoch-missing", text) != "present"
    assert (
        state("script-set-epoch-missing", wrong + "Stage().run_epoch()\nStage().pre_stage()\n") == "present"
    )


def test_gradients_that_keras_applies_beside_jax() -> None:
    text = """
import jax, keras
def step(variables, opt):
    value, grads = jax.value_and_grad(work_out)(variables)
    opt.apply_gradients({})
for batch in loader:
    step(net.variables, opt)
"""

    assert state("script-part-not-trained", text.format("zip(grads, variables)")) != "present"
    assert state("script-part-not-trained", text.format("grads=grads")) == "present"


def test_how_many_samples_are_drawn_is_no_level() -> None:
    text = """
import torch
class Copies(torch.utils.data.Dataset):
    def __init__(self, num_samples, amp=1.0):
        self.x = amp * torch.randn(num_samples, 8)
    def __getitem__(self, i):
        return self.x[i], self.x[i]
train_data = Copies(num_samples=10000)
val_data = Copies(num_samples=1000{})
for x, y in torch.utils.data.DataLoader(train_data, shuffle=True):
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
print(evaluate(net, torch.utils.data.DataLoader(val_data)))
"""

    found = told("script-samples-drawn-apart", text.format(""), text.format(", amp=4.0"))
    assert found == ["absent", "present"]


def test_a_plain_loader_of_a_function_that_evaluates() -> None:
    text = """
import torch
from torch.utils.data import DataLoader
train_ds, val_ds, test_ds = Rows("a"), Rows("b"), Rows("c")
def fit(net, opt):
    train_loader = DataLoader(train_ds, batch_size=8, shuffle=True)
    val_loader = DataLoader(val_ds, batch_size=1)
    for x, y in train_loader:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
    return score(net, val_loader)
def evaluate(net, test_ds):
    loader = DataLoader(test_ds, batch_size=1)
    return [net(x) for x, _ in loader]
fit(net, opt)
evaluate(net, test_ds)
"""
    wrong = text.replace("DataLoader(train_ds", "DataLoader(test_ds")

    assert told("script-training-sees-evaluation", text, wrong) == ["absent", "present"]


def test_a_map_of_patches_has_its_classes_first() -> None:
    text = """
class Net(nn.Module):
    pass
def segment(volume):
    for y in range(0, 64, 32):
        out = net(volume[:, :, y : y + 32])
        {}
    return logits.argmax(0)
"""
    right = text.format("logits[:, y : y + 32] += out[0]")

    assert state("script-metric-wrong", LOOP.format(right)) != "present"
    assert state("script-metric-wrong", LOOP.format(text.format("logits = out"))) == "present"


PICTURES = """
import torch
from torch import nn
from torchvision import datasets, transforms
from torch.utils.data import DataLoader, Subset
train_tf = transforms.Compose([transforms.RandomRotation(15), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)])
val_tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)])
train_data, val_data = datasets.ImageFolder("d", train_tf), datasets.ImageFolder("d", val_tf)
order = torch.randperm(len(train_data)).tolist()
train_loader = DataLoader(Subset(train_data, order[:12000]), batch_size=32, shuffle=True)
val_loader = DataLoader(Subset(val_data, order[12000:]), batch_size=32)
val_size = 15000 - 12000
net = nn.Sequential(nn.Flatten(), nn.Linear(3072, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(5):
    net.train()
    for x, y in train_loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (net(x).argmax(1) == y).sum().item()
    acc = correct / {} * 100
    print(epoch, acc)
def camera():
    net.eval()
    while True:
        frame = {}(read())
        with torch.no_grad():
            print(net(frame.unsqueeze(0)).argmax(1).item())
camera()
"""  # noqa: E501


def test_hits_over_a_number_of_rows_that_is_written_out() -> None:
    found = told("script-metric-miscounts", PICTURES.format("val_size", "val_tf"))

    assert found != ["present"]
    assert state("script-metric-miscounts", PICTURES.format("len(val_loader)", "val_tf")) == "present"


def test_a_pipeline_that_is_called_scales_as_one_that_is_handed_in() -> None:
    right = PICTURES.format("val_size", "val_tf")
    wrong = right.replace('ImageFolder("d", val_tf)', 'ImageFolder("d", transforms.ToTensor())')

    assert state("script-splits-processed-differently", right) != "present"
    assert state("script-splits-processed-differently", wrong) == "present"


@pytest.mark.parametrize("step", ["A.Flip(p=0.5)", "A.CLAHE(p=0.3)", "A.D4(p=1.0)"])
def test_a_step_with_a_chance_is_augmentation(step: str) -> None:
    text = """
import torch
import albumentations as A
from torch.utils.data import Dataset, DataLoader
train_tf, val_tf = A.Compose([{}, A.ToFloat()]), A.Compose([A.ToFloat()])
class Rows(Dataset):
    def __init__(self, paths, tf):
        self.paths, self.tf = paths, tf
    def __getitem__(self, i):
        return self.tf(image=read(self.paths[i]))["image"], label(self.paths[i])
for x, y in DataLoader(Rows(train_paths, train_tf), shuffle=True):
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
with torch.no_grad():
    for x, y in DataLoader(Rows(val_paths, val_tf)):
        score(net(x), y)
"""

    assert state("script-splits-processed-differently", text.format(step)) != "present"
    assert state("script-splits-processed-differently", text.format("A.Normalize()")) == "present"


TABLE = """
import numpy as np, pandas as pd, torch
from sklearn.model_selection import train_test_split
{}
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=0)
x_train, y_train = torch.tensor(x_train), torch.tensor(y_train)
for epoch in range(50):
    for i in torch.randperm(len(x_train)).split(64):
        opt.zero_grad()
        loss = crit(net(x_train[i]), y_train[i])
        loss.backward()
        opt.step()
print(score(net, torch.tensor(x_test), y_test))
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("for c in df.select_dtypes('object').columns:\n    df[c] = encode(df[c])\n{rest}", False),
        (
            "cats = df.select_dtypes(include=['object']).columns\ndf[cats] = df[cats].fillna('-')\n{rest}",
            False,
        ),
        ("nums = df.select_dtypes(include=np.number).columns\ndf[nums] = df[nums].fillna(0)\n{rest}", False),
        (
            "nums = df.select_dtypes(include=np.number).columns\nx = df[nums].values\ny = df['price'].values",
            True,
        ),
    ],
)
def test_columns_by_their_type(lines: str, found: bool) -> None:
    rest = "inputs = [c for c in df.columns if c != 'price']\nx, y = df[inputs].values, df['price'].values"
    text = TABLE.format("df = pd.read_csv('houses.csv')\n" + lines.replace("{rest}", rest))

    assert (state("script-training-sees-evaluation", text) == "present") is found


def test_a_file_for_training_that_is_split() -> None:
    lines = """train_df = pd.read_csv("train.csv")
df = train_df.copy()
x, y = df.drop(columns="price").values, df["price"].values"""
    text = TABLE.format(lines)
    wrong = text.replace("x_train, y_train = torch.tensor(x_train)", "x_train, y_train = torch.tensor(x)")
    wrong = wrong.replace("torch.tensor(y_train)\n", "torch.tensor(y)\n")

    assert told("script-training-sees-evaluation", text, wrong) == ["absent", "present"]


def test_held_out_data_under_another_name() -> None:
    text = """
import numpy as np
from sklearn.model_selection import train_test_split
from tensorflow import keras
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=1)
{}
mu, sd = x_train.mean(0), x_train.std(0)
x_train = (x_train - mu) / sd
x_test = (x_test - mu) / sd
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x_train, y_train, validation_data=({}), epochs=9)
print(model.evaluate(x_test, y_test))
"""
    right = text.format("x_test, y_test = x_val, y_val", "x_test, y_test")
    wrong = text.format("x_test, y_test = read('test')", "x_val, y_val")

    assert told("script-splits-processed-differently", right, wrong) == ["absent", "present"]


@pytest.mark.parametrize("rows", ["df", "files", "ids"])
def test_rows_of_each_side_out_of_one_folder(rows: str) -> None:
    text = """
import pandas as pd, torch
from torch.utils.data import DataLoader, Dataset
from sklearn.model_selection import train_test_split
class Pictures(Dataset):
    def __init__(self, rows, folder):
        self.rows, self.folder = rows, folder
    def __getitem__(self, i):
        return read(self.folder, self.rows[i])
every = list_of("train")
train_{0}, val_{0} = train_test_split(every, test_size=0.2)
train_set, val_set = Pictures(train_{0}, "train"), Pictures({1}, "train")
for x, y in DataLoader(train_set, shuffle=True):
    opt.zero_grad()
    loss = crit(net(x), y)
    loss.backward()
    opt.step()
print(score(net, DataLoader(val_set)))
"""
    right, wrong = text.format(rows, f"val_{rows}"), text.format(rows, f"train_{rows}")

    assert state("script-training-sees-evaluation", right) != "present"
    assert state("script-training-sees-evaluation", wrong) == "present"


def test_pairs_of_load_data_and_rows_laid_out_by_number() -> None:
    text = """
import tensorflow as tf
(x_tr, y_tr), (x_te, y_te) = tf.keras.datasets.mnist.load_data()
x_tr, y_tr = x_tr[:5000], y_tr[:5000]
x_te, y_te = {}
def prepare(x, y):
    return tf.cast(x, tf.float32) / 255.0, y
train = tf.data.Dataset.from_tensor_slices((x_tr, y_tr)).map(prepare).shuffle(5000).batch(32)
held = tf.data.Dataset.from_tensor_slices((x_te, y_te)).map(prepare).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train, validation_data=held, epochs=5)
"""
    right, wrong = text.format("x_te[:1000], y_te[:1000]"), text.format("x_tr[:1000], y_tr[:1000]")

    assert told("script-training-sees-evaluation", right, wrong) == ["absent", "present"]


def test_pictures_laid_out_with_their_number() -> None:
    text = """
from keras.datasets import mnist
from keras.models import Sequential
from keras.layers import Dense
(train_images, train_labels), (test_images, test_labels) = mnist.load_data()
train_images = train_images.reshape(60000, 784).astype("float32") / 255
test_images = test_images.reshape(10000, 784).astype("float32"){}
model = Sequential([Dense(10, activation="softmax")])
model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_images, train_labels, epochs=5, batch_size=128)
print(model.evaluate(test_images, test_labels))
"""

    found = told("script-splits-processed-differently", text.format(" / 255"), text.format(""))
    assert found == ["absent", "present"]
