"""A script of its own that logs to W&B without a network."""

import os
import sys

import task

case, out = sys.argv[1:]
os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=out)
import wandb  # reads the environment when it is imported

run = wandb.init(project="tiny", config={**task.SETTINGS, "learning_rate": task.RATES[case]})
for step, epoch, values in task.training(case):
    run.log({**values, "epoch": epoch}, step=step)
run.finish()
