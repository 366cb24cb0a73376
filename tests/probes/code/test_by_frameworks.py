"""What is seen in plain PyTorch is seen where a framework holds the model, the schedule or the loss."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.readers.script import Extractor

from .._scripts import state

CAUSAL = """
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2")
LOADED

def collate(rows):
    longest = max(len(ids) for ids, _ in rows)
    ids, labels = [], []
    for one, lab in rows:
        gap = longest - len(one)
        ids.append(one + [tokenizer.pad_token_id] * gap)
        labels.append(lab + [FILL] * gap)
    return {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels)}

loader = DataLoader(rows, batch_size=4, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for batch in loader:
    loss = SIGNmodel(**batch).loss
    TAKEN
    optimizer.step()
    optimizer.zero_grad()
"""


def _causal(loaded: str = "", fill: str = "-100", sign: str = "", taken: str = "loss.backward()") -> str:
    text = CAUSAL.replace("LOADED", loaded).replace("FILL", fill)
    return text.replace("SIGN", sign).replace("TAKEN", taken)


@pytest.mark.parametrize(("fill", "found"), [("-100", False), ("tokenizer.pad_token_id", True), ("0", True)])
def test_labels_that_a_collator_lengthens_with_a_token(fill: str, found: bool) -> None:
    assert (state("script-label-padding-counts", _causal(fill=fill)) == "present") is found


def test_labels_that_are_lengthened_where_they_are_handed_over() -> None:
    row = '"labels": torch.tensor([y + [tokenizer.pad_token_id] * 9 for _, y in rows])'
    assert state("script-label-padding-counts", _causal().replace('"labels": torch.tensor(labels)', row)) == (
        "present"
    )


PADDLE = """
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 3)

    def forward(self, x):
        return self.body(x)

net = Net()
net.set_state_dict({"PREFIX" + k: v for k, v in paddle.load("a.pdparams").items()})
optimizer = paddle.optimizer.Adam(parameters=net.parameters())
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
    TAKEN
    optimizer.step()
    optimizer.clear_grad()
"""


PADDLED = [("module.", "pass", True), ("body.", "loss.backward()", False)]


@pytest.mark.parametrize(("prefix", "taken", "found"), PADDLED)
def test_paddle_says_the_same_in_other_words(prefix: str, taken: str, found: bool) -> None:
    text = PADDLE.replace("PREFIX", prefix).replace("TAKEN", taken)
    assert (state("script-pretrained-lost", text) == "present") is found
    assert (state("script-step-missing", text) == "present") is found


@pytest.mark.parametrize(("sign", "found"), [("", False), ("-", True)])
def test_a_minus_before_the_loss_of_the_model(sign: str, found: bool) -> None:
    assert (state("script-loss-negated", _causal(sign=sign)) == "present") is found


@pytest.mark.parametrize(("taken", "found"), [("loss.backward()", False), ("print(loss)", True)])
def test_a_step_that_no_gradient_comes_before(taken: str, found: bool) -> None:
    assert (state("script-step-missing", _causal(taken=taken)) == "present") is found


@pytest.mark.parametrize(("prefix", "found"), [("module.", True), ("transformer.", False)])
def test_keys_that_a_model_of_a_library_has_not(prefix: str, found: bool) -> None:
    loaded = (
        f"model.load_state_dict({{'{prefix}' + k: v for k, v in torch.load('a.pt').items()}}, strict=False)"
    )
    assert (state("script-pretrained-lost", _causal(loaded=loaded)) == "present") is found


LIGHTNING = """
import torch
import torch.nn.functional as F
import pytorch_lightning as pl

class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 3)

    def training_step(self, batch, i):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters())
        sched = torch.optim.lr_scheduler.MADE
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "epoch"}}

pl.Trainer(max_epochs=30).fit(Net(), loader)
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("StepLR(opt, step_size=1, gamma=0.1)", True),
        ("StepLR(opt, step_size=10, gamma=0.1)", False),
        ("CosineAnnealingLR(opt, T_max=1)", True),
        ("CosineAnnealingLR(opt, T_max=30)", False),
    ],
)
def test_a_rate_that_dies_early_under_a_trainer(made: str, found: bool) -> None:
    assert (state("script-schedule-unit", LIGHTNING.replace("MADE", made)) == "present") is found


MINDSPORE = """
import mindspore as ms
from mindspore import nn

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.Dense(8, 8)
        self.fc = nn.Dense(8, 3)

    def construct(self, x):
        return self.fc(self.stem(x))

net = Net()
LOADED
for p in net.stem.get_parameters():
    p.requires_grad = False
optimizer = nn.Adam(net.trainable_params(), 1e-3)
loss_fn = nn.CrossEntropyLoss()
grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
for x, y in data:
    loss, grads = grad_fn(x, y)
    optimizer(grads)
"""


@pytest.mark.parametrize(
    ("loaded", "found"), [("", True), ("ms.load_param_into_net(net, ms.load_checkpoint('big.ckpt'))", False)]
)
def test_what_mindspore_loaded_may_stay_as_it_is(loaded: str, found: bool) -> None:
    assert (state("script-part-not-trained", MINDSPORE.replace("LOADED", loaded)) == "present") is found


STOPPED = """
import keras
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
stop = keras.callbacks.EarlyStopping(monitor="val_loss", TOLD)
model.fit(x, y, epochs=90, validation_data=(a, b), callbacks=[stop])
"""


@pytest.mark.parametrize(
    ("told", "capped", "chosen"),
    [
        ("patience=5", False, False),
        ("mode='max', patience=5", True, False),
        ("mode='max', patience=5, restore_best_weights=True", False, True),
    ],
)
def test_a_stop_that_watches_the_wrong_way(told: str, capped: bool, chosen: bool) -> None:
    text = STOPPED.replace("TOLD", told)
    assert (state("script-epochs-capped", text) == "present") is capped
    assert (state("script-best-chosen-wrongly", text) == "present") is chosen


@pytest.mark.parametrize(("share", "found"), [("0.9", True), ("0.1", False)])
def test_a_share_that_a_library_s_model_is_told_to_drop(share: str, found: bool) -> None:
    made = f"model = AutoModelForCausalLM.from_pretrained('gpt2', resid_pdrop={share})"
    told = Extractor(ast.parse(_causal(loaded=made)), "train.py").settings()
    assert (float(share) in [s.value for s in told if s.key == "dropout"]) is found
