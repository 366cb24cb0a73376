"""Hourly records of tide gauges: one csv per gauge with hour, level (m), pressure (hPa), wind (m/s)."""
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

PERIODS = np.array([12.4206, 12.0, 12.6583, 23.9345, 25.8193])  # M2 S2 N2 K1 O1, hours


def harmonics(hours):
    angle = 2 * np.pi * hours[:, None] / PERIODS[None, :]
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


def load_gauges(folder):
    series = []
    for path in sorted(Path(folder).glob("*.csv")):
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
        good = ~np.isnan(table).any(axis=1)
        series.append(table[good])
    return series


def cut_in_time(series, share=0.8):
    early, late = [], []
    for table in series:
        k = int(len(table) * share)
        early.append(table[:k])
        late.append(table[k:])
    return early, late


class Scaler:
    def __init__(self, series):
        stacked = np.concatenate([t[:, 1:] for t in series])
        self.mean = stacked.mean(axis=0)
        self.std = stacked.std(axis=0) + 1e-6

    def apply(self, x):
        return (x - self.mean) / self.std

    def to_metres(self, level):
        return level * self.std[0] + self.mean[0]


class Windows(Dataset):
    """past: (history, 3 + 10); future: harmonics of the coming hours (horizon, 10); target: (horizon,) of level."""

    def __init__(self, series, scaler, history=96, horizon=24, stride=6):
        self.h, self.f = history, horizon
        self.values = [scaler.apply(t[:, 1:]).astype(np.float32) for t in series]
        self.waves = [harmonics(t[:, 0]).astype(np.float32) for t in series]
        self.index = [(g, s) for g, v in enumerate(self.values)
                      for s in range(0, len(v) - history - horizon + 1, stride)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        g, s = self.index[i]
        mid, end = s + self.h, s + self.h + self.f
        past = np.concatenate([self.values[g][s:mid], self.waves[g][s:mid]], axis=1)
        future = self.waves[g][mid:end]
        target = self.values[g][mid:end, 0]
        return torch.from_numpy(past), torch.from_numpy(future), torch.from_numpy(target.copy())
