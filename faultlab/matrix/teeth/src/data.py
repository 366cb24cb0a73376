from pathlib import Path

import lightning as L
import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler
from torchvision import transforms as T

MEAN, STD = [0.41], [0.19]


def train_tf(size):
    return T.Compose([T.RandomResizedCrop(size, scale=(0.8, 1.0)), T.RandomHorizontalFlip(), T.ColorJitter(0.2, 0.2),
                      T.ToTensor(), T.Normalize(MEAN, STD)])


def eval_tf(size):
    return T.Compose([T.Resize(size + 16), T.CenterCrop(size), T.ToTensor(), T.Normalize(MEAN, STD)])


class Teeth(Dataset):
    def __init__(self, table, folder, transform):
        self.table = table.reset_index(drop=True)
        self.folder = Path(folder)
        self.transform = transform

    def __len__(self):
        return len(self.table)

    def __getitem__(self, i):
        row = self.table.iloc[i]
        image = Image.open(self.folder / row.file).convert("L")
        age = torch.tensor([(row.age - 45.0) / 18.0], dtype=torch.float32)
        return self.transform(image), age, int(row.grade)


class TeethData(L.LightningDataModule):
    def __init__(self, folder, size=192, batch=64, seed=3):
        super().__init__()
        self.folder, self.size, self.batch, self.seed = folder, size, batch, seed

    def setup(self, stage=None):
        table = pd.read_csv(Path(self.folder) / "teeth.csv")
        table = table.dropna(subset=["grade", "age"])
        patients = table["patient"].unique()
        np.random.default_rng(self.seed).shuffle(patients)
        n = len(patients)
        a, b = int(0.7 * n), int(0.85 * n)
        part = lambda ids: table[table["patient"].isin(ids)]
        train, val, test = part(patients[:a]), part(patients[a:b]), part(patients[b:])
        self.train_set = Teeth(train, self.folder, train_tf(self.size))
        self.val_set = Teeth(val, self.folder, eval_tf(self.size))
        self.test_set = Teeth(test, self.folder, eval_tf(self.size))
        counts = train["grade"].value_counts()
        self.weights = train["grade"].map(1.0 / counts).to_numpy()

    def train_dataloader(self):
        sampler = WeightedRandomSampler(self.weights, len(self.train_set))
        return DataLoader(self.train_set, self.batch, sampler=sampler, num_workers=4)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.batch, num_workers=4)

    def test_dataloader(self):
        return DataLoader(self.test_set, self.batch, num_workers=4)
