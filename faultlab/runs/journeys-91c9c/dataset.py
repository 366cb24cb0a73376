from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from export import INTENTS, read_export
from settings import DataSettings

PAD, UNK = 0, 1


@dataclass
class Batch:
    events: Tensor  # (batch, time)
    gaps: Tensor  # (batch, time)
    mask: Tensor  # (batch, time), true where there is an event
    intent: Tensor  # (batch,)


class Vocabulary:
    def __init__(self, sessions: list[list[str]]) -> None:
        names = sorted({name for session in sessions for name in session})
        self.index = {name: i for i, name in enumerate(names, start=2)}

    def __len__(self) -> int:
        return len(self.index) + 2

    def encode(self, session: list[str]) -> list[int]:
        return [self.index.get(name, UNK) for name in session]


class SessionDataset(Dataset):
    def __init__(self, columns: dict[str, list], vocabulary: Vocabulary, settings: DataSettings) -> None:
        self.settings = settings
        self.events = [vocabulary.encode(session) for session in columns["events"]]
        self.gaps = columns["gaps"]
        self.labels = [INTENTS.index(name) for name in columns[settings.label_column]]

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, i: int) -> tuple[list[int], list[float], int]:
        keep = self.settings.max_events
        events = self.events[i][-keep:]
        gaps = [(math.log1p(seconds) - 2.7) / 0.85 for seconds in self.gaps[i][-keep:]]
        return events, gaps, self.labels[i]


class ShardSampler(Sampler[int]):
    """Every process draws its own part of one common permutation."""

    def __init__(self, n: int, rank: int, world_size: int, shuffle: bool, seed: int = 0) -> None:
        self.n, self.rank, self.world_size = n, rank, world_size
        self.shuffle, self.seed, self.epoch = shuffle, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(range(self.rank, self.n, self.world_size))

    def __iter__(self) -> Iterator[int]:
        order = np.arange(self.n)
        if self.shuffle:
            np.random.default_rng((self.seed, self.epoch)).shuffle(order)
        return iter(order[self.rank :: self.world_size].tolist())


def collate(items: list[tuple[list[int], list[float], int]]) -> Batch:
    longest = max(len(events) for events, _, _ in items)
    ids = torch.full((len(items), longest), PAD)
    gaps = torch.zeros(len(items), longest)
    for row, (events, seconds, _) in enumerate(items):
        ids[row, : len(events)] = torch.tensor(events)
        gaps[row, : len(seconds)] = torch.tensor(seconds)
    return Batch(ids, gaps, ids != PAD, torch.tensor([label for _, _, label in items]))


def without_terminal(columns: dict[str, list]) -> dict[str, list]:
    """The last event is written by the desk that took the session over, after the fact."""
    cut = {name: [row[:-1] for row in columns[name]] for name in ("events", "gaps")}
    return {**columns, **cut}


def split_rows(columns: dict[str, list], settings: DataSettings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(columns["events"])
    if settings.split_by == "session":
        order = np.random.default_rng(settings.export_seed).permutation(n)
    else:
        order = np.argsort(np.array(columns[settings.split_by]), kind="stable")
    n_val, n_test = int(n * settings.val_share), int(n * settings.test_share)
    return np.sort(order[n_val + n_test :]), np.sort(order[:n_val]), np.sort(order[n_val : n_val + n_test])


def take(columns: dict[str, list], rows: np.ndarray) -> dict[str, list]:
    return {name: [column[i] for i in rows] for name, column in columns.items()}


def build_data(
    settings: DataSettings, rank: int, world_size: int, seed: int
) -> tuple[DataLoader, DataLoader, DataLoader, Vocabulary]:
    columns = without_terminal(read_export(settings.n_sessions, settings.export_seed))
    parts = [take(columns, rows) for rows in split_rows(columns, settings)]
    vocabulary = Vocabulary(parts[0]["events"])
    train_set, val_set, test_set = (SessionDataset(part, vocabulary, settings) for part in parts)

    def loader(dataset: SessionDataset, training: bool) -> DataLoader:
        shard, n_shards = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        sampler = ShardSampler(len(dataset), shard, n_shards, shuffle=training, seed=seed)
        return DataLoader(
            dataset,
            batch_size=settings.batch_size,
            sampler=sampler,
            collate_fn=collate,
            drop_last=training,
        )

    return loader(train_set, True), loader(val_set, False), loader(test_set, False), vocabulary
