import numpy as np

COLUMNS = ["temp", "pressure", "humidity", "wind_u", "wind_v", "radiation"]


def simulate(hours, rng):
    """Hourly weather of one station: days, spells of weeks, fronts that pass, and measurement noise."""
    t = np.arange(hours)
    day = 2 * np.pi * t / 24
    spell = 2 * np.pi * t / (24 * 21)

    def ar(phi, sigma):
        e = rng.normal(scale=sigma, size=hours)
        out = np.zeros(hours)
        for i in range(1, hours):
            out[i] = phi * out[i - 1] + e[i]
        return out

    front = ar(0.97, 0.24)
    cloud = 1 / (1 + np.exp(-(front + ar(0.9, 0.3))))
    radiation = np.maximum(np.sin(day - np.pi / 2), 0) * (700 + 100 * np.sin(spell)) * (1 - 0.75 * cloud)
    pressure = 1013 - 6 * front + ar(0.95, 0.15)
    warmth = np.zeros(hours)
    for i in range(1, hours):
        warmth[i] = 0.92 * warmth[i - 1] + 0.0016 * radiation[i]
    temp = 9 + 2 * np.sin(spell - 0.4) + 1.5 * warmth - 1.2 * np.roll(front, 6) + ar(0.9, 0.25)
    humidity = np.clip(85 - 1.9 * (temp - 9) + 14 * (cloud - 0.5) + ar(0.8, 1.5), 12, 100)
    wind_u = 3 + 2.2 * np.roll(front, 3) + ar(0.8, 0.6)
    wind_v = 1 - 1.6 * np.gradient(front) * 8 + 0.8 * np.sin(day) + ar(0.8, 0.6)
    return np.stack([temp, pressure, humidity, wind_u, wind_v, radiation], axis=1).astype(np.float32)


class StandardScaler:
    def fit(self, values):
        self.mean_ = values.mean(axis=0)
        self.scale_ = values.std(axis=0) + 1e-6
        return self

    def transform(self, values):
        return (values - self.mean_) / self.scale_


def make_windows(values, lookback, horizon, stride, targets=(0, 3, 4)):
    xs, ys = [], []
    for start in range(0, len(values) - lookback - horizon + 1, stride):
        stop = start + lookback
        xs.append(values[start:stop])
        ys.append(values[stop : stop + horizon, targets])
    return np.stack(xs), np.stack(ys)
