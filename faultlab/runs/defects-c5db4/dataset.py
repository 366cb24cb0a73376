"""Surface defect images: a small simulator of the line camera and the MindData pipelines."""
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
import numpy as np
from mindspore import dtype as mstype
from mindspore.dataset import transforms


def draw(name, size, rng):
    """One defect as a map of grey-level changes."""
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    depth = rng.uniform(38, 80)
    cx, cy = rng.uniform(4, size - 4, 2)
    if name == "scratches":       # long bright line, nearly vertical
        slope = rng.normal(0, 0.2)
        return depth * np.exp(-((xx - cx - slope * (yy - cy)) / 1.0) ** 2)
    if name == "inclusion":       # short dark streak along the rolling direction
        return -depth * 1.2 * np.exp(-((xx - cx) / 1.3) ** 2 - ((yy - cy) / rng.uniform(3, 5)) ** 2)
    if name == "patches":         # large bright areas
        r = rng.uniform(4, 7)
        return 0.8 * depth * (((xx - cx) / r) ** 2 + ((yy - cy) / r) ** 2 < 1)
    if name == "rolled_in_scale":  # dark bands across the strip
        return -0.8 * depth * (np.sin(yy * rng.uniform(0.7, 1.1) + rng.uniform(0, 6)) > 0.5)
    if name == "pitted_surface":  # dark dots
        out = np.zeros((size, size), np.float32)
        for _ in range(rng.integers(6, 14)):
            px, py = rng.uniform(0, size, 2)
            out -= depth * np.exp(-((xx - px) ** 2 + (yy - py) ** 2) / 1.2)
        return out
    fine = np.sin(xx * 2.2 + rng.uniform(0, 6)) * np.sin(yy * 2.2 + rng.uniform(0, 6))
    return -0.7 * depth * (fine > 0.3)  # crazing: fine net


class SurfaceDefects:
    """Random-access source: (image HWC uint8, label int32)."""

    def __init__(self, config, counts, seed):
        rng = np.random.default_rng(seed)
        size = config["image_size"]
        names = config["class_names"]
        self.images, self.labels = [], []
        for label, (name, count) in enumerate(zip(names, counts)):
            for _ in range(count):
                ramp = np.linspace(-1, 1, size, dtype=np.float32) * rng.normal(0, 10)
                image = rng.normal(110, 14) + ramp[None, :] + draw(name, size, rng)
                image = image + rng.normal(0, 13, (size, size))
                self.images.append(np.clip(image, 0, 255).astype(np.uint8)[:, :, None])
                if rng.random() < config["mislabeled"]:
                    label_seen = int(rng.integers(len(names)))
                else:
                    label_seen = label
                self.labels.append(label_seen)

    def __getitem__(self, index):
        return self.images[index], np.array(self.labels[index], np.int32)

    def __len__(self):
        return len(self.labels)


def create_dataset(config, training):
    """训练集做随机裁剪和翻转, 验证集只做归一化."""
    if training:
        source = SurfaceDefects(config, config["num_train"], seed=100)
    else:
        source = SurfaceDefects(config, config["num_val"], seed=200)
    data = ds.GeneratorDataset(source, ["image", "label"], shuffle=training, num_parallel_workers=1)

    trans = []
    if training:
        trans += [
            vision.RandomCrop(config["image_size"], padding=3, padding_mode=vision.Border.REFLECT),
            vision.RandomHorizontalFlip(0.5),
            vision.RandomVerticalFlip(0.5),
        ]
    trans += [
        vision.Normalize([config["mean"]], [config["std"]]),
        vision.HWC2CHW(),
    ]
    data = data.map(trans, "image", num_parallel_workers=1)
    data = data.map(transforms.TypeCast(mstype.int32), "label", num_parallel_workers=1)
    return data.batch(config["batch_size"], drop_remainder=training)
