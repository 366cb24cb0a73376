"""Networks against each other, averages of weights, drawn codes, noise: told by measured slopes."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

DUEL = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

G = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh())
D = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
loader = DataLoader(torch.load("rows.pt"), batch_size=64, shuffle=True)
for epoch in range(20):
    for real in loader:
        fake = G(torch.randn(len(real), 16))
        {critic}
        opt_d.zero_grad()
        d.backward()
        opt_d.step()
        {maker}
        opt_g.zero_grad()
        g.backward()
        opt_g.step()
"""
BCE = "F.binary_cross_entropy_with_logits"
CRITICS = (
    f"s, t = D(real), D(fake.detach()); d = {BCE}(s, torch.ones_like(s)) + {BCE}(t, torch.zeros_like(t))",
    "d = D(fake.detach()).mean() - D(real).mean()",
    "d = F.relu(1 - D(real)).mean() + F.relu(1 + D(fake.detach())).mean()",
    "d = 0.5 * (((D(real) - 1) ** 2).mean() + (D(fake.detach()) ** 2).mean())",
    "d = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()",
)
MAKERS = (
    f"s = D(fake); g = {BCE}(s, torch.ones_like(s))",
    "g = -D(fake).mean()",
    "g = ((D(fake) - 1) ** 2).mean()",
    "g = F.softplus(-D(fake)).mean()",
)


def duel(critic: str = CRITICS[0], maker: str = MAKERS[0]) -> str:
    return DUEL.format(critic=critic, maker=maker)


@pytest.mark.parametrize("critic", CRITICS)
@pytest.mark.parametrize("maker", MAKERS)
def test_right_duels_are_left_alone(critic: str, maker: str) -> None:
    for symptom in ("script-loss-wrong", "script-gradient-path-cut", "script-gradients-misplaced"):
        assert state(symptom, duel(critic, maker)) != "present"


@pytest.mark.parametrize(
    ("critic", "maker"),
    [
        (CRITICS[0].replace("zeros", "ones"), MAKERS[0]),
        (CRITICS[0], "s = D(fake); g = F.binary_cross_entropy_with_logits(s, torch.zeros_like(s))"),
        ("d = D(real).mean() - D(fake.detach()).mean()", "g = -D(fake).mean()"),
        ("d = F.relu(1 - D(real)).mean() + F.relu(1 - D(fake.detach())).mean()", "g = -D(fake).mean()"),
        (CRITICS[4], "g = F.softplus(D(fake)).mean()"),
    ],
)
def test_scores_moved_alike(critic: str, maker: str) -> None:
    assert state("script-loss-wrong", duel(critic, maker)) == "present"


def test_critic_of_one_kind_of_samples() -> None:
    both = "d = F.softplus(-D(real)).mean() + F.softplus(D(real)).mean()"
    assert state("script-loss-wrong", duel(both)) == "present"


@pytest.mark.parametrize("maker", [m.replace("D(fake)", "D(fake.detach())") for m in MAKERS[:3]])
def test_maker_cut_off(maker: str) -> None:
    assert state("script-gradient-path-cut", duel(maker=maker)) == "present"


def test_step_of_the_other_optimizer() -> None:
    exchanged = (
        duel()
        .replace("opt_g.step()", "OTHER.step()")
        .replace("opt_d.step()", "opt_g.step()")
        .replace("OTHER", "opt_d")
    )
    assert state("script-gradients-misplaced", exchanged) == "present"


def test_a_perceptual_loss_is_no_duel() -> None:
    program = duel(
        "d = F.mse_loss(D(real), torch.ones(len(real), 1))", "g = F.l1_loss(D(fake), D(real).detach())"
    )
    assert state("script-loss-wrong", program) != "present"


AVERAGE = """
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
slow = copy.deepcopy(net)
for p in slow.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(torch.load("rows.pt"), batch_size=32, shuffle=True)
done = 0
for epoch in range(10):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        done += 1
        with torch.no_grad():
            for a, b in zip(slow.parameters(), net.parameters()):
                {line}
"""
KEEPS = (
    "a.data = 0.99 * a.data + 0.01 * b.data",
    "a.mul_(0.99).add_(b, alpha=0.01)",
    "a.lerp_(b, 0.01)",
    "a.copy_(0.99 * a + (1 - 0.99) * b)",
    "a.data.add_(0.01 * (b.data - a.data))",
    "k = min(0.999, (1 + done) / (10 + done)); a.mul_(k).add_(b * (1 - k))",
)
LOSES = (
    "a.data = 0.01 * a.data + 0.99 * b.data",
    "a.data.mul_(0.005); a.data.add_(0.995 * b.data)",
    "a.lerp_(b, 0.99)",
    "k = min(0.999, (1 + done) / (10 + done)); a.mul_(1 - k).add_(b * k)",
)
BACKWARDS = ("b.data = 0.99 * b.data + 0.01 * a.data", "b.lerp_(a, 0.01)")


