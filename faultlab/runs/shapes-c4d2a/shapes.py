"""Three shapes in warm or cold colours on a cluttered ground, 16 by 16 pixels."""
import numpy as np

CLASSES = ("warm disc", "warm ring", "warm cross", "cold disc", "cold ring", "cold cross")


class ShapeDataset:
    def __init__(self, size, seed):
        rng = np.random.RandomState(seed)
        self.labels = rng.randint(0, len(CLASSES), size)
        self.images = [self.draw(label, rng) for label in self.labels]

    def draw(self, label, rng):
        image = rng.uniform(40, 170, 3) + rng.normal(0, 24, (16, 16, 3))
        cy, cx = rng.uniform(5, 11, 2)
        radius = rng.uniform(3.6, 5)
        rows, columns = np.mgrid[0:16, 0:16]
        dy, dx = rows - cy, columns - cx
        shape = label % 3
        if shape == 0:
            inside = dy**2 + dx**2 < radius**2
        elif shape == 1:
            inside = (dy**2 + dx**2 < radius**2) & (dy**2 + dx**2 > (0.55 * radius) ** 2)
        else:
            inside = (np.minimum(abs(dy), abs(dx)) < 0.3 * radius) & (np.maximum(abs(dy), abs(dx)) < 1.1 * radius)
        colour = np.array([215, 120, 70]) if label < 3 else np.array([70, 120, 215])
        image[inside] = colour + rng.normal(0, 22, (int(inside.sum()), 3))
        return np.clip(image, 0, 255).astype(np.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], int(self.labels[i])
