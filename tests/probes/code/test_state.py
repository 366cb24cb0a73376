# ruff: noqa: E501
"""Resuming and accumulation in scripts: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

LOOP = """
import torch
from torch import nn
net = nn.Linear(4, 2)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, 5)
first = 0
{RESUME}
for epoch in range(first, 9):
    for i, (x, y) in enumerate(loader):
        {BEGIN}
        loss = nn.functional.cross_entropy(net(x), y) / accumulate
        loss.backward()
        {END}
    sched.step()
    torch.save({SAVED}, "last.pt")
"""
GATE = "if (i + 1) % accumulate == 0:\n            opt.step()\n            opt.zero_grad()"
BOTH = '{"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}'


def _loop(resume: str = "", saved: str = BOTH, begin: str = "pass", end: str = GATE) -> str:
    text = LOOP.replace("{RESUME}", resume.replace("; ", "\n    ")).replace("{SAVED}", saved)
    return text.replace("{BEGIN}", begin).replace("{END}", end)


LOAD = (
    "if args.resume:\n    ck = torch.load(args.resume); net.load_state_dict(ck['net']); first = ck['epoch']"
)
ALL = LOAD + "; opt.load_state_dict(ck['opt']); sched.load_state_dict(ck['sched'])"
LIGHTNING = """
import lightning as L
if args.resume:
    model = Net.load_from_checkpoint(args.resume)
L.Trainer(accumulate_grad_batches=4).fit(model{MORE})
"""
HF = """
from transformers import Trainer, AutoModel
from transformers.trainer_utils import get_last_checkpoint
last = get_last_checkpoint(folder)
trainer = Trainer(model=AutoModel.from_pretrained({FROM}))
trainer.train({MORE})
"""
TF = """
import tensorflow as tf
opt = tf.keras.optimizers.Adam(1e-3)
step = tf.Variable(0)
ckpt = tf.train.Checkpoint(model=model, step=step{MORE})
ckpt.restore(manager.latest_checkpoint)
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
acc = Accelerator({STEPS})
if args.resume_from:
    {LOAD}
for x, y in loader:
    with {CONTEXT}:
        loss = criterion(model(x), y)
        acc.backward(loss{DIVIDED})
        opt.step()
        opt.zero_grad()
acc.save_state("out")
"""


def _accelerate(
    steps: str = "gradient_accumulation_steps=4",
    context: str = "acc.accumulate(model)",
    divided: str = "",
    load: str = "acc.load_state(args.resume_from)",
) -> str:
    text = ACCELERATE.replace("{STEPS}", steps).replace("{CONTEXT}", context)
    return text.replace("{DIVIDED}", divided).replace("{LOAD}", load)


CASES = [
    ("script-resume-incomplete", P, _loop(LOAD)),
    ("script-resume-incomplete", P, _loop(LOAD + "; opt.load_state_dict(ck['opt'])")),
    ("script-resume-incomplete", U, _loop(LOAD, saved="net.state_dict()")),
    ("script-optimizer-not-saved", P, _loop(LOAD, saved="net.state_dict()")),
    ("script-optimizer-not-saved", A, _loop(ALL)),
    ("script-optimizer-not-saved", U, _loop()),
    ("script-resume-incomplete", A, _loop(ALL)),
    ("script-resume-incomplete", U, _loop()),
    ("script-resume-incomplete", P, LIGHTNING.replace("{MORE}", "")),
    ("script-resume-incomplete", A, LIGHTNING.replace("{MORE}", ", ckpt_path=args.resume")),
    ("script-resume-incomplete", P, HF.replace("{FROM}", "last").replace("{MORE}", "")),
    ("script-resume-incomplete", A, HF.replace("{FROM}", "'base'").replace("{MORE}", "resume_from_checkpoint=last")),
    ("script-resume-incomplete", P, TF.replace("{MORE}", "")),
    ("script-resume-incomplete", A, TF.replace("{MORE}", ", optimizer=opt")),
    ("script-resume-incomplete", P, _accelerate(load="model.load_state_dict(torch.load(args.resume_from))")),
    ("script-resume-incomplete", A, _accelerate()),
    ("script-accumulation-divided-twice", P, _accelerate(divided=" / accumulation")),
    ("script-accumulation-divided-twice", A, _accelerate()),
    ("script-accumulation-divided-twice", U, _loop()),
    ("script-accumulation-without-effect", P, _accelerate(context="acc.autocast()")),
    ("script-accumulation-without-effect", A, _accelerate()),
    ("script-accumulation-without-effect", U, _accelerate(steps="")),
    ("script-cleared-between-micro-batches", P, _loop(begin="opt.zero_grad()")),
    ("script-cleared-between-micro-batches", A, _loop()),
    ("script-cleared-between-micro-batches", U, _loop(begin="opt.zero_grad()", end="opt.step()")),
    ("script-accumulation-wrong", P, _loop(begin="opt.zero_grad()")),
    ("script-accumulation-wrong", A, _loop()),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "wanted", "text"), CASES)
def test_state(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


LIT = """
import lightning as L
class Lit(L.LightningModule):
    def training_step(self, batch, i):
        loss = self.loss(batch)
        return loss{MORE}
L.Trainer(accumulate_grad_batches=4).fit(Lit())
"""
OWN = """
from transformers import Trainer, TrainingArguments
class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = criterion(model(**inputs).logits, inputs["labels"])
        return loss{MORE}
Mine(args=TrainingArguments(gradient_accumulation_steps=4)).train()
"""
TAPE = """
import tensorflow as tf
def step(x, y):
    with tf.GradientTape() as tape:
        loss = {LOSS}
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
strategy.run(step, args=(x, y))
"""
MODE = "import mindspore as ms\nms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.{MODE})\n"


@pytest.mark.parametrize(
    ("symptom", "wanted", "text"),
    [
        ("script-accumulation-divided-twice", P, LIT.replace("{MORE}", " / self.accumulate")),
        ("script-accumulation-divided-twice", A, LIT.replace("{MORE}", "")),
        ("script-mean-of-parts", P, OWN.replace("{MORE}", "")),
        ("script-mean-of-parts", A, OWN.replace("{MORE}", " / num_items_in_batch")),
        ("script-mean-of-parts", P, TAPE.replace("{LOSS}", "tf.reduce_mean(ce(y, model(x)))")),
        ("script-mean-of-parts", A, TAPE.replace("{LOSS}", "tf.nn.compute_average_loss(ce(y, model(x)))")),
        ("script-mean-of-parts", P, MODE.replace("{MODE}", "DATA_PARALLEL")),
        ("script-mean-of-parts", A, MODE.replace("{MODE}", "DATA_PARALLEL, gradients_mean=True")),
        ("script-mean-of-parts", U, MODE.replace("{MODE}", "SEMI_AUTO_PARALLEL")),
    ],
)
def test_parts_of_a_batch(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


def test_what_is_cleared_is_what_steps() -> None:
    text = "import torch\nfor i, x in enumerate(loader):\n    d_opt.zero_grad()\n    net(x).sum().backward()\n    if (i + 1) % accumulate == 0:\n        {OPT}.step()\n"
    assert state("script-cleared-between-micro-batches", text.replace("{OPT}", "d_opt")) == P
    assert state("script-cleared-between-micro-batches", text.replace("{OPT}", "g_opt")) == A


def test_a_trainer_that_is_told_to_divide_by_itself() -> None:
    told = "class Base:\n    model_accepts_loss_kwargs = False\n"
    assert state("script-mean-of-parts", OWN.replace("{MORE}", "") + told) == U
