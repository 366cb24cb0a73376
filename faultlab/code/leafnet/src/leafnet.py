"""Leaf disease classification with a small ResNet.

    python leafnet.py --data leaves/ --out runs/r1
    python leafnet.py --data leaves/ --out runs/r1 --resume runs/r1/last.pt
"""
import argparse
import json
import math
import os
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as T

MEAN = (0.466, 0.489, 0.410)
STD = (0.195, 0.170, 0.213)


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="leaves")
    p.add_argument("--out", default="runs/debug")
    p.add_argument("--arch-width", type=int, default=32)
    p.add_argument("--size", type=int, default=96)
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--warmup", type=int, default=3, help="in epochs")
    p.add_argument("--bs", type=int, default=128)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--wd", type=float, default=5e-4)
    p.add_argument("--mixup", type=float, default=0.2)
    p.add_argument("--val-frac", type=float, default=0.1)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--amp", action="store_true", default=True)
    p.add_argument("--init-from", default="", help="backbone checkpoint (saved from DataParallel)")
    p.add_argument("--resume", default="")
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        skip = x if self.down is None else self.down(x)
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out = out + skip
        return F.relu(out)


class LeafNet(nn.Module):
    def __init__(self, n_cls, w=32, depths=(2, 2, 2, 2)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, w, 3, 1, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(inplace=True))
        stages, cin = [], w
        for i, d in enumerate(depths):
            cout = w * 2**i
            for j in range(d):
                stages.append(Block(cin, cout, 2 if i > 0 and j == 0 else 1))
                cin = cout
        self.body = nn.Sequential(*stages)
        self.fc = nn.Linear(cin, n_cls)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def forward(self, x):
        h = self.body(self.stem(x))
        h = h.mean(dim=(2, 3))
        return self.fc(h)


def make_loaders(args):
    tf_tr = T.Compose([
        T.RandomResizedCrop(args.size, scale=(0.5, 1.0)),
        T.RandomHorizontalFlip(),
        T.ColorJitter(0.2, 0.2, 0.1),
        T.ToTensor(),
        T.Normalize(MEAN, STD),
    ])
    tf_va = T.Compose([
        T.Resize(int(args.size * 1.15)),
        T.CenterCrop(args.size),
        T.ToTensor(),
        T.Normalize(MEAN, STD),
    ])
    base_tr = datasets.ImageFolder(args.data, tf_tr)
    base_va = datasets.ImageFolder(args.data, tf_va)
    order = np.random.RandomState(0).permutation(len(base_tr))
    n_val = int(len(order) * args.val_frac)
    va_idx, tr_idx = order[:n_val], np.sort(order[n_val:])
    tr = DataLoader(Subset(base_tr, tr_idx), args.bs, shuffle=True, num_workers=args.workers,
                    pin_memory=True, drop_last=True)
    va = DataLoader(Subset(base_va, va_idx), args.bs * 2, num_workers=args.workers, pin_memory=True)
    return tr, va, len(base_tr.classes)


def load_backbone(net, path):
    sd = torch.load(path, map_location="cpu")
    sd = {k[len("module."):] if k.startswith("module.") else k: v for k, v in sd.items()}
    sd = {k: v for k, v in sd.items() if not k.startswith("fc.")}
    res = net.load_state_dict(sd, strict=False)
    print("backbone loaded, missing:", res.missing_keys)


def mix(x, y, alpha):
    lam = float(np.random.beta(alpha, alpha)) if alpha > 0 else 1.0
    perm = torch.randperm(x.size(0), device=x.device)
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


@torch.no_grad()
def evaluate(net, loader, dev):
    net.eval()
    hit, n, loss = 0, 0, 0.0
    for x, y in loader:
        x, y = x.to(dev, non_blocking=True), y.to(dev, non_blocking=True)
        out = net(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hit += (out.argmax(1) == y).sum().item()
        n += y.numel()
    return loss / n, 100.0 * hit / n


def main():
    args = get_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    use_amp = args.amp and dev == "cuda"

    tr, va, n_cls = make_loaders(args)
    net = LeafNet(n_cls, args.arch_width)
    if args.init_from:
        load_backbone(net, args.init_from)
    net = net.to(dev)
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=args.wd)

    total, warm = args.epochs * len(tr), args.warmup * len(tr)

    def lr_at(it):
        if it < warm:
            return (it + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (it - warm) / (total - warm)))

    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_at)
    scaler = torch.amp.GradScaler(enabled=use_amp)

    start, best = 0, 0.0
    if args.resume:
        ck = torch.load(args.resume, map_location=dev)
        net.load_state_dict(ck["net"])
        opt.load_state_dict(ck["opt"])
        sched.load_state_dict(ck["sched"])
        scaler.load_state_dict(ck["scaler"])
        start, best = ck["epoch"] + 1, ck["best"]

    log = open(os.path.join(args.out, "log.jsonl"), "a")
    for ep in range(start, args.epochs):
        net.train()
        t0, run = time.time(), 0.0
        for x, y in tr:
            x, y = x.to(dev, non_blocking=True), y.to(dev, non_blocking=True)
            x, ya, yb, lam = mix(x, y, args.mixup)
            opt.zero_grad(set_to_none=True)
            with torch.autocast(device_type=dev, dtype=torch.float16, enabled=use_amp):
                out = net(x)
                loss = lam * crit(out, ya) + (1 - lam) * crit(out, yb)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            sched.step()
            run += loss.item()

        vl, acc = evaluate(net, va, dev)
        rec = dict(epoch=ep, train_loss=run / len(tr), val_loss=vl, val_acc=acc,
                   lr=opt.param_groups[0]["lr"], sec=time.time() - t0)
        print(json.dumps(rec))
        log.write(json.dumps(rec) + "\n")
        log.flush()
        ck = dict(net=net.state_dict(), opt=opt.state_dict(), sched=sched.state_dict(),
                  scaler=scaler.state_dict(), epoch=ep, best=max(best, acc))
        torch.save(ck, os.path.join(args.out, "last.pt"))
        if acc > best:
            best = acc
            torch.save(net.state_dict(), os.path.join(args.out, "best.pt"))
    print("best val acc %.2f" % best)


if __name__ == "__main__":
    main()
