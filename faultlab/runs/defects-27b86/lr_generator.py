"""Learning rate of each step as a list, for the dynamic learning rate of nn.Optimizer."""
import math


def warmup_cosine_lr(lr_init, lr_max, lr_end, warmup_epochs, total_epochs, steps_per_epoch):
    total_steps = total_epochs * steps_per_epoch
    warmup_steps = warmup_epochs * steps_per_epoch
    lrs = []
    for i in range(total_steps):
        if i < warmup_steps:
            lr = lr_init + (lr_max - lr_init) * (i + 1) / warmup_steps
        else:
            lr = lr_max * 0.1 ** sum(i >= m * total_steps for m in (0.6, 0.85))
        lrs.append(lr)
    return lrs
