"""MindSpore's loops: modes that are left or missed, order of samples, means of batches."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TRAINER = """
import mindspore as ms
from mindspore import nn, ops
class Trainer:
    def __init__(self, train_set, valid_set):
        self.train_set, self.valid_set = train_set, valid_set
        self.model = nn.SequentialCell(nn.Dense(8, 8), nn.Dropout(p=0.1), nn.Dense(8, 2))
        self.optimizer = nn.Adam(self.model.trainable_params(), 1e-3)
        self.loss = nn.CrossEntropyLoss()
        self.grad_fn = ms.value_and_grad(self.forward, None, self.optimizer.parameters)
    def forward(self, x, y):
        return self.loss(self.model(x), y)
    def epoch(self):
        {EPOCH}
        for x, y in self.train_set.create_tuple_iterator():
            loss, grads = self.grad_fn(x, y)
            self.optimizer(grads)
    def evaluate(self):
        self.model.set_train(False)
        hits = count = 0
        for x, y in self.valid_set.create_tuple_iterator():
            hits += {HITS}
            count += {COUNT}
        return hits / {BY}
    def fit(self):
        {FIT}
        for _ in range(10):
            self.epoch()
            print(self.evaluate())
def build(rows, training):
    data = load(rows)
    return data.batch(32, drop_remainder={DROPS})
Trainer(build("a", True), build("b", False)).fit()
"""


def trainer(**given: str) -> str:
    """A right program, but for what is given."""
    told = {
        "EPOCH": "self.model.set_train(True)",
        "FIT": "pass",
        "HITS": "int((self.model(x).argmax(1) == y).sum())",
        "COUNT": "len(y)",
        "BY": "count",
        "DROPS": "training",
        **given,
    }
    text = TRAINER
    for name, value in told.items():
        text = text.replace("{" + name + "}", value)
    return text


@pytest.mark.parametrize(
    ("epoch", "fit", "expected"),
    [
        ("self.model.set_train(True)", "pass", A),
        ("self.model.set_train()", "pass", A),
        ("pass", "self.model.set_train(True)", P),
        ("pass", "pass", P),
    ],
)
def test_the_mode_is_set_back(epoch: str, fit: str, expected: str) -> None:
    assert state("script-eval-mode-while-training", trainer(EPOCH=epoch, FIT=fit)) == expected


MEAN = "float((self.model(x).argmax(1) == y).astype(ms.float32).mean())"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, A),
        ({"HITS": MEAN, "COUNT": "1"}, P),
        ({"HITS": MEAN, "COUNT": "1", "DROPS": "True"}, A),
        ({"HITS": MEAN + " * len(y)"}, A),
    ],
)
def test_batches_count_by_their_samples(given: dict[str, str], expected: str) -> None:
    assert (state("script-batches-weighed-alike", trainer(**given)) == P) is (expected == P)


@pytest.mark.parametrize(
    ("by", "expected"), [("self.valid_set.get_dataset_size()", P), ("count", A), ("self.total", U)]
)
def test_hits_are_divided_by_samples(by: str, expected: str) -> None:
    assert (state("script-metric-wrong", trainer(BY=by)) == P) is (expected == P)


CALLBACK = """
import mindspore as ms
from mindspore import nn
from mindspore.train import Model, Callback
class Score(Callback):
    def __init__(self, loss_net, data):
        self.loss_net, self.data = loss_net, data
    def on_train_epoch_end(self, run_context):
        {BEFORE}
        total = 0.0
        for (ids,) in self.data.create_tuple_iterator():
            total += float(self.loss_net(ids))
        print(total)
net = nn.SequentialCell(nn.Dense(8, 8), nn.Dropout(p=0.1))
model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params()))
model.train(3, data, callbacks=[Score(net, held)])
print(model.eval(test))
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("self.loss_net.set_train(False)", A),
        ("pass", P),
        ("self.loss_net.set_train(True)", P),
        ("self.loss_net.set_train()", P),
    ],
)
def test_callbacks_score_in_evaluation_mode(before: str, expected: str) -> None:
    assert state("script-train-mode-while-evaluating", CALLBACK.replace("{BEFORE}", before)) == expected


