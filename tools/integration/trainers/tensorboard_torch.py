"""A script of its own that logs with PyTorch's SummaryWriter."""

import sys

import task
from torch.utils.tensorboard import SummaryWriter

case, out = sys.argv[1:]
with SummaryWriter(out) as writer:
    last = {}
    for step, _, values in task.training(case):
        for name, value in values.items():
            writer.add_scalar(name, value, step)
        last.update(values)
    writer.add_hparams(
        {**task.SETTINGS, "learning_rate": task.RATES[case]}, {f"hparam/{k}": v for k, v in last.items()}
    )
