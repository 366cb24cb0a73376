"""A small residual net for the lichens."""

import math

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score


class Block(nn.Module):
    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.skip = nn.Conv2d(width_in, width, 1, stride=stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + self.skip(x))


class LichenNet(L.LightningModule):
    def __init__(self, classes, lr=3e-3, weight_decay=1e-2, warmup=500, dropout=0.2):
        super().__init__()
        self.save_hyperparameters()
        self.stem = nn.Conv2d(3, 32, 3, stride=2, padding=1)
        widths = [32, 64, 128, 192]
        self.blocks = nn.ModuleList([Block(a, b, 2) for a, b in zip(widths[:-1], widths[1:])])
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(widths[-1], classes)
        nn.init.trunc_normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.train_accuracy = MulticlassAccuracy(num_classes=classes, average="micro")
        self.val_accuracy = MulticlassAccuracy(num_classes=classes, average="micro")
        self.test_f1 = MulticlassF1Score(num_classes=classes, average="macro")

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = x.mean(dim=(2, 3))
        return self.head(self.drop(x))

    def training_step(self, batch, batch_idx):
        images, labels = batch
        logits = self(images)
        loss = F.cross_entropy(logits, labels, label_smoothing=0.05)
        self.train_accuracy(logits, labels)
        self.log("train_loss", loss)
        self.log("train_acc", self.train_accuracy, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        images, labels = batch
        logits = self(images)
        self.val_accuracy(logits, labels)
        self.log("val_loss", F.cross_entropy(logits, labels), prog_bar=True, sync_dist=True)
        self.log("val_acc", self.val_accuracy, prog_bar=True)

    def test_step(self, batch, batch_idx):
        images, labels = batch
        self.test_f1(self(images), labels)
        self.log("test_f1", self.test_f1)

    def configure_optimizers(self):
        decayed = [p for p in self.parameters() if p.ndim > 1]
        rest = [p for p in self.parameters() if p.ndim <= 1]
        optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": self.hparams.weight_decay},
                {"params": rest, "weight_decay": 0.0},
            ],
            lr=self.hparams.lr,
        )
        total = self.trainer.estimated_stepping_batches
        warmup = min(self.hparams.warmup, total // 10)

        def factor(step):
            if step < warmup:
                return (step + 1) / (warmup + 1)
            share = (step - warmup) / max(1, total - warmup)
            return 0.5 * (1 + math.cos(math.pi * min(1.0, share)))

        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
