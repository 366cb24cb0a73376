"""Grey sprites: an ellipse or a box, somewhere, of some size, angle and brightness."""
import numpy as np
import torch


def draw(n, side, noise, gen):
    grid = (np.arange(side) + 0.5) / side
    yy, xx = np.meshgrid(grid, grid, indexing="ij")
    cx, cy = gen.uniform(0.3, 0.7, (2, n, 1, 1))
    rx, ry = gen.uniform(0.12, 0.30, (2, n, 1, 1))
    angle = gen.uniform(0, np.pi / 2, (n, 1, 1))
    light = gen.uniform(0.6, 1.0, (n, 1, 1))
    box = gen.random((n, 1, 1)) < 0.4
    dx, dy = xx - cx, yy - cy
    u = (np.cos(angle) * dx + np.sin(angle) * dy) / rx
    v = (-np.sin(angle) * dx + np.cos(angle) * dy) / ry
    dist = np.where(box, np.maximum(abs(u), abs(v)), np.sqrt(u * u + v * v))
    img = light / (1 + np.exp((dist - 1) * 9))
    img = img + gen.normal(0, noise, img.shape)
    return torch.tensor(np.clip(img, 0, 1), dtype=torch.float32).flatten(1)
