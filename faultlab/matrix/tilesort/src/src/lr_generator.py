import math

import numpy as np


def get_lr(lr_init, lr_end, lr_max, warmup_epochs, total_epochs, steps_per_epoch):
    """One rate for every step: linear warm-up, then a cosine."""
    total_steps = total_epochs * steps_per_epoch
    warmup_steps = warmup_epochs * steps_per_epoch
    lr_each_step = []
    for i in range(total_steps):
        if i < warmup_steps:
            lr = lr_init + (lr_max - lr_init) * (i + 1) / warmup_steps
        else:
            done = (i - warmup_steps) / (total_steps - warmup_steps)
            lr = lr_end + (lr_max - lr_end) * 0.5 * (1 + math.cos(math.pi * done))
        lr_each_step.append(lr)
    return np.array(lr_each_step).astype(np.float32)
