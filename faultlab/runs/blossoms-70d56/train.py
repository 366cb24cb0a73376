"""Train a small CNN on flower pictures.

    python train.py --epochs 18 --lr 0.02
    tensorboard --logdir runs
"""

import argparse
import json
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter

import flowers


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=18)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--lr-step", type=int, default=7)
    parser.add_argument("--gamma", type=float, default=0.2)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--n-train", type=int, default=1000)
    parser.add_argument("--n-val", type=int, default=300)
    parser.add_argument("--seed", type=int, default=11)
    return parser.parse_args()


class FlowerDataset(Dataset):
    def __init__(self, images, labels, train):
        self.images = images
        self.labels = labels
        self.train = train
        self.mean = torch.tensor([0.362, 0.417, 0.243]).view(3, 1, 1)
        self.std = torch.tensor([0.246, 0.173, 0.195]).view(3, 1, 1)

    def __len__(self):
        return len(self.images)

    def augment(self, image):
        if random.random() < 0.5:
            image = image.flip(2)
        if random.random() < 0.5:
            image = image.flip(1)
        shift = (random.randint(-2, 2), random.randint(-2, 2))
        image = torch.roll(image, shift, dims=(1, 2))
        return (image * random.uniform(0.85, 1.15)).clamp(0, 1)

    def __getitem__(self, idx):
        image = torch.from_numpy(self.images[idx]).permute(2, 0, 1).float() / 255.0
        if self.train:
            image = self.augment(image)
        image = (image - self.mean) / self.std
        return image, int(self.labels[idx])


class FlowerNet(nn.Module):
    def __init__(self, num_classes, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(24)
        self.conv3 = nn.Conv2d(24, 32, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(dropout)
        self.fc1 = nn.Linear(32 * 3 * 3, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.pool(self.relu(self.bn2(self.conv2(x))))
        x = self.pool(self.relu(self.bn3(self.conv3(x))))
        x = torch.flatten(x, 1)
        x = self.drop(self.relu(self.fc1(x)))
        return self.fc2(x)


def run_epoch(model, loader, loss_fn, optimizer=None):
    loss_sum, hits, seen = 0.0, 0, 0
    for x, y in loader:
        logits = model(x)
        loss = loss_fn(logits, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_sum += loss.item() * len(y)
        hits += (logits.argmax(dim=1) == y).sum().item()
        seen += len(y)
    return loss_sum / seen, hits / seen


def main():
    args = parse_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    json.dump(vars(args), open("args.json", "w"), indent=2)

    train_images, train_labels = flowers.load("train", args.n_train)
    val_images, val_labels = flowers.load("val", args.n_val)
    train_set = FlowerDataset(train_images, train_labels, train=True)
    val_set = FlowerDataset(val_images, val_labels, train=False)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=100)

    model = FlowerNet(len(flowers.SPECIES), args.dropout)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=args.lr_step, gamma=args.gamma)
    writer = SummaryWriter("runs/flowernet")

    for epoch in range(args.epochs):
        model.train()
        train_loss, train_acc = run_epoch(model, train_loader, loss_fn, optimizer)
        model.eval()
        with torch.no_grad():
            val_loss, val_acc = run_epoch(model, val_loader, loss_fn)
        writer.add_scalar("Loss/train", train_loss, epoch)
        writer.add_scalar("Loss/val", val_loss, epoch)
        writer.add_scalar("Accuracy/train", train_acc, epoch)
        writer.add_scalar("Accuracy/val", val_acc, epoch)
        writer.add_scalar("lr", optimizer.param_groups[0]["lr"], epoch)
        scheduler.step()
        print(f"[{epoch + 1}/{args.epochs}] loss {train_loss:.4f} acc {train_acc:.3f} val {val_loss:.4f} {val_acc:.3f}")

    torch.save(model.state_dict(), "flowernet.pt")
    writer.close()


if __name__ == "__main__":
    main()
