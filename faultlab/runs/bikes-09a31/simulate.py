"""Hourly rentals at the docking stations of a small bike-share scheme (a simulator, no real riders)."""

import numpy as np

CAPACITY = 2000  # no station ever lends more in an hour


def simulate(n_stations=8, n_days=120, seed=3):
    """Columns of one table, sorted by station and hour. Weather sensors drop out now and then (NaN)."""
    rng = np.random.default_rng(seed)
    hours = np.arange(n_days * 24)
    hod, day = hours % 24, hours // 24
    weekday = day % 7

    season = np.cos(2 * np.pi * (day - 100) / 365)
    front = np.convolve(rng.normal(size=hours.size + 71), np.ones(72) / 72**0.5, "valid")
    temp = 13 + 9 * season + 4 * np.sin(2 * np.pi * (hod - 9) / 24) + 2.5 * front
    humidity = np.clip(70 - 1.2 * (temp - 13) + rng.normal(0, 8, hours.size), 15, 100)
    pressure = 1013 - 5 * front + rng.normal(0, 1.5, hours.size)
    rain = np.maximum(0, np.convolve(rng.normal(size=hours.size + 5), np.ones(6) / 6**0.5, "valid") - 1.1)

    commute = np.exp(-((hod - 8) ** 2) / 3) + 1.2 * np.exp(-((hod - 17.5) ** 2) / 5)
    leisure = np.exp(-((hod - 15) ** 2) / 22)
    weekend = weekday >= 5

    names = ("station", "day", "hour", "weekday", "temp", "humidity", "pressure", "rain", "count")
    columns = {k: [] for k in names}
    for station in range(n_stations):
        size, office = np.exp(rng.normal(4.0, 0.6)), rng.uniform(0.2, 1.0)
        work = office * commute + (1 - office) * leisure
        profile = np.where(weekend, 0.9 * leisure + 0.1 * commute, work) + 0.05
        weather = np.exp(0.045 * (temp - 13) - 0.0012 * (temp - 13) ** 2 - 0.8 * rain)
        rate = size * profile * weather * np.exp(rng.normal(0, 0.12, hours.size))
        count = rng.poisson(rate).astype(np.float64)
        stuck = rng.random(hours.size) < 0.006  # the dock's counter overflows
        count[stuck] = 65535
        values = (np.full(hours.size, station), day, hod, weekday, temp, humidity, pressure, rain, count)
        for name, value in zip(columns, values):
            columns[name].append(value)

    table = {k: np.concatenate(v) for k, v in columns.items()}
    for name in ("temp", "humidity", "pressure"):
        table[name] = np.where(rng.random(table[name].size) < 0.01, np.nan, table[name])
    return table
