import csv
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, Dataset

from shapes import CLASSES, make_split

cfg = {
    "seed": 3,
    "n_train": 960,
    "n_val": 320,
    "batch_size": 48,
    "epochs": 30,
    "lr": 0.05,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "width": 12,
    "dropout": 0.1,
    "crop_padding": 2,
    "mean": [0.497, 0.500, 0.508],
    "std": [0.212, 0.215, 0.214],
}


class Pictures(Dataset):
    def __init__(self, images, labels, augment=False):
        x = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
        mean = torch.tensor(cfg["mean"]).view(3, 1, 1)
        std = torch.tensor(cfg["std"]).view(3, 1, 1)
        self.images = (x - mean) / std
        self.labels = torch.from_numpy(labels)
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        if self.augment:
            if random.random() < 0.5:
                img = img.flip(2)
            p = cfg["crop_padding"]
            top, left = random.randint(0, 2 * p), random.randint(0, 2 * p)
            size = img.shape[-1]
            img = F.pad(img, (p, p, p, p), mode="replicate")[:, top : top + size, left : left + size]
        return img, self.labels[i]


def conv_block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(inplace=True),
    )


class SmallCNN(nn.Module):
    def __init__(self, num_classes, width, dropout):
        super().__init__()
        self.features = nn.Sequential(
            conv_block(3, width),
            nn.MaxPool2d(2),
            conv_block(width, 2 * width),
            nn.MaxPool2d(2),
            conv_block(2 * width, 4 * width),
        )
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(4 * width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.features(x)
        x = x.amax(dim=(2, 3))
        return self.fc(self.dropout(x))


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total, correct, loss_sum = 0, 0, 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * labels.size(0)
        correct += (outputs.argmax(1) == labels).sum().item()
        total += labels.size(0)
    return loss_sum / total, correct / total


@torch.no_grad()
def validate(model, loader, criterion):
    model.eval()
    total, correct, loss_sum = 0, 0, 0.0
    for images, labels in loader:
        outputs = model(images)
        loss_sum += criterion(outputs, labels).item() * labels.size(0)
        correct += (outputs.argmax(1) == labels).sum().item()
        total += labels.size(0)
    return loss_sum / total, correct / total


def main():
    random.seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    with open("config.yaml", "w") as f:
        yaml.safe_dump(cfg, f, sort_keys=False)

    x_train, y_train = make_split(cfg["n_train"], seed=10)
    x_val, y_val = make_split(cfg["n_val"], seed=11)
    train_loader = DataLoader(Pictures(x_train, y_train, augment=True), cfg["batch_size"], shuffle=True)
    val_loader = DataLoader(Pictures(x_val, y_val), 80)

    model = SmallCNN(len(CLASSES), cfg["width"], cfg["dropout"])
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=cfg["lr"], momentum=cfg["momentum"], weight_decay=cfg["weight_decay"]
    )
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)

    best_acc = 0.0
    with open("metrics.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["epoch", "lr", "train_loss", "train_acc", "val_loss", "val_acc"])
        for epoch in range(1, cfg["epochs"] + 1):
            lr = optimizer.param_groups[0]["lr"]
            train_loss, train_acc = train_one_epoch(model, train_loader, criterion, optimizer)
            val_loss, val_acc = validate(model, val_loader, criterion)
            scheduler.step()
            writer.writerow(
                [epoch, f"{lr:.6f}", f"{train_loss:.4f}", f"{train_acc:.4f}", f"{val_loss:.4f}", f"{val_acc:.4f}"]
            )
            f.flush()
            print(f"Epoch {epoch:2d}: train {train_loss:.4f}/{train_acc:.3f} val {val_loss:.4f}/{val_acc:.3f}")
            if val_acc > best_acc:
                best_acc = val_acc
                torch.save(model.state_dict(), "best.pt")
    print(f"best val acc: {best_acc:.4f}")


if __name__ == "__main__":
    main()
