"""A narrow residual network."""
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore.common.initializer import HeNormal, Normal


def conv(in_channel, out_channel, kernel, stride=1):
    return nn.Conv2d(
        in_channel,
        out_channel,
        kernel_size=kernel,
        stride=stride,
        pad_mode="same",
        weight_init=HeNormal(mode="fan_out", nonlinearity="relu"),
    )


def norm(channel):
    return nn.BatchNorm2d(channel, eps=1e-5, momentum=0.9)


class DropPath(nn.Cell):
    """Leaves out the residual branch of whole samples in training."""

    def __init__(self, rate):
        super().__init__()
        self.drop = nn.Dropout(p=rate)

    def construct(self, x):
        mask = ops.ones((x.shape[0], 1, 1, 1), x.dtype)
        return x * self.drop(mask)


class ResidualBlock(nn.Cell):
    def __init__(self, in_channel, out_channel, stride, drop_path):
        super().__init__()
        self.conv1 = conv(in_channel, out_channel, 3, stride)
        self.bn1 = norm(out_channel)
        self.conv2 = conv(out_channel, out_channel, 3)
        self.bn2 = norm(out_channel)
        self.relu = nn.ReLU()
        self.drop_path = DropPath(drop_path)
        self.down_sample = None
        if stride != 1 or in_channel != out_channel:
            self.down_sample = nn.SequentialCell([conv(in_channel, out_channel, 1, stride), norm(out_channel)])

    def construct(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        out = self.drop_path(out) + identity
        return self.relu(out)


class DefectNet(nn.Cell):
    def __init__(self, num_classes, channels=(32, 64, 128, 256), blocks=2, drop_path=0.1):
        super().__init__()
        self.stem = nn.SequentialCell([conv(3, channels[0], 7, 2), norm(channels[0]), nn.ReLU()])
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        layers, last = [], channels[0]
        for i, channel in enumerate(channels):
            for j in range(blocks):
                layers.append(ResidualBlock(last, channel, 2 if i > 0 and j == 0 else 1, drop_path))
                last = channel
        self.layers = nn.SequentialCell(layers)
        self.head_drop = nn.Dropout(p=0.2)
        self.fc = nn.Dense(last, num_classes, weight_init=Normal(0.01), bias_init="zeros")

    def construct(self, x):
        x = self.pool(self.stem(x))
        x = self.layers(x)
        x = ops.mean(x, (2, 3))
        return self.fc(self.head_drop(x))


class CrossEntropySmooth(nn.Cell):
    def __init__(self, smooth_factor, num_classes):
        super().__init__()
        self.on_value = 1.0 - smooth_factor
        self.off_value = smooth_factor / (num_classes - 1)
        self.num_classes = num_classes
        self.ce = nn.SoftmaxCrossEntropyWithLogits(sparse=False, reduction="mean")

    def construct(self, logit, label):
        one_hot = ops.one_hot(label, self.num_classes, self.on_value, self.off_value)
        return self.ce(logit, one_hot)
