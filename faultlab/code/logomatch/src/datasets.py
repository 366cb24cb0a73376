import random
from collections import defaultdict
from pathlib import Path

from PIL import Image
from torch.utils.data import Dataset, Sampler
from torchvision import transforms


class LogoDataset(Dataset):
    """Images of the given brands; labels count from 0 in the order of `brands`."""

    def __init__(self, root, brands, transform, two_views=False):
        self.items = [(path, label) for label, brand in enumerate(brands)
                      for path in sorted((Path(root) / brand).glob("*.png"))]
        self.labels = [label for _, label in self.items]
        self.transform = transform
        self.two_views = two_views

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        image = Image.open(path).convert("RGB")
        if self.two_views:
            return self.transform(image), self.transform(image), label
        return self.transform(image), label


class BrandBatchSampler(Sampler):
    """Batches of `n_brands` different brands with `n_per` different images each."""

    def __init__(self, labels, n_brands, n_per, seed=0):
        self.by_brand = defaultdict(list)
        for index, label in enumerate(labels):
            self.by_brand[label].append(index)
        self.usable = [b for b, members in self.by_brand.items() if len(members) >= n_per]
        self.n_brands, self.n_per = min(n_brands, len(self.usable)), n_per
        self.length = max(1, len(labels) // (self.n_brands * self.n_per))
        self.rng = random.Random(seed)

    def __len__(self):
        return self.length

    def __iter__(self):
        for _ in range(self.length):
            batch = []
            for brand in self.rng.sample(self.usable, self.n_brands):
                batch += self.rng.sample(self.by_brand[brand], self.n_per)
            yield batch


def make_transforms(cfg):
    normalize = transforms.Normalize(cfg["mean"], cfg["std"])
    train = transforms.Compose([
        transforms.RandomResizedCrop(cfg["size"], scale=tuple(cfg["crop_scale"])),
        transforms.RandomRotation(10),
        transforms.ColorJitter(0.3, 0.3, 0.3),
        transforms.ToTensor(),
        normalize,
    ])
    test = transforms.Compose([transforms.Resize((cfg["size"], cfg["size"])), transforms.ToTensor(), normalize])
    return train, test


def split_brands(root, share, seed):
    brands = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
    random.Random(seed).shuffle(brands)
    n_test = max(2, int(len(brands) * share))
    return sorted(brands[n_test:]), sorted(brands[:n_test])
