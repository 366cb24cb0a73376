import argparse

import lightning as L
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

from datamodule import YardDataModule
from tagger import TaggingTask

parser = argparse.ArgumentParser()
parser.add_argument("--root", default="yard")
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--workers", type=int, default=4)
parser.add_argument("--precision", default="32-true")
parser.add_argument("--backbone")
parser.add_argument("--ckpt", help="continue from this checkpoint")


def main():
    args = parser.parse_args()
    L.seed_everything(5, workers=True)
    data = YardDataModule(args.root, args.batch_size, args.workers)
    task = TaggingTask(backbone=args.backbone)
    best = ModelCheckpoint(monitor="val_map", mode="max", save_last=True)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        precision=args.precision,
        gradient_clip_val=5.0,
        logger=CSVLogger("logs", name="yard"),
        callbacks=[best, LearningRateMonitor("step")],
        log_every_n_steps=20,
    )
    trainer.fit(task, datamodule=data, ckpt_path=args.ckpt)
    trainer.test(task, datamodule=data, ckpt_path=best.best_model_path)


if __name__ == "__main__":
    main()
