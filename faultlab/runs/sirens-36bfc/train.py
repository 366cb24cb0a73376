"""Train a small CNN on spectrograms of warning sounds; metrics go to DVCLive."""

import torch
import torch.nn.functional as F
from dvclive import Live
from torch import nn
from torch.utils.data import DataLoader

from sounds import KINDS, Sounds

params = {
    "seed": 7,
    "epochs": 2,
    "batch_size": 32,
    "lr": 0.002,
    "weight_decay": 0.01,
    "dropout": 0.3,
    "width": 10,
}


def block(n_in, n_out):
    return nn.Sequential(nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.ReLU(), nn.MaxPool2d(2))


class SoundNet(nn.Module):
    def __init__(self, width, dropout, n_classes):
        super().__init__()
        self.features = nn.Sequential(block(1, width), block(width, 2 * width), block(2 * width, 4 * width))
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(4 * width, n_classes)

    def forward(self, x):
        h = self.features(x).mean(dim=(2, 3))
        return self.head(self.dropout(h))


def train_one_epoch(model, loader, optimizer):
    model.train()
    loss_sum, right, n = 0.0, 0, 0
    for x, y in loader:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(y)
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return loss_sum / n, right / n


@torch.no_grad()
def validate(model, loader):
    model.eval()
    loss_sum, right, n = 0.0, 0, 0
    for x, y in loader:
        logits = model(x)
        loss_sum += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return loss_sum / n, right / n


def main():
    torch.manual_seed(params["seed"])
    train_set = Sounds(140, seed=1, augment=True)
    val_set = Sounds(40, seed=2)
    mean, std = train_set.x.mean(), train_set.x.std()
    train_set.normalise(mean, std)
    val_set.normalise(mean, std)
    train_loader = DataLoader(train_set, params["batch_size"], shuffle=True)
    val_loader = DataLoader(val_set, 90)

    model = SoundNet(params["width"], params["dropout"], len(KINDS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=params["lr"], weight_decay=params["weight_decay"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, params["epochs"])

    with Live(save_dvc_exp=False, report=None) as live:
        live.log_params(params)
        for epoch in range(params["epochs"]):
            train_loss, train_acc = train_one_epoch(model, train_loader, optimizer)
            val_loss, val_acc = validate(model, val_loader)
            live.log_metric("train/loss", train_loss)
            live.log_metric("train/accuracy", train_acc)
            live.log_metric("val/loss", val_loss)
            live.log_metric("val/accuracy", val_acc)
            live.log_metric("lr", scheduler.get_last_lr()[0])
            scheduler.step()
            live.next_step()


if __name__ == "__main__":
    main()
