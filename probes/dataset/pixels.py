"""Well-known constants that pictures are normalised with, told from the line between two versions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..run import Floats


@dataclass(frozen=True, slots=True)
class Constants:
    """x = (pixel - mean) / std, pixels from 0 to 1, per channel."""

    name: str
    mean: tuple[float, ...]
    std: tuple[float, ...]


# The figures are those of the libraries' own examples: torchvision (ImageNet), CLIP, timm (Inception 0.5),
# Keras (caffe mode: pixels of 0 to 255 with the mean taken away), and the usual ones of CIFAR and MNIST.
KNOWN = (
    Constants("pixels from 0 to 255", (0.0,), (1 / 255,)),
    Constants("pixels from 0 to 1", (0.0,), (1.0,)),
    Constants("mean 0.5 and deviation 0.5 (-1 to 1)", (0.5,), (0.5,)),
    Constants("ImageNet's mean and deviation", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    Constants(
        "CLIP's mean and deviation", (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    ),
    Constants("CIFAR-10's mean and deviation", (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    Constants(
        "CIFAR-10's mean with deviations 0.2023, 0.1994, 0.2010",
        (0.4914, 0.4822, 0.4465),
        (0.2023, 0.1994, 0.2010),
    ),
    Constants("CIFAR-100's mean and deviation", (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    Constants("MNIST's mean and deviation", (0.1307,), (0.3081,)),
    Constants(
        "ImageNet's mean taken from pixels of 0 to 255 (caffe)",
        (123.68 / 255, 116.779 / 255, 103.939 / 255),
        (1 / 255,) * 3,
    ),
    Constants("ImageNet's mean alone", (0.485, 0.456, 0.406), (1.0,) * 3),
    Constants("ImageNet's deviation alone", (0.0,) * 3, (0.229, 0.224, 0.225)),
)


def constants_of(x: Floats, y: Floats, slope: Floats, offset: Floats) -> tuple[str, str] | None:
    """Return the names of the constants of x and y, where y = slope * x + offset per channel, or None.

    A pair fits when its slope and offset are within 1 % and both sides, turned back, are pixels of 0 to 1.
    """
    if len(slope) not in (1, 3):
        return None
    best: tuple[float, tuple[str, str]] | None = None
    for a in KNOWN:
        for b in KNOWN:
            if a is b or (len(slope) == 1 and max(len(a.mean), len(b.mean)) > 1):
                continue
            ma, sa, mb, sb = (_wide(v, len(slope)) for v in (a.mean, a.std, b.mean, b.std))
            want_slope, want_offset = sa / sb, (ma - mb) / sb
            room = np.abs(want_slope) * 0.01
            far = float(np.max(np.abs(slope - want_slope) / room))
            far = max(far, float(np.max(np.abs(offset - want_offset) / (0.01 * np.maximum(1.0, 1 / sb)))))
            if far > 1 or not (_is_pixels(x, ma, sa) and _is_pixels(y, mb, sb)):
                continue
            if best is None or far < best[0]:
                best = far, (a.name, b.name)
    return best[1] if best else None


def _wide(values: tuple[float, ...], count: int) -> Floats:
    return np.broadcast_to(np.array(values, dtype=np.float64), (count,)).copy()


def _is_pixels(x: Floats, mean: Floats, std: Floats) -> bool:
    low, high = float(x.min()), float(x.max())
    return bool(low * std.max() + mean.max() >= -0.02 and high * std.min() + mean.min() <= 1.02)
