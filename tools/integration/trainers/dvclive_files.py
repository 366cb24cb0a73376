"""A script of its own that logs with DVCLive."""

import sys
from pathlib import Path

import task
from dvclive import Live

case, out = sys.argv[1:]
with Live(str(Path(out) / "dvclive"), save_dvc_exp=False, dvcyaml=None) as live:
    live.log_params({**task.SETTINGS, "learning_rate": task.RATES[case]})
    for step, _, values in task.training(case):
        live.step = step
        for name, value in values.items():
            live.log_metric(name, value)
        live.sync()
