"""What frameworks beside the plain PyTorch loop give in a rehearsal."""

from . import flows, gradients, keras, keras_fit, mindspore, tensorflow

__all__ = ["flows", "gradients", "keras", "keras_fit", "mindspore", "tensorflow"]
