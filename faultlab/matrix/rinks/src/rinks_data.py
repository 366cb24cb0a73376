import json
import os
from dataclasses import dataclass
from typing import List, Tuple

import cv2
import numpy as np
import mindspore.dataset as ds


@dataclass
class DataSettings:
    root: str = "rinks"
    side: int = 256
    batch: int = 8
    mean: Tuple[float, ...] = (0.485, 0.456, 0.406)
    deviation: Tuple[float, ...] = (0.229, 0.224, 0.225)
    max_angle: float = 10.0
    sigma: float = 2.0
    stride: int = 4
    points: int = 8


MIRRORED = [1, 0, 3, 2, 5, 4, 7, 6]


class RinkSource:
    """Photos of an ice rink and eight of its marks in pixels, some of them unseen."""

    def __init__(self, settings: DataSettings, part: str, augment: bool) -> None:
        self.settings = settings
        self.augment = augment
        with open(os.path.join(settings.root, part + ".json")) as f:
            self.rows: List[dict] = json.load(f)
        self.rng = np.random.default_rng(7)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int):
        row = self.rows[int(index)]
        image = cv2.cvtColor(cv2.imread(os.path.join(self.settings.root, row["file"])), cv2.COLOR_BGR2RGB)
        points = np.array(row["points"], dtype=np.float32)
        seen = np.array(row["seen"], dtype=np.float32)
        image, points = self._resize(image, points)
        if self.augment:
            image, points, seen = self._mirror(image, points, seen)
            image, points = self._turn(image, points)
        image = (image.astype(np.float32) / 255.0 - self.settings.mean) / self.settings.deviation
        return image.transpose(2, 0, 1).astype(np.float32), self._maps(points), seen, points

    def _resize(self, image, points):
        height, width = image.shape[:2]
        side = self.settings.side
        image = cv2.resize(image, (side, side), interpolation=cv2.INTER_LINEAR)
        return image, points * np.array([side / width, side / height], dtype=np.float32)

    def _mirror(self, image, points, seen):
        if self.rng.random() < 0.5:
            image = image[:, ::-1].copy()
            points = points[MIRRORED]
            seen = seen[MIRRORED]
            points[:, 0] = self.settings.side - 1 - points[:, 0]
        return image, points, seen

    def _turn(self, image, points):
        side = self.settings.side
        angle = self.rng.uniform(-self.settings.max_angle, self.settings.max_angle)
        matrix = cv2.getRotationMatrix2D((side / 2, side / 2), angle, 1.0)
        image = cv2.warpAffine(image, matrix, (side, side), flags=cv2.INTER_LINEAR)
        ones = np.ones((len(points), 1), dtype=np.float32)
        points = np.concatenate([points, ones], axis=1) @ matrix.T
        return image, points.astype(np.float32)

    def _maps(self, points):
        size = self.settings.side // self.settings.stride
        ys, xs = np.mgrid[0:size, 0:size].astype(np.float32)
        maps = np.zeros((self.settings.points, size, size), dtype=np.float32)
        for k, (x, y) in enumerate(points / self.settings.stride):
            maps[k] = np.exp(-((xs - x) ** 2 + (ys - y) ** 2) / (2 * self.settings.sigma ** 2))
        return maps


def make_dataset(settings: DataSettings, part: str, training: bool):
    source = RinkSource(settings, part, augment=training)
    data = ds.GeneratorDataset(source, ["image", "maps", "seen", "points"], shuffle=training)
    return data.batch(settings.batch, drop_remainder=training)
