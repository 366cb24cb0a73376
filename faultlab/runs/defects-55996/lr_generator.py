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
            process = (i - warmup_steps) / max(1, total_steps - warmup_steps)
            lr = lr_end + 0.5 * (lr_max - lr_end) * (1 + math.cos(math.pi * process))
        lrs.append(lr)
    return lrs