DATA = """
import mindspore.dataset as ds
from mindspore import nn
from mindspore.train import Model
def {SPLIT}(files):
    rng.shuffle(files)
    return files[:9], files[9:]
def build(rows, {PARAMETER}):
    return {MADE}.batch(32)
train, valid = {SPLIT}(files)
train_set, valid_set = build(train, {SAID}), build(valid, {OTHER})
Model(nn.Dense(2, 2), nn.MSELoss(), nn.SGD(params)).train(3, train_set)
"""


@pytest.mark.parametrize(
    ("parameter", "made", "split", "expected"),
    [
        ("training", "ds.GeneratorDataset(Rows(rows), ['x'], shuffle=False)", "split_files", P),
        ("training", "ds.GeneratorDataset(Rows(rows), ['x'], shuffle=False)", "cut", U),
        ("training", "ds.GeneratorDataset(Rows(rows), ['x'], shuffle=training)", "split_files", U),
        ("training", "ds.ImageFolderDataset(rows, sampler=ds.SequentialSampler())", "split_files", P),
        ("training", "ds.ImageFolderDataset(rows, sampler=ds.RandomSampler())", "split_files", U),
        ("split", "ds.MindDataset(rows, shuffle=False)", "split_files", P),
        ("split", "ds.MindDataset(rows, shuffle=split == 'train')", "split_files", U),
        ("size", "ds.MindDataset(rows, shuffle=False)", "split_files", U),
    ],
)
def test_training_data_are_shuffled(parameter: str, made: str, split: str, expected: str) -> None:
    said = ("'train'", "'valid'") if parameter == "split" else ("True", "False")
    text = DATA.replace("{PARAMETER}", parameter).replace("{MADE}", made).replace("{SPLIT}", split)
    text = text.replace("{SAID}", said[0]).replace("{OTHER}", said[1])
    assert (state("script-loader-keeps-order", text) == P) is (expected == P)


EVALUATION = """
import mindspore as ms
from src.resnet import resnet50
from src.dataset import create_val
net = resnet50(num_classes=1001)
ms.load_param_into_net(net, ms.load_checkpoint("a.ckpt"))
{MODE}
hits = count = 0
for image, label in create_val("/val").create_tuple_iterator(num_epochs=1):
    {BACK}
    {ANSWER}
    hits += (logits.argmax(1) == label).sum().asnumpy()
    count += label.shape[0]
print(hits / count)
"""
TORCH_EVALUATION = """
import torch
from models import build
model = build().npu()
model.load_state_dict(torch.load("a.pth"))
{MODE}
with torch.no_grad():
    for x, y in loader:
        {BACK}
        {ANSWER}
        hits += (logits.argmax(1) == y).sum()
"""


@pytest.mark.parametrize(
    ("text", "mode", "back", "answer", "expected"),
    [
        (EVALUATION, "net.set_train(True)", "pass", "logits = net(image)", P),
        (EVALUATION, "net.set_train()", "pass", "logits = net(image)", P),
        (TORCH_EVALUATION, "model.train()", "pass", "logits = model(x)", P),
        (EVALUATION, "net.set_train(False)", "pass", "logits = net(image)", U),
        (EVALUATION, "net.set_train(True)", "net.set_train(False)", "logits = net(image)", U),
        (EVALUATION, "other.set_train(True)", "pass", "logits = net(image)", U),
        (TORCH_EVALUATION, "model.eval()", "pass", "logits = model(x)", U),
        (TORCH_EVALUATION, "model.train()  # MC dropout", "pass", "logits = model(x)", U),
        (TORCH_EVALUATION, "model.train(False)", "pass", "logits = model(x)", U),
        (TORCH_EVALUATION, "model.train()", "loss.backward()", "logits = model(x)", U),
        (TORCH_EVALUATION, "model.train()", "model(x)", "logits = teacher(x)", U),  # statistics alone
    ],
)
def test_loaded_weights_in_training_mode(text: str, mode: str, back: str, answer: str, expected: str) -> None:
    script = text.replace("{MODE}", mode).replace("{BACK}", back).replace("{ANSWER}", answer)
    found = state("script-train-mode-while-evaluating", script)
    assert (found == P) == (expected == P)
