import csv
import os

import torch
from torch.utils.data import Dataset

PAD, UNK, CLS = 0, 1, 2


def read_vocab(path):
    vocab = {"[PAD]": PAD, "[UNK]": UNK, "[CLS]": CLS}
    with open(path, encoding="utf-8") as f:
        for line in f:
            vocab.setdefault(line.strip(), len(vocab))
    return vocab


class DialogSet(Dataset):
    """Turns of dialogues with their intent."""

    def __init__(self, folder, vocab, intents, max_len=64):
        self.rows = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8", newline="") as f:
                for text, intent in csv.reader(f):
                    self.rows.append((text.split(), intents[intent]))
        self.vocab = vocab
        self.max_len = max_len

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        words, intent = self.rows[index]
        ids = [CLS] + [self.vocab.get(w, UNK) for w in words][: self.max_len - 1]
        return torch.tensor(ids), intent


def collate(batch):
    ids = torch.nn.utils.rnn.pad_sequence([x for x, _ in batch], batch_first=True, padding_value=PAD)
    mask = ids == PAD
    return ids, mask, torch.tensor([y for _, y in batch])
