import argparse
import math
import os
import random

import numpy as np
import torch
import torch_npu
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torch_npu.npu import amp

from dialog_data import DialogSet, collate, read_vocab
from dialog_model import IntentEncoder


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="dialogs")
    p.add_argument("--save-dir", default="runs/intent")
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--accumulate", type=int, default=2)
    p.add_argument("--lr", type=float, default=4e-4)
    p.add_argument("--warmup", type=float, default=0.06)
    p.add_argument("--weight-decay", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--seed", type=int, default=2024)
    p.add_argument("--resume", default=None)
    p.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    return p.parse_args()


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch_npu.npu.manual_seed_all(seed)


def build_optimizer(model, args):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (no_decay if p.ndim == 1 or name.endswith("places") else decay).append(p)
    groups = [{"params": decay, "weight_decay": args.weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.98), eps=1e-8)


def build_schedule(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    counts = torch.zeros(2, device=device)
    for ids, mask, target in loader:
        ids, mask, target = ids.to(device), mask.to(device), target.to(device)
        with amp.autocast():
            logits = model(ids, mask)
        counts[0] += (logits.argmax(dim=-1) == target).sum()
        counts[1] += target.numel()
    dist.all_reduce(counts, op=dist.ReduceOp.SUM)
    return (counts[0] / counts[1]).item()


def train_epoch(model, loader, criterion, optimizer, schedule, scaler, args, device):
    model.train()
    running, batches = 0.0, 0
    optimizer.zero_grad()
    usable = len(loader) // args.accumulate * args.accumulate
    for i, (ids, mask, target) in enumerate(loader):
        if i >= usable:
            break
        ids, mask, target = ids.to(device), mask.to(device), target.to(device)
        with amp.autocast():
            logits = model(ids, mask)
            loss = criterion(logits, target)
        scaler.scale(loss / args.accumulate).backward()
        if (i + 1) % args.accumulate == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            schedule.step()
        running += loss.item()
        batches += 1
    return running / batches


def main():
    args = get_args()
    device = torch.device("npu", args.local_rank)
    torch_npu.npu.set_device(device)
    dist.init_process_group(backend="hccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    set_seed(args.seed + rank)

    vocab = read_vocab(os.path.join(args.data, "vocab.txt"))
    with open(os.path.join(args.data, "intents.txt"), encoding="utf-8") as f:
        intents = {line.strip(): i for i, line in enumerate(f)}
    train_set = DialogSet(os.path.join(args.data, "train"), vocab, intents)
    dev_set = DialogSet(os.path.join(args.data, "dev"), vocab, intents)
    train_sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed)
    dev_sampler = DistributedSampler(dev_set, shuffle=False)
    train_loader = DataLoader(
        train_set, args.batch_size, sampler=train_sampler, num_workers=args.workers,
        collate_fn=collate, pin_memory=True, drop_last=True,
    )
    dev_loader = DataLoader(
        dev_set, args.batch_size, sampler=dev_sampler, num_workers=args.workers, collate_fn=collate
    )

    model = IntentEncoder(len(vocab), len(intents)).to(device)
    optimizer = build_optimizer(model, args)
    model = DDP(model, device_ids=[args.local_rank])
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    updates = len(train_loader) // args.accumulate * args.epochs
    schedule = build_schedule(optimizer, int(args.warmup * updates), updates)
    scaler = amp.GradScaler(init_scale=2.0**14)

    first, best = 0, 0.0
    if args.resume:
        state = torch.load(args.resume, map_location=device)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        scaler.load_state_dict(state["scaler"])
        first, best = state["epoch"] + 1, state["best"]

    for epoch in range(first, args.epochs):
        train_sampler.set_epoch(epoch)
        loss = train_epoch(model, train_loader, criterion, optimizer, schedule, scaler, args, device)
        accuracy = validate(model, dev_loader, device)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f} accuracy {accuracy:.4f} lr {schedule.get_last_lr()[0]:.2e}")
            os.makedirs(args.save_dir, exist_ok=True)
            better, best = accuracy > best, max(best, accuracy)
            state = {
                "model": model.module.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "scaler": scaler.state_dict(),
                "epoch": epoch,
                "best": best,
            }
            torch.save(state, os.path.join(args.save_dir, "last.pt"))
            if better:
                torch.save(state, os.path.join(args.save_dir, "best.pt"))
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
