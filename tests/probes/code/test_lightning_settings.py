"""What a Trainer of Lightning is told, hooks that take its place, and which weights and counts are scored."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TEXT = """
import lightning as L
import torch, torch.nn as nn, torch.nn.functional as F
from lightning.pytorch.callbacks import ModelCheckpoint
from torchmetrics.classification import MulticlassAccuracy
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 4)
        self.seen = []
        self.train_acc = MulticlassAccuracy(num_classes=4)
        self.val_acc = MulticlassAccuracy(num_classes=4)
    def training_step(self, batch, i):
        x, y = batch
        out = self.net(x)
        loss = F.cross_entropy(out, y)
        self.train_acc(out, y)
        self.log("train_acc", self.train_acc)
        {STEP}
        return loss
    def validation_step(self, batch, i):
        x, y = batch
        out = self.net(x)
        {METRIC}
        self.seen.append(F.cross_entropy(out, y, reduction="none"))
    def on_validation_epoch_end(self):
        {SEEN}
        {EMPTY}
    {HOOK}
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)
net = Net()
keep = ModelCheckpoint({KEEP})
trainer = L.Trainer(max_epochs=9, callbacks=[keep]{MORE})
trainer.fit(net, train_loader, val_loader)
{TEST}
"""
PLAIN = {
    "STEP": "pass",
    "METRIC": 'self.val_acc(out, y); self.log("val_acc", self.val_acc)',
    "SEEN": 'self.log("val_loss", torch.cat(self.seen).mean())',
    "EMPTY": "self.seen.clear()",
    "HOOK": "",
    "KEEP": 'monitor="val_loss"',
    "MORE": "",
    "TEST": 'trainer.test(net, test_loader, ckpt_path="best")',
}
BOUND = ", gradient_clip_val=1.0"
CLIPS = "nn.utils.clip_grad_norm_(self.parameters(), 1.0)"


def _text(**changes: str) -> str:
    text = TEXT
    for name, value in (PLAIN | changes).items():
        text = text.replace("{" + name + "}", value)
    return text


def _hook(name: str, *lines: str) -> str:
    return f"def {name}:\n        " + "\n        ".join(lines)


ZERO = "optimizer_zero_grad(self, epoch, batch_idx, optimizer)"
CLIP = "configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None)"
HALF, BF16, UNSCALED = "script-half-without-scaler", "script-pure-bf16", "script-clip-before-unscale"
CLEAR, CLIPPED = "script-gradients-not-cleared", "script-clip-without-effect"
SHARE, LAST, CHOSEN = "script-same-shard", "script-last-instead-of-best", "script-best-chosen-wrongly"
COUNTS = "script-metric-miscounts"

CASES: list[tuple[str, str, dict[str, str]]] = [
    (HALF, U, {}),
    (HALF, A, {"MORE": ', precision="16-mixed"'}),
    (HALF, P, {"MORE": ', precision="16-true"'}),
    (HALF, U, {"MORE": ', precision="bf16-mixed"'}),
    (BF16, U, {"MORE": ', precision="bf16-mixed"'}),
    (BF16, P, {"MORE": ', precision="bf16-true"'}),
    (UNSCALED, P, {"MORE": ', precision="16-mixed"', "HOOK": _hook("on_after_backward(self)", CLIPS)}),
    (UNSCALED, U, {"MORE": ', precision="bf16-mixed"', "HOOK": _hook("on_after_backward(self)", CLIPS)}),
    (
        UNSCALED,
        U,
        {"MORE": ', precision="16-mixed"', "HOOK": _hook("on_before_optimizer_step(self, optimizer)", CLIPS)},
    ),
    (CLEAR, U, {}),
    (CLEAR, U, {"HOOK": _hook(ZERO, "optimizer.zero_grad(set_to_none=True)")}),
    (CLEAR, U, {"HOOK": _hook(ZERO, "super().optimizer_zero_grad(epoch, batch_idx, optimizer)")}),
    (CLEAR, U, {"HOOK": _hook(ZERO, "for p in self.parameters():", "    p.grad = None")}),
    (CLEAR, U, {"HOOK": _hook(ZERO, "self.clear_all(optimizer)")}),
    (CLEAR, P, {"HOOK": _hook(ZERO, "self.log('cleared', batch_idx)")}),
    (CLEAR, P, {"HOOK": _hook(ZERO, "pass")}),
    (CLEAR, P, {"HOOK": _hook(ZERO, "if batch_idx == 0:", "    optimizer.zero_grad()")}),
    (CLEAR, U, {"HOOK": _hook(ZERO, "if batch_idx % 4 == 0:", "    optimizer.zero_grad()")}),
    (CLIPPED, U, {"MORE": BOUND}),
    (CLIPPED, P, {"MORE": BOUND, "HOOK": _hook(CLIP, "self.log('norm', self.net.weight.grad.norm())")}),
    (CLIPPED, U, {"MORE": BOUND, "HOOK": _hook(CLIP, "self.clip_gradients(optimizer, gradient_clip_val)")}),
    (CLIPPED, U, {"MORE": BOUND, "HOOK": _hook(CLIP, CLIPS)}),
    (CLIPPED, U, {"MORE": BOUND, "HOOK": _hook(CLIP, "self.bound(optimizer, gradient_clip_val)")}),
    (CLIPPED, U, {"MORE": BOUND, "HOOK": _hook(CLIP, "self.net.weight.grad *= 0.5")}),
    (CLIPPED, P, {"MORE": ', gradient_clip_algorithm="norm"'}),
    (CLIPPED, U, {"MORE": BOUND + ', gradient_clip_algorithm="norm"'}),
    (CLIPPED, P, {"STEP": CLIPS}),
    (CLIPPED, U, {"HOOK": _hook("on_before_optimizer_step(self, optimizer)", CLIPS)}),
    (SHARE, U, {}),
    (SHARE, A, {"MORE": ", devices=4"}),
    (SHARE, P, {"MORE": ", devices=4, use_distributed_sampler=False"}),
    (SHARE, P, {"MORE": ", devices=[0, 1], strategy='ddp', use_distributed_sampler=False"}),
    (SHARE, U, {"MORE": ", devices=1, use_distributed_sampler=False"}),
    (SHARE, U, {"MORE": ", devices='auto', use_distributed_sampler=False"}),
    (
        SHARE,
        A,
        {"MORE": ", devices=2, use_distributed_sampler=True", "STEP": "rank = self.trainer.global_rank"},
    ),
    (CHOSEN, A, {}),
    (CHOSEN, P, {"KEEP": 'monitor="train_acc", mode="max"'}),
    (CHOSEN, P, {"KEEP": 'monitor="train_acc_epoch", mode="max"'}),
    (CHOSEN, A, {"KEEP": 'monitor="val_acc", mode="max"'}),
    (LAST, A, {}),
    (LAST, P, {"KEEP": "save_top_k=1"}),
    (LAST, U, {"KEEP": "save_top_k=-1"}),
    (LAST, U, {"KEEP": "", "TEST": "trainer.test(net, test_loader)"}),
    (LAST, P, {"TEST": "trainer.test(net, test_loader, ckpt_path=keep.last_model_path)"}),
    (LAST, A, {"TEST": "trainer.test(net, test_loader, ckpt_path=keep.best_model_path)"}),
    (
        LAST,
        P,
        {
            "TEST": "best = Net.load_from_checkpoint(keep.best_model_path)\ntrainer.test(net, test_loader)",
        },
    ),
    (
        LAST,
        A,
        {
            "TEST": "best = Net.load_from_checkpoint(keep.best_model_path)\ntrainer.test(best, test_loader)",
        },
    ),
    (COUNTS, A, {}),
    (COUNTS, P, {"EMPTY": "pass"}),
    (COUNTS, A, {"EMPTY": "self.seen = []"}),
    (COUNTS, A, {"EMPTY": "del self.seen[:]"}),
    (COUNTS, A, {"EMPTY": "pass", "HOOK": _hook("on_validation_epoch_start(self)", "self.seen = []")}),
    (COUNTS, P, {"SEEN": 'self.log("val_loss", self.seen[-1].mean())'}),
    (COUNTS, P, {"METRIC": 'self.train_acc(out, y); self.log("val_acc", self.train_acc)'}),
    (COUNTS, A, {"METRIC": 'self.log("val_acc", self.train_acc(out, y))'}),
]


@pytest.mark.parametrize(("symptom", "wanted", "changes"), CASES)
def test_modules_and_trainers(symptom: str, wanted: str, changes: dict[str, str]) -> None:
    assert state(symptom, _text(**changes)) == wanted


def test_what_is_scored_by_its_batch_is_no_mix() -> None:
    """A metric that is called gives the batch's value; its counts are read nowhere."""
    text = _text(METRIC='self.log("val_acc", self.train_acc(out, y))')
    text = text.replace("self.train_acc(out, y)\n", "").replace(
        'self.log("train_acc", self.train_acc)', 'self.log("train_acc", self.train_acc(out, y))'
    )
    assert state(COUNTS, text) != P


