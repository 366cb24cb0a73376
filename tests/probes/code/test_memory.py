"""What goes into a memory of moves, and policies that are scored while they draw their actions."""

from __future__ import annotations

import pytest

from .._scripts import state

SLIPPED, METRIC = "script-method-slipped", "script-metric-miscounts"
PROGRAM = """
import random
from collections import deque
import numpy as np
import torch
import torch.nn.functional as F
class World:
    def reset(self):
        self.place = np.zeros(4)
        return {RESET}
    def step(self, action):
        {MOVE}
        return {GIVEN}, 1.0, abs(self.place[0]) > 2
class Memory:
    def __init__(self, size):
        self.rows = deque(maxlen=size)
    def add(self, state, action, reward, next_state, done):
        self.rows.append(({KEPT}, action, reward, next_state, done))
    def sample(self, count):
        return map(np.array, zip(*random.sample(self.rows, count)))
def choose(net, state, epsilon=0.0):
    if random.random() < epsilon:
        return random.randrange(2)
    return int(net(torch.tensor(state)).argmax())
def evaluate(net, world):
    state, total, done = world.reset(), 0.0, False
    while not done:
        state, reward, done = world.step(choose(net, state{SCORED}))
        total += reward
    return total
def train(net, target, optimizer, world, memory, gamma=0.99):
    state = world.reset()
    for step in range(9000):
        action = choose(net, state, 0.9)
        next_state, reward, done = world.step(action)
        {STORE}
        state = next_state
        states, actions, rewards, next_states, dones = memory.sample(32)
        wanted = rewards + gamma * target(next_states).max(1).values * (1 - dones)
        loss = F.smooth_l1_loss(net(states).gather(1, actions).squeeze(1), wanted.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return evaluate(net, world)
"""
RIGHT = {
    "RESET": "self.place",
    "MOVE": "self.place = self.place + action",
    "GIVEN": "self.place",
    "KEPT": "state",
    "SCORED": "",
    "STORE": "memory.add(state, action, reward, next_state, done)",
}


def _program(**edits: str) -> str:
    text = PROGRAM
    for name, value in {**RIGHT, **edits}.items():
        text = text.replace("{" + name + "}", value)
    return text


@pytest.mark.parametrize(
    "edits",
    [
        {"STORE": "memory.add(next_state, action, reward, state, done)"},
        {"STORE": "memory.rows.append((next_state, action, reward, state, done))"},
        {"MOVE": "self.place += action"},
        {"MOVE": "self.place[0] = self.place[0] + action", "RESET": "self.place.copy()"},
        {
            "MOVE": "self.place += action",
            "STORE": "memory.rows.append((state, action, reward, next_state, done))",
        },
    ],
)
def test_what_is_stored_wrongly(edits: dict[str, str]) -> None:
    assert state(SLIPPED, _program(**edits)) == "present"


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"STORE": "memory.rows.append((state, action, reward, next_state, done))"},
        {"STORE": "memory.add(reward=reward, state=state, action=action, next_state=next_state, done=done)"},
        {"MOVE": "self.place += action", "GIVEN": "self.place.copy()"},
        {"MOVE": "self.place += action", "GIVEN": "self.place.astype(np.float32)"},
        {"MOVE": "self.place = self.place.copy()\n        self.place += action"},
        {
            "MOVE": "self.place += action",
            "STORE": "memory.add(state.copy(), action, reward, next_state.copy(), done)",
        },
        {"MOVE": "self.steps += 1"},
    ],
)
def test_what_is_stored_rightly(edits: dict[str, str]) -> None:
    """Also: what is changed in place is given out, or stored, as a copy."""
    assert state(SLIPPED, _program(**edits)) != "present"


def test_an_order_of_its_own() -> None:
    """A memory that takes the next state first is given it first."""
    text = _program(STORE="memory.add(next_state, action, reward, state, done)")
    text = text.replace(
        "self, state, action, reward, next_state, done):", "self, next_state, action, reward, state, done):"
    )
    text = text.replace(
        "((state, action, reward, next_state, done))", "((next_state, action, reward, state, done))"
    )
    text = text.replace(
        "states, actions, rewards, next_states, dones =", "next_states, actions, rewards, states, dones ="
    )
    assert state(SLIPPED, text) != "present"


@pytest.mark.parametrize(
    ("scored", "present"),
    [(", 1.0", True), (", epsilon=0.9", True), ("", False), (", 0.05", False), (", epsilon=0", False)],
)
def test_a_policy_that_draws_while_it_is_scored(scored: str, present: bool) -> None:
    assert (state(METRIC, _program(SCORED=scored)) == "present") is present


def test_a_player_by_chance_beside_the_policy() -> None:
    text = _program(SCORED=", 1.0").replace("def evaluate(", "def evaluate_random(")
    assert state(METRIC, text.replace("return evaluate(", "return evaluate_random(")) != "present"
