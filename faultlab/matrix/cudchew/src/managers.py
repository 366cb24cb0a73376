import os
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class WindowSet(Dataset):
    def __init__(self, windows, labels, augment=False):
        self.m_windows = windows
        self.m_labels = labels
        self.m_augment = augment

    def __len__(self):
        return len(self.m_windows)

    def __getitem__(self, index):
        window = self.m_windows[index]
        if self.m_augment:
            window = window * random.uniform(0.8, 1.25)
            window = np.roll(window, random.randint(-20, 20), axis=1)
        return torch.from_numpy(window.astype(np.float32)), int(self.m_labels[index])


class DataManager:
    WINDOW = 400
    STEP = 100

    def __init__(self, root, batchSize=64):
        self.m_root = root
        self.m_batchSize = batchSize
        self.m_mean = None
        self.m_deviation = None

    def load(self):
        files = sorted(os.listdir(self.m_root))
        cows = sorted({name.split("_")[0] for name in files})
        random.Random(5).shuffle(cows)
        testCows = set(cows[:4])
        validationCows = set(cows[4:8])
        trainFiles = [f for f in files if f.split("_")[0] not in testCows | validationCows]
        validationFiles = [f for f in files if f.split("_")[0] in validationCows]
        testFiles = [f for f in files if f.split("_")[0] in testCows]
        self.m_train = self.cut(trainFiles)
        self.m_validation = self.cut(validationFiles)
        self.m_test = self.cut(testFiles)
        self.fitScale(self.m_train[0])

    def cut(self, files):
        windows, labels = [], []
        for name in files:
            record = np.load(os.path.join(self.m_root, name))
            signal, state = record["signal"], record["state"]
            for start in range(0, signal.shape[1] - self.WINDOW + 1, self.STEP):
                windows.append(signal[:, start:start + self.WINDOW])
                labels.append(np.bincount(state[start:start + self.WINDOW]).argmax())
        return np.stack(windows), np.array(labels)

    def fitScale(self, windows):
        self.m_mean = windows.mean(axis=(0, 2))[:, None]
        self.m_deviation = windows.std(axis=(0, 2))[:, None] + 1e-6

    def scale(self, windows):
        return (windows - self.m_mean) / self.m_deviation

    def getChannels(self):
        return self.m_train[0].shape[1]

    def getClassCount(self):
        return 3

    def getTrainLoader(self):
        windows, labels = self.m_train
        return DataLoader(WindowSet(self.scale(windows), labels, augment=True), batch_size=self.m_batchSize, shuffle=True)

    def getValidationLoader(self):
        windows, labels = self.m_validation
        return DataLoader(WindowSet(self.scale(windows), labels), batch_size=self.m_batchSize)

    def getTestLoader(self):
        windows, labels = self.m_test
        return DataLoader(WindowSet(self.scale(windows), labels), batch_size=self.m_batchSize)


class Network(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.m_body = nn.Sequential(nn.Conv1d(channels, 32, 9, 2), nn.BatchNorm1d(32), nn.ReLU(),
                                    nn.Conv1d(32, 64, 9, 2), nn.BatchNorm1d(64), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
        self.m_head = nn.Linear(64, classes)

    def forward(self, signal):
        return self.m_head(self.m_body(signal).flatten(1))


class Trainer:
    def __init__(self, network, data):
        self.m_network = network
        self.m_loader = data.getTrainLoader()
        self.m_optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
        self.m_criterion = nn.CrossEntropyLoss()

    def trainEpoch(self):
        self.m_network.train()
        total, count = 0.0, 0
        for signals, labels in self.m_loader:
            loss = self.m_criterion(self.m_network(signals), labels)
            self.m_optimizer.zero_grad()
            loss.backward()
            self.m_optimizer.step()
            total += loss.item() * len(labels)
            count += len(labels)
        return total / count


class Evaluator:
    def __init__(self, network):
        self.m_network = network

    @torch.no_grad()
    def evaluate(self, loader):
        self.m_network.eval()
        hits, count = 0, 0
        for signals, labels in loader:
            hits += (self.m_network(signals).argmax(1) == labels).sum().item()
            count += len(labels)
        return hits / count
