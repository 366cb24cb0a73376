"""Train the ticket router: python train.py --root data/tickets"""

from __future__ import annotations

import argparse

import lightning as L
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from data import TicketDataModule
from model import TicketClassifier


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data/tickets")
    parser.add_argument("--out", default="runs")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--resume", default=None, help="checkpoint of an interrupted run")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    L.seed_everything(args.seed, workers=True)

    data = TicketDataModule(args.root, batch_size=args.batch_size, workers=args.workers)
    data.setup("fit")
    model = TicketClassifier(
        vocab_size=len(data.vocabulary),
        num_classes=len(data.queues),
        class_weights=data.class_weights,
        max_length=data.max_length,
    )

    best = ModelCheckpoint(monitor="valid/f1", mode="max", save_top_k=1, save_last=True, filename="best")
    trainer = L.Trainer(
        default_root_dir=args.out,
        max_epochs=args.epochs,
        accumulate_grad_batches=args.accumulate,
        gradient_clip_val=1.0,
        precision=args.precision,
        logger=CSVLogger(args.out, name="tickets"),
        callbacks=[best, LearningRateMonitor("step"), EarlyStopping("valid/f1", mode="max", patience=5)],
        log_every_n_steps=20,
    )
    trainer.fit(model, datamodule=data, ckpt_path=args.resume)
    trainer.test(model, datamodule=data, ckpt_path=best.best_model_path)


if __name__ == "__main__":
    main()
