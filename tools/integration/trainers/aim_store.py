"""A script of its own that logs to an Aim repository."""

import sys

import task
from aim import Run

case, out = sys.argv[1:]
run = Run(repo=out, experiment="tiny", system_tracking_interval=None, capture_terminal_logs=False)
run["hparams"] = {**task.SETTINGS, "learning_rate": task.RATES[case]}
for step, epoch, values in task.training(case):
    for name, value in values.items():
        split, _, quantity = name.rpartition("/")
        run.track(value, name=quantity, step=step, epoch=epoch, context={"subset": split or "train"})
run.close()
