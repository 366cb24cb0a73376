"""Methods in small programs of many hands: copies of networks, rounds of rivals, places, noise."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A = "present", "absent"
SLIPPED = "script-method-slipped"
COPIES = ("script-loss-wrong", "script-weights-shared", "script-branch-lost", "script-average-astray")

CLOSURE = """
import copy
import gymnasium as gym
import torch
def learner(online, target, opt, memory):
    def learn():
        s, a, r, n, d = sample(memory)
        q = online(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            goal = r + GAMMA * (1 - d) * target(n).max(1).values
        loss = torch.nn.functional.mse_loss(q, goal)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return learn
def sample(memory):
    return memory.draw()
def main():
    env = gym.make("CartPole-v1")
    online = make_net(4, 2)
    target = copy.deepcopy(online)
    learn = learner(online, target, torch.optim.Adam(online.parameters()), memory)
    for step in range(900):
        learn()
        if step % 90 == 0:
            target.load_state_dict(online.state_dict())
"""
AGENT = """
import torch
class Agent:
    def __init__(self, world):
        self.reward_scale = 1.0
        self.qnet = QNet(world)
        self.slow_qnet = QNet(world)
        self.slow_qnet.load_state_dict(self.qnet.state_dict())
        self.gamma = 0.95
    def update(self, batch):
        obs, act, rew, nxt, done = batch
        with torch.no_grad():
            wanted = rew + self.gamma * (1 - done) * self.slow_qnet(nxt).amax(1)
        loss = (self.qnet(obs).gather(1, act) - wanted).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.count += 1
        if self.count % 200 == 0:
            self.slow_qnet.load_state_dict(self.qnet.state_dict())
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "what"),
    [
        (CLOSURE, "", "", A),
        (CLOSURE, "copy.deepcopy(online)", "online", P),
        (CLOSURE, "target(n)", "online(n)", P),
        (CLOSURE, "target(n)", "target(s)", P),
        (CLOSURE, "(1 - d)", "d", P),
        (
            CLOSURE,
            "target.load_state_dict(online.state_dict())",
            "online.load_state_dict(target.state_dict())",
            P,
        ),
        (CLOSURE, "target(n).max(1).values", "target(n).gather(1, online(n).argmax(1)[:, None])[:, 0]", A),
        (
            CLOSURE,
            "            target.load_state_dict(online.state_dict())",
            "            for t, p in zip(target.parameters(), online.parameters()):\n"
            "                t.data.mul_(0.9).add_(0.1 * p.data)",
            A,
        ),
        (AGENT, "", "", A),
        (AGENT, "self.slow_qnet(nxt)", "self.qnet(nxt)", P),
        (AGENT, "self.slow_qnet = QNet(world)", "self.slow_qnet = self.qnet", P),
        (AGENT, "(1 - done)", "done", P),
        (AGENT, "self.slow_qnet(nxt)", "self.slow_qnet(obs)", P),
    ],
)
def test_copies_that_are_asked(text: str, old: str, new: str, what: str) -> None:
    program = text.replace(old, new) if old else text
    assert any(state(symptom, program) == "present" for symptom in COPIES) is (what == "present")


def test_the_best_weights_are_taken_up_again() -> None:
    text = """
import copy
import torch
for epoch in range(9):
    reward = train(model)
    loss = reward + gamma * bonus
    if reward > best:
        best_model = copy.deepcopy(model)
model.load_state_dict(best_model.state_dict())
"""
    assert state(SLIPPED, text) != P


