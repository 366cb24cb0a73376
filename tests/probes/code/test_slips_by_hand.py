"""Slips of programs that write out a step, a rate, attention or noise, and what looks like them."""

from __future__ import annotations

import pytest

from .._scripts import state

LOOP = """
import math
import torch
from torch import nn
def lr_at(step, peak, warm, total):
    if step < warm:
        return peak * (step + 1) / warm
    frac = min(1.0, (step - warm) / (total - warm))
    return 0.1 * peak + 0.45 * peak * (1 {SIGN} math.cos(math.pi * frac))
model = nn.Linear(4, 2)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, {BETA}))
x, y = torch.randn(640, 4), torch.randint(0, 2, (640,))
step = 0
for epoch in range(400):
    for i in range(20):
        for group in opt.param_groups:
            group["lr"] = lr_at({MOMENT}, 1e-3, 200, 8000)
        loss = nn.functional.cross_entropy(model(x[i * 32 : i * 32 + 32]), y[i * 32 : i * 32 + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
"""


def _loop(sign: str = "+", beta: str = "0.95", moment: str = "step") -> str:
    return LOOP.replace("{SIGN}", sign).replace("{BETA}", beta).replace("{MOMENT}", moment)


@pytest.mark.parametrize(
    ("text", "found"), [(_loop(), False), (_loop(sign="-"), True), (_loop(moment="i"), True)]
)
def test_the_course_of_a_rate(text: str, found: bool) -> None:
    assert (state("script-schedule-formula", text) == "present") is found


def test_a_second_beta_that_forgets_at_once() -> None:
    assert state("script-betas-swapped", _loop(beta="0.095")) == "present"
    assert state("script-betas-swapped", _loop()) == "absent"


ATTENTION = """
import math
import torch
from torch import nn
def rotate(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, {SUM}), -1).flatten(-2)
class Attention(nn.Module):
    def __init__(self, dim, heads, ctx):
        super().__init__()
        self.h, self.hd = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.register_buffer("tri", torch.tril(torch.ones(ctx, ctx, dtype=torch.bool)))
    def forward(self, x, keep, cos, sin):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k = {TURNED}
        scores = (q @ k.transpose(-2, -1)) {SCALE} math.sqrt(self.hd)
        mask = self.tri[: x.size(1), : x.size(1)] & keep[:, None, :]
        return scores.masked_fill({MASK}, float("-inf")).softmax(-1) @ v
opt = torch.optim.Adam(Attention(8, 2, 4).parameters())
"""
BOTH = "rotate(q, cos, sin), rotate(k, cos, sin)"


@pytest.mark.parametrize(
    ("symptom", "change"),
    [
        ("script-axis-wrong", {"{SUM}": "a * sin - b * cos"}),
        ("script-axis-wrong", {"{TURNED}": "rotate(q, cos, sin), k"}),
        ("script-attention-unscaled", {"{SCALE}": "*"}),
        ("script-training-sees-evaluation", {"{MASK}": "mask"}),
    ],
)
def test_attention_by_hand(symptom: str, change: dict[str, str]) -> None:
    right = {"{SUM}": "a * sin + b * cos", "{TURNED}": BOTH, "{SCALE}": "/", "{MASK}": "~mask"}
    for parts, found in (({**right, **change}, True), (right, False)):
        text = ATTENTION
        for old, new in parts.items():
            text = text.replace(old, new)
        assert (state(symptom, text) == "present") is found


DIFFUSION = """
import torch
from torch import nn
from torchvision.utils import save_image
betas = torch.linspace(1e-4, 0.02, 1000)
alphas = 1 - betas
bar = {BAR}
model = nn.Conv2d(3, 3, 3)
opt = torch.optim.Adam(model.parameters())
for epoch in range(9):
    for images, _ in loader:
        noise = torch.randn_like(images)
        t = {T}
        ab = bar[t].view(-1, 1, 1, 1)
        noisy = {MIX}
        pred = model(noisy, t)
        loss = nn.functional.mse_loss(pred.float(), {TARGET}.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
SOUND = {
    "{BAR}": "torch.cumprod(alphas, 0)",
    "{T}": "torch.randint(0, 1000, (images.size(0),))",
    "{MIX}": "ab.sqrt() * images + (1 - ab).sqrt() * noise",
    "{TARGET}": "noise",
}


@pytest.mark.parametrize(
    "change",
    [
        {"{BAR}": "alphas"},
        {"{T}": "torch.full((images.size(0),), 999)"},
        {"{MIX}": "ab * images + (1 - ab) * noise"},
        {"{TARGET}": "noisy"},
        {"{MIX}": "ab.sqrt() * images + (1 - ab).sqrt() * torch.randn_like(images)"},
    ],
)
def test_noise_by_hand(change: dict[str, str]) -> None:
    for parts, found in (({**SOUND, **change}, True), (SOUND, False)):
        text = DIFFUSION
        for old, new in parts.items():
            text = text.replace(old, new)
        assert (state("script-method-slipped", text) == "present") is found


UNET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.down, self.low = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, 2)
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.out = nn.Conv2d(16, 8, 3)
        self.skip = nn.Conv2d(3, 8, 1) if c != d else nn.Identity()
    def forward(self, x):
        first = self.down(x)
        low = self.up(self.low(first))
        return self.out(torch.cat([low, {BRANCH}], dim=1)){END}
"""


