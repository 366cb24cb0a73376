import json
import os

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class LabelTable:
    """Names of classes and their indices; written by training, read by the report."""

    def __init__(self, names):
        self.m_names = list(names)
        self.m_index = {name: k for k, name in enumerate(self.m_names)}

    @staticmethod
    def fromFolder(folder):
        return LabelTable(sorted(d for d in os.listdir(folder) if os.path.isdir(os.path.join(folder, d))))

    @staticmethod
    def fromFile(path):
        with open(path) as f:
            return LabelTable(json.load(f)["names"])

    def toFile(self, path):
        with open(path, "w") as f:
            json.dump({"names": self.m_names}, f)

    def getIndex(self, name):
        return self.m_index[name]

    def getName(self, index):
        return self.m_names[index]

    def size(self):
        return len(self.m_names)


class MineralImages(Dataset):
    def __init__(self, folder, table, augment):
        self.m_augment = augment
        self.m_paths = []
        self.m_targets = []
        for name in sorted(os.listdir(folder)):
            for file in sorted(os.listdir(os.path.join(folder, name))):
                if file.lower().endswith((".png", ".jpg")):
                    self.m_paths.append(os.path.join(folder, name, file))
                    self.m_targets.append(table.getIndex(name))

    def __len__(self):
        return len(self.m_paths)

    def getTargets(self):
        return self.m_targets

    def __getitem__(self, i):
        image = Image.open(self.m_paths[i]).convert("RGB").resize((96, 96))
        x = np.asarray(image, dtype=np.float32) / 255.0
        if self.m_augment and np.random.rand() < 0.5:
            x = x[:, ::-1].copy()
        x = (x - 0.5) / 0.25
        return torch.from_numpy(x).permute(2, 0, 1), self.m_targets[i]


class DataManager:
    def __init__(self, root, batchSize):
        self.m_root = root
        self.m_batchSize = batchSize
        self.m_table = LabelTable.fromFolder(os.path.join(root, "train"))
        self.m_train = MineralImages(os.path.join(root, "train"), self.m_table, True)
        self.m_valid = MineralImages(os.path.join(root, "valid"), self.m_table, False)

    def getTable(self):
        return self.m_table

    def getClassWeights(self):
        count = np.bincount(self.m_train.getTargets(), minlength=self.m_table.size())
        return torch.tensor(count.sum() / (len(count) * np.maximum(count, 1)), dtype=torch.float32)

    def getTrainLoader(self):
        return DataLoader(self.m_train, batch_size=self.m_batchSize, shuffle=True, num_workers=4, drop_last=True)

    def getValidLoader(self):
        return DataLoader(self.m_valid, batch_size=self.m_batchSize, shuffle=False, num_workers=4)
