"""Recordings of a sensor pen: manifest.jsonl with {"signal": file.npy, "text": ..., "writer": ...}."""
import json
import pathlib
import random

import numpy as np
import torch
from torch.nn.utils import rnn
from torch.utils import data

ALPHABET = "abcdefghijklmnopqrstuvwxyz '"
BLANK = 0
CHAR_TO_ID = {ch: i for i, ch in enumerate(ALPHABET, start=1)}
ID_TO_CHAR = {i: ch for ch, i in CHAR_TO_ID.items()}
NUM_CHANNELS = 9
REDUCTION = 4  # the encoder's output is this much shorter than the signal


def encode_text(text):
    return [CHAR_TO_ID[ch] for ch in text.lower() if ch in CHAR_TO_ID]


def read_manifest(path):
    path = pathlib.Path(path)
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    for row in rows:
        row["signal"] = str(path.parent / row["signal"])
    return rows


def split_writers(rows, share, seed):
    writers = sorted({row["writer"] for row in rows})
    random.Random(seed).shuffle(writers)
    held = set(writers[: max(1, round(len(writers) * share))])
    return [r for r in rows if r["writer"] not in held], [r for r in rows if r["writer"] in held]


def load_signal(path):
    sig = np.load(path).astype(np.float32)
    # dropped sensor frames are NaN: interpolate over time
    for c in range(sig.shape[1]):
        bad = np.isnan(sig[:, c])
        if bad.any() and not bad.all():
            sig[bad, c] = np.interp(np.flatnonzero(bad), np.flatnonzero(~bad), sig[~bad, c])
    return np.nan_to_num(sig)


def channel_stats(rows):
    frames = np.concatenate([load_signal(r["signal"]) for r in rows])
    return frames.mean(axis=0), frames.std(axis=0) + 1e-5


class PenDataset(data.Dataset):
    def __init__(self, rows, stats, train):
        self.mean, self.std = stats
        self.train = train
        self.samples = []
        for row in rows:
            sig, ids = load_signal(row["signal"]), encode_text(row["text"])
            repeats = sum(a == b for a, b in zip(ids, ids[1:]))
            if ids and len(sig) // REDUCTION >= len(ids) + repeats:
                self.samples.append((sig, ids))

    def __len__(self):
        return len(self.samples)

    def _augment(self, sig):
        sig = sig * np.random.uniform(0.9, 1.1) + np.random.normal(0, 0.02, sig.shape)
        width = np.random.randint(0, max(1, len(sig) // 20))
        start = np.random.randint(0, len(sig) - width)
        sig[start:start + width] = 0.0
        return sig

    def __getitem__(self, i):
        sig, ids = self.samples[i]
        sig = (sig - self.mean) / self.std
        if self.train:
            sig = self._augment(sig)
        return torch.as_tensor(sig, dtype=torch.float32), torch.tensor(ids)


def collate(items):
    sigs, ids = zip(*items)
    sig_lens = torch.tensor([len(s) for s in sigs])
    id_lens = torch.tensor([len(t) for t in ids])
    return rnn.pad_sequence(sigs, batch_first=True), sig_lens, torch.cat(ids), id_lens


def make_loader(rows, stats, batch_size, train):
    ds = PenDataset(rows, stats, train)
    return data.DataLoader(ds, batch_size, shuffle=train, collate_fn=collate, drop_last=train)
