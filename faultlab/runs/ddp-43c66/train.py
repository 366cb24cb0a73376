"""Data-parallel training on two processes (gloo). Each rank keeps its own log."""
import argparse
import json
import os
import sys

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=192)
parser.add_argument("--train-size", type=int, default=1600)
parser.add_argument("--hidden", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.15)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight-decay", type=float, default=0.0005)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--log-every", type=int, default=5)
args = parser.parse_args()


def blobs(size, seed):
    rng = np.random.RandomState(seed)
    centres = np.random.RandomState(0).normal(0, 1.5, (8, 24))
    labels = rng.randint(0, 8, size)
    x = centres[labels] * np.sign(rng.normal(1.2, 1, (size, 1))) + rng.normal(0, 1.6, (size, 24))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(labels)


def build():
    return nn.Sequential(
        nn.Linear(24, args.hidden), nn.ReLU(), nn.Linear(args.hidden, args.hidden), nn.ReLU(), nn.Linear(args.hidden, 8)
    )


def main(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x_all, y_all = blobs(args.train_size, 1)
    train_set = TensorDataset(x_all, y_all)
    val_x, val_y = blobs(1000, 2)
    sampler = DistributedSampler(train_set, num_replicas=world_size, rank=rank, shuffle=True)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler)
    model = DistributedDataParallel(build())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    step = 0
    log = open(f"log_rank_{rank}.jsonl", "w")
    print(f"rank {rank} of {world_size}: {len(train_set)} samples, {len(loader)} batches per epoch", file=log)
    for epoch in range(1, args.epochs + 1):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            output = model(x)
            loss = criterion(output, y)
            (loss / 4).backward()
            norm = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm()
            step += 1
            if step % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
            if step % args.log_every == 0:
                print(json.dumps({"rank": rank, "epoch": epoch, "step": step, "loss": loss.item(), "lr": optimizer.param_groups[0]["lr"], "grad_norm": norm.item()}), file=log)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            output = model.module(val_x)
            val_loss = criterion(output, val_y).item()
            val_acc = (output.argmax(1) == val_y).float().mean().item()
        print(json.dumps({"rank": rank, "epoch": epoch, "step": step, "val_loss": val_loss, "val_acc": val_acc}), file=log)
    log.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(2,), nprocs=2)
