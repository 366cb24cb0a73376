"""Train a small residual network on photos of butterflies."""

import os
import random
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from photos import make_loaders


@dataclass
class Config:
    root: str = "data/butterflies"
    out: str = "runs/butterflies"
    size: int = 128
    batch_size: int = 64
    epochs: int = 40
    warmup_epochs: int = 3
    lr: float = 0.1
    weight_decay: float = 5e-4
    dropout: float = 0.2
    workers: int = 4
    seed: int = 17
    resume: bool = False


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.short = nn.Identity()
        if stride != 1 or before != after:
            self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.short(x))


class ButterflyNet(nn.Module):
    def __init__(self, classes, dropout):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        widths = [32, 64, 128, 256]
        self.blocks = nn.ModuleList(
            [Block(a, b, 2) for a, b in zip(widths[:-1], widths[1:])]
        )
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(widths[-1], classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = x.mean(dim=(2, 3))
        x = self.dropout(x)
        return self.head(x)


class Trainer:
    def __init__(self, config):
        self.config = config
        set_seed(config.seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train_loader, self.val_loader, self.species = make_loaders(config)
        self.model = ButterflyNet(len(self.species), config.dropout).to(self.device)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=config.lr, momentum=0.9,
                                         weight_decay=config.weight_decay, nesterov=True)
        warmup = LinearLR(self.optimizer, start_factor=0.1, total_iters=config.warmup_epochs)
        cosine = CosineAnnealingLR(self.optimizer, T_max=config.epochs - config.warmup_epochs)
        self.scheduler = SequentialLR(self.optimizer, [warmup, cosine], milestones=[config.warmup_epochs])
        self.first_epoch = 0
        self.best = 0.0
        os.makedirs(config.out, exist_ok=True)
        if config.resume:
            self.load(os.path.join(config.out, "last.pt"))

    def load(self, path):
        state = torch.load(path, map_location=self.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.first_epoch = state["epoch"] + 1
        self.best = state["best"]

    def save(self, name, epoch):
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "epoch": epoch,
            "best": self.best,
        }
        torch.save(state, os.path.join(self.config.out, name))

    def train_epoch(self):
        self.model.train()
        total, seen = 0.0, 0
        for images, labels in self.train_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            self.optimizer.zero_grad()
            logits = self.model(images)
            loss = self.criterion(logits, labels)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            total += loss.item() * labels.size(0)
            seen += labels.size(0)
        return total / seen

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total, right, seen = 0.0, 0, 0
        for images, labels in self.val_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            logits = self.model(images)
            total += F.cross_entropy(logits, labels, reduction="sum").item()
            right += (logits.argmax(dim=1) == labels).sum().item()
            seen += labels.size(0)
        return total / seen, right / seen

    def fit(self):
        for epoch in range(self.first_epoch, self.config.epochs):
            train_loss = self.train_epoch()
            val_loss, accuracy = self.evaluate()
            self.scheduler.step()
            print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f} accuracy {accuracy:.4f}")
            if accuracy > self.best:
                self.best = accuracy
                self.save("best.pt", epoch)
            self.save("last.pt", epoch)
        best = torch.load(os.path.join(self.config.out, "best.pt"), map_location=self.device)
        self.model.load_state_dict(best["model"])
        val_loss, accuracy = self.evaluate()
        print(f"best weights: val {val_loss:.4f} accuracy {accuracy:.4f}")


if __name__ == "__main__":
    Trainer(Config()).fit()
