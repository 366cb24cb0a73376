"""Hourly readings of bee hives (one CSV file per hive) as windows for the swarm alarm."""

from pathlib import Path

import lightning as L
import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

CHANNELS = ["weight_kg", "brood_temp", "air_temp", "humidity", "hum_db"]
PAST, AHEAD = 168, 72  # hours


def read_hive(path: Path) -> tuple[np.ndarray, np.ndarray]:
    table = pd.read_csv(path, parse_dates=["hour"]).sort_values("hour")
    table["hum_db"] = 10 * np.log10(table["hum_power"].clip(lower=1e-6))
    readings = table[CHANNELS].ffill().bfill()
    return readings.to_numpy(np.float32), table["swarmed"].to_numpy(bool)


class SwarmWindows(Dataset):
    def __init__(self, hives: list[tuple[np.ndarray, np.ndarray]], mean: np.ndarray, std: np.ndarray, stride: int):
        self.readings = [(values - mean) / std for values, _ in hives]
        self.places, self.labels = [], []
        for h, (_, swarmed) in enumerate(hives):
            for start in range(0, len(swarmed) - PAST - AHEAD + 1, stride):
                now = start + PAST
                self.places.append((h, start, now))
                self.labels.append(float(swarmed[now : now + AHEAD].any()))

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, item: int) -> dict[str, torch.Tensor]:
        h, start, stop = self.places[item]
        window = torch.from_numpy(self.readings[h][start:stop].T.copy())
        return {"window": window, "swarm": torch.tensor(self.labels[item])}


class HiveDataModule(L.LightningDataModule):
    def __init__(self, folder: str, batch_size: int = 128, num_workers: int = 4, seed: int = 2024):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage: str | None = None) -> None:
        files = sorted(Path(self.hparams.folder).glob("hive_*.csv"))
        order = np.random.default_rng(self.hparams.seed).permutation(len(files))
        hives = [read_hive(files[i]) for i in order]
        cut = max(1, len(hives) // 6)
        test, val, train = hives[:cut], hives[cut : 2 * cut], hives[2 * cut :]
        known = np.concatenate([values for values, _ in train])
        scale = {"mean": known.mean(axis=0), "std": known.std(axis=0) + 1e-6}
        self.train_set = SwarmWindows(train, stride=6, **scale)
        self.val_set = SwarmWindows(val, stride=24, **scale)
        self.test_set = SwarmWindows(test, stride=24, **scale)

    @property
    def quiet_per_swarm(self) -> float:
        swarms = sum(self.train_set.labels)
        return (len(self.train_set) - swarms) / max(swarms, 1.0)

    def _loader(self, windows: SwarmWindows, **how) -> DataLoader:
        return DataLoader(windows, batch_size=self.hparams.batch_size, num_workers=self.hparams.num_workers, **how)

    def train_dataloader(self) -> DataLoader:
        return self._loader(self.train_set, shuffle=True, drop_last=True)

    def val_dataloader(self) -> DataLoader:
        return self._loader(self.val_set)

    def test_dataloader(self) -> DataLoader:
        return self._loader(self.test_set)
