"""Nights of EEG. root/{train,val,test}/night-*.npz, each with eeg (n, 2, 3000) in microvolts and stage (n,)."""
import random
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

STAGES = ["wake", "N1", "N2", "N3", "REM"]
FROM_R_AND_K = np.array([0, 1, 2, 3, 3, 4])  # old scoring: stages 3 and 4 are both N3


def list_nights(folder):
    return sorted(Path(folder).glob("night-*.npz"))


def open_night(path):
    with np.load(path) as night:
        eeg, stage = night["eeg"].astype(np.float32), FROM_R_AND_K[night["stage"]]
    low, mid, high = np.percentile(eeg, [25, 50, 75], axis=(0, 2), keepdims=True)
    eeg = (eeg - mid) / (high - low + 1e-3)
    return np.clip(eeg, -20, 20).astype(np.float32), stage


def disturb(eeg, rng):
    eeg = eeg * rng.uniform(0.8, 1.25, size=(2, 1)).astype(np.float32)
    return np.roll(eeg, rng.integers(-100, 101), axis=-1)


class NightStream(IterableDataset):
    """Endless windows for one rank: the nights of an epoch are dealt out over ranks and their workers."""

    def __init__(self, folder, rank, world, seed, at_once=4):
        self.nights = list_nights(folder)
        self.rank, self.world, self.seed, self.at_once = rank, world, seed, at_once
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        nights = list(self.nights)
        random.Random(1000 * self.seed + self.epoch).shuffle(nights)
        mine = nights[self.rank * workers + worker :: self.world * workers]
        if not mine:
            raise RuntimeError("fewer nights than workers")
        rng = np.random.default_rng([self.seed, self.epoch, self.rank, worker])
        while True:
            for at in range(0, len(mine), self.at_once):
                parts = [open_night(p) for p in mine[at : at + self.at_once]]
                eeg, stage = (np.concatenate(c) for c in zip(*parts))
                for k in rng.permutation(len(stage)):
                    yield torch.from_numpy(disturb(eeg[k], rng)), int(stage[k])


def whole_nights(folder, rank, world):
    """Every night of the folder once, each on one of the ranks."""
    for path in list_nights(folder)[rank::world]:
        eeg, stage = open_night(path)
        yield torch.from_numpy(eeg), torch.from_numpy(stage)
