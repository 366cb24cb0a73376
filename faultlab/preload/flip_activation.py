"""A device that computes wrong now and then: a bit of an output of a linear layer flips (rank 1, if ranks).

Loaded into the training's processes as sitecustomize, so that the script knows nothing of it.
"""

import random

import torch
from torch.nn import functional

_exact = functional.linear
_dice = random.Random(20)
_EVERY = 120  # calls between two flips, on average


def _faulty() -> bool:
    distributed = torch.distributed
    return not distributed.is_initialized() or distributed.get_rank() == 1


def linear(inputs, weight, bias=None):
    """The layer's output, with one exponent bit flipped once in a while."""
    output = _exact(inputs, weight, bias)
    if torch.is_grad_enabled() and _dice.randrange(_EVERY) == 0 and _faulty():
        bits = output.data.view(-1).view(torch.int32)
        bits[_dice.randrange(len(bits))] ^= 1 << _dice.choice((25, 26, 27))
    return output


functional.linear = linear
