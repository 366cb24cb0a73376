"""U-Net, ported from our PyTorch version (same layer names)."""
from mindspore import nn, ops
from mindspore.common.initializer import HeNormal


class DoubleConv(nn.Cell):
    def __init__(self, cin, cout, dropout=0.0):
        super().__init__()
        layers = []
        for a, b in ((cin, cout), (cout, cout)):
            layers += [
                nn.Conv2d(a, b, 3, pad_mode="pad", padding=1, has_bias=False, weight_init=HeNormal()),
                nn.BatchNorm2d(b, momentum=0.9),  # torch: momentum=0.1
                nn.ReLU(),
            ]
        if dropout:
            layers.append(nn.Dropout(p=dropout))
        self.body = nn.SequentialCell(layers)

    def construct(self, x):
        return self.body(x)


class UNet(nn.Cell):
    def __init__(self, bands=4, classes=8, width=32, depth=4):
        super().__init__()
        widths = [width * 2**i for i in range(depth + 1)]
        self.inc = DoubleConv(bands, widths[0])
        self.pool = nn.MaxPool2d(2, 2)
        self.downs = nn.CellList(
            [DoubleConv(widths[i], widths[i + 1], 0.2 if i == depth - 1 else 0.0) for i in range(depth)]
        )
        self.ups = nn.CellList(
            [nn.Conv2dTranspose(widths[i + 1], widths[i], 2, stride=2, weight_init=HeNormal()) for i in range(depth)]
        )
        self.merges = nn.CellList([DoubleConv(2 * widths[i], widths[i]) for i in range(depth)])
        self.outc = nn.Conv2d(widths[0], classes, 1, has_bias=True)
        self.depth = depth

    def construct(self, x):
        skips = [self.inc(x)]
        for down in self.downs:
            skips.append(down(self.pool(skips[-1])))
        x = skips[self.depth]
        for i in range(self.depth - 1, -1, -1):
            x = self.ups[i](x)
            x = self.merges[i](ops.cat((skips[i], x), axis=1))
        return self.outc(x)
