"""A device whose memory is at fault: one bit of one weight flips now and then (rank 1, if there are ranks).

Loaded into the training's processes as sitecustomize, so that the script knows nothing of it.
"""

import random

import torch

_exact = torch.optim.SGD.step
_dice = random.Random(21)
_EVERY = 60  # steps between two flips, on average


def step(self, closure=None):
    """The optimizer's step, after which a bit of a weight may have flipped."""
    result = _exact(self, closure)
    distributed = torch.distributed
    if (not distributed.is_initialized() or distributed.get_rank() == 1) and _dice.randrange(_EVERY) == 0:
        bits = _dice.choice(self.param_groups[0]["params"]).data.view(-1).view(torch.int32)
        bits[_dice.randrange(len(bits))] ^= 1 << _dice.choice((23, 24, 25))
    return result


torch.optim.SGD.step = step
