"""Photographs of lichens, one folder per species."""

import os
from pathlib import Path

import lightning as L
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


class LichenPhotos(Dataset):
    def __init__(self, files, labels, transform):
        self.files = files
        self.labels = labels
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image = Image.open(self.files[index]).convert("RGB")
        return self.transform(image), self.labels[index]


class LichenData(L.LightningDataModule):
    def __init__(self, root, batch_size=32, workers=4, size=128, split_seed=7):
        super().__init__()
        self.save_hyperparameters()
        self.train_transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(size, scale=(0.6, 1.0)),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )
        self.eval_transform = transforms.Compose(
            [
                transforms.Resize(size + 16),
                transforms.CenterCrop(size),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )

    def setup(self, stage=None):
        root = Path(self.hparams.root)
        species = sorted(d for d in os.listdir(root) if (root / d).is_dir())
        self.classes = species
        files, labels = [], []
        for index, name in enumerate(species):
            for file in sorted((root / name).glob("*.jpg")):
                files.append(file)
                labels.append(index)
        labels = np.array(labels)
        order = np.random.RandomState(self.hparams.split_seed).permutation(len(files))
        n_test = len(order) // 10
        parts = {"test": order[:n_test], "val": order[n_test : 2 * n_test], "train": order[2 * n_test :]}

        def pick(part, transform):
            rows = parts[part]
            return LichenPhotos([files[i] for i in rows], torch.as_tensor(labels[rows]), transform)

        self.train_set = pick("train", self.train_transform)
        self.val_set = pick("val", self.eval_transform)
        self.test_set = pick("test", self.eval_transform)

    def train_dataloader(self):
        return DataLoader(
            self.train_set,
            batch_size=self.hparams.batch_size,
            shuffle=True,
            num_workers=self.hparams.workers,
            drop_last=True,
        )

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=self.hparams.batch_size, num_workers=self.hparams.workers)

    def test_dataloader(self):
        return DataLoader(self.test_set, batch_size=self.hparams.batch_size, num_workers=self.hparams.workers)
