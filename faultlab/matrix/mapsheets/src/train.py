import os

import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
import mindspore.ops as ops
import numpy as np
from mindspore.train import LossMonitor, Model, ModelCheckpoint, CheckpointConfig, TimeMonitor
from PIL import Image

ms.set_seed(8)
ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")

ROOT = "/data/mapsheets"
BATCH = 8
EPOCHS = 60
IGNORE = 255
# grey value of the drawn sheet -> class; other values were not surveyed
CODES = {10: 0, 40: 1, 70: 2, 110: 3, 150: 4, 200: 5}
NUM_CLASSES = len(CODES)

LOOKUP = np.full(256, IGNORE, dtype=np.int32)
for grey, cls in CODES.items():
    LOOKUP[grey] = cls


class Sheets:
    """Tiles of a map sheet and the classes of their pixels."""

    def __init__(self, part, augment):
        self.folder = os.path.join(ROOT, part)
        self.names = sorted(os.listdir(os.path.join(self.folder, "image")))
        self.augment = augment

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        image = np.array(Image.open(os.path.join(self.folder, "image", name)).convert("RGB"), np.float32)
        grey = np.array(Image.open(os.path.join(self.folder, "survey", name)).convert("L"))
        label = LOOKUP[grey]
        if self.augment and np.random.rand() < 0.5:
            image, label = image[:, ::-1], label[:, ::-1]
        image = (image / 255.0 - 0.45) / 0.25
        return np.ascontiguousarray(image.transpose(2, 0, 1)), np.ascontiguousarray(label)


def make_dataset(part, training):
    data = ds.GeneratorDataset(Sheets(part, training), ["image", "label"], shuffle=training, num_parallel_workers=4)
    return data.batch(BATCH, drop_remainder=training)


def conv(cin, cout):
    return nn.SequentialCell(
        nn.Conv2d(cin, cout, 3, pad_mode="same", weight_init="HeNormal"), nn.BatchNorm2d(cout), nn.ReLU()
    )


class SheetNet(nn.Cell):
    def __init__(self, classes):
        super().__init__()
        self.stem = conv(3, 32)
        self.down = nn.SequentialCell(nn.MaxPool2d(2, 2), conv(32, 64), conv(64, 64))
        self.up = nn.Conv2dTranspose(64, 32, 2, stride=2)
        self.join = conv(64, 32)
        self.head = nn.Conv2d(32, classes, 1)

    def construct(self, x):
        a = self.stem(x)
        b = self.up(self.down(a))
        return self.head(self.join(ops.cat((a, b), axis=1)))


class PixelLoss(nn.Cell):
    """Mean cross entropy over the surveyed pixels."""

    def __init__(self, classes, ignore):
        super().__init__()
        self.classes = classes
        self.ignore = ignore
        self.ce = nn.CrossEntropyLoss(reduction="none")

    def construct(self, logits, label):
        logits = logits.transpose(0, 2, 3, 1).reshape(-1, self.classes)
        label = label.reshape(-1)
        known = (label != self.ignore).astype(ms.float32)
        safe = ops.select(label != self.ignore, label, ops.zeros_like(label))
        loss = self.ce(logits, safe)
        return (loss * known).sum() / ops.maximum(known.sum(), ms.Tensor(1.0, ms.float32))


class PixelAccuracy(nn.Metric):
    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self.right, self.known = 0, 0

    def update(self, *inputs):
        guess = inputs[0].asnumpy().argmax(1)
        label = inputs[1].asnumpy()
        known = label != IGNORE
        self.right += int((guess[known] == label[known]).sum())
        self.known += int(known.sum())

    def eval(self):
        return self.right / max(self.known, 1)


train_ds = make_dataset("train", True)
valid_ds = make_dataset("valid", False)
steps = train_ds.get_dataset_size()
net = SheetNet(NUM_CLASSES)
rate = nn.cosine_decay_lr(1e-5, 1e-3, EPOCHS * steps, steps, EPOCHS)
optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=rate, weight_decay=1e-4)
model = Model(net, PixelLoss(NUM_CLASSES, IGNORE), optimizer, metrics={"accuracy": PixelAccuracy()}, amp_level="O0")
keep = ModelCheckpoint("sheets", directory="ckpt", config=CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=5))
for start in range(0, EPOCHS, 10):
    model.train(10, train_ds, callbacks=[TimeMonitor(), LossMonitor(steps), keep], dataset_sink_mode=False)
    print(start + 10, model.eval(valid_ds, dataset_sink_mode=False))
