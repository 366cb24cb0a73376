"""Synthetic benchmark: satellite time series of fields (6 bands, 24 dates) with the crop that grows there."""

import numpy as np

CROPS = ["wheat", "maize", "rapeseed", "sugar beet", "potato", "meadow"]
SHARE = [0.32, 0.24, 0.15, 0.11, 0.08, 0.10]
GREEN_UP = np.array([0.22, 0.42, 0.15, 0.40, 0.37, 0.15])
HARVEST = np.array([0.58, 0.78, 0.50, 0.84, 0.66, 0.90])
PEAK = np.array([0.80, 0.85, 0.78, 0.88, 0.76, 0.70])


def load_fields(n, seed, dates=24):
    """Reflectances (n, 6, dates) in the archive's integer scale (x 10000) and crop ids (n,), listed crop by crop."""
    rng = np.random.default_rng(seed)
    crop = np.sort(rng.choice(len(CROPS), size=n, p=SHARE))
    t = np.linspace(0, 1, dates)[None]
    up = (GREEN_UP[crop] + rng.normal(0, 0.038, n))[:, None]
    down = (HARVEST[crop] + rng.normal(0, 0.038, n))[:, None]
    vigour = (PEAK[crop] * rng.normal(1, 0.12, n))[:, None]
    green = vigour / (1 + np.exp(-(t - up) / 0.04)) / (1 + np.exp((t - down) / 0.04))
    cut = (crop == 5)[:, None] * (np.abs(t - rng.uniform(0.4, 0.7, n)[:, None]) < 0.05)
    green = green * (1 - 0.5 * cut)
    yellow = (crop == 2)[:, None] * np.exp(-(((t - up - 0.12) / 0.04) ** 2)) * rng.uniform(0, 0.12, n)[:, None]
    soil = rng.normal(0.15, 0.03, n)[:, None]
    bands = [
        0.05 + 0.02 * green + 0 * t,
        0.08 + 0.03 * green + yellow,
        soil * (1 - 0.8 * green) + 0.6 * yellow,
        0.2 + 0.1 * green + 0.3 * soil,
        soil + 0.35 * green,
        2 * soil * (1 - 0.5 * green),
    ]
    x = np.stack(bands, axis=1) * rng.normal(1, 0.05, (n, 6, 1)) + rng.normal(0, 0.025, (n, 6, dates))
    cloudy = rng.random((n, 1, dates)) < 0.12
    x = np.where(cloudy, x + rng.uniform(0.1, 0.5, (n, 1, dates)), x)
    return np.clip(x * 10000, 0, 12000).astype(np.float32), crop.astype(np.int64)
