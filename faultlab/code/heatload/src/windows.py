import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset


def load_table(csv):
    """Hourly table: load (MW), outdoor temperature, calendar features."""
    df = pd.read_csv(csv, parse_dates=["time"]).set_index("time").sort_index()
    df = df[["load", "temp"]].interpolate(limit_direction="both")
    cap = df["load"].rolling(24 * 14, min_periods=1).median() * 4
    df["load"] = df["load"].clip(lower=0.0).clip(upper=cap)  # meter spikes
    hour, dow, doy = df.index.hour, df.index.dayofweek, df.index.dayofyear
    for name, value, period in (("hour", hour, 24), ("dow", dow, 7), ("doy", doy, 365.25)):
        df[f"{name}_sin"] = np.sin(2 * np.pi * value / period)
        df[f"{name}_cos"] = np.cos(2 * np.pi * value / period)
    return df


class Standardizer:
    """Zero mean and unit deviation for load and temp; calendar columns stay."""

    columns = ("load", "temp")

    def fit(self, df):
        self.mean = df[list(self.columns)].mean()
        self.std = df[list(self.columns)].std() + 1e-6
        return self

    def __call__(self, df):
        df = df.copy()
        for c in self.columns:
            df[c] = (df[c] - self.mean[c]) / self.std[c]
        return df

    def to_mw(self, y):
        return y * float(self.std["load"]) + float(self.mean["load"])


class Windows(Dataset):
    """history -> (past features, known future features, future load)."""

    def __init__(self, df, history, horizon, stride):
        self.values = torch.tensor(df.to_numpy(np.float32))
        self.history, self.horizon = history, horizon
        self.starts = range(0, len(df) - history - horizon + 1, stride)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        a = self.starts[i]
        b = a + self.history
        c = b + self.horizon
        return self.values[a:b], self.values[b:c, 1:], self.values[b:c, 0]


def make_loaders(cfg):
    df = load_table(cfg.csv)
    train = df[df.index < cfg.valid_from]
    valid = df[(df.index >= cfg.valid_from) & (df.index < cfg.test_from)]
    test = df[df.index >= cfg.test_from]
    scale = Standardizer().fit(train)
    sets = [
        Windows(scale(train), cfg.history, cfg.horizon, cfg.stride),
        Windows(scale(valid), cfg.history, cfg.horizon, cfg.horizon),
        Windows(scale(test), cfg.history, cfg.horizon, cfg.horizon),
    ]
    kw = dict(batch_size=cfg.batch, num_workers=cfg.workers)
    train_loader = DataLoader(sets[0], shuffle=True, drop_last=True, **kw)
    return train_loader, DataLoader(sets[1], **kw), DataLoader(sets[2], **kw), scale