@pytest.mark.parametrize("line", KEEPS)
def test_right_averages_are_left_alone(line: str) -> None:
    assert state("script-average-astray", AVERAGE.format(line=line)) != "present"


@pytest.mark.parametrize("line", [*LOSES, *BACKWARDS])
def test_averages_astray(line: str) -> None:
    assert state("script-average-astray", AVERAGE.format(line=line)) == "present"


CODES = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.a, self.b = nn.Linear(64, 32), nn.Linear(32, 8), nn.Linear(32, 8)
        self.back = nn.Linear(8, 64)

    def forward(self, x):
        h = torch.relu(self.body(x))
        m, v = self.a(h), self.b(h)
        {draw}
        return self.back(z), m, v

net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(9):
    for x in DataLoader(torch.load("rows.pt"), batch_size=32, shuffle=True):
        y, m, v = net(x)
        {divergence}
        loss = ((y - x) ** 2).sum(1).mean() + k.sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
HALF, WHOLE = "z = m + torch.exp(0.5 * v) * torch.randn_like(m)", "z = m + torch.exp(v) * torch.randn_like(m)"
OF_VARIANCE = "k = -0.5 * (1 + v - m ** 2 - v.exp())"
OF_SPREAD = "k = 0.5 * (m.pow(2) + torch.exp(2 * v) - 1) - v"


@pytest.mark.parametrize(
    ("draw", "divergence"),
    [
        (HALF, OF_VARIANCE),
        (WHOLE, OF_SPREAD),
        ("s = torch.sqrt(v.exp()); z = torch.randn_like(s) * s + m", OF_VARIANCE),
        ("s = (v / 2).exp(); z = s.mul(torch.randn_like(s)).add(m)", "k = 0.5 * (m * m + v.exp() - v - 1)"),
        ("s = nn.functional.softplus(v); z = m + s * torch.randn_like(s)",
         "s = nn.functional.softplus(v); k = 0.5 * (m ** 2 + s ** 2 - 1) - torch.log(s)"),
        ("z = m", "k = 0 * v"),
    ],
)  # fmt: skip
def test_right_codes_are_left_alone(draw: str, divergence: str) -> None:
    program = CODES.format(draw=draw, divergence=divergence)
    for symptom in ("script-loss-wrong", "script-operator-wrong", "script-gradient-path-cut"):
        assert state(symptom, program) != "present"


@pytest.mark.parametrize(
    ("symptom", "draw", "divergence"),
    [
        ("script-operator-wrong", WHOLE, OF_VARIANCE),
        ("script-operator-wrong", HALF, OF_SPREAD),
        ("script-operator-wrong", "z = m + 0.5 * v * torch.randn_like(m)", OF_VARIANCE),
        ("script-operator-wrong", "z = m + torch.exp(0.5 * v) * torch.rand_like(m)", OF_VARIANCE),
        ("script-loss-wrong", HALF, "k = 0.5 * (1 + v - m ** 2 - v.exp())"),
        ("script-loss-wrong", HALF, "k = -0.5 * (1 + v - m ** 2 - v ** 2)"),
        ("script-gradient-path-cut", "z = m", OF_VARIANCE),
    ],
)
def test_codes_that_do_not_fit_their_divergence(symptom: str, draw: str, divergence: str) -> None:
    assert state(symptom, CODES.format(draw=draw, divergence=divergence)) == "present"


NOISE = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.time, self.a, self.b = nn.Embedding(1000, 64), nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x, t):
        return self.b(torch.relu(self.a(x) + self.time(t)))

net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
beta = torch.linspace(1e-4, 0.02, 1000)
bar = torch.cumprod(1.0 - beta, dim=0)
for epoch in range(9):
    for x in DataLoader(torch.load("rows.pt"), batch_size=32, shuffle=True):
        t = torch.randint(0, 1000, (x.shape[0],))
        n = torch.randn_like(x)
        c = bar[t].view(-1, 1)
        {mix}
        {loss}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
MIX = "y = c.sqrt() * x + (1 - c).sqrt() * n"
LOSS = "loss = nn.functional.mse_loss(net(y, t), n)"


