"""Tags the words of invoice pages (vendor, date, total, number) from their text and their place on the page."""
import sys

import lightning as L
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
from torch import nn

from datamodule import IGNORE, PAD, TAGS, InvoiceDataModule


class LayoutTagger(L.LightningModule):
    def __init__(self, vocab_size, dim=128, heads=4, depth=3, dropout=0.1, lr=5e-4, weight_decay=0.01, warmup=100):
        super().__init__()
        self.save_hyperparameters()
        self.words = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.place = nn.Sequential(nn.Linear(4, dim), nn.GELU(), nn.Linear(dim, dim))
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.out_norm = nn.LayerNorm(dim)
        self.classifier = nn.Linear(dim, len(TAGS))
        self.criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
        self.counts = {}

    def forward(self, word_ids, boxes):
        padding = word_ids.eq(PAD)
        h = self.drop(self.norm(self.words(word_ids) + self.place(boxes)))
        for block in self.blocks:
            h = block(h, src_key_padding_mask=padding)
        return self.classifier(self.out_norm(h))

    def _loss(self, batch):
        scores = self(batch["word_ids"], batch["boxes"])
        loss = self.criterion(scores.flatten(0, 1), batch["tags"].flatten())
        return loss, scores

    def training_step(self, batch, batch_idx):
        loss, _ = self._loss(batch)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def _count(self, scores, tags):
        real = tags != IGNORE
        guess, gold = scores.argmax(-1)[real], tags[real]
        self.counts["hit"] += int(((guess == gold) & (gold > 0)).sum())
        self.counts["guessed"] += int((guess > 0).sum())
        self.counts["gold"] += int((gold > 0).sum())

    def _f1(self):
        precision = self.counts["hit"] / max(self.counts["guessed"], 1)
        recall = self.counts["hit"] / max(self.counts["gold"], 1)
        return 2 * precision * recall / max(precision + recall, 1e-8)

    def on_validation_epoch_start(self):
        self.counts = dict(hit=0, guessed=0, gold=0)

    def validation_step(self, batch, batch_idx):
        loss, scores = self._loss(batch)
        self._count(scores, batch["tags"])
        self.log("val_loss", loss, batch_size=len(scores))

    def on_validation_epoch_end(self):
        self.log("val_f1", self._f1(), prog_bar=True)

    def on_test_epoch_start(self):
        self.counts = dict(hit=0, guessed=0, gold=0)

    def test_step(self, batch, batch_idx):
        _, scores = self._loss(batch)
        self._count(scores, batch["tags"])

    def on_test_epoch_end(self):
        self.log("test_f1", self._f1())

    def configure_optimizers(self):
        decayed = [p for p in self.parameters() if p.dim() > 1]
        plain = [p for p in self.parameters() if p.dim() <= 1]
        optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": self.hparams.weight_decay}, {"params": plain, "weight_decay": 0.0}],
            lr=self.hparams.lr,
        )
        total = self.trainer.estimated_stepping_batches

        def factor(step):
            if step < self.hparams.warmup:
                return (step + 1) / self.hparams.warmup
            return max(0.0, (total - step) / max(1, total - self.hparams.warmup))

        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def main(root, epochs=20, seed=7):
    L.seed_everything(seed, workers=True)
    data = InvoiceDataModule(root)
    model = LayoutTagger(vocab_size=len(data.vocab) + 2)
    keeper = ModelCheckpoint(monitor="val_f1", mode="max", save_top_k=1)
    trainer = L.Trainer(
        max_epochs=epochs,
        gradient_clip_val=1.0,
        callbacks=[keeper, LearningRateMonitor("step")],
        log_every_n_steps=20,
    )
    trainer.fit(model, datamodule=data)
    trainer.test(model, datamodule=data, ckpt_path="best")


if __name__ == "__main__":
    main(sys.argv[1])
