"""Plankton images from a folder with one sub-folder per class."""
import os

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.transforms as T
import mindspore.dataset.vision as V
import numpy as np
from PIL import Image

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


class PlanktonFolder:
    """Pairs of picture and class number."""

    def __init__(self, root, classes):
        self.items = []
        for number, name in enumerate(classes):
            folder = os.path.join(root, name)
            for file in sorted(os.listdir(folder)):
                if file.endswith(".png"):
                    self.items.append((os.path.join(folder, file), number))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, number = self.items[index]
        picture = Image.open(path).convert("RGB")
        return np.asarray(picture, dtype=np.uint8), np.int32(number)


def read_classes(root):
    return sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))


def make_loader(root, classes, batch_size, training, size=128, workers=4):
    source = PlanktonFolder(root, classes)
    data = ds.GeneratorDataset(source, ["image", "label"], shuffle=training, num_parallel_workers=workers)
    if training:
        picture_ops = [
            V.RandomResizedCrop(size, scale=(0.6, 1.0)),
            V.RandomHorizontalFlip(0.5),
            V.RandomVerticalFlip(0.5),
        ]
    else:
        picture_ops = [V.Resize(int(size * 1.15)), V.CenterCrop(size)]
    picture_ops += [
        V.Rescale(1.0 / 255.0, 0.0),
        V.Normalize(MEAN, STD),
        V.HWC2CHW(),
    ]
    data = data.map(picture_ops, input_columns="image", num_parallel_workers=workers)
    data = data.map(T.TypeCast(ms.int32), input_columns="label")
    return data.batch(batch_size, drop_remainder=training)
