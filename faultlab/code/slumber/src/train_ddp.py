# torchrun --nproc_per_node=4 train_ddp.py --root /data/nights
import argparse
import contextlib
import math
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from nights import STAGES, NightStream, whole_nights


class ResBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(cin, cout, 7, stride=stride, padding=3, bias=False), nn.BatchNorm1d(cout), nn.ReLU(),
            nn.Conv1d(cout, cout, 7, padding=3, bias=False), nn.BatchNorm1d(cout),
        )
        self.short = nn.Sequential(nn.Conv1d(cin, cout, 1, stride=stride, bias=False), nn.BatchNorm1d(cout))

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


class SleepNet(nn.Module):
    def __init__(self, widths=(32, 64, 128, 128)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(2, widths[0], 50, stride=6, padding=25), nn.BatchNorm1d(widths[0]), nn.ReLU())
        self.blocks = nn.ModuleList(ResBlock(a, b, 4) for a, b in zip((widths[0],) + widths[:-1], widths))
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(widths[-1], len(STAGES))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.out(self.drop(x.mean(-1)))


@torch.no_grad()
def judge(net, folder, rank, world, device):
    """Macro F1 and accuracy over the nights of all ranks."""
    net.eval()
    n = len(STAGES)
    counts = torch.zeros(n, n, device=device)
    for eeg, stage in whole_nights(folder, rank, world):
        guess = torch.cat([net(part.to(device)).argmax(-1) for part in eeg.split(256)])
        counts += torch.bincount(stage.to(device) * n + guess, minlength=n * n).view(n, n)
    dist.all_reduce(counts)
    f1 = 2 * counts.diag() / (counts.sum(0) + counts.sum(1)).clamp(min=1)
    return f1.mean().item(), (counts.trace() / counts.sum()).item()


def rate_at(step, total, warmup):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, total - warmup))))


def main(a):
    rank, local, world = (int(os.environ[k]) for k in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(a.seed)

    net = SleepNet()
    if cuda:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    model = DDP(net.to(device), device_ids=[local] if cuda else None)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=a.wd)
    total = a.epochs * a.steps
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: rate_at(s, total, min(500, total // 10)))
    share = torch.tensor([0.22, 0.06, 0.44, 0.12, 0.16])
    lossf = nn.CrossEntropyLoss(weight=(1 / share).sqrt().to(device))

    stream = NightStream(Path(a.root, "train"), rank, world, a.seed)
    loader = DataLoader(stream, batch_size=a.batch, num_workers=a.workers, pin_memory=cuda)
    best = -1.0
    for epoch in range(a.epochs):
        stream.set_epoch(epoch)
        model.train()
        windows = iter(loader)
        running = 0.0
        for _ in range(a.steps):
            opt.zero_grad(set_to_none=True)
            for part in range(a.accum):
                eeg, stage = next(windows)
                last = part == a.accum - 1
                with contextlib.nullcontext() if last else model.no_sync():
                    loss = lossf(model(eeg.to(device)), stage.to(device)) / a.accum
                    loss.backward()
                running += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
        f1, acc = judge(model.module, Path(a.root, "val"), rank, world, device)
        if rank == 0:
            print(f"{epoch:03d} loss {running / a.steps:.4f} val f1 {f1:.4f} acc {acc:.4f}", flush=True)
            if f1 > best:
                torch.save(model.module.state_dict(), a.ckpt)
        best = max(best, f1)

    dist.barrier()
    model.module.load_state_dict(torch.load(a.ckpt, map_location=device))
    f1, acc = judge(model.module, Path(a.root, "test"), rank, world, device)
    if rank == 0:
        print(f"test f1 {f1:.4f} acc {acc:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--root", required=True)
    p.add_argument("--ckpt", default="slumber.pt")
    for name, kind, value in (("epochs", int, 40), ("steps", int, 1000), ("batch", int, 64), ("accum", int, 2),
                              ("lr", float, 1e-3), ("wd", float, 0.01), ("workers", int, 4), ("seed", int, 5)):  # fmt: skip
        p.add_argument(f"--{name}", type=kind, default=value)
    main(p.parse_args())
