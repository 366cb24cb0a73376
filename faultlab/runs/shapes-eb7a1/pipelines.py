"""Transforms of one image: HWC uint8 in, CHW float32 out."""
import numpy as np


class RandomFlip:
    def __init__(self, prob):
        self.prob = prob

    def __call__(self, image):
        return image[:, ::-1] if np.random.rand() < self.prob else image


class RandomCrop:
    def __init__(self, padding):
        self.padding = padding

    def __call__(self, image):
        if not self.padding:
            return image
        p = self.padding
        padded = np.pad(image, ((p, p), (p, p), (0, 0)), mode="edge")
        y, x = np.random.randint(0, 2 * p + 1, 2)
        return padded[y : y + image.shape[0], x : x + image.shape[1]]


class ColorJitter:
    def __init__(self, strength):
        self.strength = strength

    def __call__(self, image):
        factor = 1 + self.strength * np.random.uniform(-1, 1)
        return np.clip(image.astype(np.float32) * factor, 0, 255)


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = np.array(mean, np.float32), np.array(std, np.float32)

    def __call__(self, image):
        image = (image.astype(np.float32) - self.mean) / self.std
        return np.ascontiguousarray(image.transpose(2, 0, 1))


class Compose:
    def __init__(self, steps):
        self.steps = []
        for step in steps:
            arguments = dict(step)
            self.steps.append(globals()[arguments.pop("type")](**arguments))

    def __call__(self, image):
        for step in self.steps:
            image = step(image)
        return image
