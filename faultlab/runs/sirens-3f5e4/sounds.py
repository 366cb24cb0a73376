"""Half a second of six kinds of warning sounds at 4 kHz, drawn at random, and their spectrograms."""

import math

import torch
from torch.utils.data import Dataset

KINDS = ["wail", "yelp", "hi-lo", "horn", "bell", "whistle"]
RATE, LENGTH = 4000, 2048


def _phase(freq):
    return 2 * math.pi * torch.cumsum(freq, 0) / RATE


def make_clip(kind, g):
    def u(lo, hi):
        return lo + (hi - lo) * torch.rand((), generator=g)

    t = torch.arange(LENGTH) / RATE
    base = u(500, 900)
    start = u(0, 6.28)
    if kind == "wail":
        wave = torch.sin(_phase(base + 250 * torch.sin(2 * math.pi * u(1.0, 1.8) * t + start)))
    elif kind == "yelp":
        wave = torch.sin(_phase(base + 250 * torch.sin(2 * math.pi * u(5, 8) * t + start)))
    elif kind == "hi-lo":
        high = torch.sin(2 * math.pi * u(3, 5) * t + start) > 0
        wave = torch.sin(_phase(base + 260 * high))
    elif kind == "horn":
        f = u(160, 260)
        wave = sum(torch.sin(2 * math.pi * k * f * t + k * start) / k**0.5 for k in range(1, 7)) / 2
    elif kind == "bell":
        every = u(0.09, 0.16)
        wave = torch.sin(2 * math.pi * base * t) * torch.exp(-18 * ((t + u(0, 0.1)) % every))
    else:
        wave = torch.sin(_phase(base + u(500, 900) * t * 2))
    return u(0.3, 1.0) * wave + u(0.1, 0.6) * torch.randn(LENGTH, generator=g)


def spectrogram(wave):
    """(65, 31) of log power."""
    spec = torch.stft(wave, 128, hop_length=64, window=torch.hann_window(128), return_complex=True)
    return torch.log(spec.abs() ** 2 + 1e-4)[:, 1:32]


class Sounds(Dataset):
    def __init__(self, per_kind, seed, kinds=KINDS, augment=False):
        g = torch.Generator().manual_seed(seed)
        waves, labels = [], []
        for label, kind in enumerate(kinds):
            for _ in range(per_kind):
                waves.append(make_clip(kind, g))
                labels.append(label)
        self.x = torch.stack([spectrogram(w) for w in waves]).unsqueeze(1)
        self.y = torch.tensor(labels)
        self.augment = augment

    def normalise(self, mean, std):
        self.x = (self.x - mean) / std

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        if self.augment:  # a quiet stretch and a quiet band
            x = x.clone()
            a = int(torch.randint(0, 31 - 5, ()))
            b = int(torch.randint(0, 65 - 8, ()))
            x[:, :, a : a + 5] = 0
            x[:, b : b + 8] = 0
        return x, self.y[i]
