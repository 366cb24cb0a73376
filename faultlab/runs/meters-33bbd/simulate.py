"""Simulated hourly readings (kW) of smart meters: daily habits, weekends, weather, gaps and glitches."""
import numpy as np


def read_meters(n_meters=24, days=70, seed=3):
    """Returns load (hours, meters), hour of the day and whether it is a weekend."""
    rng = np.random.default_rng(seed)
    n = days * 24
    hour, weekend = np.arange(n) % 24, np.arange(n) // 24 % 7 >= 5
    temp = 6 - 5 * np.cos(2 * np.pi * (hour - 3) / 24) + 0.3 * rng.standard_normal(n).cumsum().clip(-15, 15)
    meters = []
    for _ in range(n_meters):
        size = rng.uniform(0.5, 1.6)
        wake, dinner = rng.normal(7, 0.8), rng.normal(19, 1.0)
        day = 0.7 * np.exp(-((hour - wake - 2 * weekend) ** 2) / 4) + 1.2 * np.exp(-((hour - dinner) ** 2) / 7)
        day = day + 0.5 * weekend * np.exp(-((hour - 13) ** 2) / 12)
        heating = rng.uniform(0.02, 0.08) * np.maximum(0, 15 - temp)
        noise = np.zeros(n)
        for t in range(1, n):
            noise[t] = 0.75 * noise[t - 1] + 0.12 * rng.standard_normal()
        load = size * np.maximum(0.05, 0.3 + day + heating + noise)
        load[rng.random(n) < 0.0006] = 999.9  # the code of a failed transmission
        load[rng.random(n) < 0.01] = np.nan
        meters.append(load)
    return np.stack(meters, axis=1), hour, weekend
