import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class TextureTiles(Dataset):
    """Square RGB tiles with a material id, held in memory as uint8 (N, H, W, 3)."""

    def __init__(self, path, split, val_frac=0.1, flip=True, seed=17):
        blob = np.load(path)
        tiles, material = blob["tiles"], blob["material"]
        # material codes on disk are sparse catalogue numbers
        codes, ids = np.unique(material, return_inverse=True)
        self.n_materials = len(codes)

        order = np.random.RandomState(seed).permutation(len(tiles))
        n_val = int(len(order) * val_frac)
        keep = order[n_val:] if split == "train" else order[:n_val]
        self.tiles = tiles[keep]
        self.ids = ids[keep].astype(np.int64)
        self.flip = flip and split == "train"

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, i):
        tile = torch.from_numpy(self.tiles[i]).permute(2, 0, 1).float()
        tile = tile / 127.5 - 1.0
        if self.flip and torch.rand(()) < 0.5:
            tile = tile.flip(-1)
        return tile, int(self.ids[i])


def get_loaders(args):
    train_set = TextureTiles(args.data, "train", flip=not args.no_flip)
    val_set = TextureTiles(args.data, "val")
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True,
                              num_workers=args.workers, pin_memory=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, num_workers=args.workers)
    return train_loader, val_loader, train_set.n_materials
