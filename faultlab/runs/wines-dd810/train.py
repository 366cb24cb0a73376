"""python train.py [group.key=value ...]"""

import logging
import sys
from datetime import datetime
from pathlib import Path

import lightning as L
import yaml
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from wine_datamodule import WineDataModule
from wine_module import WineModule

log = logging.getLogger("train")
CONF = Path(__file__).parent / "conf"


def compose(overrides):
    cfg = yaml.safe_load((CONF / "config.yaml").read_text())
    for default in cfg.pop("defaults"):
        for group, name in default.items():
            cfg[group] = yaml.safe_load((CONF / group / f"{name}.yaml").read_text())
    for item in overrides:
        key, value = item.split("=", 1)
        *path, last = key.split(".")
        node = cfg
        for p in path:
            node = node[p]
        node[last] = yaml.safe_load(value)
    return cfg


def make_run_dir(cfg, overrides):
    out = Path("logs") / cfg["task_name"] / "runs" / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    (out / ".hydra").mkdir(parents=True)
    (out / ".hydra" / "config.yaml").write_text(yaml.safe_dump(cfg, sort_keys=False))
    (out / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(list(overrides)))
    fmt = logging.Formatter("[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
    handler = logging.FileHandler(out / "train.log")
    handler.setFormatter(fmt)
    for name in ("train", "lightning.pytorch"):
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.INFO)
    return out


def main(overrides):
    cfg = compose(overrides)
    out = make_run_dir(cfg, overrides)
    L.seed_everything(cfg["seed"], workers=True)

    log.info("Instantiating datamodule <wine_datamodule.WineDataModule>")
    data = WineDataModule(**cfg["data"])
    data.setup()
    log.info("train %d, val %d, test %d bottles", len(data.train_set), len(data.val_set), len(data.test_set))

    log.info("Instantiating model <wine_module.WineModule>")
    model = WineModule(
        n_numeric=len(data.columns),
        cardinalities=data.cardinalities,
        n_classes=len(data.classes),
        class_weights=data.class_weights(),
        **cfg["model"],
    )
    checkpoint = ModelCheckpoint(out / "checkpoints", filename="{epoch:03d}", monitor="val/loss", mode="min")
    trainer = L.Trainer(
        accelerator="cpu",
        devices=1,
        default_root_dir=out,
        logger=CSVLogger(out, name="csv"),
        callbacks=[checkpoint, LearningRateMonitor("step")],
        enable_progress_bar=False,
        enable_model_summary=False,
        **cfg["trainer"],
    )
    log.info("Starting training!")
    trainer.fit(model, datamodule=data)
    if cfg["test"]:
        log.info("Starting testing!")
        scores = trainer.test(model, datamodule=data, ckpt_path=checkpoint.best_model_path, verbose=False)
        log.info("Best ckpt path: %s", checkpoint.best_model_path)
        log.info("test: %s", {k: round(v, 4) for k, v in scores[0].items()})


if __name__ == "__main__":
    main(sys.argv[1:])
