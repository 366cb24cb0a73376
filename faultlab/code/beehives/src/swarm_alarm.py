"""Will this hive swarm within three days? Dilated convolutions over the last week, Lightning."""

import argparse

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from torch import nn
from torch.nn import functional as F

from hive_data import CHANNELS, HiveDataModule


class WeekBlock(nn.Module):
    def __init__(self, width: int, dilation: int, dropout: float):
        super().__init__()
        self.conv = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(dropout)

    def forward(self, h):
        return h + self.drop(F.gelu(self.norm(self.conv(h))))


class SwarmAlarm(L.LightningModule):
    def __init__(
        self,
        quiet_per_swarm: float,
        width: int = 64,
        dropout: float = 0.1,
        lr: float = 2e-3,
        wd: float = 1e-2,
    ):
        super().__init__()
        self.save_hyperparameters()
        self.stem = nn.Conv1d(len(CHANNELS), width, 5, padding=2)
        self.trunk = nn.ModuleList([WeekBlock(width, 2**k, dropout) for k in range(5)])
        self.gaze = nn.Conv1d(width, 1, 1)
        self.head = nn.Linear(width, 1)
        self.register_buffer("swarm_weight", torch.tensor(quiet_per_swarm).clamp(max=20.0))
        self.outcome: list[tuple[torch.Tensor, torch.Tensor]] = []
        for layer in self.modules():
            if isinstance(layer, nn.Conv1d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)

    def forward(self, window):
        h = self.stem(window)
        for block in self.trunk:
            h = block(h)
        share = self.gaze(h).softmax(dim=-1)
        return self.head((h * share).sum(dim=-1)).squeeze(-1)

    def _loss(self, logit, swarm):
        return F.binary_cross_entropy_with_logits(logit, swarm, pos_weight=self.swarm_weight)

    def training_step(self, batch, batch_idx):
        loss = self._loss(self(batch["window"]), batch["swarm"])
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def _judge(self, batch):
        logit = self(batch["window"])
        self.outcome.append((logit.float().cpu(), batch["swarm"].cpu()))
        return self._loss(logit, batch["swarm"])

    def _precision_of_alarms(self):
        """Average precision over all windows of the split."""
        score, swarm = (torch.cat(part) for part in zip(*self.outcome))
        self.outcome.clear()
        hits = swarm[score.argsort(descending=True)]
        precision = hits.cumsum(0) / torch.arange(1, len(hits) + 1)
        return (precision * hits).sum() / hits.sum().clamp(min=1)

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self._judge(batch), batch_size=len(batch["swarm"]))

    def on_validation_epoch_end(self):
        self.log("val_ap", self._precision_of_alarms(), prog_bar=True)

    def test_step(self, batch, batch_idx):
        self.log("test_loss", self._judge(batch), batch_size=len(batch["swarm"]))

    def on_test_epoch_end(self):
        self.log("test_ap", self._precision_of_alarms())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.wd)
        total = int(self.trainer.estimated_stepping_batches)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=self.hparams.lr, total_steps=total)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4)
    args = parser.parse_args()

    L.seed_everything(2024, workers=True)
    data = HiveDataModule(args.folder, num_workers=args.workers)
    data.setup("fit")
    model = SwarmAlarm(quiet_per_swarm=data.quiet_per_swarm)
    keeper = ModelCheckpoint(monitor="val_ap", mode="max", save_top_k=1)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        precision="bf16-mixed" if torch.cuda.is_available() else "32-true",
        gradient_clip_val=1.0,
        callbacks=[keeper, EarlyStopping("val_ap", mode="max", patience=8), LearningRateMonitor("step")],
    )
    trainer.fit(model, datamodule=data)
    trainer.test(model, datamodule=data, ckpt_path="best")


if __name__ == "__main__":
    main()
