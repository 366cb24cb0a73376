import os

import numpy as np
import torch
from torch.utils.data import Dataset


def read_split(root, seed=0, share=0.15):
    """Names and class numbers of the images of both parts; one .npy of [H, W, 3] bytes per image, in class folders."""
    classes = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))
    samples = []
    for number, name in enumerate(classes):
        for file in sorted(os.listdir(os.path.join(root, name))):
            if file.endswith(".npy"):
                samples.append((os.path.join(root, name, file), number))
    order = np.random.default_rng(seed).permutation(len(samples))
    held = int(len(samples) * share)
    valid = [samples[i] for i in order[:held]]
    train = [samples[i] for i in order[held:]]
    return train, valid, classes


def channel_statistics(samples, limit=2000):
    total = np.zeros(3)
    square = np.zeros(3)
    n = 0
    for path, _ in samples[:limit]:
        pixels = np.load(path).reshape(-1, 3).astype(np.float64) / 255.0
        total += pixels.sum(axis=0)
        square += (pixels**2).sum(axis=0)
        n += len(pixels)
    mean = total / n
    std = np.sqrt(np.maximum(square / n - mean**2, 1e-8))
    return mean.astype(np.float32), std.astype(np.float32)


class ButterflyDataset(Dataset):
    def __init__(self, samples, mean, std, size=64, augment=False):
        self.samples = samples
        self.mean, self.std = mean, std
        self.size = size
        self.augment = augment

    def __len__(self):
        return len(self.samples)

    def crop(self, image):
        h, w = image.shape[:2]
        if self.augment:
            top = int(torch.randint(0, h - self.size + 1, (1,)))
            left = int(torch.randint(0, w - self.size + 1, (1,)))
        else:
            top, left = (h - self.size) // 2, (w - self.size) // 2
        return image[top : top + self.size, left : left + self.size]

    def __getitem__(self, index):
        path, label = self.samples[index]
        image = self.crop(np.load(path)).astype(np.float32) / 255.0
        image = (image - self.mean) / self.std
        if self.augment and torch.rand(1) < 0.5:
            image = image[:, ::-1]
        image = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
        return image, label
