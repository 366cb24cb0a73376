"""Paragraphs of the standard library as a character-level corpus."""
import sysconfig
from pathlib import Path

import torch


class CharTokenizer:
    def __init__(self, text):
        self.pad, self.unk = 0, 1
        self.table = {c: i for i, c in enumerate(sorted(set(text)), start=2)}

    @property
    def vocab_size(self):
        return len(self.table) + 2

    def encode(self, text):
        return [self.table.get(c, self.unk) for c in text]


def read_paragraphs(count):
    root = Path(sysconfig.get_path("stdlib"))
    paragraphs = []
    for path in sorted(root.glob("[a-s]*.py"))[:count]:
        blocks = path.read_text(encoding="utf-8", errors="ignore").split("\n\n")
        paragraphs += [b.strip("\n") + "\n" for b in blocks if len(b) > 24]
    return paragraphs


class ParagraphDataset:
    """Cuts one window out of a paragraph; short ones are padded, and the padding is masked."""

    def __init__(self, paragraphs, tokenizer, seq_length, seed):
        self.samples = [torch.tensor(tokenizer.encode(p)) for p in paragraphs]
        self.tokenizer, self.seq_length = tokenizer, seq_length
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        ids = self.samples[i]
        room = max(0, len(ids) - self.seq_length - 1)
        start = int(torch.randint(room + 1, (1,), generator=self.generator))
        window = torch.full((self.seq_length + 1,), self.tokenizer.pad)
        piece = ids[start : start + self.seq_length + 1]
        window[: len(piece)] = piece
        labels = window[1:]
        return window[:-1], labels, (labels != self.tokenizer.pad).float()


def cyclic_iter(dataset, batch_size, generator):
    while True:
        order = torch.randperm(len(dataset), generator=generator).tolist()
        for k in range(0, len(order) - batch_size + 1, batch_size):
            rows = [dataset[i] for i in order[k : k + batch_size]]
            yield tuple(torch.stack(column) for column in zip(*rows))


def build_iterators(cfg):
    paragraphs = read_paragraphs(cfg["data"]["files"])
    shuffled = torch.randperm(len(paragraphs), generator=torch.Generator().manual_seed(1234)).tolist()
    paragraphs = [paragraphs[i] for i in shuffled]
    cut = int(len(paragraphs) * cfg["data"]["split"][0])
    train, valid = paragraphs[:cut], paragraphs[cut:]
    tokenizer = CharTokenizer("".join(train))
    seq, size = cfg["model"]["seq_length"], cfg["micro_batch_size"]
    generator = torch.Generator().manual_seed(cfg["seed"])
    train_iter = cyclic_iter(ParagraphDataset(train, tokenizer, seq, cfg["seed"]), size, generator)
    valid_set = ParagraphDataset(valid, tokenizer, seq, 0)
    return train_iter, lambda: cyclic_iter(valid_set, 16, torch.Generator().manual_seed(0)), tokenizer
