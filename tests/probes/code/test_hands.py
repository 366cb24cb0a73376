# ruff: noqa: E501
"""One error, many hands: the same faults and the same sound code as different engineers write them.

Each case is a whole script with what single probes have to say of it. "not-present": absent or unknown.
"""

from __future__ import annotations

import pytest

from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View

from .. import _build

P, A = "present", "absent"
CASES: list[tuple[str, str, dict[str, str]]] = []


def v(name: str, src: str, **expect: str) -> None:
    """Note a case."""
    CASES.append((name, src, expect))


RUNNER = """
import torch, torch.nn as nn, torch.nn.functional as F
class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.ReLU())
        self.stages = nn.ModuleList([nn.Sequential(nn.Conv2d(width, width, 3), nn.BatchNorm2d(width)) for _ in range(2)]){INITB}
    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = F.relu(x + stage(x))
        return x.mean((2, 3))
class Head(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(width, classes){INITH}
    def forward(self, feats):
        {HEADRET}
class Classifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = Backbone(cfg["width"])
        self.head = Head(cfg["width"], cfg["classes"])
        self.loss_fn = nn.CrossEntropyLoss({RED}){FREEZE}
    def extract_feat(self, img):
        {EXTRACT}
    def forward_train(self, img, gt):
        score = self.head(self.extract_feat(img))
        loss = self.loss_fn({SCORE}, gt)
        return dict(loss={NEG}loss, acc=(score.argmax(1) == gt).float().mean())
    def simple_test(self, img):
        return self.head(self.extract_feat(img)){PRED}
class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = Classifier(cfg["model"])
        opt = dict(cfg["optimizer"])
        self.optimizer = getattr(torch.optim, opt.pop("type"))({PARAMS}, **opt)
        {AFTER}
    def run(self):
        for epoch in range(self.cfg["epochs"]):
            self.train()
            self.val()
    def train(self):
        {TRAIN}
        for img, gt in self.loader:
            out = self.train_step(img, gt)
    def train_step(self, img, gt):
        out = self.model.forward_train(img, gt)
        {ZERO}
        out["loss"].backward()
        {LATE}
        {STEP}
        return out
    @torch.no_grad()
    def val(self):
        {EVAL}
        for img, gt in self.val_loader:
            score = self.model.simple_test(img)
            total = F.cross_entropy(score, gt, reduction="sum").item()
Runner(cfg).run()
"""
D = {
    "INITB": "",
    "INITH": "",
    "HEADRET": "return self.fc(self.drop(feats))",
    "RED": "",
    "FREEZE": "",
    "EXTRACT": "return self.backbone(img)",
    "SCORE": "score",
    "NEG": "",
    "PARAMS": "self.model.parameters()",
    "AFTER": "pass",
    "TRAIN": "self.model.train()",
    "ZERO": "self.optimizer.zero_grad()",
    "LATE": "pass",
    "STEP": "self.optimizer.step()",
    "EVAL": "self.model.eval()",
    "PRED": "",
}


def r(name, **kw):
    expect = {k: kw.pop(k) for k in list(kw) if k.islower()}
    src = RUNNER
    for k, val in {**D, **kw}.items():
        src = src.replace("{" + k + "}", val)
    v("runner-" + name, src, **expect)


HEALTHY = {
    "part_not_trained": A,
    "gradient_path_cut": A,
    "loss_negated": A,
    "loss_summed": A,
    "gradients_not_cleared": A,
    "cleared_before_step": A,
    "step_missing": A,
    "eval_mode_while_training": A,
    "double_softmax": A,
    "optimizer_gets_part": A,
    "output_without_gradient": A,
    "train_mode_while_evaluating": A,
}
r("healthy", **HEALTHY)
r("healthy-softmax-pred", PRED=".softmax(1)", **HEALTHY)
r(
    "freeze-loop",
    FREEZE="\n        for p in self.backbone.parameters():\n            p.requires_grad = False",
    freezes_parameters=P,
    part_not_trained=P,
)
r(
    "freeze-stages",
    FREEZE="\n        self._freeze_stages(1)\n    def _freeze_stages(self, n):\n        for m in [self.backbone.stem]:\n            for param in m.parameters():\n                param.requires_grad_(False)",
    freezes_parameters=P,
)
r("freeze-module", FREEZE="\n        self.backbone.requires_grad_(False)", freezes_parameters=P)
r(
    "freeze-setattr",
    FREEZE="\n        for p in self.backbone.parameters(): setattr(p, 'requires_grad', False)",
    freezes_parameters=P,
)
r(
    "freeze-name",
    FREEZE="\n        for n, p in self.named_parameters():\n            p.requires_grad = n.startswith('head')",
    freezes_parameters=P,
)
r(
    "freeze-regex",
    FREEZE="\n        import re\n        for n, p in self.named_parameters():\n            p.requires_grad = bool(re.match('head', n))",
    freezes_parameters=P,
)
r(
    "freeze-if",
    FREEZE="\n        for n, p in self.named_parameters():\n            if 'head' not in n:\n                p.requires_grad = False",
    freezes_parameters=P,
)
r(
    "freeze-by-tag",
    FREEZE="\n        for n, p in self.named_parameters():\n            p.requires_grad = 'head' in n or n.endswith('bias')",
    freezes_parameters=P,
)
r(
    "freeze-nograd-extract",
    EXTRACT="with torch.no_grad():\n            return self.backbone(img)",
    gradient_path_cut=P,
)
r("freeze-nograd-decorator", FREEZE="\n    @torch.no_grad()", gradient_path_cut=P)
r("cut-detach-extract", EXTRACT="return self.backbone(img).detach()", gradient_path_cut=P)
r(
    "cut-detach-var",
    EXTRACT="feats = self.backbone(img)\n        feats = feats.detach()\n        return feats",
    gradient_path_cut=P,
)
r("cut-data", EXTRACT="return self.backbone(img).data", gradient_path_cut=P)
r(
    "cut-numpy",
    EXTRACT="return torch.from_numpy(self.backbone(img).cpu().detach().numpy())",
    gradient_path_cut=P,
)
r("cut-tensor", SCORE="torch.tensor(score)", gradient_path_cut=P)
r("cut-head", HEADRET="return self.fc(feats.detach())", gradient_path_cut=P)
r("params-head", PARAMS="self.model.head.parameters()", optimizer_gets_part=P)
r("params-list-head", PARAMS="[p for p in self.model.head.parameters()]", optimizer_gets_part=P)
r(
    "params-list-all",
    PARAMS="[p for p in self.model.parameters() if p.requires_grad]",
    optimizer_gets_part=A,
    part_not_trained=A,
)
r(
    "params-filter-all",
    PARAMS="filter(lambda p: p.requires_grad, self.model.parameters())",
    optimizer_gets_part=A,
)
r(
    "params-groups-all",
    PARAMS="[{'params': self.model.backbone.parameters(), 'lr': 0.01}, {'params': self.model.head.parameters()}]",
    optimizer_gets_part=A,
)
r("params-groups-head", PARAMS="[{'params': self.model.head.parameters()}]", optimizer_gets_part=P)
r(
    "params-names",
    PARAMS="[p for n, p in self.model.named_parameters() if 'head' in n]",
    optimizer_gets_part=P,
)
r(
    "params-decay-groups",
    PARAMS="[{'params': [p for n, p in self.model.named_parameters() if 'bias' not in n], 'weight_decay': 0.1}, {'params': [p for n, p in self.model.named_parameters() if 'bias' in n], 'weight_decay': 0.0}]",
    optimizer_gets_part=A,
)
r(
    "params-decay-groups-lost",
    PARAMS="[{'params': [p for n, p in self.model.named_parameters() if 'bias' not in n], 'weight_decay': 0.1}]",
    optimizer_gets_part=P,
)
r("params-dims", PARAMS="[p for p in self.model.parameters() if p.dim() > 1]", optimizer_gets_part=P)
r("params-slice", PARAMS="list(self.model.parameters())[-2:]", optimizer_gets_part=P)
r("params-kw", PARAMS="params=self.model.head.parameters()", optimizer_gets_part=P)
r(
    "params-zero-lr",
    PARAMS="[{'params': self.model.backbone.parameters(), 'lr': 0.0}, {'params': self.model.head.parameters()}]",
    optimizer_gets_part=P,
)
r("params-fresh", PARAMS='Classifier(cfg["model"]).parameters()', optimizer_gets_other_model=P)
r("replaced", AFTER="self.model.head = Head(3, 4)", layer_replaced_after_optimizer=P)
r("replaced-deep", AFTER="self.model.head.fc = nn.Linear(3, 4)", layer_replaced_after_optimizer=P)
r("replaced-copy", AFTER="import copy; self.model = copy.deepcopy(self.model)", optimizer_gets_other_model=P)
r("no-zero", ZERO="pass", gradients_not_cleared=P)
r("zero-model", ZERO="self.model.zero_grad(set_to_none=True)", gradients_not_cleared=A)
r("zero-hand", ZERO="for p in self.model.parameters(): p.grad = None", gradients_not_cleared=A)
r(
    "zero-hand2",
    ZERO="for p in self.model.parameters():\n            if p.grad is not None: p.grad.zero_()",
    gradients_not_cleared=A,
)
r("zero-late", LATE="self.optimizer.zero_grad()", cleared_before_step=P)
r(
    "zero-late-hand",
    LATE="for p in self.model.parameters():\n            p.grad = None",
    cleared_before_step=P,
)
r("no-step", STEP="pass", step_missing=P)
r("no-train", TRAIN="pass", eval_mode_while_training=P)
r("train-false", TRAIN="self.model.train(False)", eval_mode_while_training=P)
r("train-eval", TRAIN="self.model.eval()", eval_mode_while_training=P)
r("train-mode-arg", TRAIN="self.model.train(mode=False)", eval_mode_while_training=P)
r(
    "bn-eval",
    TRAIN="self.model.train()\n        for m in self.model.modules():\n            if isinstance(m, nn.BatchNorm2d):\n                m.eval()",
    eval_mode_while_training="not-present",
)
r("no-eval", EVAL="pass", train_mode_while_evaluating=P)
r("neg", NEG="-", loss_negated=P)
r("neg-mul", NEG="-1 * ", loss_negated=P)
r("neg-var", RED="", SCORE="score", NEG="0 - ", loss_negated=P)
r("sum", RED='reduction="sum"', loss_summed=P)
r("double-head", HEADRET="return F.softmax(self.fc(feats), dim=1)", double_softmax=P)
r("double-head-var", HEADRET="probs = self.fc(feats).softmax(-1)\n        return probs", double_softmax=P)
r("double-head-log", HEADRET="return F.log_softmax(self.fc(feats), dim=1)", double_softmax="not-present")
r("double-score", SCORE="score.softmax(1)", double_softmax=P)
r("double-sigmoid", SCORE="torch.sigmoid(score)", double_softmax=P)
r("round", HEADRET="return torch.round(self.fc(feats))", output_without_gradient=P)
r("argmax", SCORE="score.argmax(1).float()", output_without_gradient=P)
r(
    "zero-init-w",
    INITH="\n        nn.init.zeros_(self.fc.weight)\n        nn.init.zeros_(self.fc.bias)",
    zero_init="not-absent",
)
r(
    "zero-init-loop",
    INITB="\n        for m in self.modules():\n            if isinstance(m, nn.Conv2d):\n                nn.init.constant_(m.weight, 0.0)",
    zero_init=P,
)
r(
    "zero-init-data",
    INITB="\n        for m in self.modules():\n            if isinstance(m, nn.Conv2d):\n                m.weight.data.zero_()",
    zero_init=P,
)
r(
    "zero-init-param",
    INITB="\n        for w in self.parameters():\n            torch.nn.init.zeros_(w)",
    zero_init=P,
)
r(
    "zero-init-rest",
    INITB="\n        for n, w in self.named_parameters():\n            if 'weight' in n:\n                nn.init.xavier_normal_(w)\n            else:\n                nn.init.zeros_(w)",
    zero_init="not-present",
)
r(
    "zero-init-other-way-round",
    INITB="\n        for n, w in self.named_parameters():\n            if 'weight' in n:\n                nn.init.zeros_(w)\n            else:\n                nn.init.normal_(w)",
    zero_init=P,
)
r(
    "zero-init-nograd",
    INITB="\n        with torch.no_grad():\n            for w in self.parameters():\n                w.copy_(torch.zeros_like(w))",
    zero_init=P,
)
r(
    "zero-init-assign",
    INITB="\n        for layer in self.stages:\n            layer[0].weight = nn.Parameter(torch.zeros_like(layer[0].weight))",
    zero_init=P,
)
r(
    "zero-init-data-assign",
    INITB="\n        for layer in self.stages:\n            layer[0].weight.data = torch.full(layer[0].weight.shape, 0.1)",
    zero_init=P,
)
r("zero-init-mul", INITB="\n        for p in self.parameters():\n            p.data.mul_(0)", zero_init=P)
r(
    "init-bn",
    INITB="\n        for m in self.modules():\n            if isinstance(m, nn.BatchNorm2d):\n                nn.init.ones_(m.weight)\n                nn.init.zeros_(m.bias)\n            elif isinstance(m, nn.Conv2d):\n                nn.init.kaiming_normal_(m.weight)",
    zero_init=A,
)
r(
    "init-loop-over-layers",
    INITB="\n        for layer in (self.stages[0][0], self.inner, self.gate, self.embed):\n            nn.init.zeros_(layer.weight)",
    zero_init=P,
)
r(
    "init-loop-over-gates",
    INITB="\n        for layer in (self.gate_in, self.gate_out):\n            nn.init.zeros_(layer.weight)",
    zero_init="not-present",
)
r(
    "init-bn-gamma",
    INITB="\n        for s in self.stages:\n            nn.init.zeros_(s[1].weight)",
    zero_init="not-present",
)
r("shared", INITB="\n        self.stages[1][0].weight = self.stages[0][0].weight", weights_shared=P)
r("shared-module", INITB="\n        self.stages[1] = self.stages[0]", weights_shared=P)

