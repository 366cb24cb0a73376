import lightning as L
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from cellar import make_register

SKEWED = ("residual_sugar", "so2", "price")
CATEGORICAL = ("region", "winery", "closure")


class WineDataModule(L.LightningDataModule):
    def __init__(self, n_bottles, label_source, columns, split, val_share, test_share, clip_quantile, batch_size):
        super().__init__()
        self.save_hyperparameters(logger=False)
        self.columns = list(columns)

    def setup(self, stage=None):
        if hasattr(self, "train_set"):
            return
        hp = self.hparams
        table = make_register(hp.n_bottles, hp.label_source)
        self.classes = np.unique(table["grape"])
        self.cardinalities = [int(table[c].max()) + 1 for c in CATEGORICAL]

        part = self._split(table)
        raw = np.stack([table[c] for c in self.columns], axis=1)
        self._fit(raw[part == 0])
        sets = []
        for i in range(3):
            rows = part == i
            numeric = self._transform(raw[rows])
            codes = np.stack([table[c][rows] for c in CATEGORICAL], axis=1)
            y = np.searchsorted(self.classes, table["grape"][rows])
            sets.append(
                TensorDataset(
                    torch.tensor(numeric, dtype=torch.float32),
                    torch.tensor(codes, dtype=torch.long),
                    torch.tensor(y, dtype=torch.long),
                )
            )
        self.train_set, self.val_set, self.test_set = sets

    def _split(self, table):
        """0 train, 1 val, 2 test for every row."""
        hp = self.hparams
        n = len(table["grape"])
        if hp.split == "vintage":
            rank = table["vintage"].argsort(kind="stable").argsort() / n
            u = 1.0 - rank
        else:
            u = np.random.default_rng(3).random(n)
        return np.where(u < hp.val_share, 1, np.where(u < hp.val_share + hp.test_share, 2, 0))

    def _unskew(self, raw):
        out = raw.copy()
        for c in SKEWED:
            if c in self.columns:
                j = self.columns.index(c)
                out[:, j] = np.log1p(out[:, j])
        return out

    def _fit(self, raw):
        q = self.hparams.clip_quantile
        x = self._unskew(raw)
        self.lo, self.hi = np.nanquantile(x, [q, 1.0 - q], axis=0)
        self.median = np.nanmedian(x, axis=0)
        x = np.clip(x, self.lo, self.hi)
        self.mean = np.nanmean(x, axis=0)
        self.std = np.maximum(np.nanstd(x, axis=0), 1e-6)

    def _transform(self, raw):
        x = self._unskew(raw)
        x = np.where(np.isnan(x), self.median, x)
        x = np.clip(x, self.lo, self.hi)
        return (x - self.mean) / self.std

    def class_weights(self):
        counts = torch.bincount(self.train_set.tensors[2], minlength=len(self.classes))
        return counts.sum() / (len(counts) * counts)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=512)

    def test_dataloader(self):
        return DataLoader(self.test_set, batch_size=512)
