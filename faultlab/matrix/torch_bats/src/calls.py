"""Recordings of bat calls: wav files with the syllables of each in a text file of the same name."""

import glob
import os
import random

import numpy as np
import torch
from scipy.io import wavfile
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import IterableDataset, get_worker_info

SYLLABLES = ["up", "down", "flat", "trill", "click", "buzz"]
BLANK = 0
NUMBER = {name: i + 1 for i, name in enumerate(SYLLABLES)}
FLOOR = 1e-6


def list_recordings(folder, share=0.1):
    nights = sorted(os.listdir(folder))
    held_out = max(1, int(len(nights) * share))
    train, val = [], []
    for i, night in enumerate(nights):
        wavs = sorted(glob.glob(os.path.join(folder, night, "*.wav")))
        (val if i < held_out else train).extend(wavs)
    return train, val


def spectrogram(samples, window=256, hop=128):
    signal = torch.from_numpy(samples.astype(np.float32) / 32768.0)
    spectrum = torch.stft(signal, window, hop, window=torch.hann_window(window), return_complex=True)
    power = spectrum.abs() ** 2
    return torch.log(power + FLOOR).transpose(0, 1)


def read_labels(path):
    with open(os.path.splitext(path)[0] + ".txt") as f:
        return torch.tensor([NUMBER[word] for word in f.read().split()])


def mean_and_deviation(paths, most=200):
    total, squares, frames = 0.0, 0.0, 0
    for path in paths[:most]:
        features = spectrogram(wavfile.read(path)[1])
        total = total + features.sum(dim=0)
        squares = squares + (features**2).sum(dim=0)
        frames += len(features)
    mean = total / frames
    return mean, (squares / frames - mean**2).clamp(min=1e-4).sqrt()


class BatCalls(IterableDataset):
    def __init__(self, paths, mean, std, training):
        self.paths = paths
        self.mean, self.std = mean, std
        self.training = training
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        paths = list(self.paths)
        if self.training:
            random.Random(1000 + self.epoch).shuffle(paths)
        worker = get_worker_info()
        if worker is not None:
            paths = paths[worker.id :: worker.num_workers]
        for path in paths:
            samples = wavfile.read(path)[1]
            if self.training:
                samples = samples * np.random.uniform(0.5, 1.0)
            features = (spectrogram(samples) - self.mean) / self.std
            if self.training:
                start = np.random.randint(0, features.size(1) - 8)
                features[:, start : start + 8] = 0.0
            yield features, read_labels(path)


def collate(batch):
    batch = sorted(batch, key=lambda pair: len(pair[0]), reverse=True)
    features = pad_sequence([f for f, _ in batch], batch_first=True)
    frames = torch.tensor([len(f) for f, _ in batch])
    labels = torch.cat([l for _, l in batch])
    counts = torch.tensor([len(l) for _, l in batch])
    return features, frames, labels, counts


def seed_worker(worker_id):
    info = get_worker_info()
    np.random.seed((info.seed + worker_id) % 2**32)
    random.seed(info.seed + worker_id)
