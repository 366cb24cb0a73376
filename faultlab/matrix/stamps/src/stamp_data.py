"""Scanned stamps: a folder per issue, grey images of 48 x 48."""

import os

import numpy as np
from PIL import Image


def read_folder(root):
    names = sorted(os.listdir(root))
    images, labels = [], []
    for k, name in enumerate(names):
        for f in sorted(os.listdir(os.path.join(root, name))):
            image = Image.open(os.path.join(root, name, f)).convert("L").resize((48, 48))
            images.append(np.asarray(image, dtype=np.float32))
            labels.append(k)
    return np.stack(images)[..., None] / 255.0, np.array(labels, dtype=np.int64), names


class Batches(object):
    """Shuffled batches of the training stamps, epoch after epoch."""

    def __init__(self, images, labels, batch_size, seed):
        self.images, self.labels = images, labels
        self.batch_size = batch_size
        self.rng = np.random.RandomState(seed)

    def __len__(self):
        return len(self.images) // self.batch_size

    def epoch(self, augment=False):
        order = self.rng.permutation(len(self.images))
        for i in range(len(self)):
            rows = order[i * self.batch_size:(i + 1) * self.batch_size]
            x = self.images[rows].copy()
            if augment:
                dy, dx = self.rng.randint(-3, 4, size=2)
                x = np.roll(x, (dy, dx), axis=(1, 2))
            yield x, self.labels[rows]


def split(images, labels, seed):
    order = np.random.RandomState(seed).permutation(len(images))
    a, b = int(0.8 * len(order)), int(0.9 * len(order))
    parts = order[:a], order[a:b], order[b:]
    return [(images[p], labels[p]) for p in parts]
