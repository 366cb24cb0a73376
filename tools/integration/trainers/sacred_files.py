"""A Sacred experiment with its FileStorageObserver."""

import sys

import task
from sacred import SETTINGS, Experiment
from sacred.observers import FileStorageObserver

case, out = sys.argv[1:]
SETTINGS.CAPTURE_MODE = "no"
experiment = Experiment("tiny", save_git_info=False)
experiment.observers.append(FileStorageObserver(out))
experiment.add_config({**task.SETTINGS, "learning_rate": task.RATES[case]})


@experiment.main
def main(_run):
    for step, _, values in task.training(case):
        for name, value in values.items():
            _run.log_scalar(name, value, step)


experiment.run()
