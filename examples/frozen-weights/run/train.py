"""Fine-tune a small backbone, trained on digits 0-4, for all ten digits."""
import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
L.seed_everything(11)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
images = (images - 0.305) / 0.376
labels = torch.tensor(digits.target)
order = torch.from_numpy(np.random.RandomState(5).permutation(len(images)))
train_ids, val_ids = order[:1400], order[1400:]


def make_backbone():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 12, 2), nn.Flatten(),
    )


def pretrain():
    backbone, head = make_backbone(), nn.Linear(12, 2)
    small = train_ids[labels[train_ids] < 2]
    optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(5):
        for ids in small.split(32):
            loss = F.cross_entropy(head(backbone(images[ids])), labels[ids])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return backbone


class Classifier(L.LightningModule):
    def __init__(self, learning_rate=3e-3, weight_decay=1e-4, batch_size=32, num_classes=10):
        super().__init__()
        self.save_hyperparameters()
        self.backbone = pretrain()
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Linear(12, num_classes)

    def step(self, batch, stage):
        x, y = batch
        logits = self.head(self.backbone(x))
        loss = F.cross_entropy(logits, y)
        self.log(f"{stage}_loss", loss)
        self.log(f"{stage}_acc", (logits.argmax(1) == y).float().mean())
        return loss

    def training_step(self, batch, index):
        return self.step(batch, "train")

    def validation_step(self, batch, index):
        self.step(batch, "val")

    def on_before_optimizer_step(self, optimizer):
        norms = [p.grad.norm() for p in self.parameters() if p.grad is not None]
        self.log("grad_norm", torch.stack(norms).norm())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.learning_rate, weight_decay=self.hparams.weight_decay)


trainer = L.Trainer(
    max_epochs=15, accelerator="cpu", logger=CSVLogger(".", name="lightning_logs"), log_every_n_steps=10,
    callbacks=[LearningRateMonitor()], enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=True,
)
trainer.fit(
    Classifier(),
    DataLoader(TensorDataset(images[train_ids], labels[train_ids]), 32, shuffle=True),
    DataLoader(TensorDataset(images[val_ids], labels[val_ids]), 200),
)