GPT = """
import torch, torch.nn as nn
from torch.nn import functional as F
class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c.n_embd); self.attn = nn.Linear(c.n_embd, c.n_embd); self.mlp = nn.Linear(c.n_embd, c.n_embd)
    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return {SKIP}
class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(wte=nn.Embedding(c.vocab, c.n_embd), drop=nn.Dropout(c.dropout), h=nn.ModuleList([Block(c) for _ in range(c.n_layer)])))
        self.lm_head = nn.Linear(c.n_embd, c.vocab, bias=False)
        {TIE}
        self.apply(self._init_weights)
    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            {INIT}
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
    def forward(self, idx, targets=None):
        x = self.transformer.drop(self.transformer.wte(idx))
        for block in self.transformer.h:
            x = block(x)
        if targets is not None:
            logits = self.lm_head(x)
            loss = F.cross_entropy({FLAT}.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1{RED})
        else:
            logits = self.lm_head(x[:, [-1], :])
            loss = None
        return logits, loss
    def configure_optimizers(self, wd, lr):
        param_dict = {pn: p for pn, p in self.named_parameters() if {COND}}
        decay_params = [p for n, p in param_dict.items() if p.dim() >= 2]
        nodecay_params = [p for n, p in param_dict.items() if p.dim() < 2]
        optim_groups = [{'params': decay_params, 'weight_decay': wd}{GROUP2}]
        return torch.optim.AdamW(optim_groups, lr=lr)
@torch.no_grad()
def estimate_loss():
    {EVAL}
    for split in ["train", "val"]:
        for k in range(eval_iters):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
    {BACK}
model = GPT(config)
optimizer = model.configure_optimizers(0.1, 1e-3)
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == 'float16'))
while True:
    if iter_num % eval_interval == 0:
        losses = estimate_loss()
    for micro_step in range(gradient_accumulation_steps):
        with ctx:
            logits, loss = model(X, Y)
            {DIV}
        X, Y = get_batch('train')
        scaler.scale({NEG}loss).backward()
    {CLIP}
    scaler.step(optimizer)
    {UPD}
    {ZERO}
    iter_num += 1
"""
DG = {
    "SKIP": "x + self.mlp(x)",
    "TIE": "self.transformer.wte.weight = self.lm_head.weight",
    "INIT": "torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)",
    "FLAT": "logits",
    "RED": "",
    "COND": "p.requires_grad",
    "GROUP2": ", {'params': nodecay_params, 'weight_decay': 0.0}",
    "EVAL": "model.eval()",
    "BACK": "model.train()",
    "DIV": "loss = loss / gradient_accumulation_steps",
    "NEG": "",
    "CLIP": "scaler.unscale_(optimizer)\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "UPD": "scaler.update()",
    "ZERO": "optimizer.zero_grad(set_to_none=True)",
}