def test_backward_by_hand_goes_past_the_scaler() -> None:
    by_hand = _text(MORE=', precision="16-mixed"', STEP="loss.backward(); self.optimizers().step()")
    by_hand = by_hand.replace("self.seen = []", "self.seen = []; self.automatic_optimization = False", 1)
    assert state(HALF, by_hand) == P
    assert state(HALF, by_hand.replace("loss.backward()", "self.manual_backward(loss)")) == A


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("net.freeze()", True),
        ("net.freeze(); net.net.requires_grad_(True)", True),
        ("net.freeze(); net.unfreeze()", False),
        ("net = Net.load_from_checkpoint(path); net.freeze()", False),
        ("net.eval()", False),
    ],
)
def test_what_is_frozen_as_a_whole(line: str, wanted: bool) -> None:
    text = _text().replace("keep = Model", f"{line}\nkeep = Model")
    assert (state("script-part-not-trained", text) == P) is wanted
    late = _text(TEST="net.freeze()\ntrainer.test(net, test_loader, ckpt_path='best')")
    assert state("script-part-not-trained", late) != P


def test_a_callback_that_no_trainer_is_given() -> None:
    best = "print(keep.best_model_path)\ntrainer.test(net, test_loader, ckpt_path=keep.best_model_path)"
    assert state(LAST, _text(TEST=best)) == A
    assert state(LAST, _text(TEST=best).replace("callbacks=[keep]", "callbacks=[]")) == P
    given = _text(TEST=best).replace("callbacks=[keep]", "callbacks=[]")
    assert state(LAST, given.replace("trainer.fit", "trainer.callbacks.append(keep)\ntrainer.fit")) == A
