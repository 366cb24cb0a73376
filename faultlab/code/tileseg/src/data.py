import random
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

CLASSES = ("background", "road", "building", "water")
VOID = 255
MEAN = np.array([0.347, 0.372, 0.331], dtype=np.float32)
STD = np.array([0.148, 0.136, 0.129], dtype=np.float32)


class Compose:
    def __init__(self, *ops):
        self.ops = ops

    def __call__(self, img, mask):
        for op in self.ops:
            img, mask = op(img, mask)
        return img, mask


class RandomScale:
    """Zoom image and mask by one factor."""

    def __init__(self, lo=0.75, hi=1.5):
        self.lo, self.hi = lo, hi

    def __call__(self, img, mask):
        f = random.uniform(self.lo, self.hi)
        h, w = mask.shape
        size = (max(1, round(w * f)), max(1, round(h * f)))
        img = np.asarray(Image.fromarray(img).resize(size, Image.BILINEAR))
        mask = np.asarray(Image.fromarray(mask).resize(size, Image.NEAREST))
        return img, mask


class PadCrop:
    """Pad to at least `size`, then cut a random window (or the centre)."""

    def __init__(self, size, center=False):
        self.size, self.center = size, center

    def __call__(self, img, mask):
        s = self.size
        ph, pw = max(0, s - mask.shape[0]), max(0, s - mask.shape[1])
        if ph or pw:
            img = np.pad(img, ((0, ph), (0, pw), (0, 0)))
            mask = np.pad(mask, ((0, ph), (0, pw)), constant_values=VOID)
        h, w = mask.shape
        if self.center:
            top, left = (h - s) // 2, (w - s) // 2
        else:
            top, left = random.randint(0, h - s), random.randint(0, w - s)
        return img[top:top + s, left:left + s], mask[top:top + s, left:left + s]


class RandomFlip:
    def __call__(self, img, mask):
        if random.random() < 0.5:
            img, mask = img[:, ::-1], mask[:, ::-1]
        if random.random() < 0.5:
            img, mask = img[::-1], mask[::-1]
        return img, mask


class RandomRot90:
    def __call__(self, img, mask):
        k = random.randint(0, 3)
        return np.rot90(img, k), np.rot90(mask, k)


class RandomBrightness:
    def __init__(self, limit=0.2):
        self.limit = limit

    def __call__(self, img, mask):
        gain = 1.0 + random.uniform(-self.limit, self.limit)
        return np.clip(img.astype(np.float32) * gain, 0, 255).astype(np.uint8), mask


class Normalize:
    def __call__(self, img, mask):
        return (img.astype(np.float32) / 255.0 - MEAN) / STD, mask


class ToTensor:
    def __call__(self, img, mask):
        img = torch.from_numpy(np.ascontiguousarray(img.transpose(2, 0, 1)))
        return img.float(), torch.from_numpy(np.ascontiguousarray(mask)).long()


class TileSet(Dataset):
    """root/images/<id>.png, root/masks/<id>.png, root/<split>.txt with one id a line."""

    def __init__(self, root, split, transform):
        self.root = Path(root)
        self.ids = (self.root / f"{split}.txt").read_text().split()
        self.transform = transform

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        name = self.ids[i] + ".png"
        img = np.asarray(Image.open(self.root / "images" / name).convert("RGB"))
        mask = np.asarray(Image.open(self.root / "masks" / name))
        return self.transform(img, mask)


def seed_worker(_):
    random.seed(torch.initial_seed() % 2**32)


def get_loaders(root, crop, batch_size, workers):
    train_tf = Compose(
        RandomScale(), PadCrop(crop), RandomFlip(), RandomRot90(), RandomBrightness(), Normalize(), ToTensor()
    )
    val_tf = Compose(PadCrop(crop, center=True), Normalize(), ToTensor())
    train_set = TileSet(root, "train", train_tf)
    val_set = TileSet(root, "val", val_tf)
    train_loader = DataLoader(
        train_set, batch_size, shuffle=True, drop_last=True, num_workers=workers, worker_init_fn=seed_worker
    )
    val_loader = DataLoader(val_set, batch_size, num_workers=workers)
    return train_loader, val_loader
