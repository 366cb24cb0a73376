import os

import mindspore.dataset as ds
import numpy as np
from mindspore.dataset import vision
from PIL import Image

CLASSES = ["water", "land", "quay", "vessel"]
UNLABELLED = 255
MEAN = [0.41 * 255, 0.44 * 255, 0.43 * 255]
STD = [0.21 * 255, 0.19 * 255, 0.18 * 255]


class HarborTiles:
    """root/images/NAME.png and root/masks/NAME.png; the names of a split stand in root/SPLIT.txt."""

    def __init__(self, root, split, size):
        self.root, self.size = root, size
        with open(os.path.join(root, split + ".txt")) as f:
            self.names = [line.strip() for line in f if line.strip()]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        file = self.names[index] + ".png"
        image = Image.open(os.path.join(self.root, "images", file)).convert("RGB")
        mask = Image.open(os.path.join(self.root, "masks", file))
        image = image.resize((self.size, self.size), Image.BILINEAR)
        mask = mask.resize((self.size, self.size), Image.NEAREST)
        return np.asarray(image), np.asarray(mask).astype(np.int32)


def random_turn(image, mask):
    k = np.random.randint(4)
    image, mask = np.rot90(image, k), np.rot90(mask, k)
    if np.random.rand() < 0.5:
        image, mask = image[:, ::-1], mask[:, ::-1]
    return np.ascontiguousarray(image), np.ascontiguousarray(mask)


def create_dataset(root, split, size, batch_size, training):
    data = ds.GeneratorDataset(HarborTiles(root, split, size), ["image", "mask"], shuffle=training)
    if training:
        data = data.map(random_turn, input_columns=["image", "mask"])
    data = data.map([vision.Normalize(MEAN, STD, is_hwc=True), vision.HWC2CHW()], input_columns="image")
    return data.batch(batch_size, drop_remainder=training)
