"""Insect photographs from a csv of file names and species numbers (from 1 on)."""
import csv
import os

import mindspore.dataset as ds
import mindspore.dataset.transforms as transforms
import mindspore.dataset.vision as vision
import numpy as np
from PIL import Image

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Insects:
    def __init__(self, root, name):
        self.root = root
        with open(os.path.join(root, name), newline="") as handle:
            self.items = [(r["file"], int(r["species"]) - 1) for r in csv.DictReader(handle)]

    def __getitem__(self, i):
        file, species = self.items[i]
        return Image.open(os.path.join(self.root, "images", file)).convert("RGB"), np.int32(species)

    def __len__(self):
        return len(self.items)


def loaders(root, size, batch):
    train_tf = transforms.Compose([
        vision.RandomResizedCrop(size, scale=(0.3, 1.0)),
        vision.RandomHorizontalFlip(),
        vision.ToTensor(),
        vision.Normalize(MEAN, STD, is_hwc=False),
    ])
    eval_tf = transforms.Compose([
        vision.Resize(int(size * 1.14)),
        vision.CenterCrop(size),
        vision.ToTensor(),
        vision.Normalize(MEAN, STD, is_hwc=False),
    ])
    train = ds.GeneratorDataset(Insects(root, "train.csv"), ["image", "label"], shuffle=True, num_parallel_workers=8)
    val = ds.GeneratorDataset(Insects(root, "val.csv"), ["image", "label"], shuffle=False)
    test = ds.GeneratorDataset(Insects(root, "test.csv"), ["image", "label"], shuffle=False)
    train = train.map(train_tf, "image").batch(batch, drop_remainder=True)
    val = val.map(eval_tf, "image").batch(batch)
    test = test.map(eval_tf, "image").batch(batch)
    return train, val, test
