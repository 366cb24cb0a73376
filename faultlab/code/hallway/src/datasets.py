import os
import random

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from registry import DATASETS, TRANSFORMS


@DATASETS.register
class RgbdFolder(Dataset):
    """index lists stems; rgb/<stem>.png is 8 bit, depth/<stem>.png 16 bit in millimetres, 0 = no return."""

    def __init__(self, root, index, pipeline):
        self.root = root
        with open(os.path.join(root, index)) as f:
            self.stems = [s.strip() for s in f if s.strip()]
        self.steps = [TRANSFORMS.build(c) for c in pipeline]

    def __len__(self):
        return len(self.stems)

    def __getitem__(self, i):
        rgb = np.asarray(Image.open(os.path.join(self.root, "rgb", self.stems[i] + ".png")).convert("RGB"))
        mm = np.asarray(Image.open(os.path.join(self.root, "depth", self.stems[i] + ".png"))).astype(np.float32)
        sample = {"image": torch.tensor(rgb).permute(2, 0, 1).float() / 255.0,
                  "depth": torch.from_numpy(mm)[None] / 1000.0}
        for step in self.steps:
            sample = step(sample)
        return sample


def crop(sample, top, left, size):
    h, w = size
    return {k: v[:, top:top + h, left:left + w].contiguous() for k, v in sample.items()}


@TRANSFORMS.register
class RandomScaleCrop:
    """Zooms in by one of the scales; what fills s times the width is s times nearer."""

    def __init__(self, size, scales):
        self.size, self.scales = size, scales

    def __call__(self, sample):
        s = random.choice(self.scales)
        h, w = (round(n * s) for n in sample["image"].shape[1:])
        image = F.interpolate(sample["image"][None], (h, w), mode="bilinear", align_corners=False)[0]
        depth = F.interpolate(sample["depth"][None], (h, w), mode="nearest")[0] / s
        top, left = random.randint(0, h - self.size[0]), random.randint(0, w - self.size[1])
        return crop({"image": image, "depth": depth}, top, left, self.size)


@TRANSFORMS.register
class CenterCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, sample):
        h, w = sample["image"].shape[1:]
        return crop(sample, (h - self.size[0]) // 2, (w - self.size[1]) // 2, self.size)


@TRANSFORMS.register
class RandomFlip:
    def __init__(self, prob):
        self.prob = prob

    def __call__(self, sample):
        if random.random() < self.prob:
            sample = {k: v.flip(-1) for k, v in sample.items()}
        return sample


@TRANSFORMS.register
class PhotoJitter:
    def __init__(self, brightness, contrast):
        self.b, self.c = brightness, contrast

    def __call__(self, sample):
        img = sample["image"] * random.uniform(1 - self.b, 1 + self.b)
        mid = img.mean()
        img = (img - mid) * random.uniform(1 - self.c, 1 + self.c) + mid
        return dict(sample, image=img.clamp(0.0, 1.0))


@TRANSFORMS.register
class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = (torch.tensor(v).view(3, 1, 1) for v in (mean, std))

    def __call__(self, sample):
        return dict(sample, image=(sample["image"] - self.mean) / self.std)


def build_loader(cfg, part):
    dataset = DATASETS.build(cfg[part], root=cfg["root"])
    return DataLoader(dataset, num_workers=cfg["workers"], **cfg[part + "_loader"])
