"""The same errors in other idioms: Lightning modules, trainer classes, Hugging Face trainers, functions."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State

from .test_checks import readings

LIGHTNING = """\
import torch, lightning as L
from torch import nn
import torch.nn.functional as F
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8,16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 5){HEADX}
    def forward(self, x):
        return self.head(self.backbone(x)){OUT}
    def training_step(self, batch, i):
        x, y = batch
        loss = F.cross_entropy(self(x), y{RED})
        return {NEG}loss
    def configure_optimizers(self):
        return torch.optim.Adam({PAR}, lr=1e-3)
trainer = L.Trainer(max_epochs=3)
trainer.fit(Lit(), loader)
"""
TRAINER = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8,16)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(16,5)
    def forward(self, x):
        return self.head(self.drop(torch.relu(self.enc(x)))){OUT}
class Trainer:
    def __init__(self, model, train_loader, val_loader, cfg):
        self.model = model
        self.criterion = nn.CrossEntropyLoss({RED})
        self.optimizer = torch.optim.SGD({PAR}, lr=cfg.lr)
        {FREEZE}
    def train_step(self, x, y):
        {ZERO}
        out = self.model(x)
        loss = {NEG}self.criterion(out, y)
        loss.backward()
        {LATE}
        self.optimizer.step()
        return loss.item()
    def train_epoch(self):
        {TRAIN}
        for x, y in self.train_loader:
            self.train_step(x, y)
    @torch.no_grad()
    def validate(self):
        {EVAL}
        for x, y in self.val_loader:
            self.model(x)
    def run(self):
        for epoch in range(self.epochs):
            self.train_epoch()
            self.validate()
Trainer(Net(), None, None, None).run()
"""
HUGGING_FACE = """\
import torch
from torch import nn
from transformers import Trainer, TrainingArguments, AutoModelForSequenceClassification
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
{FREEZE}
class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        labels = inputs.pop("labels")
        out = model(**inputs)
        logits = out.logits{OUT}
        loss = nn.functional.cross_entropy(logits, labels{RED})
        return ({NEG}loss, out) if return_outputs else {NEG}loss
MyTrainer(model, TrainingArguments("out"), train_dataset=ds).train()
"""
FUNCTIONS = """\
import torch, torch.nn as nn, torch.nn.functional as F
def make_model():
    return nn.Sequential(nn.Linear(8,16), nn.ReLU(), nn.Dropout(.1), nn.Linear(16,5){SEQ})
def train_one_epoch(model, loader, opt, device):
    {TRAIN}
    for x, y in loader:
        {ZERO}
        loss = F.cross_entropy(model(x.to(device)){OUT}, y.to(device){RED})
        ({NEG}loss).backward()
        {LATE}
        opt.step()
def evaluate(model, loader):
    {EVAL}
    with torch.inference_mode():
        for x, y in loader: model(x)
def main():
    model = make_model()
    {FREEZE}
    opt = torch.optim.AdamW({PAR}, lr=1e-3)
    for epoch in range(10):
        train_one_epoch(model, tl, opt, "cpu")
        evaluate(model, vl)
main()
"""

DEFAULTS = {
    "OUT": "",
    "RED": "",
    "NEG": "",
    "HEADX": "",
    "SEQ": "",
    "FREEZE": "pass",
    "LATE": "pass",
    "PAR": "MODEL.parameters()",
    "ZERO": "OPT.zero_grad()",
    "TRAIN": "MODEL.train()",
    "EVAL": "MODEL.eval()",
}
NAMES = {
    LIGHTNING: ("self", "self.opt"),
    TRAINER: ("self.model", "self.optimizer"),
    FUNCTIONS: ("model", "opt"),
}


def fill(template: str, **changes: str) -> str:
    model, optimizer = NAMES.get(template, ("model", "optimizer"))
    text = template
    for key, value in (DEFAULTS | changes).items():
        text = text.replace("{" + key + "}", value.replace("MODEL", model).replace("OPT", optimizer))
    return text