@pytest.mark.parametrize(
    ("mix", "loss"),
    [
        (MIX, LOSS),
        (MIX, "loss = ((net(y, t) - x) ** 2).mean()"),
        (MIX, "loss = nn.functional.mse_loss(net(y, t), c.sqrt() * n - (1 - c).sqrt() * x)"),
        ("r = bar.sqrt(); s = (1 - bar).sqrt(); y = r[t].view(-1, 1) * x + s[t].view(-1, 1) * n", LOSS),
        ("u = torch.rand(len(x), 1); y = (1 - u) * x + u * n", "loss = ((net(y, t) - (n - x)) ** 2).mean()"),
        ("y = x + c * n", "loss = ((net(y, t) - n) ** 2).mean()"),
    ],
)
def test_right_noise_is_left_alone(mix: str, loss: str) -> None:
    program = NOISE.format(mix=mix, loss=loss)
    for symptom in ("script-loss-wrong", "script-method-slipped", "script-gradient-path-cut"):
        assert state(symptom, program) != "present"


@pytest.mark.parametrize(
    ("symptom", "mix", "loss"),
    [
        ("script-method-slipped", "y = c * x + (1 - c) * n", LOSS),
        ("script-method-slipped", "y = (1 - c).sqrt() * x + c.sqrt() * n", LOSS),
        ("script-method-slipped", MIX, "loss = ((net(y, t) - torch.randn_like(x)) ** 2).mean()"),
        ("script-method-slipped", MIX, "loss = ((net(x, t) - n) ** 2).mean()"),
        ("script-loss-wrong", MIX, "loss = ((net(y, t) - y) ** 2).mean()"),
        ("script-gradient-path-cut", MIX, "loss = ((net(y, torch.zeros_like(t)) - n) ** 2).mean()"),
    ],
)
def test_noise_that_is_mixed_or_told_otherwise(symptom: str, mix: str, loss: str) -> None:
    assert state(symptom, NOISE.format(mix=mix, loss=loss)) == "present"


def test_labels_that_are_filled_in_place() -> None:
    critic = (
        "label = torch.full((len(real), 1), 1.0); r = F.binary_cross_entropy_with_logits(D(real), label);"
        " label.fill_(0.0); d = r + F.binary_cross_entropy_with_logits(D(fake.detach()), label)"
    )
    maker = "label.fill_({}); g = F.binary_cross_entropy_with_logits(D(fake), label)"
    assert state("script-loss-wrong", duel(critic, maker.format(1.0))) != "present"
    assert state("script-loss-wrong", duel(critic, maker.format(0.0))) == "present"


REWARDS = """
import random
from collections import deque, namedtuple
import gymnasium as gym
import torch
from torch import nn

Step = namedtuple("Step", "obs act reward following done")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 64), nn.Linear(64, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))

class Agent:
    def __init__(self):
        self.net, self.slow = Net(), Net()
        self.copy()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.kept = deque(maxlen=10_000)

    def copy(self):
        self.slow.load_state_dict(self.net.state_dict())

    def learn(self):
        b = Step(*map(torch.stack, zip(*random.sample(self.kept, 64))))
        q = self.net(b.obs).gather(1, b.act[:, None]).squeeze(1)
        with torch.no_grad():
            v = self.slow(b.following).max(1).values
            goal = b.reward + 0.99 * v * (1 - b.done)
        loss = nn.functional.smooth_l1_loss(q, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

env, agent = gym.make("CartPole-v1"), Agent()
obs, _ = env.reset()
for step in range(100_000):
    act = env.action_space.sample()
    following, reward, done, cut, _ = env.step(act)
    agent.kept.append(Step(*map(torch.as_tensor, (obs, act, reward, following, done))))
    obs = following
    if done or cut:
        obs, _ = env.reset()
    if len(agent.kept) < 5_000:
        continue
    agent.learn()
    if step % 500 == 0:
        agent.copy()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("0.99 * v * (1 - b.done)", "0.99 * torch.where(b.done.bool(), torch.zeros_like(v), v)"),
        ("0.99 * v * (1 - b.done)", "(1 - b.done) * 0.99 * v"),
        ("self.slow(b.following).max(1).values", "self.slow(b.following).max(dim=1)[0]"),
        ("self.net, self.slow = Net(), Net()", "self.net = Net(); self.slow = Net()"),
    ],
)
def test_right_values_of_what_comes_are_left_alone(old: str, new: str) -> None:
    assert old in REWARDS
    program = REWARDS.replace(old, new) if old else REWARDS
    for symptom in ("script-loss-wrong", "script-weights-shared", "script-optimizer-other-model"):
        assert state(symptom, program) != "present"


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-loss-wrong", "0.99 * v * (1 - b.done)", "0.99 * v"),
        ("script-loss-wrong", "0.99 * v * (1 - b.done)", "0.99 * v * b.done"),
        ("script-loss-wrong", "self.slow(b.following)", "self.slow(b.obs)"),
        ("script-weights-shared", "self.net, self.slow = Net(), Net()", "self.net = self.slow = Net()"),
        ("script-optimizer-other-model", "Adam(self.net.parameters()", "Adam(self.slow.parameters()"),
    ],
)
def test_values_of_what_comes(symptom: str, old: str, new: str) -> None:
    assert old in REWARDS
    assert state(symptom, REWARDS.replace(old, new)) == "present"


PAIRS = """
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

