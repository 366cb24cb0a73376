import math

import lightning as L
import torch
from torch import nn
from torchmetrics.classification import MulticlassAccuracy


class TabularNet(nn.Module):
    """Embeddings of the categories beside the chemistry, then Linear-BN-ReLU blocks."""

    def __init__(self, n_numeric, cardinalities, n_classes, hidden, emb_dim, dropout):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(c, emb_dim) for c in cardinalities)
        width = n_numeric + emb_dim * len(cardinalities)
        blocks = []
        for h in hidden:
            blocks += [nn.Linear(width, h, bias=False), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(dropout)]
            width = h
        self.trunk = nn.Sequential(*blocks)
        self.head = nn.Linear(width, n_classes)
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Embedding):
            nn.init.normal_(m.weight, std=0.1)

    def forward(self, numeric, codes):
        emb = [table(codes[:, i]) for i, table in enumerate(self.embeddings)]
        x = torch.cat([numeric, *emb], dim=1)
        return self.head(self.trunk(x))


class WineModule(L.LightningModule):
    def __init__(
        self, n_numeric, cardinalities, n_classes, class_weights, hidden, emb_dim, dropout,
        label_smoothing, weighted, lr, weight_decay, warmup_share,
    ):
        super().__init__()
        self.save_hyperparameters(ignore=["class_weights"])
        self.net = TabularNet(n_numeric, cardinalities, n_classes, hidden, emb_dim, dropout)
        weight = class_weights if weighted else None
        self.criterion = nn.CrossEntropyLoss(weight=weight, label_smoothing=label_smoothing)
        self.val_acc = MulticlassAccuracy(n_classes, average="macro")
        self.test_acc = MulticlassAccuracy(n_classes, average="macro")

    def forward(self, numeric, codes):
        return self.net(numeric, codes)

    def training_step(self, batch, batch_idx):
        numeric, codes, y = batch
        logits = self(numeric, codes)
        loss = self.criterion(logits, y)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        numeric, codes, y = batch
        logits = self(numeric, codes)
        self.val_acc.update(logits, y)
        self.log("val/loss", self.criterion(logits, y), prog_bar=True)
        self.log("val/acc", self.val_acc, prog_bar=True)

    def test_step(self, batch, batch_idx):
        numeric, codes, y = batch
        logits = self(numeric, codes)
        self.test_acc.update(logits, y)
        self.log("test/loss", self.criterion(logits, y))
        self.log("test/acc", self.test_acc)

    def configure_optimizers(self):
        hp = self.hparams
        opt = torch.optim.AdamW(self.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
        total = int(self.trainer.estimated_stepping_batches)
        warmup = max(1, int(hp.warmup_share * total))

        def factor(step):
            if step < warmup:
                return (step + 1) / warmup
            done = min(1.0, (step - warmup) / max(1, total - warmup))
            return 0.5 * (1.0 + math.cos(math.pi * done))

        sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}
