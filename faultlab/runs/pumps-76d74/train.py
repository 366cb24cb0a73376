"""Train the remaining-life model: python train.py --config config.yaml [--resume]"""

from __future__ import annotations

import argparse
import logging
import random
from pathlib import Path

import numpy as np
import torch

from config import Config
from data import SENSORS, build_datasets
from model import RulNet
from trainer import Trainer

log = logging.getLogger("train")


def set_seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--resume", action="store_true", help="go on from <output_dir>/last.pt")
    args = parser.parse_args()

    cfg = Config.load(args.config)
    out = Path(cfg.output_dir)
    out.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=out / "train.log",
        level=logging.INFO,
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
    )
    cfg.save(out / "config.yaml")
    set_seed(cfg.seed)

    train_set, val_set = build_datasets(cfg.data)
    model = RulNet(len(SENSORS), cfg.model)
    log.info("model has %d parameters", sum(p.numel() for p in model.parameters()))

    trainer = Trainer(cfg, model, train_set, val_set)
    if args.resume:
        trainer.resume()
    trainer.fit()


if __name__ == "__main__":
    main()
