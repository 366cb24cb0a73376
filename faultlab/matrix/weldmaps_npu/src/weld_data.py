import glob
import os
import random

import cv2
import numpy as np
import torch
from torch.utils.data import Dataset

IGNORE = 255
MEAN = np.array([103.5, 103.5, 103.5], dtype=np.float32)
STD = np.array([57.4, 57.4, 57.4], dtype=np.float32)


def image_list(root, subset):
    return sorted(glob.glob(os.path.join(root, "images", subset, "*.png")))


class WeldSeams(Dataset):
    """Radiographs of weld seams with a map of classes: 0 sound, 1 pore, 2 crack, 3 slag; 255 is unmarked."""

    def __init__(self, root, subset, crop=(384, 384), training=False):
        self.images = image_list(root, subset)
        self.crop = crop
        self.training = training

    def __len__(self):
        return len(self.images)

    def read(self, index):
        name = self.images[index]
        image = cv2.imread(name, cv2.IMREAD_COLOR)
        mask = cv2.imread(name.replace("images", "masks"), cv2.IMREAD_GRAYSCALE)
        return image, mask

    def augment(self, image, mask):
        scale = random.uniform(0.75, 1.5)
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
        mask = cv2.resize(mask, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST)
        if random.random() < 0.5:
            image, mask = image[:, ::-1], mask[:, ::-1]
        image, mask = self.pad(image, mask)
        top = random.randint(0, mask.shape[0] - self.crop[0])
        left = random.randint(0, mask.shape[1] - self.crop[1])
        window = (slice(top, top + self.crop[0]), slice(left, left + self.crop[1]))
        return image[window], mask[window]

    def pad(self, image, mask):
        h = max(self.crop[0] - mask.shape[0], 0)
        w = max(self.crop[1] - mask.shape[1], 0)
        image = cv2.copyMakeBorder(np.ascontiguousarray(image), 0, h, 0, w, cv2.BORDER_CONSTANT, value=MEAN.tolist())
        mask = cv2.copyMakeBorder(np.ascontiguousarray(mask), 0, h, 0, w, cv2.BORDER_CONSTANT, value=IGNORE)
        return image, mask

    def __getitem__(self, index):
        image, mask = self.read(index)
        if self.training:
            image, mask = self.augment(image, mask)
        image = (image.astype(np.float32) - MEAN) / STD
        image = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
        return image, torch.from_numpy(np.ascontiguousarray(mask)).long()
