"""Pictures of 32 x 32 with up to four stickers out of six; which ones are on it is to be told."""

import torch
from torch.utils.data import Dataset

STICKERS = ["red-disc", "red-square", "green-disc", "green-cross", "blue-square", "blue-ring"]
COLOURS = torch.tensor([[0.9, 0.15, 0.1], [0.9, 0.15, 0.1], [0.1, 0.8, 0.2], [0.1, 0.8, 0.2], [0.15, 0.2, 0.9], [0.15, 0.2, 0.9]])
YY, XX = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")


def shape_mask(which, cx, cy, r):
    dx, dy = (XX - cx).abs(), (YY - cy).abs()
    if which in (0, 2):
        return dx**2 + dy**2 < r**2
    if which in (1, 4):
        return torch.maximum(dx, dy) < r * 0.85
    if which == 3:
        return (torch.minimum(dx, dy) < r * 0.3) & (torch.maximum(dx, dy) < r)
    d = (dx**2 + dy**2).sqrt()
    return (d < r) & (d > r * 0.5)


def draw(g):
    """A picture (3, 32, 32) of 0 to 255 and its labels (6,)."""
    def u(lo, hi):
        return lo + (hi - lo) * float(torch.rand((), generator=g))

    picture = torch.full((3, 32, 32), u(0.2, 0.5)) + 0.25 * (u(-1, 1) * XX + u(-1, 1) * YY) / 32
    labels = torch.zeros(6)
    for _ in range(int(torch.randint(1, 5, (), generator=g))):
        which = int(torch.randint(0, 6, (), generator=g))
        mask = shape_mask(which, u(4, 28), u(4, 28), u(3.5, 6))
        colour = COLOURS[which] * u(0.6, 1.1)
        picture = torch.where(mask, colour[:, None, None], picture)
        labels[which] = 1
    noisy = picture + 0.09 * torch.randn(3, 32, 32, generator=g)
    return (noisy.clamp(0, 1) * 255).to(torch.uint8), labels


class StickerDataset(Dataset):
    def __init__(self, count, seed, mean, std, flip=False):
        g = torch.Generator().manual_seed(seed)
        pictures, labels = zip(*(draw(g) for _ in range(count)))
        self.pictures, self.labels = torch.stack(pictures), torch.stack(labels)
        self.mean, self.std, self.flip = mean, std, flip

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        picture = self.pictures[i].float() / 255
        if self.flip and torch.rand(()) < 0.5:
            picture = picture.flip(-1)
        return (picture - self.mean) / self.std, self.labels[i]