def g(name, **kw):
    expect = {k: kw.pop(k) for k in list(kw) if k.islower()}
    src = GPT
    for k, val in {**DG, **kw}.items():
        src = src.replace("{" + k + "}", val)
    v("gpt-" + name, src, **expect)


GH = {
    "part_not_trained": A,
    "gradient_path_cut": A,
    "loss_negated": A,
    "loss_summed": A,
    "gradients_not_cleared": A,
    "cleared_before_step": A,
    "step_missing": A,
    "eval_mode_while_training": A,
    "double_softmax": A,
    "optimizer_gets_part": A,
    "clip_before_unscale": A,
    "scaler_not_updated": A,
    "accumulation_not_divided": A,
    "zero_init": A,
}
g("healthy", **GH)
g("double", FLAT="F.softmax(logits, dim=-1)", double_softmax=P)
g("neg", NEG="-", loss_negated=P)
g("sum", RED=", reduction='sum'", loss_summed=P)
g("zero", INIT="torch.nn.init.zeros_(module.weight)", zero_init=P)
g("const", INIT="module.weight.data.fill_(0.02)", zero_init=P)
g("no-zero", ZERO="pass", gradients_not_cleared=P)
g("group-lost", GROUP2="", optimizer_gets_part=P)
g("cond", COND="'h.' not in pn", optimizer_gets_part="not-absent")
g("no-back", BACK="pass", eval_mode_while_training=P)
g("no-unscale", CLIP="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", clip_before_unscale=P)
g("no-update", UPD="pass", scaler_not_updated=P)
g("no-div", DIV="pass", accumulation_not_divided=P)
g(
    "zero-inner",
    DIV="loss = loss / gradient_accumulation_steps\n            optimizer.zero_grad()",
    ZERO="pass",
    gradients_not_cleared="not-present",
)

FUNC = """
import torch
from torch import nn
def build(kind):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1]{TAIL})
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
LOSSES = {"ce": nn.CrossEntropyLoss, "mse": nn.MSELoss}
def make_optimizer(net, cfg):
    return OPTIMIZERS[cfg.opt]({PARAMS}, lr=cfg.lr)
def step(net, opt, crit, xb, yb):
    pred = net(xb)
    loss = crit(pred, yb)
    {ZERO}
    {BACK}
    {LATE}
    {STEP}
    return float(loss)
def main(cfg):
    net = build(cfg.kind)
    {FREEZE}
    crit = LOSSES[cfg.loss]({RED})
    opt = make_optimizer(net, cfg)
    for ep in range(cfg.epochs):
        net.train()
        for xb, yb in train:
            step(net, opt, crit, xb, yb)
        net.eval()
        with torch.no_grad():
            for xb, yb in val:
                net(xb)
main(cfg)
"""
DF = {
    "TAIL": "",
    "PARAMS": "net.parameters()",
    "ZERO": "opt.zero_grad()",
    "BACK": "loss.backward()",
    "LATE": "pass",
    "STEP": "opt.step()",
    "FREEZE": "pass",
    "RED": "",
}


def f(name, **kw):
    expect = {k: kw.pop(k) for k in list(kw) if k.islower()}
    src = FUNC
    for k, val in {**DF, **kw}.items():
        src = src.replace("{" + k + "}", val)
    v("func-" + name, src, **expect)


