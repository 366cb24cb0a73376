"""What frameworks beside the plain PyTorch loop give in a rehearsal."""

from . import (
    accelerators,
    entries,
    flows,
    gradients,
    jax,
    keras,
    keras_fit,
    lightning,
    mindspore,
    paddle,
    tensorflow,
    trainers,
)

__all__ = [
    "accelerators",
    "entries",
    "flows",
    "gradients",
    "jax",
    "keras",
    "keras_fit",
    "lightning",
    "mindspore",
    "paddle",
    "tensorflow",
    "trainers",
]
