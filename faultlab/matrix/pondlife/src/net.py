import mindspore.nn as nn
from mindspore import ops
from mindspore.common.initializer import HeNormal, Zero, initializer


class Block(nn.Cell):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride=stride, pad_mode="pad", padding=1, has_bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, pad_mode="pad", padding=1, has_bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU()
        self.short = None
        if stride != 1 or cin != cout:
            self.short = nn.SequentialCell(
                nn.Conv2d(cin, cout, 1, stride=stride, has_bias=False), nn.BatchNorm2d(cout)
            )

    def construct(self, x):
        kept = x if self.short is None else self.short(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + kept)


class PlanktonNet(nn.Cell):
    def __init__(self, num_classes, widths=(32, 64, 128, 256), drop=0.2):
        super().__init__()
        self.stem = nn.SequentialCell(
            nn.Conv2d(3, widths[0], 3, stride=2, pad_mode="pad", padding=1, has_bias=False),
            nn.BatchNorm2d(widths[0]),
            nn.ReLU(),
        )
        blocks, cin = [], widths[0]
        for i, width in enumerate(widths):
            blocks.append(Block(cin, width, stride=1 if i == 0 else 2))
            blocks.append(Block(width, width))
            cin = width
        self.blocks = nn.CellList(blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.drop = nn.Dropout(p=drop)
        self.head = nn.Dense(cin, num_classes)
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                cell.weight.set_data(initializer(HeNormal(), cell.weight.shape, cell.weight.dtype))
            elif isinstance(cell, nn.Dense):
                cell.bias.set_data(initializer(Zero(), cell.bias.shape, cell.bias.dtype))

    def construct(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = self.flatten(self.pool(x))
        return self.head(self.drop(x))


class SmoothedLoss(nn.Cell):
    """Cross-entropy with smoothed targets."""

    def __init__(self, num_classes, smoothing=0.1):
        super().__init__()
        self.num_classes = num_classes
        self.smoothing = smoothing

    def construct(self, logits, labels):
        logp = ops.log_softmax(logits, axis=1)
        on = ops.one_hot(labels, self.num_classes, 1.0 - self.smoothing, self.smoothing / self.num_classes)
        return -(on * logp).sum(axis=1).mean()