f(
    "healthy",
    part_not_trained=A,
    gradients_not_cleared=A,
    cleared_before_step=A,
    step_missing=A,
    eval_mode_while_training=A,
    optimizer_gets_part=A,
    double_softmax="not-present",
)
f("part", PARAMS="net[-1].parameters()", optimizer_gets_part=P)
f("part-slice", PARAMS="net[2:].parameters()", optimizer_gets_part=P)
f("freeze", FREEZE="for p in net[0].parameters(): p.requires_grad = False", part_not_trained=P)
f(
    "freeze-fn",
    FREEZE="freeze(net[0])\ndef freeze(module):\n    for p in module.parameters():\n        p.requires_grad_(False)\n    return module\ndef rest():\n    pass\n    cfg = crit = None",
    freezes_parameters=P,
)
f("neg", BACK="(-loss).backward()", loss_negated=P)
f("neg2", BACK="loss.mul(-1).backward()", loss_negated=P)
f("neg3", BACK="loss.backward(gradient=torch.tensor(-1.0))", loss_negated=P)
f("neg4", BACK="torch.neg(loss).backward()", loss_negated=P)
f("sum", RED='reduction="sum"', loss_summed=P)
f("no-zero", ZERO="pass", gradients_not_cleared=P)
f("late", LATE="opt.zero_grad()", ZERO="pass", cleared_before_step=P)
f("nostep", STEP="pass", step_missing=P)
f(
    "grad-manual",
    ZERO="pass",
    BACK="grads = torch.autograd.grad(loss, net.parameters())",
    STEP="with torch.no_grad():\n        for p, gr in zip(net.parameters(), grads):\n            p -= 0.1 * gr",
    gradients_not_cleared="not-present",
    step_missing="not-present",
)
f(
    "manual-backward",
    STEP="with torch.no_grad():\n        for p in net.parameters():\n            p.sub_(0.1 * p.grad)",
    step_missing="not-present",
)
f("maximize", PARAMS="net.parameters(), maximize=True", optimizer_maximises=P)

ENG = """
import torch, deepspeed
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4); self.out = nn.Linear(4, 10)
    def forward(self, x):
        return self.out(self.emb(x))
model = Net()
engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters={PARAMS}, config=ds)
for epoch in range(3):
    for x, y in loader:
        loss = nn.functional.cross_entropy(engine(x), y)
        engine.backward({NEG}loss)
        {STEP}
"""


def e(name, **kw):
    expect = {k: kw.pop(k) for k in list(kw) if k.islower()}
    src = ENG
    for k, val in {"PARAMS": "model.parameters()", "NEG": "", "STEP": "engine.step()", **kw}.items():
        src = src.replace("{" + k + "}", val)
    v("engine-" + name, src, **expect)


e("healthy", gradients_not_cleared="not-present", step_missing="not-present", loss_negated=A)
e("neg", NEG="-", loss_negated=P)

KERAS = """
import tensorflow as tf
from tensorflow import keras
base = keras.applications.ResNet50(include_top=False)
{FREEZE}
model = keras.Sequential([base, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10{ACT})])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.SparseCategoricalCrossentropy({LOGITS}), metrics=["accuracy"])
model.fit(train, validation_data=val, epochs=3)
"""


def k(name, **kw):
    expect = {q: kw.pop(q) for q in list(kw) if q.islower()}
    src = KERAS
    for q, val in {"FREEZE": "pass", "ACT": "", "LOGITS": "from_logits=True", **kw}.items():
        src = src.replace("{" + q + "}", val)
    v("keras-" + name, src, **expect)


k("healthy", double_softmax="not-present", activation_missing="not-present")
k("double", ACT=", activation='softmax'", double_softmax=P)
k("double-fn", ACT=", activation=tf.nn.softmax", double_softmax=P)
k("missing", LOGITS="", activation_missing=P)
k(
    "fine",
    LOGITS="",
    ACT=", activation='softmax'",
    activation_missing="not-present",
    double_softmax="not-present",
)
k("frozen", FREEZE="base.trainable = False", freezes_parameters=P)
k("frozen-loop", FREEZE="for layer in base.layers:\n    layer.trainable = False", freezes_parameters=P)

TAPE = """
import tensorflow as tf
model = make_model()
opt = tf.keras.optimizers.SGD(0.1)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training={MODE})
        loss = {NEG}loss_fn(y, logits)
    grads = tape.gradient(loss, {VARS})
    opt.apply_gradients(zip(grads, {VARS}))
    return loss
for epoch in range(3):
    for x, y in ds:
        train_step(x, y)
"""


def t(name, **kw):
    expect = {q: kw.pop(q) for q in list(kw) if q.islower()}
    src = TAPE
    for q, val in {"MODE": "True", "NEG": "", "VARS": "model.trainable_variables", **kw}.items():
        src = src.replace("{" + q + "}", val)
    v("tape-" + name, src, **expect)


