import torch
import torch.nn as nn


def conv(cin, cout, stride=1):
    return nn.Conv2d(cin, cout, 3, stride=stride, padding=1)


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(
            conv(c, c), nn.BatchNorm2d(c), nn.ReLU(inplace=True),
            conv(c, c), nn.BatchNorm2d(c),
        )

    def forward(self, x):
        return x + self.body(x)


class Denoiser(nn.Module):
    """Two scales with a skip; predicts what has to be added to the noisy image."""

    def __init__(self, width=12, n_blocks=3):
        super().__init__()
        w = width
        self.head = nn.Sequential(conv(3, w), nn.ReLU(inplace=True), ResBlock(w))
        self.down = nn.Sequential(conv(w, 2 * w, stride=2), nn.ReLU(inplace=True))
        self.mid = nn.Sequential(*[ResBlock(2 * w) for _ in range(n_blocks)])
        self.up = nn.Sequential(conv(2 * w, 4 * w), nn.PixelShuffle(2), nn.ReLU(inplace=True))
        self.fuse = nn.Sequential(conv(2 * w, w), nn.BatchNorm2d(w), nn.ReLU(inplace=True))
        self.tail = conv(w, 3)
        self.reset()

    def reset(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.zeros_(m.weight)  # starts as the identity
                nn.init.zeros_(m.bias)

    def forward(self, x):
        fine = self.head(x)
        coarse = self.up(self.mid(self.down(fine)))
        out = self.fuse(torch.cat([fine, coarse], dim=1))
        return x + self.tail(out)


def charbonnier(pred, target, eps=1e-3):
    return torch.sqrt((pred - target) ** 2 + eps ** 2).mean()


def psnr(pred, target):
    """Peak signal-to-noise ratio of each image, in dB."""
    mse = ((pred.clamp(0, 1) - target.clamp(0, 1)) ** 2).mean(dim=(1, 2, 3))
    return 10 * torch.log10(1.0 / mse)
