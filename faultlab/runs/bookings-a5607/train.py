"""Which bookings will be cancelled? Embeddings for the categories, a small MLP on top."""

import csv
import logging

import numpy as np
import torch
import torch.nn as nn
import yaml
from torch.utils.data import DataLoader, TensorDataset

from data import write_csv

logging.basicConfig(
    filename="train.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
)
log = logging.getLogger("bookings")

LABELS = {"stayed": 0, "cancelled": 1}


def read_bookings(path, categorical, numeric):
    with open(path, newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["status"] in LABELS]
    cats = np.array([[row[c] for c in categorical] for row in rows])
    nums = np.array([[float(row[c] or "nan") for c in numeric] for row in rows], dtype=np.float32)
    target = np.array([LABELS[row["status"]] for row in rows], dtype=np.float32)
    return cats, nums, target


class Preprocessor:
    """Category codes (0 is for unseen ones), medians, means and deviations of the training rows."""

    def fit(self, cats, nums):
        self.codes = [{v: i for i, v in enumerate(sorted(set(col)), start=1)} for col in cats.T]
        self.median = np.nanmedian(nums, axis=0)
        filled = self.fill(nums)
        self.mean = filled.mean(axis=0)
        self.std = filled.std(axis=0)
        return self

    def fill(self, nums):
        return np.where(np.isnan(nums), self.median, nums)

    def transform(self, cats, nums):
        ids = [[code.get(v, 0) for v in col] for code, col in zip(self.codes, cats.T)]
        scaled = (self.fill(nums) - self.mean) / self.std
        return torch.tensor(ids).T, torch.tensor(scaled, dtype=torch.float32)

    @property
    def cardinalities(self):
        return [len(code) + 1 for code in self.codes]


class TabularNet(nn.Module):
    def __init__(self, cardinalities, n_numeric, hidden, dropout):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(c, min(6, (c + 1) // 2)) for c in cardinalities])
        width = sum(e.embedding_dim for e in self.embeddings) + n_numeric
        layers = []
        for size in hidden:
            layers += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(dropout)]
            width = size
        self.mlp = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)

    def forward(self, cats, nums):
        parts = [emb(cats[:, i]) for i, emb in enumerate(self.embeddings)]
        x = torch.cat([*parts, nums], dim=1)
        return self.out(self.mlp(x))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for cats, nums, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(cats, nums).squeeze(1), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, cats, nums, target, criterion):
    model.eval()
    logits = model(cats, nums).squeeze(1)
    accuracy = ((logits > 0).float() == target).float().mean().item()
    return criterion(logits, target).item(), accuracy


def main():
    cfg = yaml.safe_load(open("config.yaml"))
    data, optim = cfg["data"], cfg["optim"]
    torch.manual_seed(cfg["seed"])
    rng = np.random.default_rng(cfg["seed"])
    log.info("config: %s", cfg)

    write_csv(data["path"], data["rows"])
    cats, nums, target = read_bookings(data["path"], data["categorical"], data["numeric"])
    is_val = rng.random(len(target)) < data["val_share"]
    prep = Preprocessor().fit(cats[~is_val], nums[~is_val])
    train_cats, train_nums = prep.transform(cats[~is_val], nums[~is_val])
    val_cats, val_nums = prep.transform(cats[is_val], nums[is_val])
    train_target, val_target = torch.from_numpy(target[~is_val]), torch.from_numpy(target[is_val])
    log.info("%d rows to train on, %d held out", len(train_target), len(val_target))

    train_set = TensorDataset(train_cats, train_nums, train_target)
    loader = DataLoader(train_set, batch_size=optim["batch_size"], shuffle=True)
    model = TabularNet(prep.cardinalities, len(data["numeric"]), **cfg["model"])
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=optim["lr"], weight_decay=optim["weight_decay"])

    best = float("inf")
    for epoch in range(1, optim["epochs"] + 1):
        train_loss = train_epoch(model, loader, criterion, optimizer)
        val_loss, val_acc = evaluate(model, val_cats, val_nums, val_target, criterion)
        log.info(
            "epoch %d/%d train_loss=%.4f val_loss=%.4f val_acc=%.4f",
            epoch, optim["epochs"], train_loss, val_loss, val_acc,
        )
        if val_loss < best:
            best = val_loss
            torch.save(model.state_dict(), "best.pt")
    log.info("done, best val_loss %.4f", best)


if __name__ == "__main__":
    main()
