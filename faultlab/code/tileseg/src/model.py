import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(cin, cout, dilation=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=dilation, dilation=dilation, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class Down(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Sequential(conv_bn(cin, cout), conv_bn(cout, cout))

    def forward(self, x):
        skip = self.conv(x)
        return F.max_pool2d(skip, 2), skip


class Up(nn.Module):
    def __init__(self, cin, cskip, cout):
        super().__init__()
        self.conv = nn.Sequential(conv_bn(cin + cskip, cout), conv_bn(cout, cout))

    def forward(self, x, skip):
        x = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
        return self.conv(torch.cat([x, skip], dim=1))


class Context(nn.Module):
    """Residual dilated convolutions at the lowest resolution."""

    def __init__(self, ch, depth=4):
        super().__init__()
        self.blocks = nn.ModuleList([conv_bn(ch, ch, dilation=2) for _ in range(depth)])

    def forward(self, x):
        for b in self.blocks:
            x = x + b(x)
        return x


class TileUNet(nn.Module):
    def __init__(self, n_classes, base=32, drop=0.2):
        super().__init__()
        c = [base, base * 2, base * 4, base * 8]
        self.encoder = nn.ModuleList([Down(3, c[0]), Down(c[0], c[1]), Down(c[1], c[2])])
        self.center = nn.Sequential(conv_bn(c[2], c[3]), Context(c[3]))
        self.decoder = nn.ModuleList([Up(c[3], c[2], c[2]), Up(c[2], c[1], c[1]), Up(c[1], c[0], c[0])])
        self.head = nn.Conv2d(c[0], n_classes, 1)
        self.drop = drop
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    def forward(self, x):
        skips = []
        for down in self.encoder:
            x, s = down(x)
            skips.append(s)
        x = self.center(x)
        x = F.dropout(x, self.drop, training=self.training)
        for up, s in zip(self.decoder, reversed(skips)):
            x = up(x, s)
        return self.head(x)