t(
    "healthy",
    loss_negated="not-present",
    optimizer_gets_part="not-present",
    eval_mode_while_training="not-present",
)
t("neg", NEG="-", loss_negated=P)
t("mode", MODE="False", eval_mode_while_training=P)
t("part", VARS="model.layers[-1].trainable_variables", optimizer_gets_part=P)

MS = """
import mindspore as ms
from mindspore import nn, ops
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3); self.bn = nn.BatchNorm2d(8); self.fc = nn.Dense(8, 10{INIT})
    def construct(self, x):
        x = self.bn(self.conv(x)).mean((2, 3))
        return {OUT}
net = Net()
{FREEZE}
loss_fn = nn.CrossEntropyLoss({RED})
optimizer = nn.Momentum({PARAMS}, 0.1, 0.9)
def forward_fn(x, y):
    logits = net(x)
    return {NEG}loss_fn(logits, y), logits
grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
def train_step(x, y):
    (loss, _), grads = grad_fn(x, y)
    {STEP}
    return loss
for epoch in range(5):
    net.set_train({MODE})
    for x, y in ds:
        train_step(x, y)
"""


def m(name, **kw):
    expect = {q: kw.pop(q) for q in list(kw) if q.islower()}
    src = MS
    for q, val in {
        "INIT": "",
        "OUT": "self.fc(x)",
        "FREEZE": "pass",
        "RED": "",
        "PARAMS": "net.trainable_params()",
        "NEG": "",
        "STEP": "optimizer(grads)",
        "MODE": "",
        **kw,
    }.items():
        src = src.replace("{" + q + "}", val)
    v("ms-" + name, src, **expect)


m(
    "healthy",
    loss_negated="not-present",
    optimizer_gets_part=A,
    eval_mode_while_training="not-present",
    double_softmax=A,
    part_not_trained="not-present",
)
m("neg", NEG="-", loss_negated=P)
m("double", OUT="ops.softmax(self.fc(x))", double_softmax=P)
m("double2", OUT="nn.Softmax()(self.fc(x))", double_softmax=P)
m("mode", MODE="False", eval_mode_while_training=P)
m("part", PARAMS="net.fc.trainable_params()", optimizer_gets_part=P)
m("part2", PARAMS="[p for p in net.trainable_params() if 'fc' in p.name]", optimizer_gets_part=P)
m("freeze", FREEZE="for p in net.conv.get_parameters():\n    p.requires_grad = False", freezes_parameters=P)
m("zero", INIT=", weight_init='zeros'", zero_init=P)
m("zero2", INIT=", weight_init=ms.common.initializer.Zero()", zero_init=P)
m("sum", RED="reduction='sum'", loss_summed=P)
m("cut", OUT="self.fc(ops.stop_gradient(x))", gradient_path_cut=P)
m("nostep", STEP="pass", step_missing=P)

