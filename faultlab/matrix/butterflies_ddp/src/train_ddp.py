"""torchrun --nproc_per_node=4 train_ddp.py --data butterflies"""

import argparse
import contextlib
import math
import os
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from dataset import ButterflyDataset, channel_statistics, read_split


def conv(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True)
    )


class WingNet(nn.Module):
    def __init__(self, num_classes, width=32):
        super().__init__()
        self.features = nn.Sequential(
            conv(3, width),
            conv(width, width * 2, 2),
            conv(width * 2, width * 2),
            conv(width * 2, width * 4, 2),
            conv(width * 4, width * 4),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(0.25), nn.Linear(width * 4, num_classes))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.pool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="butterflies")
    p.add_argument("--out", default="output")
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=48, help="per process")
    p.add_argument("--accumulate", type=int, default=2)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--warmup", type=int, default=5, help="epochs")
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--resume", default="")
    return p.parse_args()


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


def adjust_lr(optimizer, base, progress, args):
    if progress < args.warmup:
        lr = base * (progress + 0.01) / args.warmup
    else:
        lr = base * 0.5 * (1 + math.cos(math.pi * (progress - args.warmup) / (args.epochs - args.warmup)))
    for group in optimizer.param_groups:
        group["lr"] = lr
    return lr


def train_one_epoch(model, loader, criterion, optimizer, scaler, epoch, args, device):
    model.train()
    loss_sum, seen = torch.zeros((), device=device), 0
    updates = len(loader) // args.accumulate
    for i, (images, labels) in enumerate(loader):
        if i >= updates * args.accumulate:
            break
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        last = (i + 1) % args.accumulate == 0
        with contextlib.nullcontext() if last else model.no_sync():
            with torch.autocast(device.type, dtype=torch.float16, enabled=device.type == "cuda"):
                loss = criterion(model(images), labels) / args.accumulate
            scaler.scale(loss).backward()
        if last:
            adjust_lr(optimizer, args.base_lr, epoch + i / len(loader), args)
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        loss_sum += loss.detach() * args.accumulate * images.size(0)
        seen += images.size(0)
    mean = loss_sum / seen
    dist.all_reduce(mean)
    return (mean / dist.get_world_size()).item()


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    stats = torch.zeros(3, device=device)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        stats[0] += nn.functional.cross_entropy(logits, labels, reduction="sum")
        stats[1] += (logits.argmax(1) == labels).sum()
        stats[2] += labels.numel()
    dist.all_reduce(stats, op=dist.ReduceOp.SUM)
    return (stats[0] / stats[2]).item(), (stats[1] / stats[2]).item()


def main():
    args = parse()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    seed_everything(args.seed + rank)
    args.base_lr = args.lr * args.batch_size * args.accumulate * world / 256

    train_list, valid_list, classes = read_split(args.data, seed=args.seed)
    mean, std = channel_statistics(train_list)
    train_set = ButterflyDataset(train_list, mean, std, augment=True)
    valid_set = ButterflyDataset(valid_list, mean, std)
    train_sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True, seed=args.seed)
    valid_sampler = DistributedSampler(valid_set, num_replicas=world, rank=rank, shuffle=False)
    train_loader = DataLoader(
        train_set, args.batch_size, sampler=train_sampler, num_workers=args.workers, pin_memory=True, drop_last=True
    )
    valid_loader = DataLoader(valid_set, 128, sampler=valid_sampler, num_workers=args.workers)

    model = WingNet(len(classes))
    if cuda:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = DDP(model.to(device), device_ids=[local] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.base_lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scaler = torch.amp.GradScaler(device.type, enabled=cuda)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    start, best = 0, 0.0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scaler.load_state_dict(state["scaler"])
        start, best = state["epoch"] + 1, state["best"]

    os.makedirs(args.out, exist_ok=True)
    for epoch in range(start, args.epochs):
        train_sampler.set_epoch(epoch)
        train_loss = train_one_epoch(model, train_loader, criterion, optimizer, scaler, epoch, args, device)
        valid_loss, accuracy = validate(model, valid_loader, device)
        better = accuracy > best
        best = max(accuracy, best)
        if rank == 0:
            print(f"[{epoch}] train {train_loss:.4f} valid {valid_loss:.4f} acc {accuracy:.4f} best {best:.4f}", flush=True)
            state = {
                "model": model.module.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scaler": scaler.state_dict(),
                "epoch": epoch,
                "best": best,
            }
            torch.save(state, os.path.join(args.out, "last.pth"))
            if better:
                torch.save(state, os.path.join(args.out, "best.pth"))

    dist.barrier()
    state = torch.load(os.path.join(args.out, "best.pth"), map_location=device)
    model.module.load_state_dict(state["model"])
    valid_loss, accuracy = validate(model, valid_loader, device)
    if rank == 0:
        print(f"best checkpoint of epoch {state['epoch']}: valid {valid_loss:.4f} acc {accuracy:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
