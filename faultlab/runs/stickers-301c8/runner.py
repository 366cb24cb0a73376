"""A small runner in the manner of OpenMMLab: work directory, text log and one JSON row for each log line."""

import json
import logging
import time
from pathlib import Path


class Logbook:
    def __init__(self, config_path):
        stamp = time.strftime("%Y%m%d_%H%M%S")
        self.folder = Path("work_dirs") / Path(config_path).stem / stamp
        (self.folder / "vis_data").mkdir(parents=True)
        (self.folder / "vis_data" / "config.py").write_text(Path(config_path).read_text())
        self.scalars = self.folder / "vis_data" / "scalars.json"
        self.logger = logging.getLogger("mmengine")
        self.logger.setLevel(logging.INFO)
        handler = logging.FileHandler(self.folder / f"{stamp}.log")
        handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s", "%Y/%m/%d %H:%M:%S"))
        self.logger.addHandler(handler)
        self.logger.info("Config:\n" + Path(config_path).read_text())

    def _row(self, **row):
        with self.scalars.open("a") as f:
            f.write(json.dumps(row) + "\n")

    def train(self, epoch, it, per_epoch, step, lr, loss, grad_norm, seconds):
        self.logger.info(
            f"Epoch(train) [{epoch}][{it:3d}/{per_epoch}]  lr: {lr:.4e}  time: {seconds:.4f}  "
            f"grad_norm: {grad_norm:.4f}  loss: {loss:.4f}"
        )
        self._row(lr=lr, time=seconds, grad_norm=grad_norm, loss=loss, epoch=epoch, iter=step, step=step)

    def val(self, epoch, batches, **metrics):
        text = "  ".join(f"{k}: {v:.4f}" for k, v in metrics.items())
        self.logger.info(f"Epoch(val) [{epoch}][{batches}/{batches}]    {text}")
        self._row(**metrics, step=epoch)
