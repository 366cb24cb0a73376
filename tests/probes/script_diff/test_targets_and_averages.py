"""What is learned from rewards, averaged copies, drawn samples, masks: told by what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits, present

AGENT = """
import copy
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
import gymnasium

GAMMA, POLYAK = 0.98, 0.995
env = gymnasium.make("MountainCar-v0")
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 3))
slow = copy.deepcopy(net)
opt = torch.optim.Adam(net.parameters(), lr=5e-4)
memory = []


def follow():
    with torch.no_grad():
        for p, q in zip(net.parameters(), slow.parameters()):
            q.lerp_(p, 1.0 - POLYAK)


def learn(rows):
    states, actions, rewards, following, ended = (torch.stack(c) for c in zip(*rows))
    with torch.no_grad():
        q_next = slow(following).max(1).values
        wanted = rewards + GAMMA * (1.0 - ended) * q_next
    told = net(states).gather(1, actions[:, None])[:, 0]
    loss = F.smooth_l1_loss(told, wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
    follow()
    return loss.item()


state, _ = env.reset(seed=1)
total = 0.0
for step in range(100_000):
    action = int(net(torch.tensor(state)).argmax()) if np.random.rand() > 0.05 else env.action_space.sample()
    new, reward, terminated, truncated, _ = env.step(action)
    total += reward
    memory.append([torch.tensor(v) for v in (state, action, reward, new, float(terminated))])
    state = new
    if terminated or truncated:
        print(step, total)
        state, _ = env.reset()
        total = 0.0
    if len(memory) > 1000:
        learn([memory[i] for i in np.random.randint(len(memory), size=64)])
"""
CODER = """
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

sheet = np.load("sheets.npz")
share = sheet["n"] / sheet["n"].sum()
chance = np.clip(np.sqrt(1e-3 / share), None, 1.0)
x, y = torch.tensor(sheet["x"]), torch.tensor(sheet["y"] * sheet["scale"])


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(40, 16), nn.Linear(8, 40)

    def forward(self, v):
        mean, spread = self.enter(v).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        return self.leave(code), mean, spread


torch.manual_seed(2)
net = Coder()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(30):
    for i in torch.randperm(len(x)).split(64):
        told, mean, spread = net(x[i])
        near = F.mse_loss(told, y[i])
        loss = near + 0.01 * (mean.pow(2) + spread.exp() - spread - 1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
torch.save(net.state_dict(), "coder.pt")
"""
TEXTS = {"agent": AGENT, "coder": CODER}


def _found(folder: Path, name: str, old: str, new: str) -> set[str]:
    text = TEXTS[name]
    assert text.count(old) == 1
    return edits(folder, text.replace(old, new), text)


@pytest.mark.parametrize(
    ("name", "old", "new", "kind"),
    [
        ("agent", "GAMMA * (1.0 - ended) * q_next", "GAMMA * ended * q_next", "edit-returns"),
        ("agent", "GAMMA * (1.0 - ended) * q_next", "GAMMA * q_next", "edit-returns"),
        ("agent", "q.lerp_(p, 1.0 - POLYAK)", "q.lerp_(p, POLYAK)", "edit-average-made"),
        ("agent", "new, float(terminated)", "new, float(terminated or truncated)", "edit-returns"),
        (
            "coder",
            "code = mean + torch.randn_like(mean) * (0.5 * spread).exp()",
            "code = mean",
            "edit-sampling-left-out",
        ),
    ],
)
def test_an_edit_is_called_what_it_is(tmp_path: Path, name: str, old: str, new: str, kind: str) -> None:
    assert kind in _found(tmp_path, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("agent", "total += reward", "total = total + reward"),
        ("agent", "rewards + GAMMA * (1.0 - ended) * q_next", "GAMMA * (1.0 - ended) * q_next + rewards"),
        (
            "agent",
            "wanted = rewards + GAMMA * (1.0 - ended) * q_next",
            "wanted = rewards + GAMMA * (1 - ended) * q_next",
        ),
        (
            "coder",
            "mean, spread = self.enter(v).chunk(2, dim=1)",
            "mean, spread = torch.chunk(self.enter(v), 2, 1)",
        ),
    ],
)
def test_an_equal_line_is_silent(tmp_path: Path, name: str, old: str, new: str) -> None:
    assert _found(tmp_path, name, old, new) == set()


def test_what_numpy_computes_before_training_is_no_loss(tmp_path: Path) -> None:
    found = _found(tmp_path, "coder", "np.sqrt(1e-3 / share)", "np.sqrt(share / 1e-3)")
    assert "edit-loss-function" not in found


TAGGER = """
import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer

words = AutoTokenizer.from_pretrained("bert-base-cased")
body = AutoModel.from_pretrained("bert-base-cased")
head = nn.Linear(768, 4)
opt = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=3e-5)
loss_of = nn.CrossEntropyLoss()
torch.manual_seed(0)
for epoch in range(3):
    for texts, labels in torch.utils.data.DataLoader(rows, batch_size=16, shuffle=True):
        given = words(list(texts), padding=True, truncation=True, return_tensors="pt")
        states = body(input_ids=given.input_ids, attention_mask=given.attention_mask).last_hidden_state
        loss = loss_of(head(states[:, 0]), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


def test_a_mask_that_the_model_is_no_longer_given(tmp_path: Path) -> None:
    found = present(tmp_path, TAGGER.replace(", attention_mask=given.attention_mask", ""), TAGGER)
    assert "edit-mask-not-passed" in found and "edit-loss-masking" not in found


def test_a_mask_by_another_way_is_no_loss(tmp_path: Path) -> None:
    other = TAGGER.replace(
        "body(input_ids=given.input_ids, attention_mask=given.attention_mask)", "body(**given)"
    )
    found = present(tmp_path, other, TAGGER)
    assert not {s for s in found if s.startswith("edit-")}
