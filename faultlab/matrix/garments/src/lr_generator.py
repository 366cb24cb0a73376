"""Learning rate by step."""
import math

import numpy as np


def get_lr(lr_max, warmup_epochs, total_epochs, steps_per_epoch):
    """Linear warm-up, then cosine; one value a step."""
    total = total_epochs * steps_per_epoch
    warmup = warmup_epochs * steps_per_epoch
    rates = []
    for step in range(total):
        if step < warmup:
            lr = lr_max * (step + 1) / warmup
        else:
            done = (step - warmup) / (total - warmup)
            lr = 0.5 * lr_max * (1 + math.cos(math.pi * done))
        rates.append(lr)
    return np.array(rates, dtype=np.float32)
