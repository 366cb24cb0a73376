# ruff: noqa: E501
"""Critics and generators, policies, averages of weights, flax' layers made where asked, and subclassed Keras."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

GAN = """
import pytorch_lightning as pl
import torch
from torch import nn
class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 4)
    def forward(self, z):
        return self.f(z)
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 1)
    def forward(self, x):
        return self.f(x)
class Gan(pl.LightningModule):
    def __init__(self, slow=0.999, every=5):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.maker = Maker()
        self.critic = Critic()
        self.copy = Maker()
        self.copy.load_state_dict(self.maker.state_dict())
    def penalty(self, mixed):
        (slopes,) = torch.autograd.grad(self.critic(mixed).sum(), mixed, create_graph=True)
        return ((slopes.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
    def training_step(self, real, i):
        opt_m, opt_c = self.optimizers()
        fake = self.maker(torch.randn(len(real), 8)).detach()
        loss_c = self.critic(fake).mean() - self.critic(real).mean() + 10 * self.penalty(fake.requires_grad_())
        opt_c.zero_grad()
        self.manual_backward(loss_c)
        opt_c.step()
        if (i + 1) % self.hparams.every == 0:
            made = self.maker(torch.randn(len(real), 8))
            loss_m = -self.critic(made).mean()
            opt_m.zero_grad()
            self.manual_backward(loss_m)
            opt_m.step()
            self.update_copy()
    @torch.no_grad()
    def update_copy(self):
        share = self.hparams.slow
        for old, new in zip(self.copy.parameters(), self.maker.parameters()):
            old.mul_(share).add_(new, alpha=1 - share)
    def configure_optimizers(self):
        return torch.optim.Adam(self.maker.parameters()), torch.optim.Adam(self.critic.parameters())
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-loss-term-subtracted", "self.critic(fake).mean() - self.critic(real)", "self.critic(real).mean() - self.critic(fake)"),
        ("script-loss-term-subtracted", ".flatten(1).norm(2, dim=1)", ".norm(2)"),
        ("script-gradient-path-cut", "-self.critic(made)", "-self.critic(made.detach())"),
        ("script-gradient-path-cut", ", create_graph=True", ""),
        ("script-gradients-not-cleared", "        opt_c.zero_grad()\n", ""),
        ("script-gradients-misplaced", "Adam(self.critic.parameters())", "Adam(self.parameters())"),
        ("script-average-astray", "mul_(share).add_(new, alpha=1 - share)", "mul_(1 - share).add_(new, alpha=share)"),
        ("script-average-astray", "            self.update_copy()\n", ""),
    ],
)  # fmt: skip
def test_faults_of_two_networks_are_found(symptom: str, old: str, new: str) -> None:
    """The critic the wrong way round, penalties without slope, optimizers not cleared or holding too much."""
    assert GAN.count(old) == 1

    assert state(symptom, GAN) != P
    assert state(symptom, GAN.replace(old, new)) == P


PLAIN = """
import torch, torch.nn.functional as F
from torch import nn
class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 4)
    def forward(self, z):
        return self.f(z)
class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 1)
    def forward(self, x):
        return self.f(x)
maker, judge = Maker(), Judge()
opt_m, opt_j = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
def of_judge(real, fake):
    return F.relu(1.0 - judge(real)).mean() + F.relu(1.0 + judge(fake)).mean()
def of_maker(fake):
    return F.binary_cross_entropy_with_logits(judge(fake), torch.ones(64, 1))
for real, _ in loader:
    fake = maker(torch.randn(64, 8))
    opt_j.zero_grad()
    loss_j = of_judge(real, fake.detach())
    loss_j.backward()
    opt_j.step()
    opt_m.zero_grad()
    loss_m = of_maker(fake)
    loss_m.backward()
    opt_m.step()
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        (
            "script-loss-term-subtracted",
            "relu(1.0 - judge(real)).mean() + F.relu(1.0 + judge",
            "relu(1.0 + judge(real)).mean() + F.relu(1.0 - judge",
        ),
        ("script-loss-term-subtracted", "torch.ones(64, 1)", "torch.zeros(64, 1)"),
        ("script-gradient-path-cut", "of_maker(fake)\n    loss_m", "of_maker(fake.detach())\n    loss_m"),
    ],
)
def test_objectives_by_functions_are_gone_into(symptom: str, old: str, new: str) -> None:
    """Hinges and cross-entropies against ones and zeros, written in functions of their own."""
    assert PLAIN.count(old) == 1

    assert state(symptom, PLAIN) != P
    assert state(symptom, PLAIN.replace(old, new)) == P


def test_one_network_in_both_optimizers_is_told() -> None:
    """Two optimizers over the judge, and the maker that is asked in none."""
    both = PLAIN.replace("Adam(maker.parameters())", "Adam(judge.parameters())")

    assert state("script-gradients-misplaced", PLAIN) != P
    assert state("script-gradients-misplaced", both) == P


AVERAGE = """
import copy, torch
from torch import nn
class Average:
    def __init__(self, model, decay=0.999):
        self.decay, self.module = decay, copy.deepcopy(model)
    @torch.no_grad()
    def update(self, model):
        now = model.state_dict()
        for key, value in self.module.state_dict().items():
            value.mul_(self.decay).add_(now[key], alpha=1 - self.decay)
