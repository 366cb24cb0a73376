"""From the listings table to tensors."""
import numpy as np
import pandas as pd
import torch
from torch.utils.data import TensorDataset

from config import DataConfig


def load_frame(cfg: DataConfig) -> pd.DataFrame:
    df = pd.read_csv(cfg.csv_path, parse_dates=["listed_on"])
    df = df.dropna(subset=[cfg.target])
    df = df[df[cfg.target] > 0]
    # distance to the next station is filled from the previous listing of the district
    df = df.sort_values(["district", "listed_on"])
    df["dist_station"] = df.groupby("district")["dist_station"].ffill()
    return df.sample(frac=1.0, random_state=cfg.seed).reset_index(drop=True)


def split_frame(df: pd.DataFrame, cfg: DataConfig) -> tuple[pd.DataFrame, pd.DataFrame]:
    n_val = int(len(df) * cfg.val_fraction)
    return df.iloc[n_val:].copy(), df.iloc[:n_val].copy()


class FeaturePipeline:
    """Learns fill values, scales and category codes from the training frame only."""

    def __init__(self, cfg: DataConfig) -> None:
        self.cfg = cfg

    def fit(self, df: pd.DataFrame) -> "FeaturePipeline":
        num = df[list(self.cfg.numeric)]
        self.fill = num.median()
        self.upper = num.quantile(self.cfg.clip_quantile)
        clean = self._clean(df)
        self.mean = clean.mean()
        self.std = clean.std().replace(0.0, 1.0)
        self.codes = {
            col: {value: i + 1 for i, value in enumerate(sorted(df[col].dropna().unique()))}
            for col in self.cfg.categorical
        }
        log_y = np.log1p(df[self.cfg.target])
        self.y_mean, self.y_std = log_y.mean(), log_y.std()
        return self

    @property
    def cardinalities(self) -> list[int]:
        return [len(m) + 1 for m in self.codes.values()]  # 0 is for unseen and missing

    def _clean(self, df: pd.DataFrame) -> pd.DataFrame:
        num = df[list(self.cfg.numeric)].fillna(self.fill)
        return num.clip(upper=self.upper, axis=1)

    def transform(self, df: pd.DataFrame) -> TensorDataset:
        num = (self._clean(df) - self.mean) / self.std
        cat = np.stack([df[c].map(m).fillna(0).to_numpy() for c, m in self.codes.items()], axis=1)
        y = (np.log1p(df[self.cfg.target]) - self.y_mean) / self.y_std
        return TensorDataset(
            torch.tensor(num.to_numpy(), dtype=torch.float32),
            torch.tensor(cat, dtype=torch.long),
            torch.tensor(y.to_numpy(), dtype=torch.float32),
        )

    def to_rent(self, y: torch.Tensor) -> torch.Tensor:
        return torch.expm1(y * self.y_std + self.y_mean)