class Tower(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, 64), nn.Linear(64, 32)

    def forward(self, x):
        return F.normalize(self.b(torch.relu(self.a(x))), dim=-1)

one, two = Tower(128), Tower(96)
opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=1e-3)
for epoch in range(9):
    for x, y in DataLoader(torch.load("rows.pt"), batch_size=32, shuffle=True):
        {loss}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
BOTH = (
    "p, q = one(x), two(y); s = p @ q.t() / 0.07; k = torch.arange(len(s));"
    " loss = (F.cross_entropy(s, k) + F.cross_entropy(s.t(), k)) / 2"
)
ITSELF = (
    "z = torch.cat([one(x), one(y)]); n = len(x); s = z @ z.T / 0.5 - 1e9 * torch.eye(2 * n);"
    " k = torch.cat([torch.arange(n) + n, torch.arange(n)]); loss = F.cross_entropy(s, k)"
)


@pytest.mark.parametrize(
    ("loss", "old", "new"),
    [
        (BOTH, "", ""),
        (BOTH, "s.t(), k", "s.T, k"),
        (BOTH, "p @ q.t()", "torch.matmul(p, q.transpose(0, 1))"),
        (BOTH, " + F.cross_entropy(s.t(), k)) / 2", ")"),
        (ITSELF, "", ""),
        (ITSELF, "torch.arange(n) + n", "torch.arange(n, 2 * n)"),
    ],
)
def test_right_pairs_are_left_alone(loss: str, old: str, new: str) -> None:
    program = PAIRS.format(loss=loss.replace(old, new) if old else loss)
    assert state("script-pairs-misjudged", program) != "present"
    assert state("script-wiring-wrong", program) != "present"


@pytest.mark.parametrize(
    ("symptom", "loss", "old", "new"),
    [
        ("script-pairs-misjudged", BOTH, "torch.arange(len(s))", "torch.zeros(len(s), dtype=torch.long)"),
        ("script-pairs-misjudged", BOTH, "s.t(), k", "s, k"),
        ("script-pairs-misjudged", BOTH, "one(x), two(y)", "one.b(one.a(x)), two(y)"),
        ("script-pairs-misjudged", ITSELF, "torch.arange(n) + n", "torch.arange(n)"),
        ("script-pairs-misjudged", ITSELF, "- 1e9", "+ 1e9"),
        (
            "script-wiring-wrong",
            ITSELF,
            "z = torch.cat([one(x), one(y)])",
            "o = one(x); z = torch.cat([o, o])",
        ),
    ],
)
def test_pairs_misjudged(symptom: str, loss: str, old: str, new: str) -> None:
    assert old in loss
    assert state(symptom, PAIRS.format(loss=loss.replace(old, new))) == "present"


