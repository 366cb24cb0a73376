"""Vibration, current and temperature of milling spindles; anomalies only in the validation part."""
import numpy as np
import torch
from torch.utils.data import TensorDataset

UNITS = np.array([2.5, 14.0, 320.0])  # mm/s, A, K
TYPICAL = np.array([4.0, 30.0, 310.0])


def _machine(rng, length):
    t = np.arange(length)
    speed = np.interp(t, np.arange(0, length + 200, 200), rng.uniform(0.8, 1.2, length // 200 + 2))
    phase = np.cumsum(2 * np.pi * speed / 16)
    load = 0.5 + 0.5 * np.sign(np.sin(2 * np.pi * t / 120 + rng.uniform(0, 6)))
    vib = 0.7 * np.sin(phase) + 0.35 * load * np.sin(2 * phase + 0.5)
    amp = 0.5 * load + 0.3 * speed + 0.15 * np.sin(phase / 2)
    heat = np.zeros(length)
    for i in range(1, length):
        heat[i] = 0.97 * heat[i - 1] + 0.03 * (1.2 * load[i] - 0.5)
    x = np.stack([vib, amp, heat], axis=1) + rng.normal(scale=[0.12, 0.08, 0.03], size=(length, 3))
    return x * UNITS * np.array([1, 0.6, 0.02]) + TYPICAL


def _spoil(window, rng):
    """One of four things that go wrong."""
    w = window.copy()
    n = len(w)
    kind = rng.integers(0, 4)
    a = rng.integers(4, n - 20)
    if kind == 0:  # chatter
        w[a : a + 16, 0] += 2.2 * np.sin(np.arange(16) * rng.uniform(1.8, 2.6))
    elif kind == 1:  # current without load
        w[a:, 1] += rng.choice([-5.0, 5.5])
    elif kind == 2:  # sensor hangs
        w[a:, 0] = w[a, 0]
    else:  # overheating
        w[:, 2] += np.linspace(0, 6, n) * rng.uniform(0.7, 1.2)
    return w


def _cut(series, size, stride):
    return np.stack([series[i : i + size] for i in range(0, len(series) - size + 1, stride)])


def build_datasets(window, channels, seed, machines=6, length=1500, stride=12):
    rng = np.random.default_rng(seed)
    series = [_machine(rng, length)[:, :channels] for _ in range(machines)]
    train = np.concatenate([_cut(s, window, stride) for s in series[:-2]])
    valid = np.concatenate([_cut(s, window, 24) for s in series[-2:]])

    labels = (rng.random(len(valid)) < 0.3).astype(np.float32)
    valid = np.stack([_spoil(w, rng) if y else w for w, y in zip(valid, labels)])

    mean = train.mean(axis=(0, 1))
    std = train.std(axis=(0, 1))
    train = (train - mean) / std
    valid = (valid - mean) / std

    flat_train = torch.tensor(train.reshape(len(train), -1), dtype=torch.float32)
    flat_valid = torch.tensor(valid.reshape(len(valid), -1), dtype=torch.float32)
    return TensorDataset(flat_train), TensorDataset(flat_valid, torch.tensor(labels))
