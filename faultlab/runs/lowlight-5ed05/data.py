"""Simulated low-light bursts: short noisy exposures and one long exposure of the same scene, in raw counts."""
import numpy as np
import torch
from torch.utils.data import Dataset

BLACK, WHITE = 64.0, 1023.0  # 10 bit sensor
KINDS = ('sky', 'indoor', 'street')


def render(rng, kind, size):
    """A picture (size, size, 3) in linear light, 0..1."""
    yy, xx = np.mgrid[:size, :size] / size
    level = {'sky': 0.55, 'indoor': 0.3, 'street': 0.12}[kind]
    slope = rng.normal(size=(2, 3)) * 0.2
    img = level * (1 + slope[0] * (xx[..., None] - .5) + slope[1] * (yy[..., None] - .5))
    img = img * rng.uniform(0.7, 1.3, size=3)
    for _ in range(rng.integers(3, 8)):
        color = rng.uniform(0, 1, size=3) * rng.uniform(0.3, 1.0)
        cx, cy, r = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.06, 0.3)
        shape = rng.integers(4)
        if shape == 0:
            inside = (xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2
        elif shape == 1:
            inside = (abs(xx - cx) < r) & (abs(yy - cy) < r * rng.uniform(0.3, 1))
        elif shape == 2:  # stripes of a facade
            phi = rng.uniform(0, np.pi)
            wave = np.sin(2 * np.pi * (xx * np.cos(phi) + yy * np.sin(phi)) / rng.uniform(0.08, 0.2))
            inside = (wave > 0) & (abs(xx - cx) < r) & (abs(yy - cy) < r)
        else:  # a thin wire
            phi = rng.uniform(0, np.pi)
            inside = abs((xx - cx) * np.sin(phi) - (yy - cy) * np.cos(phi)) < 0.02
        img = np.where(inside[..., None], color, img)
    return np.clip(img, 0, 1)


def shoot(rng, img, iso, n_frames):
    """n_frames short exposures and the long one, (n_frames + 1, h, w, 3) counts, NaN where a pixel was masked."""
    gain = iso / 800
    wells = 80 / gain
    frames = []
    for _ in range(n_frames):
        electrons = rng.poisson(img * wells) + rng.normal(size=img.shape) * 1.5
        counts = BLACK + electrons / wells * (WHITE - BLACK)
        frames.append(np.clip(np.round(counts), 0, WHITE))
    frames = np.stack(frames)
    frames[rng.random(frames.shape) < 0.001] = np.nan
    long_exposure = np.round(BLACK + img * (WHITE - BLACK) + rng.normal(size=img.shape) * 2)
    return np.concatenate([frames, np.clip(long_exposure, 0, WHITE)[None]])


def fill(frame):
    return np.where(np.isnan(frame), np.nanmedian(frame), frame)


def develop(raw):
    """Counts to linear light."""
    return (raw - BLACK) / (WHITE - BLACK)


class Bursts(Dataset):
    def __init__(self, n, size=48, iso=800, n_frames=1, patch=0, jitter=0., seed=0):
        rng = np.random.default_rng(seed)
        kinds = np.sort(rng.integers(len(KINDS), size=n))  # one folder after the other
        self.stacks = [shoot(rng, render(rng, KINDS[k], size), iso, n_frames) for k in kinds]
        self.n_frames = n_frames
        self.patch = patch
        self.jitter = jitter  # extra noise, in 8 bit levels

    def __len__(self):
        return len(self.stacks)

    def __getitem__(self, i):
        stack = self.stacks[i]
        noisy = np.mean([fill(f) for f in stack[:self.n_frames]], axis=0)
        clean = stack[-1]
        noisy, clean = develop(noisy), develop(clean)
        if self.patch:
            noisy, clean = self.augment(noisy, clean)
        return to_tensor(noisy), to_tensor(clean)

    def augment(self, noisy, clean):
        p = self.patch
        y, x = np.random.randint(0, noisy.shape[0] - p + 1, size=2)
        noisy, clean = noisy[y:y + p, x:x + p], clean[y:y + p, x:x + p]
        k = np.random.randint(4)
        noisy, clean = np.rot90(noisy, k), np.rot90(clean, k)
        if np.random.rand() < 0.5:
            noisy, clean = noisy[:, ::-1], clean[:, ::-1]
        noisy = noisy + np.random.normal(0, self.jitter / 255, noisy.shape)
        return noisy, clean


def to_tensor(img):
    return torch.from_numpy(np.ascontiguousarray(img.transpose(2, 0, 1), dtype=np.float32))
