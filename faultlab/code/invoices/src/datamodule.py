import json
from collections import Counter
from pathlib import Path

import lightning as L
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

TAGS = ["O", "B-VENDOR", "I-VENDOR", "B-DATE", "I-DATE", "B-TOTAL", "I-TOTAL", "B-NUMBER", "I-NUMBER"]
TAG_TO_ID = {tag: i for i, tag in enumerate(TAGS)}
PAD, UNK = 0, 1
IGNORE = -100


def normalise_word(word: str) -> str:
    return "".join("0" if c.isdigit() else c.lower() for c in word)


def build_vocab(documents, min_count=2):
    counts = Counter(normalise_word(w) for doc in documents for w in doc["words"])
    kept = sorted(w for w, n in counts.items() if n >= min_count)
    return {w: i + 2 for i, w in enumerate(kept)}


class InvoiceDataset(Dataset):
    """One item is one page: word ids, boxes (x0, y0, x1, y1 relative to the page) and tag ids."""

    def __init__(self, documents, vocab, max_words):
        self.documents, self.vocab, self.max_words = documents, vocab, max_words

    def __len__(self):
        return len(self.documents)

    def __getitem__(self, index):
        doc = self.documents[index]
        n = self.max_words
        ids = [self.vocab.get(normalise_word(w), UNK) for w in doc["words"][:n]]
        page = torch.tensor([doc["width"], doc["height"]] * 2, dtype=torch.float)
        boxes = torch.tensor(doc["boxes"][:n], dtype=torch.float) / page
        tags = [TAG_TO_ID[t] for t in doc["tags"][:n]]
        return torch.tensor(ids), boxes, torch.tensor(tags)


def collate_pages(pages):
    ids, boxes, tags = zip(*pages)
    return {
        "word_ids": pad_sequence(ids, batch_first=True, padding_value=PAD),
        "boxes": pad_sequence(boxes, batch_first=True),
        "tags": pad_sequence(tags, batch_first=True, padding_value=IGNORE),
    }


class InvoiceDataModule(L.LightningDataModule):
    def __init__(self, root: str, batch_size: int = 16, max_words: int = 256, workers: int = 2):
        super().__init__()
        self.save_hyperparameters()
        self.vocab = build_vocab(self._read("train"))

    def _read(self, split):
        with (Path(self.hparams.root) / f"{split}.jsonl").open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def setup(self, stage=None):
        self.train_set = InvoiceDataset(self._read("train"), self.vocab, self.hparams.max_words)
        self.val_set = InvoiceDataset(self._read("val"), self.vocab, self.hparams.max_words)
        self.test_set = InvoiceDataset(self._read("test"), self.vocab, self.hparams.max_words)

    def _loader(self, dataset, shuffle=False):
        return DataLoader(dataset, self.hparams.batch_size, shuffle=shuffle, collate_fn=collate_pages,
                          num_workers=self.hparams.workers)

    def train_dataloader(self):
        return self._loader(self.train_set, shuffle=True)

    def val_dataloader(self):
        return self._loader(self.val_set)

    def test_dataloader(self):
        return self._loader(self.test_set)
