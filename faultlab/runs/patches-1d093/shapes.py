"""Toy picture set: eight kinds of marks on noisy coloured paper, 16x16 RGB, uint8."""
import numpy as np

CLASSES = ["disk", "ring", "square", "frame", "cross", "saltire", "bars", "checker"]
SIZE = 16


def _mask(kind, rng):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    cy, cx = rng.uniform(6.5, 8.5, 2)
    r = rng.uniform(3.5, 5.5)
    dy, dx = yy - cy, xx - cx
    dist = np.hypot(dy, dx)
    cheb = np.maximum(abs(dy), abs(dx))
    box = cheb < r
    if kind == "disk":
        return dist < r
    if kind == "ring":
        return abs(dist - r) < 1.1
    if kind == "square":
        return cheb < r * 0.9
    if kind == "frame":
        return abs(cheb - r) < 0.9
    if kind == "cross":
        return box & ((abs(dy) < 1.2) | (abs(dx) < 1.2))
    if kind == "saltire":
        return box & ((abs(dy - dx) < 1.6) | (abs(dy + dx) < 1.6))
    if kind == "bars":
        return box & ((yy + rng.integers(3)) % 3 < 1.5)
    return box & ((yy // 2 + xx // 2) % 2 == 0)


def draw(kind, rng):
    paper, ink = rng.uniform(40, 215, (2, 3))
    if np.abs(paper - ink).sum() < 90:
        ink = 255 - ink
    pic = np.where(_mask(kind, rng)[..., None], ink, paper)
    light = 1 + rng.uniform(-0.25, 0.25) * np.linspace(-1, 1, SIZE)[:, None, None]
    pic = pic * light + rng.normal(0, 12, pic.shape)
    if rng.random() < 0.25:  # something lies on top
        y, x = rng.integers(0, SIZE - 5, 2)
        pic[y : y + 5, x : x + 5] = rng.uniform(0, 255, 3)
    return np.clip(pic, 0, 255).astype(np.uint8)


def make_split(n, seed):
    """n pictures, class by class as they were drawn; returns (n, 16, 16, 3) and (n,)."""
    rng = np.random.default_rng(seed)
    counts = np.full(len(CLASSES), n // len(CLASSES))
    images, labels = [], []
    for k, kind in enumerate(CLASSES):
        images += [draw(kind, rng) for _ in range(counts[k])]
        labels += [k] * int(counts[k])
    return np.stack(images), np.array(labels)