ACTS = """
import copy
import gymnasium as gym
import torch
from torch import nn
import torch.nn.functional as F

class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 1), nn.Linear(6, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], -1)
        return self.one(x), self.two(x)

pi, q = nn.Sequential(nn.Linear(4, 2), nn.Tanh()), Q()
slow, slow_pi = copy.deepcopy(q), copy.deepcopy(pi)
opt_q = torch.optim.Adam(q.parameters(), lr=1e-3)
opt_pi = torch.optim.Adam(pi.parameters(), lr=1e-3)
env = gym.make("Pendulum-v1")
for step in range(10_000):
    s, a, reward, n, done = memory.draw(64)
    with torch.no_grad():
        u, v = slow(n, slow_pi(n))
        goal = reward + 0.99 * (1 - done) * torch.min(u, v)
    x, y = q(s, a)
    loss = F.mse_loss(x, goal) + F.mse_loss(y, goal)
    opt_q.zero_grad()
    loss.backward()
    opt_q.step()
    act = -q(s, pi(s))[0].mean()
    opt_pi.zero_grad()
    act.backward()
    opt_pi.step()
    for one, other in ((slow, q), (slow_pi, pi)):
        for b, c in zip(one.parameters(), other.parameters()):
            b.data.mul_(0.995).add_(0.005 * c.data)
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("", "", False),
        ("torch.min(u, v)", "torch.minimum(v, u)", False),
        ("act = -q(s, pi(s))[0].mean()", "act = -torch.min(*q(s, pi(s))).mean()", False),
        ("act = -q(s, pi(s))[0].mean()", "act = (0.2 - q(s, pi(s))[1]).mean()", False),
        ("act = -q(s", "act = q(s", True),
        ("torch.min(u, v)", "torch.max(u, v)", True),
    ],
)
def test_actors_and_critics(old: str, new: str, told: bool) -> None:
    assert old in ACTS
    assert (state("script-loss-wrong", ACTS.replace(old, new) if old else ACTS) == "present") is told


PENALTY = (
    "e = torch.rand(len(real), 1); scaled = (real - 127.5) / 127.5; m = {mix};"
    " m.requires_grad_(True); s = D(m);"
    " (slope,) = torch.autograd.grad(s.sum(), m, create_graph=True);"
    " d = D(fake.detach()).mean() - D(scaled).mean() {sign} 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()"
)


@pytest.mark.parametrize(
    ("mix", "told"),
    [
        ("e * scaled + (1 - e) * fake.detach()", False),
        ("scaled + e * (fake.detach() - scaled)", False),
        ("(1 - e) * scaled + e * fake.detach()", False),
        ("e * scaled + (1 + e) * fake.detach()", True),
        ("e * scaled + e * fake.detach()", True),
    ],
)
def test_mixtures_of_a_penalty(mix: str, told: bool) -> None:
    program = duel(PENALTY.format(mix=mix, sign="+"), "g = -D(fake).mean()")
    assert (state("script-loss-wrong", program) == "present") is told


CONDITIONAL = """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader


class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1), nn.ReLU(), nn.Conv2d(64, 3, 3, 1, 1), nn.Tanh())

    def forward(self, x):
        return self.body(x)


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(6, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 1, 4, 1, 1))

    def forward(self, given, seen):
        return self.body(torch.cat([given, seen], 1))


bce, l1 = nn.BCEWithLogitsLoss(), nn.L1Loss()


def says(scores, real):
    return bce(scores, torch.ones_like(scores) if real else torch.zeros_like(scores))


maker, judge = Maker(), Judge()
opt_m = torch.optim.Adam(maker.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_j = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
for epoch in range(100):
    for sketch, photo in DataLoader(torch.load("pairs.pt"), batch_size=8, shuffle=True):
        made = maker(sketch)
        {judge}
        opt_j.zero_grad()
        a.backward()
        opt_j.step()
        {maker}
        opt_m.zero_grad()
        b.backward()
        opt_m.step()
"""
_JUDGED = "a = 0.5 * (says(judge(sketch, photo), True) + says(judge(sketch, made.detach()), False))"
_MADE = "b = says(judge(sketch, made), True) + 100.0 * l1(made, photo)"


def test_a_conditional_duel_with_a_distance_is_right() -> None:
    text = CONDITIONAL.replace("{judge}", _JUDGED).replace("{maker}", _MADE)
    for symptom in ("script-loss-wrong", "script-gradient-path-cut", "script-gradients-misplaced"):
        assert state(symptom, text) != "present"


@pytest.mark.parametrize(
    ("judged", "made", "symptom"),
    [
        (_JUDGED.replace("False", "True"), _MADE, "script-loss-wrong"),
        (_JUDGED, _MADE.replace("True", "False"), "script-loss-wrong"),
        (_JUDGED, _MADE.replace("sketch, made", "sketch, made.detach()"), "script-gradient-path-cut"),
        (_JUDGED, _MADE.replace("l1(made, photo)", "l1(sketch, photo)"), "script-loss-wrong"),
    ],
)
def test_conditional_duels_that_are_wrong(judged: str, made: str, symptom: str) -> None:
    text = CONDITIONAL.replace("{judge}", judged).replace("{maker}", made)
    assert state(symptom, text) == "present"
