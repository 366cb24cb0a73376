import mindspore.nn as nn
from mindspore.common import initializer as weight_init
from mindspore.ops import operations as P


def conv3x3(cin, cout, stride=1):
    return nn.Conv2d(cin, cout, kernel_size=3, stride=stride, padding=1, pad_mode="pad", has_bias=False)


def bn(channels):
    return nn.BatchNorm2d(channels, eps=1e-5, momentum=0.9, gamma_init=1, beta_init=0)


class BasicBlock(nn.Cell):
    def __init__(self, cin, cout, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = conv3x3(cin, cout, stride)
        self.bn1 = bn(cout)
        self.conv2 = conv3x3(cout, cout)
        self.bn2 = bn(cout)
        self.relu = nn.ReLU()
        self.add = P.Add()
        self.down_sample = stride != 1 or cin != cout
        if self.down_sample:
            self.down_layer = nn.SequentialCell(
                [nn.Conv2d(cin, cout, kernel_size=1, stride=stride, has_bias=False), bn(cout)]
            )

    def construct(self, x):
        identity = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.down_sample:
            identity = self.down_layer(identity)
        out = self.add(out, identity)
        return self.relu(out)


class TileNet(nn.Cell):
    def __init__(self, class_num, layers=(2, 2, 2, 2), keep_prob=0.8):
        super(TileNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, pad_mode="pad", has_bias=False)
        self.bn1 = bn(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        self.layer1 = self._make_layer(64, 64, layers[0], 1)
        self.layer2 = self._make_layer(64, 128, layers[1], 2)
        self.layer3 = self._make_layer(128, 256, layers[2], 2)
        self.layer4 = self._make_layer(256, 512, layers[3], 2)
        self.mean = P.ReduceMean(keep_dims=False)
        self.dropout = nn.Dropout(keep_prob=keep_prob)
        self.fc = nn.Dense(512, class_num)
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                cell.weight.set_data(
                    weight_init.initializer(weight_init.HeNormal(mode="fan_out"), cell.weight.shape)
                )
            if isinstance(cell, nn.Dense):
                cell.weight.set_data(weight_init.initializer(weight_init.TruncatedNormal(0.02), cell.weight.shape))

    def _make_layer(self, cin, cout, num, stride):
        blocks = [BasicBlock(cin, cout, stride)]
        for _ in range(1, num):
            blocks.append(BasicBlock(cout, cout, 1))
        return nn.SequentialCell(blocks)

    def construct(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        x = self.mean(x, (2, 3))
        x = self.dropout(x)
        return self.fc(x)
