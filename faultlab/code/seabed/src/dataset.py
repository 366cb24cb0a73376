import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from transforms import Compose


class SeabedDataset(Dataset):
    """data_root/img_dir/xx.jpg, data_root/ann_dir/xx.png, names in data_root/splits/train.txt or val.txt"""

    def __init__(self, data_root, split, pipeline):
        with open(os.path.join(data_root, 'splits', split + '.txt')) as f:
            self.names = sorted(line.strip() for line in f if line.strip())
        self.data_root = data_root
        self.pipeline = Compose(pipeline)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, idx):
        name = self.names[idx]
        return self.pipeline(dict(
            img_path=os.path.join(self.data_root, 'img_dir', name + '.jpg'),
            seg_path=os.path.join(self.data_root, 'ann_dir', name + '.png'),
        ))


def worker_init(worker_id):
    np.random.seed(torch.initial_seed() % 2 ** 32)


def build_loaders(cfg, rank, world_size, seed):
    train_set = SeabedDataset(cfg.data_root, 'train', cfg.train_pipeline)
    val_set = SeabedDataset(cfg.data_root, 'val', cfg.test_pipeline)
    sampler = DistributedSampler(train_set, world_size, rank, shuffle=True, seed=seed)
    g = torch.Generator()
    g.manual_seed(seed + rank)
    train_loader = DataLoader(train_set, cfg.samples_per_card, sampler=sampler, num_workers=cfg.workers,
                              drop_last=True, worker_init_fn=worker_init, generator=g)
    # every card evaluates its own part, no sample twice
    part = torch.utils.data.Subset(val_set, range(rank, len(val_set), world_size))
    val_loader = DataLoader(part, 1, shuffle=False, num_workers=cfg.workers)
    return train_loader, sampler, val_loader
