"""Synthetic flower pictures: six species that differ in their petals, colour and heart."""

import numpy as np

SPECIES = ["tansy", "poppy", "campion", "aster", "bindweed", "lily"]
FREQUENCY = [0.22, 0.20, 0.18, 0.16, 0.13, 0.11]
PETALS = [5, 4, 5, 9, 5, 6]
DEPTH = [0.30, 0.14, 0.26, 0.22, 0.10, 0.36]  # how deep the petals are cut
HEART = [0.45, 0.25, 0.20, 0.35, 0.30, 0.18]
COLOUR = [(220, 170, 80), (205, 95, 85), (205, 115, 135), (180, 135, 180), (215, 185, 185), (215, 150, 90)]
SIZE = 24


def draw(species, rng):
    """One flower on grass, uint8 of SIZE x SIZE x 3."""
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    cx, cy = rng.normal(SIZE / 2, 1.5, 2)
    angle = np.arctan2(yy - cy, xx - cx)
    radius = np.hypot(yy - cy, xx - cx)
    outline = rng.uniform(6.5, 10) * (1 - DEPTH[species] * (1 - np.cos(PETALS[species] * angle + rng.uniform(0, 6.3))))
    image = np.array([70, 110, 50]) + rng.normal(0, 22, (SIZE, SIZE, 1)) + rng.normal(0, 8, 3)
    image[radius < outline] = np.array(COLOUR[species]) + rng.normal(0, 42, 3)
    image[radius < HEART[species] * outline] = np.array([120, 90, 40]) + rng.normal(0, 30, 3)
    image = image * rng.uniform(0.65, 1.2) + rng.normal(0, 24, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def load(split, n):
    """Pictures and labels of a split, species by species as they lie in their folders."""
    rng = np.random.default_rng({"train": 1, "val": 2}[split])
    labels = np.repeat(np.arange(len(SPECIES)), np.round(np.array(FREQUENCY) * n).astype(int))
    return np.stack([draw(k, rng) for k in labels]), labels
