"""Transformer encoder over tokens, mean pooling, linear head."""

from __future__ import annotations

import math

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

from data import PAD


class Encoder(nn.Module):
    def __init__(self, vocab_size: int, width: int, layers: int, heads: int, dropout: float, max_length: int):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, width, padding_idx=PAD)
        self.positions = nn.Embedding(max_length, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.drop = nn.Dropout(dropout)
        self.apply(self._init)

    @staticmethod
    def _init(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        padding = tokens.eq(PAD)
        where = torch.arange(tokens.size(1), device=tokens.device)
        x = self.drop(self.tokens(tokens) + self.positions(where))
        x = self.blocks(x, src_key_padding_mask=padding)
        keep = (~padding).unsqueeze(-1).to(x.dtype)
        return (x * keep).sum(1) / keep.sum(1).clamp(min=1.0)


class TicketClassifier(L.LightningModule):
    def __init__(
        self,
        vocab_size: int,
        num_classes: int,
        class_weights: torch.Tensor | None = None,
        width: int = 256,
        layers: int = 4,
        heads: int = 8,
        dropout: float = 0.1,
        max_length: int = 200,
        learning_rate: float = 3e-4,
        weight_decay: float = 0.01,
        warmup_steps: int = 500,
    ):
        super().__init__()
        self.save_hyperparameters(ignore=["class_weights"])
        self.encoder = Encoder(vocab_size, width, layers, heads, dropout, max_length)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, num_classes))
        self.register_buffer("class_weights", class_weights)
        self.valid_accuracy = MulticlassAccuracy(num_classes, average="micro")
        self.valid_f1 = MulticlassF1Score(num_classes, average="macro")
        self.test_f1 = MulticlassF1Score(num_classes, average="macro")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(tokens))

    def training_step(self, batch, batch_idx):
        logits = self(batch["tokens"])
        loss = F.cross_entropy(logits, batch["labels"], weight=self.class_weights)
        self.log("train/loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        logits = self(batch["tokens"])
        loss = F.cross_entropy(logits, batch["labels"])
        size = batch["labels"].size(0)
        self.valid_accuracy(logits, batch["labels"])
        self.valid_f1(logits, batch["labels"])
        self.log("valid/loss", loss, batch_size=size, prog_bar=True)
        self.log("valid/accuracy", self.valid_accuracy, batch_size=size)
        self.log("valid/f1", self.valid_f1, batch_size=size, prog_bar=True)

    def test_step(self, batch, batch_idx):
        logits = self(batch["tokens"])
        self.test_f1(logits, batch["labels"])
        self.log("test/f1", self.test_f1, batch_size=batch["labels"].size(0))

    def configure_optimizers(self):
        decayed = [p for p in self.parameters() if p.ndim >= 2]
        plain = [p for p in self.parameters() if p.ndim < 2]
        groups = [
            {"params": decayed, "weight_decay": self.hparams.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=self.hparams.learning_rate)
        total = max(int(self.trainer.estimated_stepping_batches), 1)
        warmup = min(self.hparams.warmup_steps, total // 10)

        def factor(step: int) -> float:
            if step < warmup:
                return (step + 1) / max(warmup, 1)
            progress = (step - warmup) / max(total - warmup, 1)
            return 0.5 * (1.0 + math.cos(math.pi * min(progress, 1.0)))

        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }
