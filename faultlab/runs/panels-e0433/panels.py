"""Simulated infrared images of solar panels (tenths of a kelvin) with the findings that stand in the inspection list."""
import numpy as np
from torch.utils.data import Dataset

FINDINGS = ["hotspot", "string", "snow", "soiling", "crack"]
RATES = [0.40, 0.25, 0.30, 0.35, 0.20]
SIZE = 24


def simulate(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random((n, len(FINDINGS))) < RATES).astype("float32")
    y = y[np.lexsort(y.T)]  # the list is kept by finding
    rows, cols = np.mgrid[:SIZE, :SIZE]
    x = np.empty((n, SIZE, SIZE), "float32")
    for i in range(n):
        image = 3150 + rng.normal(0, 20) + 3 * (rows % 6 == 0) - 3 * (cols % 6 == 0)
        if y[i, 0]:
            r, c = rng.integers(4, SIZE - 4, 2)
            image = image + rng.uniform(60, 120) * np.exp(-((rows - r) ** 2 + (cols - c) ** 2) / rng.uniform(3, 8))
        if y[i, 1]:
            top = rng.integers(0, SIZE - 5)
            image = image + rng.uniform(18, 40) * ((rows >= top) & (rows < top + 5))
        if y[i, 2]:
            image = image - rng.uniform(25, 60) * np.exp(-rows / rng.uniform(2, 4))
        if y[i, 3]:
            image = image - rng.uniform(25, 60) * np.exp(-(SIZE - 1 - rows) / rng.uniform(2, 4))
        if y[i, 4]:
            slope, at = rng.uniform(0.6, 1.6) * rng.choice([-1, 1]), rng.integers(6, SIZE - 6)
            image = image - rng.uniform(25, 50) * (np.abs(cols - at - slope * (rows - SIZE / 2)) < 1.3)
        x[i] = image + rng.normal(0, 12, image.shape)
    return x, y


class PanelDataset(Dataset):
    def __init__(self, x, y, norm, augment=None, seed=0):
        self.x, self.y, self.norm, self.augment = x, y, norm, augment
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        image, target = self.x[i], self.y[i]
        if self.augment:
            image = self.transform(image)
        image = (image - self.norm["mean"]) / self.norm["std"]
        return image[None].astype("float32"), target

    def transform(self, image):
        aug, rng = self.augment, self.rng
        if rng.random() < aug["flip"]:
            image = image[:, ::-1]
        shift = rng.integers(-aug["shift"], aug["shift"] + 1)
        image = np.roll(image, shift, axis=1)
        image = image + rng.normal(0, aug["drift"])
        if rng.random() < aug["erase"]:
            r, c = rng.integers(0, SIZE - 6, 2)
            image = image.copy()
            image[r:r + aug["erase_size"], c:c + aug["erase_size"]] = image.mean()
        return image
