# ruff: noqa: E501
"""Decoders one place off, steps of MindSpore that leave something out, parts by way of helpers, settings in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.registry import View, read

from .._scripts import PROBES, SYMPTOMS, state

P, A, U = "present", "absent", "unknown"

WRITER = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
PAD = 0
def collate(rows):
    src = pad_sequence([r[0] for r in rows], batch_first=True)
    trg = pad_sequence([r[1] for r in rows], batch_first=True, padding_value=PAD)
    return src, trg
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.cell, self.out = nn.Embedding(30, 8), nn.GRUCell(8, 8), nn.Linear(8, 30)
    def forward(self, src, trg, teacher=0.5):
        h, token, told = self.table(src).mean(1), trg[:, 0], []
        for t in range(1, trg.size(1)):
            h = self.cell(self.table(token), h)
            told.append(self.out(h))
            token = trg[:, t] if torch.rand(()) < teacher else told[-1].argmax(1)
        return torch.stack(told, dim=1)
def loss_of(logits, trg):
    return F.cross_entropy(logits.reshape(-1, 30), trg[:, 1:].reshape(-1), ignore_index=PAD)
@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    right = n = 0
    for src, trg in loader:
        logits = net(src, trg, teacher=0.0)
        right += (logits.argmax(2) == trg[:, 1:]).all(1).sum().item()
        n += len(trg)
    return right / n
net = Writer()
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    net.train()
    for src, trg in loader:
        opt.zero_grad()
        loss_of(net(src, trg), trg).backward()
        opt.step()
    evaluate(net, held)
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-method-slipped", "trg[:, 1:].reshape(-1), ig", "trg[:, :-1].reshape(-1), ig"),
        ("script-metric-wrong", "net(src, trg, teacher=0.0)", "net(src, trg)"),
        ("script-label-padding-counts", ", ignore_index=PAD", ""),
    ],
)
def test_a_decoder_is_held_to_what_comes_next(symptom: str, old: str, new: str) -> None:
    """Its targets are what comes next, padding is left out, and it is scored on its own words."""
    assert WRITER.count(old) == 1

    assert state(symptom, WRITER) != P
    assert state(symptom, WRITER.replace(old, new)) == P


STEP = """
import mindspore as ms
from mindspore import nn, ops, context
from mindspore.communication import init, get_rank, get_group_size
init()
context.set_auto_parallel_context(parallel_mode=context.ParallelMode.DATA_PARALLEL, gradients_mean=True)
rank = get_rank()
class Step(nn.TrainOneStepWithLossScaleCell):
    def construct(self, x, y):
        loss = self.network(x, y)
        sens = ops.ones_like(loss) * self.scale_sense
        grads = self.grad(self.network, self.weights)(x, y, sens)
        grads = self.hyper_map(ops.partial(unscale, self.scale_sense), grads)
        grads = self.grad_reducer(grads)
        loss = ops.depend(loss, self.optimizer(grads))
        return loss
net = nn.Dense(4, 2)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
model = ms.Model(Step(net, opt, nn.FixedLossScaleUpdateCell(1024)))
model.train(3, data)
"""


@pytest.mark.parametrize(
    ("symptom", "line"),
    [
        ("script-scale-not-divided-out", "        grads = self.hyper_map(ops.partial(unscale, self.scale_sense), grads)\n"),
        ("script-no-gradient-synchronisation", "        grads = self.grad_reducer(grads)\n"),
    ],
)  # fmt: skip
def test_a_step_of_mindspore_that_is_written_anew(symptom: str, line: str) -> None:
    """What the library's cell does by itself is missed where `construct` is written anew without it."""
    assert STEP.count(line) == 1

    assert state(symptom, STEP) != P
    assert state(symptom, STEP.replace(line, "")) == P


GROUPS = """
import torch
from torch import nn
from torchvision import models
def groups(model, decay):
    heavy, light = [], []
    for name, p in model.named_parameters():
        (light if p.ndim <= 1 else heavy).append(p)
    return [{"params": heavy, "weight_decay": decay}, {"params": light, "weight_decay": 0.0}]
model = models.resnet18()
opt = torch.optim.SGD(groups(model, 1e-4), lr=0.1)
sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=9 * len(loader))
for epoch in range(9):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        sched.step()
"""


