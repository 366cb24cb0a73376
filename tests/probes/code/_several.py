"""Programs of several processes that the tests of script checks edit."""

from __future__ import annotations

from .._scripts import state

DDP = """
import os, random
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset, random_split
from birds import Birds, Net

def score(model, loader, device):
    model.eval()
    counts = torch.zeros(2, device=device)
    with torch.no_grad():
        for x, y in loader:
            out = model(x.to(device))
            counts[0] += (out.argmax(1) == y.to(device)).sum()
            counts[1] += y.numel()
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()

def main(args):
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", rank)
    torch.manual_seed(args.seed)
    rows = Birds(args.data)
    order = torch.randperm(len(rows)).tolist()
    train_set, val_set = Subset(rows, order[500:]), Subset(rows, order[:500])
    sampler = DistributedSampler(train_set, world, rank)
    loader = DataLoader(train_set, 32, sampler=sampler)
    val_sampler = DistributedSampler(val_set, world, rank, shuffle=False)
    val_loader = DataLoader(val_set, 64, sampler=val_sampler)
    net = Net().to(device)
    model = DDP(net, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        value = score(model, val_loader, device)
        if value > best:
            best = value
            if rank == 0:
                torch.save(model.module.state_dict(), "best.pt")
    dist.barrier()

main(read_arguments())
"""

ACCELERATE = """
import torch
from accelerate import Accelerator
from transformers import get_linear_schedule_with_warmup
from tags import Tagger, loaders, loss_of

def main(epochs, every):
    accelerator = Accelerator()
    model, loader = Tagger(), loaders()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    updates = len(loader) // every
    scheduler = get_linear_schedule_with_warmup(optimizer, 10, epochs * updates)
    for epoch in range(epochs):
        model.train()
        for i, (x, y) in enumerate(loader):
            if (i + 1) % every:
                with accelerator.no_sync(model):
                    loss = loss_of(model(x), y)
                    accelerator.backward(loss / every)
            else:
                loss = loss_of(model(x), y)
                accelerator.backward(loss / every)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
"""


def edited(text: str, *pairs: tuple[str, str]) -> str:
    """A program with some of its text replaced, each piece once."""
    for old, new in pairs:
        assert text.count(old) == 1, (text.count(old), old)
        text = text.replace(old, new)
    return text


def says(symptom: str, text: str, *pairs: tuple[str, str]) -> str:
    """The state of a symptom in a program after some edits."""
    return state(symptom, edited(text, *pairs))
