"""What frameworks beside the plain PyTorch loop give in a rehearsal."""

from . import entries, flows, gradients, keras, keras_fit, lightning, mindspore, tensorflow, trainers

__all__ = [
    "entries",
    "flows",
    "gradients",
    "keras",
    "keras_fit",
    "lightning",
    "mindspore",
    "tensorflow",
    "trainers",
]
