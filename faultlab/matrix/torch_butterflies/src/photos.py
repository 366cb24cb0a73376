"""Photos of butterflies: one folder per species."""

import os
import random

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


def train_transform(size):
    return transforms.Compose([
        transforms.RandomResizedCrop(size, scale=(0.6, 1.0)),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.2, 0.2, 0.2),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])


def test_transform(size):
    return transforms.Compose([
        transforms.Resize(int(size * 1.15)),
        transforms.CenterCrop(size),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ])


def find_photos(root):
    species = sorted(d for d in os.listdir(root) if os.path.isdir(os.path.join(root, d)))
    photos = []
    for number, name in enumerate(species):
        folder = os.path.join(root, name)
        for file in sorted(os.listdir(folder)):
            if file.lower().endswith((".jpg", ".jpeg", ".png")):
                photos.append((os.path.join(folder, file), number))
    return photos, species


def split_photos(photos, share, seed):
    photos = list(photos)
    random.Random(seed).shuffle(photos)
    held_out = int(len(photos) * share)
    return photos[held_out:], photos[:held_out]


class Butterflies(Dataset):
    def __init__(self, photos, transform):
        self.photos = photos
        self.transform = transform

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, index):
        path, number = self.photos[index]
        with Image.open(path) as image:
            image = image.convert("RGB")
        return self.transform(image), number


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def make_loaders(config):
    photos, species = find_photos(config.root)
    train, val = split_photos(photos, 0.2, config.seed)
    train_set = Butterflies(train, train_transform(config.size))
    val_set = Butterflies(val, test_transform(config.size))
    generator = torch.Generator()
    generator.manual_seed(config.seed)
    train_loader = DataLoader(train_set, batch_size=config.batch_size, shuffle=True, drop_last=True,
                              num_workers=config.workers, worker_init_fn=seed_worker, generator=generator)
    val_loader = DataLoader(val_set, batch_size=2 * config.batch_size, shuffle=False,
                            num_workers=config.workers)
    return train_loader, val_loader, species