def test_a_part_that_a_helper_is_handed_is_a_part() -> None:
    """`groups(model.fc)` of a function that sorts what it gets; a schedule that ends with the first epoch."""
    assert state("script-optimizer-gets-part", GROUPS) != P
    assert (
        state("script-optimizer-gets-part", GROUPS.replace("groups(model, 1e-4)", "groups(model.fc, 1e-4)"))
        == P
    )
    assert state("script-schedule-unit", GROUPS) != P
    assert state("script-schedule-unit", GROUPS.replace("9 * len", "len")) == P


OVERLAP = """
import torch.nn.functional as F
def overlap(logits, hot):
    p = F.softmax(logits, dim=1)
    inter = (p * hot).sum(dim=(0, 2, 3))
    return 1 - (2 * inter / (p.sum(dim=(0, 2, 3)) + hot.sum(dim=(0, 2, 3)) + 1)).mean()
"""


def test_a_softmax_over_samples_is_told() -> None:
    """A loss that sums over axes 0, 2 and 3 has its classes along axis 1."""
    assert state("script-operator-wrong", OVERLAP) != P
    assert state("script-operator-wrong", OVERLAP.replace("dim=1)", "dim=0)")) == P


EDGES = """
import math
from torch import nn
from torch_geometric.utils import scatter, softmax
class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x, edge_index):
        src, dst = edge_index
        q, k, v = self.q(x)[dst], self.k(x)[src], self.v(x)[src]
        w = softmax((q * k).sum(-1) / math.sqrt(k.size(-1)), dst)
        return scatter(w.unsqueeze(-1) * v, dst, dim=0)
"""


def test_weights_of_edges_belong_to_where_they_arrive() -> None:
    """`softmax(score, src)` beside `scatter(..., dst)`, and scores multiplied with the root."""
    assert state("script-operator-wrong", EDGES) != P
    assert state("script-operator-wrong", EDGES.replace("size(-1)), dst)", "size(-1)), src)")) == P
    assert state("script-attention-unscaled", EDGES) != P
    assert (
        state(
            "script-attention-unscaled", EDGES.replace("/ math.sqrt(k.size(-1))", "* math.sqrt(k.size(-1))")
        )
        == P
    )


TUNE = """
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser((TrainingArguments,)).parse_json_file("args.json")
model = AutoModelForCausalLM.from_pretrained("gpt2")
model = get_peft_model(model, LoraConfig(r=8))
def encode(row):
    ids = tokenizer(row["text"])["input_ids"]
    return {"input_ids": ids, "labels": ids}
trainer = Trainer(model=model, args=args, train_dataset=data.map(encode), eval_dataset=held)
trainer.train()
"""


def test_adapters_and_labels_of_the_trainer() -> None:
    """Parameters switched off after the adapters came; labels that are shifted for a model that shifts them."""
    frozen = TUNE.replace(
        "def encode", "for p in model.parameters():\n    p.requires_grad = False\ndef encode"
    )
    shifted = TUNE.replace('"input_ids": ids, "labels": ids', '"input_ids": ids[:-1], "labels": ids[1:]')

    assert state("script-part-not-trained", TUNE) != P
    assert state("script-part-not-trained", frozen) == P
    assert state("script-method-slipped", TUNE) != P
    assert state("script-method-slipped", shifted) == P


@pytest.mark.parametrize(
    ("symptom", "told", "wanted"),
    [
        ("script-best-chosen-wrongly", '"metric_for_best_model": "eval_loss", "greater_is_better": true', P),
        ("script-best-chosen-wrongly", '"metric_for_best_model": "eval_loss", "greater_is_better": false', U),
        ("script-schedule-unit", '"warmup_ratio": 0.9', P),
        ("script-schedule-unit", '"warmup_ratio": 0.1', U),
    ],
)
def test_settings_of_the_trainer_in_a_file(symptom: str, told: str, wanted: str, tmp_path: Path) -> None:
    """What `parse_json_file` reads is looked at as what a script writes out."""
    (tmp_path / "train.py").write_text(TUNE)
    (tmp_path / "args.json").write_text('{"output_dir": "out", "learning_rate": 1e-4, ' + told + "}")
    run = open_run(tmp_path, scripts_alone=True)

    assert wanted == read(View(run), SYMPTOMS[symptom], PROBES).state.value
