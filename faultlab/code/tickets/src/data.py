"""Support tickets: CSV files with the columns `text` and `queue`."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import lightning as L
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, UNK = 0, 1
TOKEN = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")


def tokenize(text: str) -> list[str]:
    return TOKEN.findall(text.lower())


def read_csv(path: Path) -> list[tuple[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return [(row["text"], row["queue"]) for row in csv.DictReader(handle)]


class Vocabulary:
    def __init__(self, texts: list[str], max_size: int = 30_000, min_count: int = 2):
        counts = Counter(token for text in texts for token in tokenize(text))
        kept = [t for t, n in counts.most_common(max_size) if n >= min_count]
        self.index = {token: i for i, token in enumerate(kept, start=2)}

    def __len__(self) -> int:
        return len(self.index) + 2

    def encode(self, text: str, max_length: int) -> torch.Tensor:
        ids = [self.index.get(token, UNK) for token in tokenize(text)]
        return torch.tensor(ids[:max_length] or [UNK], dtype=torch.long)


class TicketDataset(Dataset):
    def __init__(self, rows, vocabulary: Vocabulary, queues: dict[str, int], max_length: int):
        self.rows = rows
        self.vocabulary = vocabulary
        self.queues = queues
        self.max_length = max_length

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        text, queue = self.rows[i]
        return self.vocabulary.encode(text, self.max_length), self.queues[queue]


def collate(samples):
    tokens, labels = zip(*samples)
    lengths = torch.tensor([len(t) for t in tokens])
    padded = pad_sequence(tokens, batch_first=True, padding_value=PAD)
    return {"tokens": padded, "lengths": lengths, "labels": torch.tensor(labels)}


class TicketDataModule(L.LightningDataModule):
    def __init__(self, root: str, batch_size: int = 64, max_length: int = 200, workers: int = 4):
        super().__init__()
        self.root = Path(root)
        self.batch_size = batch_size
        self.max_length = max_length
        self.workers = workers

    def setup(self, stage: str | None = None) -> None:
        rows = {split: read_csv(self.root / f"{split}.csv") for split in ("train", "valid", "test")}
        self.vocabulary = Vocabulary([text for text, _ in rows["train"]])
        self.queues = {name: i for i, name in enumerate(sorted({q for _, q in rows["train"]}))}
        self.train_set = self._dataset(rows["train"])
        self.valid_set = self._dataset(rows["valid"])
        self.test_set = self._dataset(rows["test"])
        counts = Counter(q for _, q in rows["train"])
        frequency = torch.tensor([counts[q] for q in self.queues], dtype=torch.float)
        self.class_weights = frequency.sum() / (len(frequency) * frequency)

    def _dataset(self, rows) -> TicketDataset:
        return TicketDataset(rows, self.vocabulary, self.queues, self.max_length)

    def _loader(self, dataset: TicketDataset, shuffle: bool) -> DataLoader:
        return DataLoader(
            dataset,
            batch_size=self.batch_size,
            shuffle=shuffle,
            collate_fn=collate,
            num_workers=self.workers,
            persistent_workers=self.workers > 0,
        )

    def train_dataloader(self) -> DataLoader:
        return self._loader(self.train_set, shuffle=True)

    def val_dataloader(self) -> DataLoader:
        return self._loader(self.valid_set, shuffle=False)

    def test_dataloader(self) -> DataLoader:
        return self._loader(self.test_set, shuffle=False)
