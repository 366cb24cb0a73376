import logging
import math
import sys

import numpy as np
import torch
import torch.nn as nn
import yaml

import spray

log = logging.getLogger("surrogate")


class Standardizer:
    """Zero mean and unit variance; strictly positive, wide-range quantities go through a logarithm first."""

    def __init__(self, table, log_columns=()):
        self.log_columns = list(log_columns)
        z = self._squash(table)
        self.mean, self.scale = z.mean(axis=0), z.std(axis=0)

    def _squash(self, table):
        z = np.array(table, dtype=np.float64)
        z[:, self.log_columns] = np.log10(z[:, self.log_columns])
        return z

    def forward(self, table):
        return torch.tensor((self._squash(table) - self.mean) / self.scale, dtype=torch.float32)

    def inverse(self, z):
        table = z.numpy() * self.scale + self.mean
        table[:, self.log_columns] = 10.0 ** table[:, self.log_columns]
        return table


ACTIVATIONS = {"silu": nn.SiLU, "tanh": nn.Tanh, "relu": nn.ReLU}


def build(cfg):
    sizes = [len(spray.INPUTS), *cfg["hidden"]]
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), ACTIVATIONS[cfg["activation"]]()]
    layers.append(nn.Linear(sizes[-1], len(spray.OUTPUTS)))
    return nn.Sequential(*layers)


class Campaign:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.set_num_threads(1)
        torch.manual_seed(cfg["seed"])
        rng = np.random.default_rng(cfg["seed"])
        X = spray.design_space(cfg["data"]["designs"], rng)
        Y = spray.solve(X, rng, cfg["data"]["noise"])
        n_test = int(len(X) * cfg["data"]["test_fraction"])
        perm = rng.permutation(len(X))
        test, train = perm[:n_test], perm[n_test:]
        self.sx = Standardizer(X[train], log_columns=(0, 1, 2))
        self.sy = Standardizer(Y[train], log_columns=(0, 1))
        self.x, self.y = self.sx.forward(X[train]), self.sy.forward(Y[train])
        self.xt, self.yt = self.sx.forward(X[test]), self.sy.forward(Y[test])
        self.truth = Y[test]
        self.net = build(cfg["net"])
        o = cfg["optim"]
        self.batch = o["batch_size"]
        self.opt = torch.optim.Adam(self.net.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])
        self.criterion = nn.MSELoss()

    def set_rate(self, epoch):
        o = self.cfg["optim"]
        t = epoch / max(1, o["epochs"] - 1)
        rate = o["lr"]
        if o["lr_decay"] == "cosine":
            rate = o["min_lr"] + 0.5 * (o["lr"] - o["min_lr"]) * (1 + math.cos(math.pi * t))
        for group in self.opt.param_groups:
            group["lr"] = rate
        return rate

    def epoch(self):
        self.net.train()
        total, seen = 0.0, 0
        for rows in torch.randperm(len(self.x)).split(self.batch):
            residual = self.criterion(self.net(self.x[rows]), self.y[rows])
            self.opt.zero_grad()
            residual.backward()
            self.opt.step()
            total += residual.item() * len(rows)
            seen += len(rows)
        return total / seen

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        guess = self.net(self.xt)
        mse = self.criterion(guess, self.yt).item()
        physical = self.sy.inverse(guess)
        mape = 100 * np.abs(physical / self.truth - 1).mean(axis=0)
        return mse, mape

    def run(self):
        epochs = self.cfg["optim"]["epochs"]
        log.info("%s: %d designs, %d parameters", self.cfg["run"], len(self.x), sum(p.numel() for p in self.net.parameters()))
        log.info("%5s | %10s | %10s | %8s %8s %8s | %9s", "epoch", "train mse", "test mse", "flow %", "smd %", "cone %", "rate")
        log.info("-" * 78)
        for e in range(epochs):
            rate = self.set_rate(e)
            train = self.epoch()
            test, mape = self.validate()
            if e % self.cfg["report_every"] == 0 or e == epochs - 1:
                log.info("%5d | %10.6f | %10.6f | %8.2f %8.2f %8.2f | %9.2e", e + 1, train, test, *mape, rate)


if __name__ == "__main__":
    with open(sys.argv[1] if len(sys.argv) > 1 else "config.yaml") as fh:
        settings = yaml.safe_load(fh)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(message)s",
        datefmt="%H:%M:%S",
        handlers=[logging.StreamHandler(), logging.FileHandler(settings["run"] + ".log", mode="w")],
    )
    Campaign(settings).run()