@pytest.mark.parametrize(
    ("symptom", "branch", "end", "found"),
    [
        ("script-branch-lost", "torch.zeros_like(first)", " + self.skip(x)", True),
        ("script-branch-lost", "first * 0", " + self.skip(x)", True),
        ("script-branch-lost", "first", " + self.skip(x)", False),
        ("script-branch-lost", "torch.zeros_like(low)", " + self.skip(x) + first", False),
        ("script-layer-unused", "first", "", True),
        ("script-layer-unused", "first", " + self.skip(x)", False),
    ],
)
def test_branches_that_are_blanked(symptom: str, branch: str, end: str, found: bool) -> None:
    text = UNET.replace("{BRANCH}", branch).replace("{END}", end)
    assert (state(symptom, text) == "present") is found


AVERAGE = """
import copy
import torch
from torch import nn
class EMA:
    def __init__(self, model):
        self.shadow = copy.deepcopy(model)
    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.mul_(0.99).add_(p, alpha=0.01)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
ema = EMA(model)
for x, y in loader:
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    {MOVE}
    bar.update(1)
torch.save(ema.shadow.state_dict(), "ema.pt")
"""


@pytest.mark.parametrize(
    ("move", "found"), [("pass", True), ("ema.update(model)", False), ("keep(ema)", False)]
)
def test_an_average_that_never_moves(move: str, found: bool) -> None:
    assert (state("script-average-astray", AVERAGE.replace("{MOVE}", move)) == "present") is found


STARTS = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 1))
for p in model.parameters():
    nn.init.uniform_(p, {ENDS})
"""


def test_every_weight_drawn_widely() -> None:
    assert state("script-weights-start-wide", STARTS.replace("{ENDS}", "-10, 10")) == "present"
    assert state("script-weights-start-wide", STARTS.replace("{ENDS}", "-0.08, 0.08")) == "absent"
    scaled = STARTS.replace("{ENDS}", "-1, 1") + "    p.data.mul_(0.02)\n"
    assert state("script-weights-start-wide", scaled) != "present"


PROCESSES = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init
from mindspore.amp import DynamicLossScaler, auto_mixed_precision
def make(path, rank, size):
    return ds.ImageFolderDataset(path, num_shards=size, shard_id=rank, shuffle=True).batch(32)
class Step:
    def __init__(self, net, opt):
        self.net, self.opt = net, opt
        self.scaler = DynamicLossScaler(2**16, 2, 1000)
        self.grad = ms.value_and_grad(self.forward, None, opt.parameters)
        self.reducer = nn.DistributedGradReducer(opt.parameters)
    def forward(self, x, y):
        loss = ops.cross_entropy(self.net(x), y)
        return {LOSS}
    def __call__(self, x, y):
        loss, grads = self.grad(x, y)
        {REDUCE}
        self.opt(self.scaler.unscale(grads))
        self.scaler.adjust(True)
        return loss
init()
rank, size = get_rank(), get_group_size()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
net = auto_mixed_precision(nn.Dense(4, 2), "O2")
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = Step(net, opt)
for x, y in make("train", {RANK}, size):
    print(step(x, y), step.scaler.scale_value)
"""


