import lightning.pytorch as pl
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

LAYOUTS = ["plain", "cross", "bands", "pale", "saltire", "border"]


def draw(kind, rng, side=16):
    """One signal flag in the wind, photographed badly."""
    back, front = rng.uniform(0, 255, (2, 3))
    while np.abs(back - front).sum() < 180:
        back, front = rng.uniform(0, 255, (2, 3))
    yy, xx = np.mgrid[0:side, 0:side].astype(float)
    yy = yy + rng.uniform(0.3, 1.2) * np.sin(xx / side * rng.uniform(3, 7) + rng.uniform(0, 6))
    y, x = yy / side + rng.normal(0, 0.04), xx / side + rng.normal(0, 0.04)
    w = rng.uniform(0.1, 0.16)
    mask = {
        "plain": np.zeros_like(x, bool),
        "cross": (abs(x - 0.5) < w) | (abs(y - 0.5) < w),
        "bands": abs(y - 0.5) < 1.5 * w,
        "pale": abs(x - 0.5) < 1.5 * w,
        "saltire": (abs(x - y) < 1.2 * w) | (abs(x + y - 1) < 1.2 * w),
        "border": np.maximum(abs(x - 0.5), abs(y - 0.5)) > 0.5 - w,
    }[LAYOUTS[kind]]
    image = np.where(mask[..., None], front, back) * rng.uniform(0.6, 1.0)
    image = image + rng.normal(0, 22, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


class FlagSet(Dataset):
    def __init__(self, images, labels, augment=False, mean=127.0, std=64.0):
        self.images, self.labels, self.augment = images, labels, augment
        self.mean, self.std = mean, std

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i]).permute(2, 0, 1).float()
        x = (x - self.mean) / self.std
        if self.augment and torch.rand(()) < 0.5:
            x = x.flip(-1)
        return x, int(self.labels[i])


class FlagData(pl.LightningDataModule):
    def __init__(self, n_train=640, n_val=200, batch_size=32, seed=0):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        hp = self.hparams
        rng = np.random.default_rng(hp.seed)
        n = hp.n_train + hp.n_val
        labels = rng.integers(0, len(LAYOUTS), n)
        images = np.stack([draw(k, rng) for k in labels])
        mean, std = images[: hp.n_train].mean(), images[: hp.n_train].std()
        self.train_set = FlagSet(images[: hp.n_train], labels[: hp.n_train], True, mean, std)
        self.val_set = FlagSet(images[hp.n_train :], labels[hp.n_train :], False, mean, std)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=100)
