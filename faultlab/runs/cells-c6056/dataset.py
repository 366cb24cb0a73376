"""Simulated fluorescence microscopy: elliptic cells, debris, uneven light, shot noise.

Masks follow the annotation tool: 0 background, 255 cell, 127 out of focus (ignored in loss and score).
"""

import numpy as np
import torch
from torch.utils.data import Dataset

CELL, IGNORE = 255, 127


def _ellipse(yy, xx, cy, cx, a, b, phi):
    dy, dx = yy - cy, xx - cx
    u = dx * np.cos(phi) + dy * np.sin(phi)
    v = -dx * np.sin(phi) + dy * np.cos(phi)
    return np.sqrt((u / a) ** 2 + (v / b) ** 2)


def acquire(rng, size, plate, snr):
    """One field of view as raw camera counts, and its annotation."""
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    mask = np.zeros((size, size), np.uint8)
    if rng.random() < 0.02:  # shutter closed: the camera hands back a flat frame
        return np.full((size, size), 100.0, np.float32), mask
    exposure = (0.5, 1.0, 3.0)[plate] * rng.uniform(0.7, 1.4)
    light = 0.25 + 0.15 * rng.random() * (xx / size) + 0.15 * rng.random() * (yy / size)
    signal = light.astype(np.float32)
    for _ in range(rng.poisson((2.5, 3.5, 5.0)[plate]) + 1):
        a, b = rng.uniform(3.0, 6.5), rng.uniform(2.5, 5.0)
        r = _ellipse(yy, xx, rng.uniform(0, size), rng.uniform(0, size), a, b, rng.uniform(0, np.pi))
        blurred = rng.random() < 0.08
        edge = 0.45 if blurred else 0.12
        signal = signal + rng.uniform(0.3, 1.0) / (1 + np.exp((r - 1) / edge))
        mask[(r < 1) & (mask != CELL)] = IGNORE if blurred else CELL
    for _ in range(rng.poisson(3)):  # debris is bright and small and is no cell
        r = _ellipse(yy, xx, rng.uniform(0, size), rng.uniform(0, size), 1.2, 1.2, 0.0)
        signal = signal + rng.uniform(0.5, 1.5) * np.exp(-(r**2))
    counts = rng.poisson(signal * snr * exposure).astype(np.float32) / snr * 800.0 + 100.0
    counts += rng.normal(0, 12.0, counts.shape)
    if rng.random() < 0.15:
        counts[rng.integers(size), :] = np.nan  # dead camera row
    return counts.astype(np.float32), mask


def standardize(img):
    img = np.nan_to_num(img, nan=float(np.nanmedian(img)))
    return (img - img.mean()) / (img.std() + 1e-6)


def augment(img, mask, rng, noise):
    if rng.random() < 0.5:
        img, mask = img[:, ::-1], mask[:, ::-1]
    if rng.random() < 0.5:
        img, mask = img[::-1], mask[::-1]
    k = rng.integers(4)
    img, mask = np.rot90(img, k), np.rot90(mask, k)
    img = img * rng.uniform(0.9, 1.1) + rng.normal(0, noise, img.shape)
    return img, mask


class CellDataset(Dataset):
    def __init__(self, split, n, size=40, snr=12.0, aug_noise=0.1):
        rng = np.random.default_rng({"train": 1000, "val": 2000, "test": 3000}[split])
        plates = np.sort(rng.choice(3, n, p=[0.5, 0.3, 0.2]))  # files come plate by plate
        self.items = [acquire(rng, size, p, snr) for p in plates]
        self.train = split == "train"
        self.noise = aug_noise
        self.rng = np.random.default_rng(7)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = self.items[i]
        img = standardize(img)
        if self.train:
            img, mask = augment(img, mask, self.rng, self.noise)
        img = torch.from_numpy(np.ascontiguousarray(img)).float()[None]
        mask = torch.from_numpy(np.ascontiguousarray(mask))[None]
        target = (mask == CELL).float()
        valid = (mask != IGNORE).float()
        return img, target, valid
