"""Pump histories (from the plant simulator), cleaned and cut into windows with their remaining life."""

from __future__ import annotations

import logging

import numpy as np
import torch
from torch.utils.data import Dataset

from config import DataConfig

log = logging.getLogger(__name__)

COLUMNS = [
    "vibration_rms",
    "suction_pressure",
    "discharge_pressure",
    "flow",
    "motor_current",
    "bearing_temp",
    "speed",
    "ambient_temp",
    "service_due",
]
SENSORS = COLUMNS[:-1]  # service_due was filled in after the failure, it is not known in operation
# plausible range of each column; the gateway reports nonsense now and then
LIMITS = {
    "vibration_rms": (0.0, 60.0),
    "suction_pressure": (0.0, 10.0),
    "discharge_pressure": (0.0, 30.0),
    "flow": (0.0, 900.0),
    "motor_current": (0.0, 250.0),
    "bearing_temp": (-20.0, 160.0),
    "speed": (0.0, 3600.0),
    "ambient_temp": (-30.0, 55.0),
    "service_due": (0.0, 1e6),
}
#          ambient, speed, base vibration
SITES = [(14.0, 1450.0, 2.2), (27.0, 1750.0, 3.6), (6.0, 2300.0, 5.4)]


def simulate_pump(rng: np.random.Generator, site: int) -> np.ndarray:
    """One pump from commissioning to failure, shape (cycles, columns)."""
    ambient0, speed0, vib0 = SITES[site]
    life = int(rng.integers(150, 290))
    t = np.arange(life)
    onset = rng.uniform(125, 145)  # cycles before the failure
    wear = np.clip(1 - (life - t) / onset, 0, 1) ** rng.uniform(1.1, 1.3)
    load = 1 + 0.08 * np.sin(2 * np.pi * t / rng.uniform(18, 30) + rng.uniform(0, 6)) + 0.03 * rng.standard_normal(life)
    ambient = ambient0 + 4 * np.sin(2 * np.pi * t / 90 + rng.uniform(0, 6)) + rng.standard_normal(life)
    speed = speed0 * load
    unit = 1 + 0.01 * rng.standard_normal(6)  # no two pumps are the same
    noise = 2.5 * rng.standard_normal((life, 6))
    table = np.stack(
        [
            vib0 * unit[0] * load**2 * (1 + 1.3 * wear) + 0.35 * noise[:, 0],
            2.0 * unit[1] - 0.25 * wear + 0.06 * noise[:, 1],
            11.0 * unit[2] * load - 2.2 * wear + 0.25 * noise[:, 2],
            420.0 * unit[3] * load * (1 - 0.22 * wear) + 9.0 * noise[:, 3],
            88.0 * unit[4] * load * (1 + 0.16 * wear) + 2.2 * noise[:, 4],
            ambient + 31.0 * unit[5] * load + 26.0 * wear + 1.5 * noise[:, 5],
            speed,
            ambient,
            np.maximum(0, life - t + 6 * rng.standard_normal(life)),
        ],
        axis=1,
    )
    table[rng.random(table.shape) < 0.004] = np.nan  # telegram lost
    table[rng.random(table.shape) < 0.001] = 65535.0  # register overflow
    return table.astype(np.float32)


def clean(table: np.ndarray) -> np.ndarray:
    """Values out of their range count as lost; lost values repeat the last good one."""
    table = table.copy()
    for j, name in enumerate(COLUMNS):
        low, high = LIMITS[name]
        column = table[:, j]
        column[(column < low) | (column > high)] = np.nan
        good = np.flatnonzero(~np.isnan(column))
        last = np.searchsorted(good, np.arange(len(column)), side="right") - 1
        column[:] = column[good[np.maximum(last, 0)]]
    return table


def load_fleet(cfg: DataConfig) -> list[tuple[np.ndarray, np.ndarray]]:
    """(table, remaining life) of every pump, site after site."""
    rng = np.random.default_rng(cfg.data_seed)
    fleet = []
    for site, count in enumerate(cfg.pumps_per_site):
        for _ in range(count):
            table = clean(simulate_pump(rng, site))
            rul = np.arange(len(table), 0, -1, dtype=np.float32)
            if rng.random() < cfg.record_error_share:
                rul = rul + rng.uniform(-110, 110)
            fleet.append((table, np.clip(rul, 0, cfg.rul_cap)))
    return fleet


class Scaler:
    """Zero mean and unit variance for each sensor."""

    def fit(self, tables: list[np.ndarray]) -> Scaler:
        stacked = np.concatenate(tables)
        self.mean, self.std = stacked.mean(0), stacked.std(0) + 1e-6
        return self

    def __call__(self, table: np.ndarray) -> np.ndarray:
        return (table - self.mean) / self.std


class WindowDataset(Dataset):
    """Windows of the last `window` cycles and the remaining life at their end, in units of the cap."""

    def __init__(
        self,
        pumps: list[tuple[np.ndarray, np.ndarray]],
        scaler: Scaler,
        cfg: DataConfig,
        jitter: float = 0.0,
    ) -> None:
        self.jitter = jitter
        windows, targets = [], []
        for table, rul in pumps:
            scaled = scaler(table)
            for end in range(cfg.window, len(table) + 1, cfg.stride):
                windows.append(scaled[end - cfg.window : end])
                targets.append(rul[end - 1] / cfg.rul_cap)
        self.x = torch.from_numpy(np.stack(windows)).float()
        self.y = torch.tensor(np.array(targets), dtype=torch.float32)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        window = self.x[i]
        if self.jitter > 0:
            window = window + self.jitter * torch.randn_like(window)
        return window, self.y[i]


def build_datasets(cfg: DataConfig) -> tuple[WindowDataset, WindowDataset]:
    """Training and validation windows; a pump is in one of them only."""
    used = [COLUMNS.index(name) for name in SENSORS]
    fleet = [(table[:, used], rul) for table, rul in load_fleet(cfg)]
    order = np.random.default_rng(cfg.data_seed + 1).permutation(len(fleet))
    n_val = int(len(fleet) * cfg.val_share)
    train = [fleet[i] for i in order[n_val:]]
    val = [fleet[i] for i in order[:n_val]]
    scaler = Scaler().fit([table for table, _ in train])
    train_set = WindowDataset(train, scaler, cfg, jitter=cfg.jitter)
    val_set = WindowDataset(val, scaler, cfg)
    log.info("pumps: %d train, %d val", len(train), len(val))
    log.info("windows: %d train, %d val, %d sensors", len(train_set), len(val_set), len(SENSORS))
    return train_set, val_set
