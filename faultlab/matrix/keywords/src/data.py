"""Spectrograms of spoken words, a folder a word."""
import os

import mindspore.dataset as ds
import numpy as np

FRAMES, MELS = 100, 40


class Words:
    """Log-mel features of the files of one split list."""

    def __init__(self, root, listing, words, mean, std, training=False):
        with open(os.path.join(root, listing)) as handle:
            self.rows = [line.strip() for line in handle if line.strip()]
        self.root, self.words, self.training = root, words, training
        self.mean, self.std = mean, std

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        word = self.rows[i].split("/")[0]
        mel = np.load(os.path.join(self.root, self.rows[i])).astype(np.float32)
        mel = np.log(np.maximum(mel, 1e-6))
        mel = (mel - self.mean) / self.std
        if self.training:
            mel = mask_bands(np.roll(mel, np.random.randint(-8, 9), axis=0))
        feats = np.zeros((1, FRAMES, MELS), np.float32)
        length = min(len(mel), FRAMES)
        feats[0, :length] = mel[:length]
        return feats, np.int32(length), np.int32(self.words.index(word))


def mask_bands(mel):
    """Zero a band of frequencies and a span of time."""
    f0 = np.random.randint(0, MELS - 6)
    t0 = np.random.randint(0, max(1, len(mel) - 10))
    mel = mel.copy()
    mel[:, f0:f0 + 6] = 0
    mel[t0:t0 + 10] = 0
    return mel


def list_words(root):
    return sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))


def statistics(root, listing):
    """Mean and deviation of the log-mel values of a list."""
    with open(os.path.join(root, listing)) as handle:
        rows = [line.strip() for line in handle if line.strip()]
    values = np.concatenate([np.log(np.maximum(np.load(os.path.join(root, r)), 1e-6)).ravel() for r in rows])
    return values.mean(), values.std() + 1e-5


def loader(words, batch_size, training):
    data = ds.GeneratorDataset(words, ["feats", "length", "label"], shuffle=training, num_parallel_workers=4)
    return data.batch(batch_size, drop_remainder=training)
