"""Synthetic fleet of roller bearings: operating conditions and hours until failure."""

import numpy as np

COLUMNS = ["load_kn", "speed_rpm", "temp_c", "vib_rms", "oil_age_h", "misalign_um"]
GREASES = ["lithium", "polyurea", "calcium", "barium"]


def simulate(n, rng):
    load = rng.gamma(6.0, 2.0, n)
    speed = rng.uniform(400, 3600, n)
    temp = 35 + 0.008 * speed + 0.9 * load + rng.normal(0, 6, n)
    oil = rng.uniform(0, 4000, n)
    misalign = rng.gamma(2.0, 12.0, n)
    vib = 0.4 + 0.02 * misalign + 0.0002 * speed + np.abs(rng.normal(0, 0.15, n))
    grease = rng.integers(0, len(GREASES), n)
    basic = 9.6 - 1.5 * np.log1p(load / 4) - 0.55 * np.log(speed / 1000)
    wear = -0.022 * np.clip(temp - 70, 0, None) - 0.5 * np.tanh(misalign / 40) - 0.3 * (oil / 4000) ** 2
    comfort = np.array([0.0, 0.45, -0.35, 0.2])[grease] * np.where(temp > 75, 1.6, 0.5)
    shape = 1.6 + 1.2 / (1 + np.exp((misalign - 25) / 8))
    hours = np.exp(basic + wear + comfort) * rng.weibull(shape, n)
    x = np.stack([load, speed, temp, vib, oil, misalign], axis=1).astype(np.float32)
    return x, grease.astype(np.int64), np.maximum(hours, 1.0).astype(np.float32)


def split(n, rng, held_out=0.25):
    order = rng.permutation(n)
    cut = int(n * (1 - held_out))
    return order[:cut], order[cut:]