FLAT = """
import torch
import torch.nn.functional as F
betas = torch.linspace(1e-4, 0.02, 400)
alphas = 1.0 - betas
alpha_bar = torch.cumprod(alphas, dim=0)
def q_sample(x0, t, noise):
    a = alpha_bar[t].view(-1, 1, 1, 1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise
@torch.no_grad()
def draw(model, n):
    x = torch.randn(n, 3, 32, 32)
    for i in reversed(range(400)):
        eps = model(x, torch.full((n,), i))
        x = (x - betas[i] / (1 - alpha_bar[i]).sqrt() * eps) / alphas[i].sqrt()
    return x
for images in loader:
    t = torch.randint(0, 400, (len(images),))
    noise = torch.randn_like(images)
    loss = F.mse_loss(model(q_sample(images, t, noise), t), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("old", "new", "fires"),
    [
        ("", "", False),
        ("q_sample(images, t, noise)", "q_sample(images, t, torch.randn_like(images))", True),
        ("for i in reversed(range(400)):", "for i in range(400):", True),
        ("for i in reversed(range(400)):", "for i in range(399, -1, -1):", False),
        ("noise = torch.randn_like(images)\n", "eps = torch.randn_like(images)\n    noise = eps\n", False),
    ],
)
def test_noise_at_the_top_of_a_script(old: str, new: str, fires: bool) -> None:
    assert (state(SLIPPED, FLAT.replace(old, new) if old else FLAT) == P) is fires


RIVALS = """
import torch
import torch.nn as nn
g_opt = torch.optim.Adam(G.parameters(), lr=2e-4)
d_opt = torch.optim.Adam(D.parameters(), lr=2e-4)
for epoch in range(100):
    for real in loader:
        fake = G(torch.randn(len(real), 64))
        d_loss = crit(D(real), one) + crit(D(fake.detach()), zero)
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_loss = crit(D(fake), one)
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
    with torch.no_grad():
        save(G(shown))
"""


@pytest.mark.parametrize(
    ("old", "new", "symptom"),
    [
        ("", "", None),
        ("d_opt.zero_grad()", "g_opt.zero_grad()", "script-gradients-not-cleared"),
        ("        g_opt.step()\n", "        d_opt.step()\n", "script-step-missing"),
        ("        d_opt.zero_grad()\n", "        D.zero_grad()\n", None),
    ],
)
def test_rounds_of_rivals_at_the_top(old: str, new: str, symptom: str | None) -> None:
    text = RIVALS.replace(old, new) if old else RIVALS
    for each in ("script-gradients-not-cleared", "script-step-missing"):
        assert (state(each, text) == P) is (each == symptom)


CLIPPED = """
import torch
for it in range(900):
    loss = lossf(net(x), y)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if it % 90 == 0:
        net.eval()
        with torch.no_grad():
            print(lossf(net(a), b).item())
        net.train()
"""
BACKWARD = "    loss.backward()\n"
CLIP = "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (BACKWARD + CLIP, BACKWARD + CLIP, A),
        (BACKWARD + CLIP, CLIP + BACKWARD, P),
        (CLIP + "    opt.step()\n", "    opt.step()\n" + CLIP, P),
    ],
)
def test_a_look_without_gradients_hides_no_clipping(old: str, new: str, what: str) -> None:
    assert state("script-clip-without-effect", CLIPPED.replace(old, new)) == what


BOATS = """
import random
import cv2
import torch
class Boats(torch.utils.data.Dataset):
    def __getitem__(self, i):
        r = self.df.iloc[i]
        img = cv2.imread(r.file)
        H, W = img.shape[:2]
        x1, y1, x2, y2 = r.x1 / W, r.y1 / H, r.x2 / W, r.y2 / H
        if self.train and random.random() < 0.5:
            img = img[:, ::-1].copy()
            x1, x2 = 1 - x2, 1 - x1
        box = [(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1]
        return torch.from_numpy(img), torch.tensor(box)
"""
DOGS = """
import random
import torch
from torchvision.transforms.functional import hflip, resize
SWAP = [1, 0, 3, 2, 4]
class Dogs(torch.utils.data.Dataset):
    def __getitem__(self, k):
        image = read(self.items[k])
        _, h, w = image.shape
        points = torch.tensor(self.items[k]["points"])
        points = points * torch.tensor([256 / w, 256 / h])
        image = resize(image, [256, 256])
        if random.random() < 0.5:
            image = hflip(image)
            points[:, 0] = 255 - points[:, 0]
            points = points[SWAP]
        return image, points
head = torch.nn.Conv2d(64, len(SWAP), 1)
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "what"),
    [
        (BOATS, "", "", A),
        (BOATS, "            x1, x2 = 1 - x2, 1 - x1\n", "", P),
        (BOATS, "x1, x2 = 1 - x2, 1 - x1", "x1, x2 = 1 - x1, 1 - x2", P),
        (DOGS, "", "", A),
        (DOGS, "            points = points[SWAP]\n", "", P),
        (DOGS, "[256 / w, 256 / h]", "[256 / h, 256 / w]", P),
        (DOGS, "_, h, w = image.shape", "h, w, c = image.shape", A),
    ],
)
def test_places_of_small_programs(text: str, old: str, new: str, what: str) -> None:
    assert state("script-places-left", text.replace(old, new) if old else text) == what
