"""Token shards: each .npy holds a flat uint16 array of documents, each document ended by EOS."""

import os
import random

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

EOS, PAD = 0, 1
IGNORE = -100


def list_shards(folder):
    return sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".npy"))


def hold_out(files, every=20):
    valid = files[::every]
    train = [f for i, f in enumerate(files) if i % every]
    return train, valid


class Documents(IterableDataset):
    """Documents of this rank's and this worker's shards, cut or padded to `length` + 1 tokens."""

    def __init__(self, files, length, rank, world, seed=0, shuffle=True, buffer=4096):
        self.files = files
        self.length = length
        self.rank, self.world = rank, world
        self.seed, self.epoch = seed, 0
        self.shuffle, self.buffer = shuffle, buffer

    def set_epoch(self, epoch):
        self.epoch = epoch

    def documents(self, file):
        tokens = np.load(file, mmap_mode="r")
        ends = np.flatnonzero(tokens == EOS)
        start = 0
        for end in ends:
            yield tokens[start : end + 1].astype(np.int64)
            start = end + 1

    def example(self, document):
        window = document[: self.length + 1]
        ids = np.full(self.length + 1, PAD, dtype=np.int64)
        ids[: len(window)] = window
        labels = ids[1:].copy()
        labels[len(window) - 1 :] = IGNORE
        return torch.from_numpy(ids[:-1]), torch.from_numpy(labels)

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        files = list(self.files)
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(files)
        mine = files[self.rank * workers + worker :: self.world * workers]
        rng = random.Random(self.seed + 1000 * self.epoch + self.rank * workers + worker)
        held = []
        for file in mine:
            for document in self.documents(file):
                if len(document) < 2:
                    continue
                if not self.shuffle:
                    yield self.example(document)
                    continue
                held.append(document)
                if len(held) >= self.buffer:
                    k = rng.randrange(len(held))
                    held[k], held[-1] = held[-1], held[k]
                    yield self.example(held.pop())
        rng.shuffle(held)
        for document in held:
            yield self.example(document)
