"""Names the appliance behind a power trace (bidirectional GRU with attention pooling)."""

import argparse

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

from trace_data import TraceData


class TraceClassifier(L.LightningModule):
    def __init__(self, classes, hidden=96, depth=2, dropout=0.2, lr=2e-3, weight_decay=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.inp = nn.Sequential(nn.Linear(2, hidden), nn.LayerNorm(hidden), nn.GELU())
        self.gru = nn.GRU(hidden, hidden, depth, batch_first=True, bidirectional=True, dropout=dropout)
        self.score = nn.Linear(2 * hidden, 1)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(2 * hidden, classes)
        self.train_acc = MulticlassAccuracy(classes, average="micro")
        self.valid_f1 = MulticlassF1Score(classes, average="macro")
        self.test_f1 = MulticlassF1Score(classes, average="macro")
        for name, p in self.gru.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(p)
            elif "bias" in name:
                nn.init.zeros_(p)

    def forward(self, trace, length):
        steps = trace.size(1)
        packed = pack_padded_sequence(self.inp(trace), length.cpu(), batch_first=True, enforce_sorted=False)
        states, last = self.gru(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=steps)
        inside = torch.arange(steps, device=trace.device) < length.unsqueeze(1)
        score = self.score(torch.tanh(states)).squeeze(-1)
        share = score.masked_fill(~inside, float("-inf")).softmax(dim=1)
        pooled = torch.einsum("bt,bth->bh", share, states)
        return self.out(self.drop(pooled))

    def training_step(self, batch, batch_idx):
        logits = self(batch["trace"], batch["length"])
        loss = F.cross_entropy(logits, batch["label"], label_smoothing=0.05)
        self.train_acc(logits, batch["label"])
        self.log("train_loss", loss, prog_bar=True)
        self.log("train_acc", self.train_acc, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        logits = self(batch["trace"], batch["length"])
        self.valid_f1(logits, batch["label"])
        self.log("valid_loss", F.cross_entropy(logits, batch["label"]), batch_size=len(logits))
        self.log("valid_f1", self.valid_f1, prog_bar=True)

    def test_step(self, batch, batch_idx):
        self.test_f1(self(batch["trace"], batch["length"]), batch["label"])
        self.log("test_f1", self.test_f1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr,
                                      weight_decay=self.hparams.weight_decay)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=self.hparams.lr, total_steps=int(self.trainer.estimated_stepping_batches))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default="traces")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--resume", default=None, help="checkpoint to go on from")
    args = parser.parse_args()

    L.seed_everything(5, workers=True)
    data = TraceData(args.root, args.batch_size)
    data.setup()
    model = TraceClassifier(len(data.kinds))
    best = ModelCheckpoint(monitor="valid_f1", mode="max", filename="best-{epoch}", save_last=True)
    stop = EarlyStopping(monitor="valid_f1", mode="max", patience=10)
    trainer = L.Trainer(
        max_epochs=args.epochs,
        accelerator="auto",
        devices=1,
        precision="bf16-mixed" if torch.cuda.is_available() else "32-true",
        gradient_clip_val=1.0,
        callbacks=[best, stop, LearningRateMonitor("step")],
        log_every_n_steps=10,
    )
    trainer.fit(model, datamodule=data, ckpt_path=args.resume)
    trainer.test(model, datamodule=data, ckpt_path="best")


if __name__ == "__main__":
    main()
