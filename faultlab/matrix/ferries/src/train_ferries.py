"""Delay of ferries in minutes; torchrun --nproc_per_node=4 train_ferries.py --data legs.npz"""
import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def parse():
    p = argparse.ArgumentParser()
    p.add_argument('--data', default='legs.npz')
    p.add_argument('--epochs', type=int, default=40)
    p.add_argument('--batch', type=int, default=128)
    p.add_argument('--lr', type=float, default=1e-3)
    p.add_argument('--best', default='ferries_best.pt')
    return p.parse_args()


def load(path):
    with np.load(path) as z:
        parts = {k: (z[f'x_{k}'].astype('float32'), z[f'y_{k}'].astype('float32')) for k in ('train', 'valid', 'test')}
    x, y = parts['train']
    stats = x.mean(0), x.std(0) + 1e-6, float(y.mean()), float(y.std())
    sets = {k: TensorDataset(torch.from_numpy((a - stats[0]) / stats[1]), torch.from_numpy((b - stats[2]) / stats[3]))
            for k, (a, b) in parts.items()}
    return sets, stats[2], stats[3]


def build(inputs):
    return nn.Sequential(nn.Linear(inputs, 128), nn.BatchNorm1d(128), nn.GELU(), nn.Dropout(0.1),
                         nn.Linear(128, 64), nn.GELU(), nn.Linear(64, 1))


@torch.no_grad()
def evaluate(model, loader, device, scale):
    """Root mean squared and mean absolute error in minutes, and R2, over all ranks."""
    model.eval()
    sums = torch.zeros(5, dtype=torch.float64, device=device)   # squares, absolutes, y, y squared, rows
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        error = (model(x).squeeze(1) - y) * scale
        y = y * scale
        sums[0] += error.pow(2).sum()
        sums[1] += error.abs().sum()
        sums[2] += y.sum()
        sums[3] += y.pow(2).sum()
        sums[4] += len(y)
    dist.all_reduce(sums)
    squares, absolutes, total, total_sq, rows = sums.tolist()
    spread = total_sq - total ** 2 / rows
    return (squares / rows) ** 0.5, absolutes / rows, 1 - squares / spread


def main():
    args = parse()
    dist.init_process_group('nccl' if torch.cuda.is_available() else 'gloo')
    rank, world = dist.get_rank(), dist.get_world_size()
    local = int(os.environ['LOCAL_RANK'])
    device = torch.device('cuda', local) if torch.cuda.is_available() else torch.device('cpu')
    torch.manual_seed(100)

    sets, mean, scale = load(args.data)
    sampler = DistributedSampler(sets['train'], shuffle=True)
    train_loader = DataLoader(sets['train'], args.batch, sampler=sampler, drop_last=True)
    mine = {k: Subset(sets[k], range(rank, len(sets[k]), world)) for k in ('valid', 'test')}
    valid_loader = DataLoader(mine['valid'], 1024)
    test_loader = DataLoader(mine['test'], 1024)

    net = build(sets['train'][0][0].numel()).to(device)
    model = DDP(net, device_ids=[local] if device.type == 'cuda' else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    criterion = nn.SmoothL1Loss()

    best = float('inf')
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x.to(device)).squeeze(1), y.to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        scheduler.step()
        rmse, mae, r2 = evaluate(net, valid_loader, device, scale)
        if rank == 0:
            print(f'{epoch:3d} rmse {rmse:.2f} min mae {mae:.2f} min r2 {r2:.3f}', flush=True)
        if rmse < best:
            best = rmse
            if rank == 0:
                torch.save(net.state_dict(), args.best)

    dist.barrier()
    net.load_state_dict(torch.load(args.best, map_location=device))
    rmse, mae, r2 = evaluate(net, test_loader, device, scale)
    if rank == 0:
        print(f'test rmse {rmse:.2f} min mae {mae:.2f} min r2 {r2:.3f} (delays around {mean:.1f} min)')
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