WATCHED = (
    "script-double-softmax",
    "script-loss-summed",
    "script-loss-negated",
    "script-part-not-trained",
    "script-gradients-not-cleared",
    "script-gradients-cleared-too-early",
    "script-train-mode-while-evaluating",
    "script-eval-mode-while-training",
    "script-gradient-path-cut",
    "script-output-without-gradient",
    "script-zero-init",
    "script-pure-bf16",
    "script-half-without-scaler",
    "script-loss-wrong",
    "script-mode-wrong",
)


@pytest.mark.parametrize("template", [LIGHTNING, TRAINER, HUGGING_FACE, FUNCTIONS])
def test_sound_scripts_are_silent(template: str) -> None:
    found = readings(fill(template))
    assert [s for s in WATCHED if found[s].state is State.PRESENT] == []


def test_a_pretrained_body_may_be_frozen_under_its_head() -> None:
    found = readings(fill(HUGGING_FACE, FREEZE=FROZEN))
    assert found["script-part-not-trained"].state is not State.PRESENT


SUM = {"RED": ', reduction="sum"'}
FROZEN = "for p in model.base_model.parameters():\n    p.requires_grad = False"
FROM_CONFIG = HUGGING_FACE.replace('from_pretrained("bert-base-uncased")', "from_config(config)")
NAMED = "for n, p in model.named_parameters():\n    p.requires_grad_('classifier' in n)"
HEAD = "\n        for p in self.backbone.parameters():\n            p.requires_grad = False"
CASES: list[tuple[str, dict[str, str], str]] = [
    *(
        (t, {"OUT": ".softmax(-1)"}, "script-double-softmax")
        for t in (LIGHTNING, TRAINER, HUGGING_FACE, FUNCTIONS)
    ),
    *((t, {"NEG": "-"}, "script-loss-negated") for t in (LIGHTNING, TRAINER, HUGGING_FACE, FUNCTIONS)),
    *((t, SUM, "script-loss-summed") for t in (LIGHTNING, HUGGING_FACE, FUNCTIONS)),
    (TRAINER, {"RED": 'reduction="sum"'}, "script-loss-summed"),
    *((t, {"OUT": ".detach()"}, "script-gradient-path-cut") for t in (LIGHTNING, TRAINER, FUNCTIONS)),
    *(
        (t, {"OUT": ".argmax(-1).float()"}, "script-output-without-gradient")
        for t in (LIGHTNING, HUGGING_FACE)
    ),
    (LIGHTNING, {"PAR": "self.head.parameters()"}, "script-part-not-trained"),
    (LIGHTNING, {"HEADX": HEAD}, "script-part-not-trained"),
    (TRAINER, {"PAR": "self.model.head.parameters()"}, "script-part-not-trained"),
    (TRAINER, {"FREEZE": "self.model.enc.requires_grad_(False)"}, "script-part-not-trained"),
    # a body with random weights: over a pretrained one it is a choice that the guides of transformers show
    (FROM_CONFIG, {"FREEZE": FROZEN}, "script-part-not-trained"),
    (HUGGING_FACE, {"FREEZE": NAMED}, "script-part-not-trained"),
    (FUNCTIONS, {"PAR": "model[-1].parameters()"}, "script-part-not-trained"),
    (
        FUNCTIONS,
        {"PAR": "[p for n, p in model.named_parameters() if 'head' in n]"},
        "script-part-not-trained",
    ),
    *((t, {"ZERO": "pass"}, "script-gradients-not-cleared") for t in (TRAINER, FUNCTIONS)),
    *(
        (t, {"ZERO": "pass", "LATE": "OPT.zero_grad()"}, "script-gradients-cleared-too-early")
        for t in (TRAINER, FUNCTIONS)
    ),
    *((t, {"EVAL": "pass"}, "script-train-mode-while-evaluating") for t in (TRAINER, FUNCTIONS)),
    *((t, {"TRAIN": "pass"}, "script-eval-mode-while-training") for t in (TRAINER, FUNCTIONS)),
    (FUNCTIONS, {"SEQ": ", nn.Softmax(dim=-1)"}, "script-double-softmax"),
    (FUNCTIONS, {"FREEZE": "for p in model.parameters():\n        nn.init.zeros_(p)"}, "script-zero-init"),
    (FUNCTIONS, {"FREEZE": "model = model.to(device='cuda', dtype=torch.bfloat16)"}, "script-pure-bf16"),
    (FUNCTIONS, {"FREEZE": "model = model.half()"}, "script-half-without-scaler"),
]


