import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super(DoubleConv, self).__init__()
        self.body = nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.body(x)


class UNet(nn.Module):
    def __init__(self, classes, widths=(32, 64, 128, 256), drop=0.1):
        super(UNet, self).__init__()
        self.down = nn.ModuleList()
        cin = 3
        for w in widths:
            self.down.append(DoubleConv(cin, w))
            cin = w
        self.up = nn.ModuleList()
        for w in reversed(widths[:-1]):
            self.up.append(DoubleConv(cin + w, w))
            cin = w
        self.drop = nn.Dropout2d(drop)
        self.head = nn.Conv2d(cin, classes, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x)
            if i < len(self.down) - 1:
                kept.append(x)
                x = F.max_pool2d(x, 2)
        for block in self.up:
            skip = kept.pop()
            x = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
            x = block(torch.cat([x, skip], dim=1))
        return self.head(self.drop(x))
