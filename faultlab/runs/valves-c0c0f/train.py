"""Tell the state of a control valve from one row of its sensors (MLP, plain PyTorch)."""

import argparse
import csv
import json
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from make_data import STATES, write_csv

FEATURES = ["inlet_bar", "outlet_bar", "temp_c", "flow_lpm", "stroke_mm", "motor_ma", "vibration_mg", "cycles"]


def read_table(path):
    """The numeric columns (N, 8) and the state of each valve."""
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    x = np.array([[float(row[name]) for name in FEATURES] for row in rows], dtype=np.float32)
    y = np.array([STATES.index(row["state"]) for row in rows])
    return x, y


def split(x, y, test_share, seed):
    order = np.random.RandomState(seed).permutation(len(x))
    n_test = int(test_share * len(x))
    test, train = order[:n_test], order[n_test:]
    return x[train], y[train], x[test], y[test]


class Standardizer:
    def fit(self, x):
        self.mean = x.mean(axis=0)
        self.std = x.std(axis=0) + 1e-8
        return self

    def transform(self, x):
        return (x - self.mean) / self.std


class ValveNet(nn.Module):
    def __init__(self, n_in, n_hidden, n_out, dropout):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, n_hidden),
            nn.BatchNorm1d(n_hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(n_hidden, n_hidden),
            nn.BatchNorm1d(n_hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(n_hidden, n_out),
        )

    def forward(self, x):
        return self.layers(x)


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total_loss, correct, seen = 0.0, 0, 0
    for xb, yb in loader:
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(xb)
        correct += (out.argmax(1) == yb).sum().item()
        seen += len(xb)
    return total_loss / seen, correct / seen


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total_loss, correct, seen = 0.0, 0, 0
    for xb, yb in loader:
        out = model(xb)
        total_loss += criterion(out, yb).item() * len(xb)
        correct += (out.argmax(1) == yb).sum().item()
        seen += len(xb)
    return total_loss / seen, correct / seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=None, help="valves.csv (a simulated one if left out)")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--weight_decay", type=float, default=1.0)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    with tempfile.TemporaryDirectory() as scratch:
        path = args.data or os.path.join(scratch, "valves.csv")
        if args.data is None:
            write_csv(path)
        x, y = read_table(path)
    x_train, y_train, x_test, y_test = split(x, y, test_share=0.2, seed=0)
    scaler = Standardizer().fit(x_train)
    x_train = scaler.transform(x_train)
    x_test = scaler.transform(x_test)

    train_set = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
    test_set = TensorDataset(torch.from_numpy(x_test), torch.from_numpy(y_test))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=256)

    model = ValveNet(len(FEATURES), args.hidden, len(STATES), args.dropout)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)

    history = []
    for epoch in range(1, args.epochs + 1):
        train_loss, train_acc = train_epoch(model, train_loader, criterion, optimizer)
        test_loss, test_acc = evaluate(model, test_loader, criterion)
        lr = optimizer.param_groups[0]["lr"]
        scheduler.step()
        history.append(dict(epoch=epoch, lr=round(lr, 8), loss=round(train_loss, 5), acc=round(train_acc, 4),
                            val_loss=round(test_loss, 5), val_acc=round(test_acc, 4)))
        print(f"[{epoch:3d}/{args.epochs}] loss {train_loss:.4f} acc {train_acc:.3f} "
              f"val_loss {test_loss:.4f} val_acc {test_acc:.3f}")

    with open("history.csv", "w", newline="") as f:
        writer = csv.DictWriter(f, fieldnames=history[0])
        writer.writeheader()
        writer.writerows(history)
    with open("args.json", "w") as f:
        json.dump(vars(args), f, indent=2)


if __name__ == "__main__":
    main()
