"""Satellite tiles, four bands (B, G, R, NIR), and masks of the crop in each pixel."""
import glob
import os

import mindspore.dataset as ds
import numpy as np

IGNORE = 255
BAND_MEAN = np.array([0.084, 0.101, 0.109, 0.254], np.float32)[:, None, None]
BAND_STD = np.array([0.041, 0.043, 0.056, 0.087], np.float32)[:, None, None]


class Tiles:
    def __init__(self, root, split, crop=None, seed=0):
        with open(os.path.join(root, f"{split}.txt")) as f:
            self.names = [line.strip() for line in f if line.strip()]
        found = {os.path.basename(p)[:-4] for p in glob.glob(os.path.join(root, "image", "*.npy"))}
        missing = [n for n in self.names if n not in found]
        if missing:
            raise FileNotFoundError(f"{len(missing)} tiles of {split} are missing, first: {missing[0]}")
        self.root, self.crop = root, crop
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        image = np.load(os.path.join(self.root, "image", name + ".npy"))  # uint16, C H W
        mask = np.load(os.path.join(self.root, "mask", name + ".npy"))  # uint8, H W
        image = image.astype(np.float32) / 10000.0
        image = (image - BAND_MEAN) / BAND_STD
        if self.crop:
            image, mask = self.augment(image, mask)
        return np.ascontiguousarray(image), np.ascontiguousarray(mask).astype(np.int32)

    def augment(self, image, mask):
        h, w = mask.shape
        y = self.rng.integers(0, h - self.crop + 1)
        x = self.rng.integers(0, w - self.crop + 1)
        image = image[:, y : y + self.crop, x : x + self.crop]
        mask = mask[y : y + self.crop, x : x + self.crop]
        k = self.rng.integers(0, 4)
        image, mask = np.rot90(image, k, axes=(1, 2)), np.rot90(mask, k)
        if self.rng.random() < 0.5:
            image, mask = image[:, :, ::-1], mask[:, ::-1]
        return image, mask


def build_loader(root, split, batch_size, crop=None, rank=0, world=1, seed=0):
    train = crop is not None
    loader = ds.GeneratorDataset(
        Tiles(root, split, crop, seed + rank),
        column_names=["image", "mask"],
        shuffle=train,
        num_shards=world if train else None,
        shard_id=rank if train else None,
        num_parallel_workers=1,
    )
    return loader.batch(batch_size, drop_remainder=train)