model = nn.Linear(4, 2)
average = Average(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(9):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
        average.update(model)
"""


def test_an_average_by_names_of_a_state_is_read() -> None:
    """`state[key]` beside the loop variable: exchanged shares are told, right ones are not."""
    turned = AVERAGE.replace("mul_(self.decay)", "mul_(1 - self.decay)").replace(
        "alpha=1 - self", "alpha=self"
    )

    assert state("script-average-astray", AVERAGE) == A
    assert state("script-average-astray", turned) == P
    assert state("script-average-astray", "x = 1\n") == U


POLICY = """
import torch
from torch import nn, optim
from torch.distributions import Normal
class Agent(nn.Module):
    def __init__(self, n, a):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(n, 8), nn.Tanh(), nn.Linear(8, a))
        self.v = nn.Linear(n, 1)
    def judge(self, obs, act):
        d = Normal(self.pi(obs), 1.0)
        return d.log_prob(act).sum(-1), d.entropy().sum(-1), self.v(obs).squeeze(-1)
class Trainer:
    def __init__(self, total=1000000, horizon=512, ent=0.01):
        self.ent = ent
        self.horizon = horizon
        self.net = Agent(4, 2)
        self.opt = optim.Adam(self.net.parameters(), lr=3e-4)
        self.n_updates = total // horizon
        self.sched = optim.lr_scheduler.LinearLR(self.opt, 1.0, 0.0, total_iters=self.n_updates)
    def gae(self, buf, last, gamma=0.99, lam=0.95):
        adv, running = torch.zeros(self.horizon), 0.0
        for t in reversed(range(self.horizon)):
            alive = 1.0 - buf["done"][t]
            delta = buf["rew"][t] + gamma * last * alive - buf["val"][t]
            running = delta + gamma * lam * alive * running
            adv[t] = running
        return adv
    def update(self, flat, adv, ret):
        for _ in range(10):
            for b in torch.randperm(len(adv)).split(64):
                logp, entropy, value = self.net.judge(flat["obs"][b], flat["act"][b])
                ratio = (logp - flat["logp"][b]).exp()
                surrogate = torch.min(ratio * adv[b], ratio.clamp(0.8, 1 + 0.2) * adv[b])
                policy_loss = -surrogate.mean()
                value_loss = (value - ret[b]).pow(2).mean()
                loss = policy_loss + 0.5 * value_loss - self.ent * entropy.mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
    def run(self):
        for u in range(self.n_updates):
            buf, adv, ret = self.collect()
            self.update(buf, adv, ret)
            self.sched.step()
