"""Small aerial tiles with roads: rendered scenes stand in for the orthophotos of the survey."""
import numpy as np
import torch
from torch.utils.data import Dataset

SIZE = 24
MEAN = np.array([0.36, 0.40, 0.31], dtype=np.float32)
STD = np.array([0.13, 0.12, 0.11], dtype=np.float32)


def _smooth(rng, cells):
    coarse = rng.normal(size=(cells, cells, 3))
    k = SIZE // cells
    return coarse.repeat(k, axis=0).repeat(k, axis=1)


def render(rng):
    """One tile (uint8, HxWx3) and its road mask (uint8, 0 or 255)."""
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    ground = np.array([0.34, 0.42, 0.27]) + rng.normal(scale=0.04, size=3)
    img = ground + 0.05 * _smooth(rng, 4) + 0.03 * _smooth(rng, 8)
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    for _ in range(rng.integers(1, 3)):
        angle = rng.uniform(0, np.pi)
        cx, cy = rng.uniform(6, SIZE - 6, size=2)
        along = (xx - cx) * np.cos(angle) + (yy - cy) * np.sin(angle)
        across = -(xx - cx) * np.sin(angle) + (yy - cy) * np.cos(angle)
        across = across + rng.uniform(-0.006, 0.006) * along**2
        mask |= np.abs(across) < rng.uniform(1.4, 2.8)
    asphalt = rng.uniform(0.38, 0.56)
    img[mask] = np.array([asphalt, asphalt, asphalt + 0.03])
    for _ in range(rng.integers(0, 4)):  # roofs of much the same grey, and trees that hide the kerb
        a, b = rng.integers(0, SIZE - 5, size=2)
        h, w = rng.integers(3, 6, size=2)
        roof = np.zeros_like(mask)
        roof[a : a + h, b : b + w] = True
        if rng.random() < 0.6:
            roof &= ~mask
            img[roof] = rng.uniform(0.35, 0.6) + np.array([0.03, 0.0, 0.0])
        else:
            img[roof] = np.array([0.2, 0.3, 0.18])
    img = img * rng.uniform(0.85, 1.15) + rng.normal(scale=0.035, size=img.shape)
    return (img.clip(0, 1) * 255).astype(np.uint8), mask.astype(np.uint8) * 255


def make_tiles(n, seed):
    rng = np.random.default_rng(seed)
    pairs = [render(rng) for _ in range(n)]
    return np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])


class RoadTiles(Dataset):
    def __init__(self, images, masks, augment=False, seed=0):
        self.images, self.masks = images, masks
        self.augment = augment
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i].astype(np.float32) / 255.0
        mask = (self.masks[i] > 127).astype(np.float32)
        if self.augment:
            if self.rng.random() < 0.5:
                image, mask = image[:, ::-1], mask[:, ::-1]
            if self.rng.random() < 0.5:
                image, mask = image[::-1], mask[::-1]
            image = image * self.rng.uniform(0.9, 1.1)
        image = (image - MEAN) / STD
        x = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1), dtype=np.float32))
        y = torch.from_numpy(np.ascontiguousarray(mask))[None]
        return x, y
