"""Fruit tree photographs: file lists by rank, and the pipeline."""
import os
import random

import mindspore.dataset as ds
import mindspore.dataset.vision as vision
from mindspore.dataset.transforms import TypeCast
import mindspore as ms
import numpy as np


def split_files(root, seed=3):
    """(path, class) of training and validation, nine to one, each class by itself."""
    names = sorted(os.listdir(root))
    train, valid = [], []
    rng = random.Random(seed)
    for label, name in enumerate(names):
        files = sorted(os.listdir(os.path.join(root, name)))
        rng.shuffle(files)
        cut = len(files) // 10
        valid += [(os.path.join(root, name, f), label) for f in files[:cut]]
        train += [(os.path.join(root, name, f), label) for f in files[cut:]]
    return train, valid, names


class Photos:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        path, label = self.rows[index]
        return np.fromfile(path, dtype=np.uint8), np.int32(label)

    def __len__(self):
        return len(self.rows)


def build(rows, size, batch_size, training, rank_id, rank_size, workers=8):
    """Batches of this rank's shard."""
    data = ds.GeneratorDataset(Photos(rows), column_names=["image", "label"], shuffle=training,
                               num_shards=rank_size, shard_id=rank_id, num_parallel_workers=workers)
    normalize = vision.Normalize(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375])
    if training:
        steps = [vision.RandomCropDecodeResize(size, scale=(0.2, 1.0)), vision.RandomHorizontalFlip(),
                 vision.RandomColorAdjust(0.2, 0.2, 0.2), normalize, vision.HWC2CHW()]
    else:
        steps = [vision.Decode(), vision.Resize(size + 32), vision.CenterCrop(size), normalize, vision.HWC2CHW()]
    data = data.map(steps, input_columns=["image"], num_parallel_workers=workers)
    data = data.map(TypeCast(ms.int32), input_columns=["label"])
    return data.batch(batch_size, drop_remainder=training)