"""
TERM = "script-loss-term-subtracted"


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        (TERM, "policy_loss = -surrogate", "policy_loss = surrogate"),
        (TERM, '(logp - flat["logp"][b])', '(flat["logp"][b] - logp)'),
        (TERM, '(logp - flat["logp"][b]).exp()', 'logp / flat["logp"][b]'),
        (TERM, "- self.ent *", "+ self.ent *"),
        (TERM, "log_prob(act).sum(-1)", "log_prob(act).mean(-1)"),
        ("script-gradient-path-cut", "(logp - flat", "(logp.detach() - flat"),
        ("script-method-slipped", "gamma * lam * alive * running", "gamma * lam * running"),
        ("script-schedule-unit", "self.opt.step()\n", "self.opt.step()\n                self.sched.step()\n"),
    ],
)  # fmt: skip
def test_faults_of_a_policy_are_found(symptom: str, old: str, new: str) -> None:
    """Signs and ratios of PPO, sums over ends of games, and a schedule that ends with the first rounds."""
    assert POLICY.count(old) == 1

    assert state(symptom, POLICY) != P
    assert state(symptom, POLICY.replace(old, new)) == P


FLAX = """
import flax.linen as nn, jax, jax.numpy as jnp, optax
class Attend(nn.Module):
    heads: int
    @nn.compact
    def __call__(self, x, train):
        b, n, d = x.shape
        q, k, v = jnp.split(nn.Dense(3 * d)(x).reshape(b, n, 3, self.heads, -1), 3, axis=2)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q[:, :, 0], k[:, :, 0]).astype(jnp.float32) * (d // self.heads) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -1e9)
        w = nn.softmax(scores, axis=-1).astype(x.dtype)
        w = nn.Dropout(0.1, deterministic=not train)(w)
        return nn.Dense(d, kernel_init=nn.initializers.zeros)(jnp.einsum("bhqk,bkhd->bqhd", w, v[:, :, 0]).reshape(b, n, d))
class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(4 * x.shape[-1])(x)))
class Block(nn.Module):
    heads: int
    @nn.compact
    def __call__(self, x, train):
        x = x + Attend(self.heads)(nn.LayerNorm()(x), train)
        x = x + Mlp()(nn.LayerNorm()(x))
        return x
class Net(nn.Module):
    layers: int
    @nn.compact
    def __call__(self, x, train=False):
        for i in range(self.layers):
            x = Block(4)(x, train)
        return nn.Dense(8)(x)
tx = optax.adamw(1e-3, weight_decay=0.1, mask=lambda p: jax.tree_util.tree_map(lambda w: w.ndim > 1, p))
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-stream-replaced", "x = x + Mlp()", "x = Mlp()"),
        ("script-zero-init", "nn.Dense(4 * x.shape[-1])", "nn.Dense(4 * x.shape[-1], kernel_init=nn.initializers.zeros)"),
        ("script-attention-unscaled", " * (d // self.heads) ** -0.5", ""),
        ("script-operator-wrong", "softmax(scores, axis=-1)", "softmax(scores, axis=1)"),
        ("script-layer-repeated", "        for i in range(self.layers):\n            x = Block(4)(x", "        block = Block(4)\n        for i in range(self.layers):\n            x = block(x"),
        ("script-decay-turned-round", "w.ndim > 1", "w.ndim <= 1"),
    ],
)  # fmt: skip
def test_faults_of_layers_that_are_made_where_they_are_asked(symptom: str, old: str, new: str) -> None:
    """Flax: a branch in the stream's place, a start at zero inside, weights over heads, one block for all."""
    assert FLAX.count(old) == 1

    assert state(symptom, FLAX) != P
    assert state(symptom, FLAX.replace(old, new)) == P


BLOCK = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff, self.drop = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)), nn.Dropout(0.1)
    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).chunk(3, -1)
        w = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, -1)
        x = x + self.out(w @ v)
        h = self.ff(self.n2(x))
        return x + self.drop(h)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8) for _ in range(4)])
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""


def test_the_last_branch_keeps_the_stream() -> None:
    """`return drop(h)` where `x + drop(h)` is meant, of branches that go by way of names."""
    assert state("script-stream-replaced", BLOCK) == A
    assert (
        state("script-stream-replaced", BLOCK.replace("return x + self.drop(h)", "return self.drop(h)")) == P
    )


def test_the_last_value_of_a_name_is_read() -> None:
    """A shortcut that flax brings to another width, and the sum leaves out."""
    text = """
import flax.linen as nn, jax
class Res(nn.Module):
    ch: int
    @nn.compact
    def __call__(self, x):
        y = nn.relu(nn.Conv(self.ch, (3, 3))(x))
        if x.shape != y.shape:
            x = nn.Conv(self.ch, (1, 1))(x)
        return nn.relu(x + y)
"""
    assert state("script-wiring-wrong", text) != P
    assert state("script-wiring-wrong", text.replace("relu(x + y)", "relu(y)")) == P


