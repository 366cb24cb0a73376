#!/usr/bin/env python
"""Fit quantiles of bearing life. Example: python fit.py --epochs 18 --lr 2e-3"""

import argparse
import time

import numpy as np
import torch

from fleet import GREASES, simulate, split
from quantnet import QuantNet, pinball


def get_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--n-machines", type=int, default=2400)
    p.add_argument("--epochs", type=int, default=18)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--wd", type=float, default=1e-4)
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--p-drop", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--taus", type=float, nargs="+", default=[0.1, 0.5, 0.9])
    p.add_argument("--seed", type=int, default=11)
    p.add_argument("--out", default="history.tsv")
    return p.parse_args()


def load(args, rng):
    x, g, hours = simulate(args.n_machines, rng)
    y = np.log(hours)
    tr, te = split(len(y), rng)
    mu, sd = np.nanmean(x[tr], 0), np.nanstd(x[tr], 0)
    x = (x - mu) / sd
    as_tensors = lambda idx: (torch.from_numpy(x[idx]), torch.from_numpy(g[idx]), torch.from_numpy(y[idx]))
    return as_tensors(tr), as_tensors(te)


def evaluate(net, data, taus):
    num, grease, y = data
    net.eval()
    with torch.no_grad():
        q = net(num, grease)
    loss = pinball(q, y, taus).item()
    mae = (q[:, 1] - y).abs().mean().item()
    inside = ((y >= q[:, 0]) & (y <= q[:, -1])).float().mean().item()
    return loss, mae, inside


def main():
    args = get_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train, test = load(args, rng)
    taus = torch.tensor(args.taus)

    net = QuantNet(train[0].shape[1], len(GREASES), args.width, len(args.taus), args.p_drop)
    net.head.bias.data[0] = train[2].mean() - 1.0
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=args.wd)
    n = len(train[2])
    per_epoch = n // args.batch
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=args.lr, total_steps=args.epochs * per_epoch)

    out = open(args.out, "w")
    print("epoch", "pinball", "pinball_holdout", "mae_log_h", "coverage80", "gnorm", "lr", "sec", sep="\t", file=out)
    t0 = time.time()
    for epoch in range(1, args.epochs + 1):
        net.train()
        order = torch.randperm(n)
        running, norms = 0.0, 0.0
        for b in range(per_epoch):
            idx = order[b * args.batch : (b + 1) * args.batch]
            num, grease, y = (t[idx] for t in train)
            opt.zero_grad()
            q = net(num, grease)
            loss = pinball(q, y, taus)
            loss.backward()
            norms += torch.nn.utils.clip_grad_norm_(net.parameters(), args.clip).item()
            opt.step()
            sched.step()
            running += loss.item()
        hold, mae, cover = evaluate(net, test, taus)
        row = [running / per_epoch, hold, mae, cover, norms / per_epoch]
        print(
            epoch, *(f"{v:.5f}" for v in row), f"{opt.param_groups[0]['lr']:.3e}", f"{time.time() - t0:.1f}",
            sep="\t", file=out, flush=True,
        )
    out.close()
    print(f"done: holdout pinball {hold:.4f}, 80% interval covers {100 * cover:.1f}%")


if __name__ == "__main__":
    main()
