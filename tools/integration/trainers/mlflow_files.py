"""A script of its own that logs to MLflow's file store."""

import os
import sys
from pathlib import Path

import task

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow  # reads the environment when it is imported

case, out = sys.argv[1:]
mlflow.set_tracking_uri((Path(out).resolve() / "mlruns").as_uri())
with mlflow.start_run():
    mlflow.log_params({**task.SETTINGS, "learning_rate": task.RATES[case]})
    for step, _, values in task.training(case):
        mlflow.log_metrics(values, step=step)
