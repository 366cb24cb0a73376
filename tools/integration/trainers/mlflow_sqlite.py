"""A script of its own that logs to MLflow's database store."""

import sys
from pathlib import Path

import mlflow
import task

case, out = sys.argv[1:]
mlflow.set_tracking_uri(f"sqlite:///{Path(out).resolve() / 'mlflow.db'}")
with mlflow.start_run():
    mlflow.log_params({**task.SETTINGS, "learning_rate": task.RATES[case]})
    for step, _, values in task.training(case):
        mlflow.log_metrics(values, step=step)
