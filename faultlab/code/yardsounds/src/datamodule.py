import csv
from pathlib import Path
from typing import Optional

import lightning as L
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


def read_ontology(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text().splitlines() if line.strip()]


class ClipDataset(Dataset):
    """Rows of a csv (file, fold, tags separated by ';'); clips are .npy int16 at 16 kHz."""

    def __init__(self, root: Path, rows: list[dict], tags: list[str], length: int, train: bool):
        self.root, self.rows, self.length, self.train = root, rows, length, train
        index = {t: i for i, t in enumerate(tags)}
        self.targets = torch.zeros(len(rows), len(tags))
        for i, row in enumerate(rows):
            for tag in row["tags"].split(";"):
                self.targets[i, index[tag]] = 1.0

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        pcm = np.load(self.root / self.rows[i]["file"]).astype(np.float32) / 32768.0
        wav = torch.from_numpy(pcm)
        if len(wav) < self.length:
            wav = torch.nn.functional.pad(wav, (0, self.length - len(wav)))
        spare = len(wav) - self.length
        start = int(torch.randint(0, spare + 1, ())) if self.train else spare // 2
        wav = wav[start:start + self.length]
        if self.train:
            wav = wav * 10 ** (torch.empty(()).uniform_(-6, 6) / 20)
        return wav, self.targets[i]


class YardDataModule(L.LightningDataModule):
    def __init__(self, root: str = "yard", batch_size: int = 32, num_workers: int = 4, length: int = 64000,
                 val_fold: int = 4, test_fold: int = 5):
        super().__init__()
        self.save_hyperparameters()
        self.root = Path(root)

    def setup(self, stage: Optional[str] = None):
        hp = self.hparams
        tags = read_ontology(self.root / "tags.txt")
        with open(self.root / "clips.csv", newline="") as f:
            rows = list(csv.DictReader(f))
        # the folds keep all clips of one recorder together
        train = [r for r in rows if int(r["fold"]) not in (hp.val_fold, hp.test_fold)]
        val = [r for r in rows if int(r["fold"]) == hp.val_fold]
        test = [r for r in rows if int(r["fold"]) == hp.test_fold]
        self.train_set = ClipDataset(self.root, train, tags, hp.length, train=True)
        self.val_set = ClipDataset(self.root, val, tags, hp.length, train=False)
        self.test_set = ClipDataset(self.root, test, tags, hp.length, train=False)

    def _sampler(self):
        y = self.train_set.targets
        rarity = 1.0 / y.sum(0).clamp(min=1)
        weights = (y * rarity).max(dim=1).values.sqrt()
        return WeightedRandomSampler(weights, num_samples=len(weights), replacement=True)

    def train_dataloader(self):
        return DataLoader(self.train_set, self.hparams.batch_size, sampler=self._sampler(), drop_last=True,
                          num_workers=self.hparams.num_workers)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.hparams.batch_size, num_workers=self.hparams.num_workers)

    def test_dataloader(self):
        return DataLoader(self.test_set, self.hparams.batch_size, num_workers=self.hparams.num_workers)