# healthy counter-examples
v(
    "gan",
    """
import torch
from torch import nn
G, D = nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 2)), nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 1))
optG = torch.optim.Adam(G.parameters()); optD = torch.optim.Adam(D.parameters())
bce = nn.BCEWithLogitsLoss()
for step in range(1000):
    fake = G(torch.randn(8, 2))
    lossD = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    optD.zero_grad(); lossD.backward(); optD.step()
    lossG = -D(fake).mean()
    optG.zero_grad(); lossG.backward(); optG.step()
""",
    loss_negated="not-present",
    gradient_path_cut="not-present",
    optimizer_gets_part="not-present",
    gradients_not_cleared=A,
    cleared_before_step="not-present",
    part_not_trained="not-present",
)
v(
    "ema-teacher",
    """
import torch, copy
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.f = nn.Linear(3, 3)
    def forward(self, x): return self.f(x)
model = Net()
teacher = copy.deepcopy(model).eval()
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model.train()
for x, y in loader:
    with torch.no_grad():
        soft = teacher(x)
    out = model(x)
    loss = F.cross_entropy(out, y) + F.kl_div(out.log_softmax(1), soft.softmax(1), reduction="batchmean")
    opt.zero_grad(); loss.backward(); opt.step()
""",
    part_not_trained="not-present",
    freezes_parameters="not-present",
    gradient_path_cut="not-present",
    eval_mode_while_training="not-present",
    double_softmax="not-present",
)
v(
    "policy-gradient",
    """
import torch
from torch import nn
class Pi(nn.Module):
    def __init__(self):
        super().__init__(); self.f = nn.Linear(3, 3)
    def forward(self, x): return torch.log_softmax(self.f(x), -1)
pi = Pi()
opt = torch.optim.Adam(pi.parameters())
for ep in range(100):
    logp = pi(obs).gather(1, act)
    loss = -(logp * adv.detach()).mean()
    opt.zero_grad(); loss.backward(); opt.step()
""",
    loss_negated="not-present",
    gradient_path_cut="not-present",
)
v(
    "lora",
    """
import torch
from torch import nn
class LoRA(nn.Module):
    def __init__(self, base, r):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(r, 4)); self.b = nn.Parameter(torch.zeros(4, r))
        for p in self.base.parameters(): p.requires_grad = False
    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T
model = LoRA(nn.Linear(4, 4), 2)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward(); opt.step(); opt.zero_grad()
""",
    zero_init="not-present",
    gradients_not_cleared=A,
)
v(
    "vae",
    """
import torch
from torch import nn
import torch.nn.functional as F
class VAE(nn.Module):
    def __init__(self):
        super().__init__(); self.e = nn.Linear(784, 40); self.d = nn.Linear(20, 784)
    def forward(self, x):
        mu, logvar = self.e(x).chunk(2, -1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return torch.sigmoid(self.d(z)), mu, logvar
def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
model = VAE(); opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for e in range(10):
    model.train()
    for x, _ in loader:
        opt.zero_grad()
        recon, mu, logvar = model(x)
        loss = loss_function(recon, x, mu, logvar)
        loss.backward(); opt.step()
""",
    loss_negated="not-present",
    double_softmax="not-present",
    activation_missing="not-present",
)
v(
    "regress",
    """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.rnn = nn.GRU(4, 8, batch_first=True); self.out = nn.Linear(8, 1)
    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
best = float("inf")
for epoch in range(10):
    net.train()
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        err = nn.functional.huber_loss(net(x), y)
        err.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        print(nn.functional.mse_loss(net(vx), vy, reduction="sum") / len(vy))
""",
    loss_summed=A,
    regression_loss_on_classes="not-present",
    part_not_trained=A,
)
v(
    "tbptt",
    """
import torch
from torch import nn
class LM(nn.Module):
    def __init__(self):
        super().__init__(); self.e = nn.Embedding(9, 4); self.rnn = nn.LSTM(4, 8); self.o = nn.Linear(8, 9)
    def forward(self, x, state):
        h, state = self.rnn(self.e(x), state)
        return self.o(h), tuple(s.detach() for s in state)
net = LM()
opt = torch.optim.Adam(net.parameters())
state = None
for x, y in loader:
    out, state = net(x, state)
    loss = nn.functional.cross_entropy(out.flatten(0, 1), y.flatten())
    opt.zero_grad(); loss.backward(); opt.step()
""",
    gradient_path_cut="not-present",
)
v(
    "rank-warmup-finetune",
    """
import torch
from torch import nn
import torchvision
model = torchvision.models.resnet18(weights="DEFAULT")
for p in model.parameters():
    p.requires_grad = False
model.fc = nn.Linear(512, 10)
opt = torch.optim.SGD(model.fc.parameters(), lr=0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
""",
    freezes_parameters=P,
)
v(
    "unfreeze-later",
    """
import torch
from torch import nn
def set_trainable(m, flag):
    for p in m.parameters():
        p.requires_grad = flag
model = Net()
set_trainable(model.backbone, False)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    if epoch == 2:
        set_trainable(model.backbone, True)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
""",
    freezes_parameters="not-present",
    part_not_trained="not-present",
)
v(
    "set-trainable-false",
    """
import torch
from torch import nn
def set_trainable(m, flag):
    for p in m.parameters():
        p.requires_grad = flag
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.backbone = nn.Linear(3, 3); self.head = nn.Linear(3, 2)
    def forward(self, x): return self.head(self.backbone(x))
model = Net()
set_trainable(model.backbone, False)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
""",
    freezes_parameters=P,
)
v(
    "dice-custom-loss-ok",
    """
import torch
from torch import nn
class DiceLoss(nn.Module):
    def forward(self, pred, target):
        p = torch.sigmoid(pred)
        inter = (p * target).sum()
        return 1 - 2 * inter / (p.sum() + target.sum() + 1e-6)
class UNet(nn.Module):
    def __init__(self):
        super().__init__(); self.c = nn.Conv2d(1, 1, 3); self.b = nn.BatchNorm2d(1)
    def forward(self, x): return self.b(self.c(x))
net = UNet(); dice = DiceLoss(); bce = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters())
for e in range(3):
    net.train()
    for x, y in loader:
        out = net(x)
        loss = bce(out, y) + dice(out, y)
        opt.zero_grad(); loss.backward(); opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in val: iou = ((net(x).sigmoid() > 0.5) & (y > 0.5)).float().mean()
""",
    double_softmax=A,
    loss_negated="not-present",
    output_without_gradient="not-present",
    gradient_path_cut=A,
)


@pytest.mark.parametrize(("name", "text", "expected"), CASES, ids=[c[0] for c in CASES])
def test_every_hand_is_read(name: str, text: str, expected: dict[str, str]) -> None:
    """Each probe says what the case wants of it."""
    probes = {n.rpartition(".")[2]: p for n, p in all_probes().items() if n.startswith("code.")}
    for probe, wanted in expected.items():
        found = probes[probe](View(_build.run(scripts={"train.py": text}), None))
        if wanted.startswith("not-"):
            assert found.state.value != wanted[4:], f"{probe}: {found.why}"
        else:
            assert found.state.value == wanted, f"{probe}: {found.why}"


