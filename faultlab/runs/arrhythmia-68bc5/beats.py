"""Single-lead heartbeats, cut out around the R peak (AAMI classes N, S, V and F)."""
import numpy as np
import torch
from torch.utils.data import Dataset


def wave(t, centre, width, height):
    return height * np.exp(-0.5 * ((t - centre) / width) ** 2)


def simulate_beat(kind, rng, t):
    stretch = rng.normal(1.0, 0.08)
    gain = np.exp(rng.normal(0.0, 0.25))
    p = wave(t, -0.16 * stretch, 0.020, 0.14 + 0.04 * rng.normal())
    qrs = (wave(t, -0.028, 0.009, -0.12) + wave(t, 0, 0.011 * stretch, 1.0)
           + wave(t, 0.030, 0.010, -0.22 + 0.05 * rng.normal()))
    tw = wave(t, 0.24 * stretch, 0.042, 0.28 + 0.08 * rng.normal())
    normal = p + qrs + tw
    wide = (wave(t, 0.01, 0.035 * stretch, 1.05 + 0.2 * rng.normal())
            + wave(t, 0.085, 0.030, -0.45 + 0.1 * rng.normal())
            + wave(t, 0.26 * stretch, 0.055, -0.33 + 0.08 * rng.normal()))
    if kind == 0:
        beat = normal
    elif kind == 1:  # premature: the P wave sits in the previous T wave
        early = wave(t, -0.23 * stretch, 0.018, 0.10 * rng.choice([-1.0, 1.0]))
        beat = early + qrs + tw + wave(t, -0.31, 0.04, 0.22)
    elif kind == 2:
        beat = wide
    else:
        mix = rng.uniform(0.25, 0.75)
        beat = mix * normal + (1 - mix) * wide
    return gain * beat


def make_beats(n, settings, rng):
    t = (np.arange(settings.beat_length) - settings.beat_length // 2) / settings.sampling_rate
    labels = rng.choice(len(settings.class_share), size=n, p=settings.class_share)
    signals = np.empty((n, settings.beat_length), dtype=np.float32)
    for i, kind in enumerate(labels):
        x = simulate_beat(kind, rng, t)
        x = x + 0.25 * np.sin(2 * np.pi * rng.uniform(0.2, 0.6) * t + rng.uniform(0, 6.28)) * rng.random()
        x = np.roll(x, rng.integers(-3, 4)) + rng.normal(0, 0.10, len(t))
        signals[i] = 0.8 * x + 1.5 * rng.normal() + 3.0   # millivolts of the amplifier with its offset
    return signals, labels.astype(np.int64)


class BeatDataset(Dataset):
    def __init__(self, signals, labels, augment=False, seed=0):
        self.signals = signals
        self.labels = labels
        self.augment = augment
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        beat = self.signals[index]
        beat = (beat - beat.mean()) / (beat.std() + 1e-6)
        if self.augment:
            beat = np.roll(beat, self.rng.integers(-2, 3)) * self.rng.uniform(0.9, 1.1)
        return torch.from_numpy(np.asarray(beat[None], dtype=np.float32)), int(self.labels[index])
