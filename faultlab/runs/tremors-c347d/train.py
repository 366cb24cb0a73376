"""Marks P and S waves in seismograms, in float16 with a gradient scaler."""

import argparse
import json
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from waveforms import simulate

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=7)
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight-decay", type=float, default=1e-4)
parser.add_argument("--warmup", type=int, default=20, help="steps")
parser.add_argument("--clip", type=float, default=1.0)
parser.add_argument("--width", type=int, default=16)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--init-scale", type=float, default=2.0**16)
parser.add_argument("--growth-interval", type=int, default=50)
parser.add_argument("--n-train", type=int, default=640)
parser.add_argument("--n-val", type=int, default=192)
parser.add_argument("--seed", type=int, default=3)
parser.add_argument("--print-every", type=int, default=5)
args = parser.parse_args()


class Block(nn.Module):
    def __init__(self, width, dilation, dropout):
        super().__init__()
        self.conv = nn.Conv1d(width, width, 5, padding=2 * dilation, dilation=dilation)
        self.bn = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return x + self.drop(F.relu(self.bn(self.conv(x))))


class PhasePicker(nn.Module):
    def __init__(self, width, dropout, n_classes=3):
        super().__init__()
        self.stem = nn.Conv1d(3, width, 7, padding=3)
        self.blocks = nn.Sequential(*[Block(width, d, dropout) for d in (1, 2, 4, 8)])
        self.head = nn.Conv1d(width, n_classes, 1)
        for module in self.modules():
            if isinstance(module, nn.Conv1d):
                nn.init.zeros_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        h = self.blocks(F.relu(self.stem(x)))
        rms = h.float().pow(2).mean(dim=1, keepdim=True).add(1e-5).sqrt()
        return self.head(h / rms)


def normalise(x):
    """Zero mean and unit deviation per window and component; dead components stay zero."""
    x = x - x.mean(dim=-1, keepdim=True)
    return x / (x.std(dim=-1, keepdim=True) + 1e-3)


def make_loader(n, seed, train):
    counts, labels = simulate(n, seed)
    dataset = TensorDataset(torch.from_numpy(counts), torch.from_numpy(labels))
    return DataLoader(dataset, batch_size=args.batch_size, shuffle=train, drop_last=train)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss_sum, hits, total = 0.0, 0, 0
    for x, y in loader:
        with torch.autocast("cpu", dtype=torch.float16):
            logits = model(normalise(x))
        loss_sum += F.cross_entropy(logits.float(), y, reduction="sum").item()
        hits += (logits.argmax(dim=1) == y).sum().item()
        total += y.numel()
    return loss_sum / total, hits / total


def main():
    torch.manual_seed(args.seed)
    print("args:", json.dumps(vars(args)))
    train_loader = make_loader(args.n_train, 1001, True)
    val_loader = make_loader(args.n_val, 1002, False)
    model = PhasePicker(args.width, args.dropout)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(train_loader)} steps per epoch")

    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay, nesterov=True
    )
    total_steps = args.epochs * len(train_loader)

    def schedule(s):
        if s < args.warmup:
            return (s + 1) / args.warmup
        return 0.5 * (1 + math.cos(math.pi * (s - args.warmup) / (total_steps - args.warmup)))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    scaler = torch.amp.GradScaler("cpu", init_scale=args.init_scale, growth_interval=args.growth_interval)

    step, start = 0, time.time()
    for epoch in range(1, args.epochs + 1):
        model.train()
        for x, y in train_loader:
            step += 1
            with torch.autocast("cpu", dtype=torch.float16):
                logits = model(normalise(x))
                loss = F.cross_entropy(logits.float(), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            if step % args.print_every == 0:
                print(
                    f"[{epoch}/{args.epochs}] step {step}/{total_steps} loss {loss.item():.4f} "
                    f"scale {scaler.get_scale():g} gnorm {norm.item():.4f} lr {scheduler.get_last_lr()[0]:.5f}",
                    flush=True,
                )
        val_loss, val_acc = evaluate(model, val_loader)
        print(f"[{epoch}/{args.epochs}] val loss {val_loss:.4f} acc {val_acc:.4f} ({time.time() - start:.1f} s)", flush=True)
    torch.save(model.state_dict(), "picker.pt")


if __name__ == "__main__":
    main()