SEQUENCE = """
import torch
from torch import nn
class Reader(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, 8)
        {MAKE}
        self.out = nn.Linear(8, 2)
    def forward(self, x):
        {RUN}
        return self.out({TAKE})
net = Reader(9)
{LOAD}
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    with torch.autocast({DEVICE}):
        loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward()
    {REDUCE}
    opt.step()
"""
LSTM = "self.rnn = nn.LSTM(8, 8{})"
ENCODER = "layer = nn.TransformerEncoderLayer(8, 2{}); self.enc = nn.TransformerEncoder(layer, 2)"
HEADS = "self.enc = nn.ModuleList({})"
WRITTEN = "w = {}\n        h = self.emb(x) * (w / w.sum(-1, keepdim=True))"


def _sequence(**changes: str) -> str:
    text = SEQUENCE
    plain = {
        "MAKE": LSTM.format(", batch_first=True"),
        "RUN": "h, _ = self.rnn(self.emb(x))",
        "TAKE": "h[:, -1]",
    }
    rest = {"LOAD": "pass", "DEVICE": "'cpu'", "REDUCE": "pass"}
    for key, value in {**plain, **rest, **changes}.items():
        text = text.replace("{" + key + "}", value)
    return text


CALLS: list[tuple[str, str, dict[str, str]]] = [
    ("batch_first_missing", A, {}),
    ("batch_first_missing", P, {"MAKE": LSTM.format("")}),
    ("batch_first_missing", P, {"MAKE": LSTM.format(", batch_first=False"), "TAKE": "h.mean(dim=1)"}),
    ("batch_first_missing", "unknown", {"MAKE": LSTM.format(""), "TAKE": "h[-1]"}),
    (
        "batch_first_missing",
        "unknown",
        {"MAKE": LSTM.format(""), "RUN": "h = self.rnn(self.emb(x).transpose(0, 1))[0]"},
    ),
    (
        "batch_first_missing",
        P,
        {"MAKE": ENCODER.format(""), "RUN": "h = self.enc(self.emb(x))", "TAKE": "h.mean(1)"},
    ),
    (
        "batch_first_missing",
        A,
        {"MAKE": ENCODER.format(", batch_first=True"), "RUN": "h = self.enc(self.emb(x))"},
    ),
    ("softmax_by_hand", P, {"RUN": WRITTEN.format("self.out(x).exp()")}),
    ("softmax_by_hand", P, {"RUN": WRITTEN.format("torch.exp(self.out(x))")}),
    ("softmax_by_hand", P, {"RUN": WRITTEN.format("self.out(x).flatten(-2).mul(4).exp()")}),
    (
        "softmax_by_hand",
        A,
        {"RUN": "s = self.out(x)\n        " + WRITTEN.format("(s - s.amax(-1, keepdim=True)).exp()")},
    ),
    ("softmax_by_hand", A, {"RUN": WRITTEN.format("torch.exp(torch.tanh(self.out(x)))")}),
    ("softmax_by_hand", "unknown", {}),
    ("layer_repeated", P, {"MAKE": HEADS.format("[nn.Linear(8, 8)] * 4")}),
    ("layer_repeated", P, {"MAKE": "one = nn.Linear(8, 8); " + HEADS.format("[one for _ in range(4)]")}),
    ("layer_repeated", A, {"MAKE": HEADS.format("[nn.Linear(8, 8) for _ in range(4)]")}),
    ("layer_repeated", A, {"MAKE": HEADS.format("[nn.Linear(8, 8), *[nn.ReLU()] * 2]")}),
    ("layer_repeated", "unknown", {}),
    ("load_not_strict", P, {"LOAD": "net.load_state_dict(torch.load('a.pt'), strict=False)"}),
    (
        "load_not_strict",
        A,
        {"LOAD": "lost = net.load_state_dict(torch.load('a.pt'), strict=False); print(lost)"},
    ),
    ("load_not_strict", A, {"LOAD": "net.load_state_dict(torch.load('a.pt'))"}),
    ("load_not_strict", "unknown", {}),
    ("autocast_elsewhere", P, {"DEVICE": "'cuda'"}),
    ("autocast_elsewhere", A, {"DEVICE": "'cuda'", "LOAD": "net.cuda()"}),
    ("autocast_elsewhere", A, {"DEVICE": "'npu'", "LOAD": "net.to('npu:0')"}),
    ("autocast_elsewhere", A, {"DEVICE": "'cuda'", "LOAD": "net.to(args.device)"}),
    ("autocast_elsewhere", "unknown", {"DEVICE": "device"}),
    (
        "gradients_reduced_twice",
        P,
        {"LOAD": "net = DDP(net)", "REDUCE": "for p in net.parameters(): dist.all_reduce(p.grad)"},
    ),
    ("gradients_reduced_twice", A, {"LOAD": "net = DDP(net)"}),
    ("gradients_reduced_twice", "unknown", {"REDUCE": "for p in net.parameters(): dist.all_reduce(p.grad)"}),
]


@pytest.mark.parametrize(("probe", "wanted", "changes"), CALLS)
def test_calls_that_do_something_else_than_was_meant(
    probe: str, wanted: str, changes: dict[str, str]
) -> None:
    """Axes, written-out softmaxes, repeated layers, keys passed over, devices, reductions."""
    test_every_hand_is_read(probe, _sequence(**changes), {probe: wanted})
