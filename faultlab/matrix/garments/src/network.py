"""A small residual net."""
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore.common.initializer import HeNormal, Normal


def conv(cin, cout, kernel, stride=1):
    return nn.Conv2d(cin, cout, kernel, stride, pad_mode="pad", padding=kernel // 2,
                     weight_init=HeNormal(mode="fan_out", nonlinearity="relu"))


class Block(nn.Cell):
    """Two convolutions and a shortcut."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = conv(cin, cout, 3, stride)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = conv(cout, cout, 3)
        self.bn2 = nn.BatchNorm2d(cout, gamma_init="zeros")
        self.relu = nn.ReLU()
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.SequentialCell([conv(cin, cout, 1, stride), nn.BatchNorm2d(cout)])

    def construct(self, x):
        shortcut = x
        if self.down is not None:
            shortcut = self.down(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.relu(out + shortcut)


class GarmentNet(nn.Cell):
    """Stem, three stages, mean pool and a dense head."""

    def __init__(self, num_classes, keep_prob=0.8):
        super().__init__()
        self.stem = nn.SequentialCell([conv(3, 32, 5, 2), nn.BatchNorm2d(32), nn.ReLU()])
        self.stages = nn.CellList([self._stage(32, 64, 2), self._stage(64, 128, 2), self._stage(128, 256, 2)])
        self.mean = ops.ReduceMean(keep_dims=False)
        self.drop = nn.Dropout(keep_prob)
        self.head = nn.Dense(256, num_classes, weight_init=Normal(0.01))

    def _stage(self, cin, cout, stride):
        return nn.SequentialCell([Block(cin, cout, stride), Block(cout, cout, 1)])

    def construct(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        x = self.mean(x, (2, 3))
        x = self.drop(x)
        return self.head(x)