@pytest.mark.parametrize(("template", "changes", "symptom"), CASES)
def test_errors_are_found_in_every_idiom(template: str, changes: dict[str, str], symptom: str) -> None:
    assert readings(fill(template, **changes))[symptom].state is State.PRESENT


def test_what_only_looks_like_a_part_is_none() -> None:
    wanted = "filter(lambda p: p.requires_grad, model.parameters())"
    for changes in ({"PAR": wanted}, {"PAR": "[p for p in model.parameters() if p.requires_grad]"}):
        found = readings(fill(FUNCTIONS, **changes))["script-part-not-trained"]
        assert found.state is not State.PRESENT
    whole = LIGHTNING.replace("self.head = nn.Linear(16, 5){HEADX}", "self.head = None")
    found = readings(fill(whole, PAR="self.backbone.parameters()"))["script-optimizer-gets-part"]
    assert found.state is State.ABSENT


def test_a_copy_of_the_model_that_is_frozen_where_it_is_made_is_no_frozen_part() -> None:
    """An average of the weights keeps no gradient; the model that is trained goes on with all of its own."""
    kept = "import copy\n    shadow = copy.deepcopy(model).requires_grad_(False)"
    frozen = "model.requires_grad_(False)"

    states = [readings(fill(FUNCTIONS, FREEZE=t))["script-freezes-parameters"].state for t in (kept, frozen)]
    assert states == [State.ABSENT, State.PRESENT]


def test_a_part_that_is_loaded_before_it_is_frozen_is_kept_on_purpose() -> None:
    """Weights of another training are put into a part, and stay; later or elsewhere that says nothing."""
    load = "model.body.load_state_dict(torch.load('body.pt'))"
    freeze = "model.body.embed.requires_grad_(False)"
    other = load.replace("body.load", "head.load")

    ways = (f"{load}\n    {freeze}", f"{freeze}\n    {load}", f"{other}\n    {freeze}")
    states = [readings(fill(FUNCTIONS, FREEZE=t))["script-freezes-parameters"].state for t in ways]
    assert states == [State.ABSENT, State.PRESENT, State.PRESENT]


SUMMED = """\
import torch
from torch import nn
from transformers import Trainer
class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        criterion = nn.CrossEntropyLoss(reduction="sum")
        loss = criterion(outputs.logits, labels)
        {DIVIDED}
        return (loss, outputs) if return_outputs else loss
Weighted(model, args).train()
"""


@pytest.mark.parametrize(("line", "state"), [("loss = loss / labels.numel()", "absent"), ("pass", "present")])
def test_a_sum_that_a_trainer_is_handed_divided_is_a_mean(line: str, state: str) -> None:
    assert readings(SUMMED.replace("{DIVIDED}", line))["script-loss-summed"].state.value == state


def test_a_model_that_is_frozen_under_its_adapters_is_meant_so() -> None:
    """Low-rank adapters and linear probes train little on purpose."""
    plain = "model[0].requires_grad_(False)"
    adapted = plain + "\n    add_lora(model, rank=4)"

    states = [readings(fill(FUNCTIONS, FREEZE=t))["script-part-not-trained"].state for t in (plain, adapted)]
    assert states[0] is State.PRESENT
    assert states[1] is not State.PRESENT


NORM = """\
import {FRAMEWORK}
net = nn.SequentialCell(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8, momentum=0.9))  # torch has 0.1 for this
loss.backward()
optimizer.step()
"""


@pytest.mark.parametrize(
    ("framework", "momentum", "state"),
    [
        ("mindspore", 0.9, "absent"),
        ("mindspore", 0.1, "present"),
        ("torch", 0.9, "present"),
        ("torch", 0.1, "absent"),
        ("torch, mindspore", 0.9, "unknown"),
    ],
)
def test_batch_norm_momentum_is_the_share_of_another_thing_in_each_framework(
    framework: str, momentum: float, state: str
) -> None:
    """PyTorch gives the new batch's share, MindSpore that of the old average."""
    code = NORM.replace("{FRAMEWORK}", framework).replace("0.9", str(momentum))
    assert readings(code)["script-batch-norm-momentum"].state.value == state