UNET = """
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.downs = [tf.keras.layers.Conv2D(8, 3, padding="same") for _ in range(2)]
        self.ups = [tf.keras.layers.Conv2D(8, 3, padding="same") for _ in range(2)]
    def call(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
        for up, skip in zip(self.ups, reversed(skips)):
            x = up(tf.concat([x, skip], -1))
        return x
"""


def test_what_a_list_holds_is_looked_at() -> None:
    """Skips that are kept and gone over, and no layer gets them."""
    assert state("script-value-unused", UNET) != P
    assert state("script-value-unused", UNET.replace("tf.concat([x, skip], -1)", "x")) == P


REWARDS = """
import copy, random, gymnasium as gym, torch
from torch import nn
class Agent:
    def __init__(self):
        self.online = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.target = copy.deepcopy(self.online)
        self.opt = torch.optim.Adam(self.online.parameters())
    def learn(self, memory, gamma=0.99):
        obs, action, reward, nxt, done = memory.sample()
        q = self.online(obs).gather(1, action)
        with torch.no_grad():
            goal = reward + gamma * (1 - done) * self.target(nxt).max(1, keepdim=True)[0]
        loss = nn.functional.mse_loss(q, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        for a, b in zip(self.target.parameters(), self.online.parameters()):
            a.data.mul_(0.995).add_(b.data, alpha=0.005)
agent = Agent()
for step in range(9000):
    agent.learn(memory)
"""


def test_a_target_network_follows_the_one_that_learns() -> None:
    """A copy that values are asked of and that nothing writes any more; one that is updated is right."""
    left = REWARDS[: REWARDS.index("        for a, b")] + REWARDS[REWARDS.index("agent = Agent()") :]

    assert state("script-average-astray", REWARDS) == A
    assert state("script-average-astray", left) == P


KERAS = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, mixed_precision
mixed_precision.set_global_policy("mixed_float16")
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv = layers.Conv2D(8, 3)
        self.pool = layers.GlobalAveragePooling2D()
        self.head = layers.Dense(12, dtype="float32")
    def call(self, x, training=False):
        x = self.pool(self.conv(x))
        return self.head(x)
model = Net()
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
stop = keras.callbacks.EarlyStopping("val_loss", patience=5)
model.fit(train, validation_data=val, epochs=20, callbacks=[stop])
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-activation-missing-before-loss", "(from_logits=True)", "()"),
        ("script-double-softmax", 'Dense(12, dtype="float32")', 'Dense(12, activation="softmax", dtype="float32")'),
        ("script-output-in-half", 'Dense(12, dtype="float32")', "Dense(12)"),
        ("script-epochs-capped", "patience=5", "patience=0"),
    ],
)  # fmt: skip
def test_faults_of_a_subclassed_keras_model(symptom: str, old: str, new: str) -> None:
    """The last layer of a class is held to its loss and to the policy; patience that is none."""
    assert state(symptom, KERAS) != P
    assert state(symptom, KERAS.replace(old, new)) == P


STEPS = """
import torch
import torch.nn.functional as F
from torch import nn
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(8, 8), nn.Linear(8, 30)
    def forward(self, x, h):
        told = []
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
            step = self.out(h)
            told.append(step)
        return torch.stack(told, dim=1)
net = Writer()
opt = torch.optim.Adam(net.parameters())
for x, h, y in loader:
    opt.zero_grad()
    logits = net(x, h)
    F.cross_entropy(logits.reshape(-1, 30), y.reshape(-1)).backward()
    opt.step()
"""


def test_outputs_that_are_piled_up_step_by_step_are_followed() -> None:
    """`torch.stack(told, dim=1)` of a list that a loop fills: a softmax in the loop is one before the loss."""
    assert state("script-double-softmax", STEPS) == A
    assert state("script-double-softmax", STEPS.replace("self.out(h)", "self.out(h).softmax(-1)")) == P
