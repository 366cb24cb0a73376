"""Simulated test bakes: eight columns of a recipe and its oven, and the volume of the loaf in millilitres."""

import numpy as np
import torch

NUMERIC = ["flour_g", "water_g", "salt_g", "yeast_g", "proof_min", "room_c"]
FLOURS = ["t45", "t55", "t80", "rye", "spelt", "whole"]
OVENS = ["deck", "steam", "fan", "wood"]
STRENGTH = np.array([1.05, 1.0, 0.92, 0.62, 0.85, 0.75])
SPRING = np.array([1.0, 1.08, 0.93, 1.02])


def bake(n, seed):
    """Numeric columns (n, 6), category indices (n, 2) and volumes (n,)."""
    rng = np.random.default_rng(seed)
    flour = rng.normal(500, 60, n)
    water = flour * rng.uniform(0.55, 0.8, n)
    salt = flour * rng.uniform(0.012, 0.025, n)
    yeast = rng.uniform(2, 12, n)
    proof = rng.uniform(30, 180, n)
    room = rng.normal(24, 3, n)
    kind = rng.integers(0, len(FLOURS), n)
    oven = rng.integers(0, len(OVENS), n)
    activity = yeast * np.exp((room - 24) / 12) * (1 - 12 * (salt / flour - 0.018))
    rise = activity * proof / 60
    gas = np.tanh(rise / 14) - 0.35 * np.maximum(rise - 18, 0) / 18
    wet = 1 - 4 * (water / flour - 0.68 - 0.05 * (kind == 5)) ** 2
    volume = flour * (1.5 + 2.6 * gas * STRENGTH[kind] * wet) * SPRING[oven] + rng.normal(0, 45, n)
    x = np.stack([flour, water, salt, yeast, proof, room], axis=1).astype(np.float32)
    return x, np.stack([kind, oven], axis=1), volume.astype(np.float32)


class Scaler:
    def __init__(self, values):
        self.mean = values.mean(axis=0)
        self.std = values.std(axis=0)

    def __call__(self, values):
        return (values - self.mean) / self.std

    def back(self, values):
        return values * float(self.std) + float(self.mean)


def tensors(x, cats, y):
    return torch.from_numpy(x), torch.from_numpy(cats).long(), torch.from_numpy(y)
