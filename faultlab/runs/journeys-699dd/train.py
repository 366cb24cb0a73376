"""Train the session intent model on several processes of one machine.

    python train.py [--config config.yaml] [--stop-after EPOCH] [--resume]
"""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from settings import Settings
from trainer import Trainer


def setup_logging(out_dir: Path, rank: int) -> logging.Logger:
    logger = logging.getLogger("journeys")
    logger.setLevel(logging.INFO)
    handler = logging.FileHandler(out_dir / f"rank{rank}.log")
    handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)s [rank {rank}] %(message)s"))
    logger.addHandler(handler)
    return logger


def worker(rank: int, settings: Settings, args: argparse.Namespace) -> None:
    logger = setup_logging(Path(settings.run.out_dir), rank)
    torch.set_num_threads(1)
    dist.init_process_group(settings.dist.backend, rank=rank, world_size=settings.dist.world_size)
    logger.info("process group up: backend %s, world size %d", settings.dist.backend, dist.get_world_size())
    try:
        trainer = Trainer(settings, rank)
        if args.resume:
            trainer.load("last.pt")
        trainer.fit(args.stop_after)
    except Exception:
        logger.exception("training failed")
        raise
    finally:
        dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--stop-after", type=int, default=None, help="last epoch of this time slot")
    parser.add_argument("--resume", action="store_true", help="go on from output/last.pt")
    args = parser.parse_args()
    settings = Settings.load(args.config)
    Path(settings.run.out_dir).mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29531")
    mp.start_processes(worker, (settings, args), nprocs=settings.dist.world_size, start_method="fork")


if __name__ == "__main__":
    main()
