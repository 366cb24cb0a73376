import numpy as np
import torch
from torch.utils.data import Dataset

from drawings import CANVAS


def to_unit(corners):
    """Pixels to [-1, 1]."""
    return corners / (CANVAS - 1) * 2.0 - 1.0


class KiteSet(Dataset):
    def __init__(self, pictures, corners, max_shift=0, mirror=False, seed=0):
        self.pictures = (pictures - 0.12) / 0.22
        self.corners = corners
        self.max_shift, self.mirror = max_shift, mirror
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        pic, pts = self.pictures[index], self.corners[index]
        if self.max_shift:
            dx, dy = self.rng.integers(-self.max_shift, self.max_shift + 1, size=2)
            pic = np.roll(pic, (dy, dx), axis=(0, 1))
            pts = pts + np.array([dx, dy], dtype=np.float32)
        if self.mirror and self.rng.random() < 0.5:
            pic = pic[:, ::-1].copy()
            pts = pts.copy()
            pts[:, 0] = CANVAS - 1 - pts[:, 0]
            pts = pts[[0, 3, 2, 1]]
        return torch.as_tensor(pic)[None].float(), torch.as_tensor(to_unit(pts)).float()
