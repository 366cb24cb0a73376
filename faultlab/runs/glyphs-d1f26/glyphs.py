"""Toy stand-in for MNIST: digits drawn from a 5x7 font, bent, blurred and noisy, as 28x28 uint8 images."""
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset

ROWS = [
    "01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111", "11111 00010 00100 00010 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100",
]


class Glyphs(Dataset):
    def __init__(self, train=True, transform=None):
        self.transform = transform
        self.data, self.targets = draw(3000 if train else 1000, seed=11 if train else 12)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        img, target = self.data[index], int(self.targets[index])
        if self.transform is not None:
            img = self.transform(img)
        return img, target


def draw(n, seed):
    g = torch.Generator().manual_seed(seed)
    font = torch.tensor([[[int(c) for c in row] for row in glyph.split()] for glyph in ROWS]).float()
    targets = torch.arange(n) * 10 // n  # one digit after the other, as in the folders
    glyphs = F.pad(F.interpolate(font[targets][:, None], size=(20, 14), mode="bilinear"), (7, 7, 4, 4))
    angle = 0.25 * torch.randn(n, generator=g)
    zoom = 1 + 0.15 * torch.randn(n, generator=g)
    shear = 0.2 * torch.randn(n, generator=g)
    shift = 0.15 * torch.randn(n, 2, generator=g)
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0], theta[:, 0, 1] = zoom * angle.cos(), shear - angle.sin()
    theta[:, 1, 0], theta[:, 1, 1] = angle.sin(), zoom * angle.cos()
    theta[:, :, 2] = shift
    grid = F.affine_grid(theta, (n, 1, 28, 28), align_corners=False)
    img = F.grid_sample(glyphs, grid, align_corners=False)
    img = (1.6 * F.avg_pool2d(img, 3, 1, 1)).clamp(0, 1)
    img = img * (0.6 + 0.4 * torch.rand(n, 1, 1, 1, generator=g))
    noise = 0.12 * torch.randn(n, 1, 28, 28, generator=g).abs()
    return ((img + noise).clamp(0, 1) * 255).byte().numpy(), targets
