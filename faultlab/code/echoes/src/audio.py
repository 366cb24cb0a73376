import random
import wave
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

WORDS = ("yes", "no", "up", "down", "left", "right", "stop", "go", "other")
RATE = 16_000
N_FFT, HOP, N_MELS = 400, 160, 40


def mel_bank():
    def to_mel(f):
        return 2595.0 * np.log10(1.0 + f / 700.0)

    edges = 700.0 * (10.0 ** (np.linspace(to_mel(20.0), to_mel(RATE / 2), N_MELS + 2) / 2595.0) - 1.0)
    bins = np.linspace(0.0, RATE / 2, N_FFT // 2 + 1)
    up = (bins[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - bins[None]) / (edges[2:] - edges[1:-1])[:, None]
    return torch.tensor(np.maximum(0.0, np.minimum(up, down)), dtype=torch.float32)


MELS = mel_bank()
WINDOW = torch.hann_window(N_FFT)


def read_wave(path):
    with wave.open(str(path)) as f:
        raw = f.readframes(f.getnframes())
    x = torch.from_numpy(np.frombuffer(raw, dtype=np.int16).astype(np.float32)) / 32768.0
    return torch.nn.functional.pad(x, (0, max(0, RATE - len(x))))[:RATE]


def log_mel(x):
    power = torch.stft(x, N_FFT, HOP, window=WINDOW, return_complex=True).abs().square()
    return torch.log(MELS @ power + 1e-6)


def mask_bands(spec, n_freq=6, n_time=15):
    spec = spec.clone()
    f = random.randint(0, n_freq)
    f0 = random.randint(0, spec.shape[0] - f)
    t = random.randint(0, n_time)
    t0 = random.randint(0, spec.shape[1] - t)
    spec[f0:f0 + f, :] = 0.0
    spec[:, t0:t0 + t] = 0.0
    return spec


class Commands(Dataset):
    """root/<word>/<speaker>_<take>.wav; a speaker belongs to one split only."""

    def __init__(self, root, split, stats=None, augment=False):
        files = sorted(p for w in WORDS for p in (Path(root) / w).glob("*.wav"))
        self.files = [p for p in files if split_of(p.stem.split("_")[0]) == split]
        self.augment = augment
        self.mean, self.std = stats or self._statistics()

    def _statistics(self, limit=500):
        some = random.Random(3).sample(self.files, min(limit, len(self.files)))
        stack = torch.stack([log_mel(read_wave(p)) for p in some])
        return stack.mean().item(), stack.std().item()

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path = self.files[i]
        x = read_wave(path)
        if self.augment:
            x = torch.roll(x, random.randint(-1600, 1600))
        spec = (log_mel(x) - self.mean) / self.std
        if self.augment:
            spec = mask_bands(spec)
        return {"spec": spec.unsqueeze(0), "word": WORDS.index(path.parent.name)}


def split_of(speaker):
    bucket = sum(ord(c) * (i + 1) for i, c in enumerate(speaker)) % 10
    return "test" if bucket == 0 else "dev" if bucket == 1 else "train"
