"""Predict the volume of a loaf from its recipe (MLP with embeddings); parameters and metrics go to MLflow."""

import argparse
import os

import mlflow
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bakery import FLOURS, NUMERIC, OVENS, Scaler, bake, tensors


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float, default=0.5)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=3)
    return parser.parse_args()


class LoafModel(nn.Module):
    def __init__(self, hidden, dropout):
        super().__init__()
        self.flour = nn.Embedding(len(FLOURS), 4)
        self.oven = nn.Embedding(len(OVENS), 4)
        self.body = nn.Sequential(
            nn.Linear(len(NUMERIC) + 8, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, cats):
        h = torch.cat([x, self.flour(cats[:, 0]), self.oven(cats[:, 1])], dim=1)
        return self.out(self.body(h)).squeeze(1)


def prepare(rows):
    x_train, c_train, y_train = bake(rows, seed=10)
    x_val, c_val, y_val = bake(1000, seed=11)
    scale_x = Scaler(x_train)
    scale_y = Scaler(y_train)
    x_train, x_val = scale_x(x_train), scale_x(x_val)
    train_set = TensorDataset(*tensors(x_train, c_train, scale_y(y_train)))
    val_set = TensorDataset(*tensors(x_val, c_val, scale_y(y_val)))
    return train_set, val_set, scale_y


def fit(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, cats, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x, cats), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader, criterion, scale_y):
    model.eval()
    total, error = 0.0, 0.0
    for x, cats, y in loader:
        pred = model(x, cats)
        total += criterion(pred, y).item() * len(y)
        error += (scale_y.back(pred) - scale_y.back(y)).abs().sum().item()
    return total / len(loader.dataset), error / len(loader.dataset)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    train_set, val_set, scale_y = prepare(args.rows)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=250)

    model = LoafModel(args.hidden, args.dropout)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.93)

    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri("file:./mlruns")
    mlflow.set_experiment("loaf-volume")
    with mlflow.start_run():
        mlflow.log_params(vars(args))
        for epoch in range(args.epochs):
            train_loss = fit(model, train_loader, criterion, optimizer)
            val_loss, val_mae = evaluate(model, val_loader, criterion, scale_y)
            lr = scheduler.get_last_lr()[0]
            scheduler.step()
            mlflow.log_metrics(
                {"train_loss": train_loss, "val_loss": val_loss, "val_mae_ml": val_mae, "lr": lr}, step=epoch
            )


if __name__ == "__main__":
    main()
