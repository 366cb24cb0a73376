import os

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch.utils.data import Dataset

IMG_MEAN = [0.485, 0.456, 0.406]
IMG_STD = [0.229, 0.224, 0.225]


class TagDataset(Dataset):
    """csv: file, then one 0/1 column for each tag (an empty cell means the tag was not given)."""

    def __init__(self, csv_file, img_dir, img_size=224, is_train=True):
        self.table = pd.read_csv(csv_file)
        self.img_dir = img_dir
        self.img_size = img_size
        self.is_train = is_train
        self.tags = sorted(c for c in self.table.columns if c != 'file')
        self.files = self.table['file'].tolist()
        self.gt = self.table[self.tags].fillna(0).values.astype(np.float32)

    def __len__(self):
        return len(self.files)

    def read_img(self, idx):
        img = Image.open(os.path.join(self.img_dir, self.files[idx])).convert('RGB')
        if self.is_train:
            w, h = img.size
            s = int(min(w, h) * np.random.uniform(0.7, 1.0))
            x0 = np.random.randint(0, w - s + 1)
            y0 = np.random.randint(0, h - s + 1)
            img = img.crop((x0, y0, x0 + s, y0 + s))
        img = img.resize((self.img_size, self.img_size), Image.BILINEAR)
        img = np.asarray(img, dtype=np.float32) / 255.
        if self.is_train and np.random.rand() < 0.5:
            img = img[:, ::-1]
        return img

    def __getitem__(self, idx):
        img = self.read_img(idx)
        img = (img - IMG_MEAN) / IMG_STD
        img = torch.from_numpy(img.transpose(2, 0, 1).copy()).float()
        return img, torch.from_numpy(self.gt[idx])

    def get_pos_weight(self, max_weight=20.):
        pos = self.gt.sum(axis=0)
        neg = len(self.gt) - pos
        return torch.from_numpy((neg / np.maximum(pos, 1)).clip(max=max_weight)).float()
