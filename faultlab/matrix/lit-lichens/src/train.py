import argparse

import lightning as L
from data import LichenData
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from model import LichenNet


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--resume", default=None)
    return parser.parse_args()


def main():
    args = parse()
    L.seed_everything(args.seed, workers=True)
    data = LichenData(args.root, batch_size=args.batch_size, workers=args.workers)
    data.setup()
    model = LichenNet(classes=len(data.classes), lr=args.lr)
    best = ModelCheckpoint(monitor="val_acc", mode="max", save_top_k=1, save_last=True)
    stop = EarlyStopping(monitor="val_loss", mode="min", patience=12)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        devices=args.devices,
        precision="16-mixed",
        gradient_clip_val=1.0,
        accumulate_grad_batches=2,
        callbacks=[best, stop, LearningRateMonitor("step")],
        logger=CSVLogger("logs", name="lichens"),
    )
    trainer.fit(model, datamodule=data, ckpt_path=args.resume)
    trainer.test(model, datamodule=data, ckpt_path="best")


if __name__ == "__main__":
    main()
