"""Power traces of household appliances: index.csv (file, house, kind) and one .npy of [time, 2] per trace."""

from pathlib import Path

import lightning as L
import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class TraceSet(Dataset):
    def __init__(self, table, root, kinds, stats, augment=False):
        self.table = table.reset_index(drop=True)
        self.root = Path(root)
        self.ids = {kind: i for i, kind in enumerate(kinds)}
        self.mean, self.std = stats
        self.augment = augment

    def __len__(self):
        return len(self.table)

    def __getitem__(self, i):
        row = self.table.loc[i]
        watts = np.load(self.root / row["file"]).astype(np.float32)
        if self.augment:
            start = np.random.randint(0, max(1, len(watts) // 5))
            watts = watts[start:] * np.float32(np.random.uniform(0.9, 1.1))
        trace = squeeze_range(watts)
        trace = (trace - self.mean) / self.std
        return torch.from_numpy(trace), self.ids[row["kind"]]


def squeeze_range(watts):
    return np.sign(watts) * np.log1p(np.abs(watts))


def collate(batch):
    traces, labels = zip(*batch)
    length = torch.tensor([len(trace) for trace in traces])
    padded = pad_sequence(traces, batch_first=True)
    return {"trace": padded, "length": length, "label": torch.tensor(labels)}


class TraceData(L.LightningDataModule):
    def __init__(self, root="traces", batch_size=64, workers=4, seed=5):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        root = Path(self.hparams.root)
        index = pd.read_csv(root / "index.csv")
        self.kinds = sorted(index["kind"].unique())
        houses = np.random.default_rng(self.hparams.seed).permutation(sorted(index["house"].unique()))
        fifth = len(houses) // 5
        test_houses, valid_houses = houses[:fifth], houses[fifth:2 * fifth]
        test = index[index["house"].isin(test_houses)]
        valid = index[index["house"].isin(valid_houses)]
        train = index[index["house"].isin(houses[2 * fifth:])]

        known = np.concatenate([squeeze_range(np.load(root / name)) for name in train["file"]])
        stats = known.mean(axis=0, dtype=np.float64).astype(np.float32), known.std(axis=0).astype(np.float32)
        self.train_set = TraceSet(train, root, self.kinds, stats, augment=True)
        self.valid_set = TraceSet(valid, root, self.kinds, stats)
        self.test_set = TraceSet(test, root, self.kinds, stats)

    def loader(self, dataset, shuffle=False):
        return DataLoader(dataset, batch_size=self.hparams.batch_size, shuffle=shuffle, collate_fn=collate,
                          num_workers=self.hparams.workers)

    def train_dataloader(self):
        return self.loader(self.train_set, shuffle=True)

    def val_dataloader(self):
        return self.loader(self.valid_set)

    def test_dataloader(self):
        return self.loader(self.test_set)
