"""Bag-of-patches network for small grey images: every patch is encoded alone, the codes are averaged."""
import mindspore.nn as nn
from mindspore.common.initializer import HeNormal, Normal, Zero, initializer


class PatchEncoder(nn.Cell):
    """(N * P, patch * patch) -> (N * P, dim)"""

    def __init__(self, in_dim, dim):
        super().__init__()
        self.fc1 = nn.Dense(in_dim, dim)
        self.fc2 = nn.Dense(dim, dim)
        self.relu = nn.ReLU()

    def construct(self, x):
        x = self.relu(self.fc1(x))
        return x + self.relu(self.fc2(x))


class DefectNet(nn.Cell):
    """Input (N, 1, H, W), output logits (N, num_classes)."""

    def __init__(self, config):
        super().__init__()
        self.patch = config["patch_size"]
        self.grid = config["image_size"] // self.patch
        self.dim = config["hidden_dim"]
        self.encoder = PatchEncoder(self.patch**2, self.dim)
        self.norm = nn.BatchNorm1d(self.dim)
        self.fc = nn.Dense(self.dim, self.dim)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(p=config["drop_rate"])
        self.head = nn.Dense(self.dim, len(config["class_names"]))
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Dense):
                cell.weight.set_data(initializer(HeNormal(), cell.weight.shape, cell.weight.dtype))
                cell.bias.set_data(initializer(Zero(), cell.bias.shape, cell.bias.dtype))
        self.head.weight.set_data(initializer(Normal(0.02), self.head.weight.shape, self.head.weight.dtype))

    def construct(self, x):
        n = x.shape[0]
        x = x.reshape(n, self.grid, self.patch, self.grid, self.patch)
        x = x.transpose(0, 1, 3, 2, 4).reshape(n * self.grid * self.grid, self.patch * self.patch)
        x = self.encoder(x).reshape(n, self.grid * self.grid, self.dim)
        x = self.norm(x.mean(1))
        x = self.drop(self.relu(self.fc(x)))
        return self.head(x)
