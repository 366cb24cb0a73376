"""A plain residual net with a squeeze gate."""
import mindspore.nn as nn
import mindspore.ops as ops


def conv_bn(cin, cout, kernel, stride=1):
    return nn.SequentialCell([
        nn.Conv2d(cin, cout, kernel, stride, pad_mode="pad", padding=kernel // 2, has_bias=False),
        nn.BatchNorm2d(cout)])


class Gate(nn.Cell):
    def __init__(self, dim):
        super(Gate, self).__init__()
        self.fc1 = nn.Dense(dim, dim // 8)
        self.fc2 = nn.Dense(dim // 8, dim)

    def construct(self, x):
        b, c = x.shape[0], x.shape[1]
        s = ops.mean(x, (2, 3))
        s = ops.sigmoid(self.fc2(ops.relu(self.fc1(s))))
        return x * s.view(b, c, 1, 1)


class Unit(nn.Cell):
    def __init__(self, cin, cout, stride):
        super(Unit, self).__init__()
        self.body = nn.SequentialCell([conv_bn(cin, cout, 3, stride), nn.ReLU(), conv_bn(cout, cout, 3)])
        self.gate = Gate(cout)
        self.same = cin == cout and stride == 1
        self.short = conv_bn(cin, cout, 1, stride)

    def construct(self, x):
        y = self.gate(self.body(x))
        if self.same:
            return ops.relu(x + y)
        return ops.relu(self.short(x) + y)


class OrchardNet(nn.Cell):
    def __init__(self, classes, widths=(64, 128, 256, 512)):
        super(OrchardNet, self).__init__()
        self.stem = conv_bn(3, widths[0], 7, 2)
        self.pool = nn.MaxPool2d(3, 2, pad_mode="same")
        units = []
        cin = widths[0]
        for i, cout in enumerate(widths):
            units.append(Unit(cin, cout, 1 if i == 0 else 2))
            units.append(Unit(cout, cout, 1))
            cin = cout
        self.units = nn.SequentialCell(units)
        self.flat = nn.Flatten()
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(p=0.2)
        self.fc = nn.Dense(cin, classes)

    def construct(self, x):
        x = self.pool(ops.relu(self.stem(x)))
        x = self.units(x)
        x = self.dropout(self.flat(self.gap(x)))
        return self.fc(x)
