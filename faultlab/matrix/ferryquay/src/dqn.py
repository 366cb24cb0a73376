"""Berthing a ferry by a double DQN. Everything is a function of functions."""
import itertools
import math
import random
from collections import deque
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

STEPS, WARM, EVERY = 200_000, 5_000, 4
COPY, BATCH, GAMMA = 2_000, 64, 0.99
PEAK, FLOOR = 5e-4, 5e-5


def ferry(seed):
    """reset and step of a boat at (distance, speed, wind) that shall stop at the quay."""
    rng = np.random.default_rng(seed)
    s = np.zeros(3, np.float32)
    t = 0

    def reset():
        nonlocal t
        t = 0
        s[:] = rng.uniform(0.6, 1.0), rng.uniform(-0.1, 0.1), rng.uniform(-0.2, 0.2)
        return s.copy()

    def step(a):
        nonlocal t
        t += 1
        s[1] += 0.02 * (a - 1) + 0.005 * s[2]
        s[0] += s[1]
        s[2] = np.clip(s[2] + rng.normal(0, 0.02), -0.5, 0.5)
        crashed = s[0] < 0 and abs(s[1]) > 0.05
        berthed = s[0] < 0 and not crashed
        reward = 1.0 * berthed - 1.0 * crashed - 0.01
        return s.copy(), reward, bool(crashed or berthed), t >= 200

    return reset, step


def network(width=128):
    return nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))


def cosine(lo, hi, n):
    """The rates from hi to lo in n steps, lo from then on."""
    return itertools.chain((lo + (hi - lo) * (1 + math.cos(math.pi * i / n)) / 2 for i in range(n)), itertools.repeat(lo))


def linear(a, b, n):
    return lambda i: a + (b - a) * min(1.0, i / n)


def memory(size):
    rows = deque(maxlen=size)

    def sample(n):
        return tuple(map(torch.as_tensor, map(np.array, zip(*random.sample(rows, n)))))

    return {"add": rows.append, "sample": sample, "size": rows.__len__}


def learner(online, target, optimizer, rates):
    """A function that learns from one batch and gives its loss."""
    def set_rate(lr):
        for group in optimizer.param_groups:
            group["lr"] = lr

    def learn(s, a, r, s2, end):
        set_rate(next(rates))
        with torch.no_grad():
            best = online(s2).argmax(1, keepdim=True)
            goal = r.float() + GAMMA * (~end).float() * target(s2).gather(1, best).squeeze(1)
        q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(q, goal)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(online.parameters(), 10.0)
        optimizer.step()
        return loss.item()

    return learn


def greedy(net, s):
    with torch.no_grad():
        return int(net(torch.from_numpy(s)[None]).argmax())


def evaluate(net, episodes=20):
    reset, step = ferry(999)
    def one(_):
        s, total, done = reset(), 0.0, False
        while not done:
            s, r, end, cut = step(greedy(net, s))
            total, done = total + r, end or cut
        return total

    return float(np.mean([one(i) for i in range(episodes)]))


def main(seed=0):
    random.seed(seed)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    reset, step = ferry(seed)
    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=PEAK)
    updates = (STEPS - WARM) // EVERY
    learn = learner(online, target, optimizer, cosine(FLOOR, PEAK, updates))
    epsilon = linear(1.0, 0.05, STEPS // 4)
    store = memory(50_000)
    act = partial(greedy, online)
    losses, best = [], -math.inf

    s = reset()
    for i in range(STEPS):
        a = int(rng.integers(3)) if rng.random() < epsilon(i) else act(s)
        s2, r, end, cut = step(a)
        store["add"]((s, a, r, s2, end))
        s = reset() if end or cut else s2
        if i >= WARM and i % EVERY == 0:
            losses.append(learn(*store["sample"](BATCH)))
        if i % COPY == 0:
            target.load_state_dict(online.state_dict())
        if i and i % 5_000 == 0:
            score = evaluate(online)
            print(f"{i} loss {np.mean(losses[-500:] or [0]):.4f} return {score:.3f} epsilon {epsilon(i):.2f} lr {optimizer.param_groups[0]['lr']:.1e}")
            if score > best:
                best = score
                torch.save(online.state_dict(), "ferry.pt")


if __name__ == "__main__":
    main()
