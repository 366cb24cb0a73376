# Strength of concrete from its mix and age (synthetic lab records), small MLP.
import copy
import json
import math
import time
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

COLUMNS = ["cement", "slag", "ash", "water", "plasticizer", "coarse", "fine", "age", "temp"]


@dataclass
class HParams:
    rows: int = 7200
    hidden: int = 24
    depth: int = 2
    dropout: float = 0.0
    lr: float = 8e-3
    weight_decay: float = 1e-4
    batch_size: int = 128
    max_epochs: int = 80
    patience: int = 8
    seed: int = 5


def lab_records(n, seed=0):
    """Mix in kg/m3, age in days, curing temperature in C -> compressive strength in MPa. By age."""
    rng = np.random.default_rng(seed)
    cement = np.clip(rng.normal(290, 85, n), 120, 560)
    slag = np.where(rng.random(n) < 0.5, 0.0, rng.gamma(4, 30, n))
    ash = np.where(rng.random(n) < 0.55, 0.0, rng.gamma(5, 18, n))
    water = rng.normal(182, 18, n)
    plasticizer = np.where(rng.random(n) < 0.4, 0.0, rng.gamma(4, 1.8, n))
    coarse = rng.normal(972, 75, n)
    fine = rng.normal(773, 78, n)
    age = rng.choice([1, 3, 7, 14, 28, 56, 90, 180], n, p=[0.08, 0.12, 0.16, 0.12, 0.3, 0.1, 0.07, 0.05])
    age = np.sort(age)
    temp = rng.normal(20, 4, n)
    binder = cement + 0.8 * slag + 0.5 * ash
    ratio = water * (1 - 0.012 * plasticizer) / binder
    cured = np.log1p(age * np.exp(0.04 * (temp - 20))) / np.log(29)
    strength = 118 * np.exp(-2.1 * ratio) * cured ** (0.9 + 0.3 * (slag > 0)) - 0.012 * (coarse - 972)
    strength = np.clip(strength + rng.normal(0, 2.4, n), 2, None)
    x = np.stack([cement, slag, ash, water, plasticizer, coarse, fine, age, temp], axis=1)
    return x.astype(np.float32), strength.astype(np.float32)


def build_mlp(n_in, hp):
    layers, width = [], n_in
    for _ in range(hp.depth):
        layers += [nn.Linear(width, hp.hidden), nn.ReLU(), nn.Dropout(hp.dropout)]
        width = hp.hidden
    net = nn.Sequential(*layers, nn.Linear(width, 1))
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
            nn.init.zeros_(m.bias)
    return net


def prepare(x):
    x = x.copy()
    age = COLUMNS.index("age")
    x[:, age] = np.log(x[:, age])
    return x


class Regressor:
    def __init__(self, hp):
        self.hp = hp
        self.net = build_mlp(len(COLUMNS), hp)
        self.loss_fn = nn.MSELoss()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)

    def train_epoch(self, loader):
        self.net.train()
        losses = []
        for xb, yb in loader:
            pred = self.net(xb).squeeze(-1)
            loss = self.loss_fn(pred, yb)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    @torch.no_grad()
    def evaluate(self, x, y, unit):
        self.net.eval()
        pred = self.net(x).squeeze(-1)
        return self.loss_fn(pred, y).item(), (pred - y).abs().mean().item() * unit


def main():
    hp = HParams()
    torch.manual_seed(hp.seed)
    rng = np.random.default_rng(hp.seed)
    with open("hparams.json", "w") as f:
        json.dump(asdict(hp), f, indent=2)

    x, y = lab_records(hp.rows)
    order = rng.permutation(len(y))
    x, y = x[order], y[order]
    n_test = n_val = len(y) // 6
    test, val, train = np.split(np.arange(len(y)), [n_test, n_test + n_val])

    x[train] = prepare(x[train])
    x_mean, x_std = x[train].mean(0), x[train].std(0)
    y_mean, y_std = float(y[train].mean()), float(y[train].std())
    x, y = (x - x_mean) / x_std, (y - y_mean) / y_std
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    loader = DataLoader(TensorDataset(x[train], y[train]), batch_size=hp.batch_size, shuffle=True)

    model = Regressor(hp)
    best, best_state, waited = math.inf, None, 0
    log = open("log.jsonl", "w")
    for epoch in range(hp.max_epochs):
        start = time.perf_counter()
        train_loss = model.train_epoch(loader)
        val_loss, val_mae = model.evaluate(x[val], y[val], y_std)
        row = {"epoch": epoch, "train_loss": round(train_loss, 5), "val_loss": round(val_loss, 5)}
        row |= {"val_mae": round(val_mae, 3), "seconds": round(time.perf_counter() - start, 2)}
        log.write(json.dumps(row) + "\n")
        log.flush()
        if val_loss < best:
            best, waited = val_loss, 0
            best_state = copy.deepcopy(model.net.state_dict())
        else:
            waited += 1
            if waited >= hp.patience:
                break

    model.net.load_state_dict(best_state)
    test_loss, test_mae = model.evaluate(x[test], y[test], y_std)
    log.write(json.dumps({"test_loss": round(test_loss, 5), "test_mae": round(test_mae, 4)}) + "\n")
    log.close()


if __name__ == "__main__":
    main()
