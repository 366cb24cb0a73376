import torch
import torch.nn as nn


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Three levels down, three up; returns logits."""

    def __init__(self, in_ch=1, width=8, keep_prob=0.9):
        super().__init__()
        w = [width, width * 2, width * 4, width * 4]
        self.down = nn.ModuleList([conv_block(in_ch, w[0]), conv_block(w[0], w[1]), conv_block(w[1], w[2])])
        self.mid = conv_block(w[2], w[3])
        self.up = nn.ModuleList([
            conv_block(w[3] + w[2], w[1]),
            conv_block(w[1] + w[1], w[0]),
            conv_block(w[0] + w[0], w[0]),
        ])
        self.pool = nn.MaxPool2d(2)
        self.upsample = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.drop = nn.Dropout2d(1 - keep_prob)
        self.head = nn.Conv2d(w[0], 1, 1)
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = self.pool(x)
        x = self.mid(x)
        for block, skip in zip(self.up, reversed(skips)):
            x = torch.cat([self.upsample(x), skip], dim=1)
            x = block(self.drop(x))
        return self.head(x)