@pytest.mark.parametrize(
    ("symptom", "change"),
    [
        ("script-no-gradient-synchronisation", {"{REDUCE}": "pass"}),
        ("script-no-gradient-synchronisation", {"{REDUCE}": "self.reducer(grads)"}),
        ("script-scaler-without-effect", {"{LOSS}": "loss"}),
        ("script-same-shard", {"{RANK}": "0"}),
    ],
)
def test_a_step_of_several_processes(symptom: str, change: dict[str, str]) -> None:
    right = {"{REDUCE}": "grads = self.reducer(grads)", "{LOSS}": "self.scaler.scale(loss)", "{RANK}": "rank"}
    for parts, found in (({**right, **change}, True), (right, False)):
        text = PROCESSES
        for old, new in parts.items():
            text = text.replace(old, new)
        assert (state(symptom, text) == "present") is found


VISION = """
import torch
import torch.nn.functional as F
from torch import nn
class Drop(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p
    def forward(self, x):
        if {MODE}:
            return x
        keep = 1 - self.p
        mask = torch.empty(x.shape[0], 1).bernoulli_({CHANCE})
        return x * mask / keep
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(d, d * 4), {BEND}nn.Linear(d * 4, d))
        self.drop = Drop(0.1)
    def forward(self, x):
        return x + self.drop(self.mlp(x))
def mixup(x, y, lam, perm):
    onehot = F.one_hot(y, 9).float()
    return lam * x + (1 - lam) * x[perm], {TARGET}
def soft_ce(logits, target):
    return -(target * F.{LOG}).sum(dim=-1).mean()
net = Net(9)
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    x, target = mixup(x, y, 0.3, torch.randperm(8))
    opt.zero_grad()
    soft_ce(net(x), target).backward()
    opt.step()
net.eval()
"""
RIGHT = {
    "{MODE}": "not self.training",
    "{CHANCE}": "keep",
    "{BEND}": "nn.GELU(), ",
    "{TARGET}": "lam * onehot + (1 - lam) * onehot[perm]",
    "{LOG}": "log_softmax(logits, dim=-1)",
}


@pytest.mark.parametrize(
    ("symptom", "change"),
    [
        ("script-dropout-always-on", {"{MODE}": "self.p == 0"}),
        ("script-argument-inverted", {"{CHANCE}": "self.p"}),
        ("script-layers-unbent", {"{BEND}": ""}),
        ("script-sample-torn-apart", {"{TARGET}": "(1 - lam) * onehot + lam * onehot[perm]"}),
        ("script-sample-torn-apart", {"{TARGET}": "onehot"}),
        ("script-loss-wrong", {"{LOG}": "softmax(logits, dim=-1)"}),
        ("script-loss-wrong", {"{LOG}": "log_softmax(logits, dim=0)"}),
    ],
)
def test_parts_of_a_vision_program(symptom: str, change: dict[str, str]) -> None:
    for parts, found in (({**RIGHT, **change}, True), (RIGHT, False)):
        text = VISION
        for old, new in parts.items():
            text = text.replace(old, new)
        assert (state(symptom, text) == "present") is found


JAX = """
import flax.linen as nn
import jax
import numpy as np
import optax
from flax.training.train_state import TrainState
EPOCHS = 40
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dropout(0.1, deterministic={OFF})(nn.relu(nn.Dense(8)(x)))
        return nn.Dense(1)(x)
x, y = np.load("x.npy"), np.load("y.npy")
batches = len(x) // 32
net = Net()
params = net.init(jax.random.PRNGKey(0), x[:1], False)["params"]
rate = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 200, {LENGTH})
tx = optax.chain({CHAIN})
state = TrainState.create(apply_fn=net.apply, params=params, tx=tx)
def step(state, x, y):
    def objective(params):
        return ((state.apply_fn({"params": params}, x, True, rngs={"dropout": 0}) - y) ** 2).mean()
    loss, grads = jax.value_and_grad(objective)(state.params)
    state = state.apply_gradients(grads=grads)
    return state, loss
for epoch in range(EPOCHS):
    order = np.random.permutation(len(x))
    for i in range(batches):
        rows = order[i * 32 : i * 32 + 32]
        {STATE}, loss = step(state, x[rows], y[rows])
    print(epoch, loss)
"""
FLAX = {
    "{OFF}": "not train",
    "{LENGTH}": "EPOCHS * batches",
    "{CHAIN}": "optax.clip_by_global_norm(1.0), optax.adamw(rate)",
    "{STATE}": "state",
}


