# -*- coding: utf-8 -*-
"""Photos of weld seams -> batches for training and evaluation."""
import os

import cv2
import numpy as np
import mindspore.dataset as ds

KINDS = ["good", "pore", "crack", "undercut", "spatter", "overlap"]
SIZE = 224
MEAN = np.array([0.452, 0.447, 0.439], np.float32)
STD = np.array([0.231, 0.228, 0.233], np.float32)


def read_list(root, name):
    """Every line of the list: path <tab> kind."""
    items = []
    with open(os.path.join(root, name), encoding="utf-8") as f:
        for line in f:
            if line.strip():
                path, kind = line.strip().split("\t")
                items.append((os.path.join(root, path), KINDS.index(kind)))
    return items


def split_list(items, valid_ratio, seed):
    order = np.random.RandomState(seed).permutation(len(items))
    valid_num = int(len(items) * valid_ratio)
    valid = [items[i] for i in order[:valid_num]]
    train = [items[i] for i in order[valid_num:]]
    return train, valid


def random_crop(img):
    height, width = img.shape[:2]
    side = int(min(height, width) * np.random.uniform(0.7, 1.0))
    top = np.random.randint(0, height - side + 1)
    left = np.random.randint(0, width - side + 1)
    return img[top:top + side, left:left + side]


def center_crop(img):
    height, width = img.shape[:2]
    side = int(min(height, width) * 0.875)
    top, left = (height - side) // 2, (width - side) // 2
    return img[top:top + side, left:left + side]


class SeamSource:
    def __init__(self, items, is_train):
        self.items = items
        self.is_train = is_train

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        img = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
        if self.is_train:
            img = random_crop(img)
            if np.random.rand() < 0.5:
                img = img[:, ::-1]
        else:
            img = center_crop(img)
        img = cv2.resize(np.ascontiguousarray(img), (SIZE, SIZE))
        img = img.astype(np.float32) / 255.0
        img = (img - MEAN) / STD
        return img.transpose(2, 0, 1).copy(), np.array(label, np.int32)


def create_dataset(items, is_train, batch_size, rank_size=1, rank_id=0, workers=8):
    data = ds.GeneratorDataset(SeamSource(items, is_train), ["image", "label"], shuffle=is_train,
                               num_parallel_workers=workers, num_shards=rank_size, shard_id=rank_id)
    return data.batch(batch_size, drop_remainder=is_train)
