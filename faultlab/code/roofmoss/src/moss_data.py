import random
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

UNKNOWN = 255
MEAN = torch.tensor([0.42, 0.40, 0.37]).view(3, 1, 1)
STD = torch.tensor([0.21, 0.20, 0.20]).view(3, 1, 1)


def roof_of(tile):
    return tile.stem.split("_")[0]


def split_tiles(root, seed=11):
    tiles = sorted(Path(root, "photos").glob("*.png"))
    roofs = sorted({roof_of(t) for t in tiles})
    random.Random(seed).shuffle(roofs)
    tenth = max(1, len(roofs) // 10)
    val, test = set(roofs[:tenth]), set(roofs[tenth : 2 * tenth])
    return (
        [t for t in tiles if roof_of(t) not in val | test],
        [t for t in tiles if roof_of(t) in val],
        [t for t in tiles if roof_of(t) in test],
    )


class RoofTiles(Dataset):
    """Photo and mask (0 tile, 1 moss, 2 lichen, 255 not labelled) of one piece of roof."""

    def __init__(self, tiles, side=256, augment=False):
        self.tiles, self.side, self.augment = tiles, side, augment

    def __len__(self):
        return len(self.tiles)

    def zoom(self, photo, mask):
        k = random.uniform(1.0, 1.5)
        size = (round(photo.width * k), round(photo.height * k))
        photo = photo.resize(size, Image.BILINEAR)
        mask = mask.resize(size, Image.NEAREST)
        left = random.randint(0, size[0] - self.side)
        top = random.randint(0, size[1] - self.side)
        box = (left, top, left + self.side, top + self.side)
        return photo.crop(box), mask.crop(box)

    def __getitem__(self, i):
        path = self.tiles[i]
        photo = Image.open(path).convert("RGB")
        mask = Image.open(path.parent.parent / "masks" / path.name)
        if self.augment:
            photo, mask = self.zoom(photo, mask)
            if random.random() < 0.5:
                photo = photo.transpose(Image.FLIP_LEFT_RIGHT)
                mask = mask.transpose(Image.FLIP_LEFT_RIGHT)
        x = torch.from_numpy(np.array(photo)).permute(2, 0, 1).float() / 255
        x = (x - MEAN) / STD
        y = torch.from_numpy(np.array(mask)).long()
        return x, y
