import logging
from dataclasses import dataclass

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from rinks_data import DataSettings, make_dataset

logger = logging.getLogger("rinks")


@dataclass
class TrainSettings:
    epochs: int = 60
    rate: float = 1e-3
    reach: float = 4.0


class MarkNet(nn.Cell):
    def __init__(self, points: int) -> None:
        super().__init__()
        self.down = nn.SequentialCell(self._conv(3, 32, 2), self._conv(32, 64, 2), self._conv(64, 128, 2), self._conv(128, 128, 1))
        self.up = nn.SequentialCell(nn.Conv2dTranspose(128, 64, 4, stride=2, pad_mode="same", has_bias=False), nn.BatchNorm2d(64), nn.ReLU())
        self.head = nn.Conv2d(64, points, 1, has_bias=True)

    @staticmethod
    def _conv(before: int, after: int, stride: int) -> nn.Cell:
        return nn.SequentialCell(nn.Conv2d(before, after, 3, stride=stride, pad_mode="same", has_bias=False), nn.BatchNorm2d(after), nn.ReLU())

    def construct(self, x):
        return self.head(self.up(self.down(x)))


def read_points(maps: np.ndarray, stride: int) -> np.ndarray:
    count, points, height, width = maps.shape
    best = maps.reshape(count, points, -1).argmax(axis=2)
    return np.stack([best % width, best // width], axis=2).astype(np.float32) * stride


class RinkTrainer:
    def __init__(self, data: DataSettings, settings: TrainSettings) -> None:
        self.data, self.settings = data, settings
        self.train_set = make_dataset(data, "train", training=True)
        self.valid_set = make_dataset(data, "valid", training=False)
        self.net = MarkNet(data.points)
        steps = self.train_set.get_dataset_size()
        rates = nn.cosine_decay_lr(1e-6, settings.rate, steps * settings.epochs, steps, settings.epochs)
        self.optimizer = nn.Adam(self.net.trainable_params(), learning_rate=rates)
        self.grad = ms.value_and_grad(self.forward, None, self.optimizer.parameters)

    def forward(self, image, maps, seen):
        error = ops.square(self.net(image) - maps).mean(axis=(2, 3))
        return (error * seen).sum() / ops.maximum(seen.sum(), ms.Tensor(1.0, ms.float32))

    def train_epoch(self) -> float:
        self.net.set_train(True)
        losses = []
        for image, maps, seen, _ in self.train_set.create_tuple_iterator():
            loss, grads = self.grad(image, maps, seen)
            self.optimizer(grads)
            losses.append(float(loss.asnumpy()))
        return float(np.mean(losses))

    def evaluate(self) -> float:
        self.net.set_train(False)
        near, count = 0.0, 0.0
        for image, _, seen, points in self.valid_set.create_tuple_iterator(num_epochs=1):
            found = read_points(self.net(image).asnumpy(), self.data.stride)
            away = np.linalg.norm(found - points.asnumpy(), axis=2)
            near += ((away < self.settings.reach) * seen.asnumpy()).sum()
            count += seen.asnumpy().sum()
        return near / max(count, 1.0)

    def run(self) -> None:
        best = 0.0
        for epoch in range(self.settings.epochs):
            loss, score = self.train_epoch(), self.evaluate()
            logger.info("epoch %d loss %.5f near %.4f", epoch, loss, score)
            if score > best:
                best = score
                ms.save_checkpoint(self.net, "rinks.ckpt")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    ms.set_seed(7)
    RinkTrainer(DataSettings(), TrainSettings()).run()