@pytest.mark.parametrize(
    ("symptom", "change"),
    [
        ("script-mode-wrong", {"{OFF}": "train"}),
        ("script-schedule-unit", {"{LENGTH}": "EPOCHS"}),
        ("script-clip-without-effect", {"{CHAIN}": "optax.adamw(rate), optax.clip_by_global_norm(1.0)"}),
        ("script-part-not-trained", {"{STATE}": "_"}),
    ],
)
def test_a_step_of_optax(symptom: str, change: dict[str, str]) -> None:
    for parts, found in (({**FLAX, **change}, True), (FLAX, False)):
        text = JAX
        for old, new in parts.items():
            text = text.replace(old, new)
        assert (state(symptom, text) == "present") is found


DECODER = """
import torch
from torch import nn
class Attend(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = {LAYERS}
    def forward(self, x, y, mask):
        q = self.q(x).view(2, -1, 4, 8).transpose(1, 2)
        k = self.k(y).view(2, -1, 4, 8).transpose(1, 2)
        v = self.v(y).view(2, -1, 4, 8).transpose(1, 2)
        s = (q @ k.transpose(2, 3) / 8**0.5).masked_fill({HIDDEN}, -6e4)
        return (s.softmax(-1) @ v){BACK}.contiguous().view(2, -1, 32)
class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.own, self.n1, self.n2, self.ff = Attend(d), nn.LayerNorm(d), nn.LayerNorm(d), nn.Linear(d, d)
    def forward(self, x, mask):
        x = self.n1(x + self.own(x, x, mask))
        return self.n2({SUM}self.ff(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(32) for _ in range(3)])
    def forward(self, x, ids):
        look = torch.ones(ids.size(1), ids.size(1)).tril().bool()
        both = (ids != 0)[:, None, None, :] & look
        for layer in self.layers:
            x = layer(x, both)
        return x
opt = torch.optim.Adam(Net().parameters())
"""
SEEN = {
    "{LAYERS}": "(nn.Linear(d, d) for _ in range(3))",
    "{HIDDEN}": "mask == 0",
    "{BACK}": ".transpose(1, 2)",
    "{SUM}": "x + ",
}


@pytest.mark.parametrize(
    ("symptom", "change"),
    [
        ("script-layer-repeated", {"{LAYERS}": "[nn.Linear(d, d)] * 3"}),
        ("script-training-sees-evaluation", {"{HIDDEN}": "mask == 1"}),
        ("script-operator-wrong", {"{BACK}": ""}),
        ("script-stream-replaced", {"{SUM}": ""}),
    ],
)
def test_a_decoder_by_hand(symptom: str, change: dict[str, str]) -> None:
    for parts, found in (({**SEEN, **change}, True), (SEEN, False)):
        text = DECODER
        for old, new in parts.items():
            text = text.replace(old, new)
        assert (state(symptom, text) == "present") is found


def test_a_score_that_begins_at_infinity_falls() -> None:
    kept = (
        _loop().replace("step = 0", "step, best = 0, float('inf')")
        + """
    score = validate(model)
    if score < best:
        best = score
        torch.save(model.state_dict(), "best.pt")
"""
    )
    assert state("script-best-chosen-wrongly", kept) != "present"
    assert state("script-best-chosen-wrongly", kept.replace("float('inf')", "0.0")) == "present"


OWN = """
import torch
class {NAME}(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                g, st = p.grad, self.state[p]
                st["m"].mul_(b1).add_(g, alpha=1 - b1)
                st["v"].mul_(b2).addcmul_(g, g, value=1 - b2)
                v = st["v"] / (1 - b2 ** st["t"])
                p.add_(st["m"] / (v.sqrt() + 1e-8), alpha=-group["lr"])
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "wanted"),
    [
        ("Adam", "", "", "absent"),
        ("Adam", ".sqrt()", "", "present"),
        ("Adam", "alpha=1 - b1", "alpha=1 - b2", "present"),
        (
            "Adam",
            'p.add_(st["m"] / (v.sqrt() + 1e-8), alpha',
            'p.addcdiv_(st["m"], v + 1e-8, value',
            "present",
        ),
        ("Adam", "v.sqrt()", "v**0.5", "absent"),
        ("Sophia", ".sqrt()", "", "unknown"),
        ("Momentum", "addcmul_(g, g, value=1 - b2)", "add_(g, alpha=1 - b2)", "unknown"),
    ],
)
def test_moments_of_an_optimizer_of_its_own(name: str, old: str, new: str, wanted: str) -> None:
    text = OWN.replace("{NAME}", name).replace(old, new, 1) if old else OWN.replace("{NAME}", name)
    assert state("script-own-moments", text) == wanted
