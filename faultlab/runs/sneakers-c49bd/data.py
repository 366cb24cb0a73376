import numpy as np
import torch


class ProductPhotos:
    """Tiny catalogue: every product is a silhouette with a colour scheme, photographed several times."""

    def __init__(self, num_products, views, size=16, rng=None):
        rng = rng or np.random.default_rng()
        yy, xx = np.mgrid[0:size, 0:size] / (size - 1.0)
        images, ids = [], []
        for pid in range(num_products):
            sole = rng.uniform(0.62, 0.82)
            heel, toe = rng.uniform(0.15, 0.55, size=2)
            upper = rng.uniform(0.1, 0.9, 3)
            trim = np.clip(upper + rng.normal(0, 0.35, 3), 0, 1)
            angle, freq = rng.uniform(0, np.pi), rng.uniform(1.5, 5.0)
            top = sole - heel + (heel - toe) * xx
            body = (yy > top) & (yy < sole)
            bottom = (yy >= sole) & (yy < sole + 0.12)
            stripe = np.sin(2 * np.pi * freq * (np.cos(angle) * xx + np.sin(angle) * yy)) > 0.3
            photo = np.ones((3, size, size)) * 0.9
            photo[:, body] = upper[:, None]
            photo[:, body & stripe] = trim[:, None]
            photo[:, bottom] = trim[:, None] * 0.6
            for _ in range(views):
                shot = np.roll(photo, rng.integers(-2, 3, size=2), axis=(1, 2))
                if rng.random() < 0.5:
                    shot = shot[:, :, ::-1]
                light = rng.uniform(0.55, 1.25) + rng.normal(0, 0.06, size=(3, 1, 1))
                shot = shot * light + rng.normal(0, 0.08, shot.shape)
                images.append(np.clip(shot, 0, 1))
                ids.append(pid)
        self.images = torch.tensor(np.stack(images), dtype=torch.float32)
        self.ids = torch.tensor(ids)
        self.views = views
        self.num_products = num_products

    def batch(self, p, k, generator):
        """p products with k photos each."""
        chosen = torch.randperm(self.num_products, generator=generator)[:p]
        rows = [pid * self.views + torch.randperm(self.views, generator=generator)[:k] for pid in chosen.tolist()]
        rows = torch.cat(rows)
        return self.images[rows], self.ids[rows]


def to_input(images):
    return (images - 0.6) / 0.3
