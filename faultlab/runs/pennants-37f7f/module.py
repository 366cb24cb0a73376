import lightning.pytorch as pl
import torch
import torch.nn as nn
import torch.nn.functional as F

from flags import LAYOUTS


class FlagNet(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(8 * width, len(LAYOUTS))

    def forward(self, x):
        return self.classifier(self.dropout(self.features(x).flatten(1)))


class FlagClassifier(pl.LightningModule):
    def __init__(self, width=10, dropout=0.1, lr=0.01, weight_decay=5e-4, mixup=0.1, max_steps=300):
        super().__init__()
        self.save_hyperparameters()
        self.net = FlagNet(width, dropout)

    def forward(self, x):
        return self.net(x)

    def mix(self, x, y):
        a = self.hparams.mixup
        lam = float(torch.distributions.Beta(a, a).sample()) if a > 0 else 1.0
        perm = torch.randperm(len(x), device=x.device)
        return lam * x + (1 - lam) * x[perm], y, y[perm], lam

    def training_step(self, batch, batch_idx):
        x, y_a, y_b, lam = self.mix(*batch)
        logits = self(x)
        loss = lam * F.cross_entropy(logits, y_a) + (1 - lam) * F.cross_entropy(logits, y_b)
        self.log("train_loss", loss, on_step=True, on_epoch=False)
        self.log("lr", self.trainer.optimizers[0].param_groups[0]["lr"], on_step=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y), on_epoch=True)
        self.log("val_acc", (logits.argmax(1) == y).float().mean(), on_epoch=True)

    def configure_optimizers(self):
        hp = self.hparams
        optimizer = torch.optim.AdamW(self.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=hp.lr, total_steps=hp.max_steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
