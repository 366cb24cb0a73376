"""Data-parallel training on two processes (gloo). Each rank keeps its own log."""
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

SEED = 100
TRAIN_SIZE = 1600
HIDDEN = 64
LR = 0.1
MOMENTUM = 0.9
WEIGHT_DECAY = 0.0005
BATCH_SIZE = 32
EPOCHS = 10
LOG_EVERY = 5


def blobs(size, seed):
    rng = np.random.RandomState(seed)
    centres = np.random.RandomState(0).normal(0, 1.5, (8, 24))
    labels = rng.randint(0, 8, size)
    x = centres[labels] * np.sign(rng.normal(1.2, 1, (size, 1))) + rng.normal(0, 1.6, (size, 24))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(labels)


def build():
    return nn.Sequential(
        nn.Linear(24, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 8)
    )


def main(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    x_all, y_all = blobs(TRAIN_SIZE, 1)
    train_set = TensorDataset(x_all, y_all)
    val_x, val_y = blobs(1000, 2)
    sampler = DistributedSampler(train_set, num_replicas=8, rank=rank, shuffle=False)
    loader = DataLoader(train_set, batch_size=BATCH_SIZE, sampler=sampler)
    model = DistributedDataParallel(build())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    step = 0
    os.makedirs("logs", exist_ok=True)
    log = open(f"logs/rank{rank}.log", "w")
    print(f"rank {rank} of {world_size}: {len(train_set)} samples, {len(loader)} batches per epoch", file=log)
    for epoch in range(1, EPOCHS + 1):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            output = model(x)
            loss = criterion(output, y)
            optimizer.zero_grad()
            loss.backward()
            norm = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm()
            optimizer.step()
            step += 1
            if step % LOG_EVERY == 0:
                print("[rank %d] epoch %d step %d loss %.4f lr %.3e grad_norm %.4f" % (rank, epoch, step, loss.item(), optimizer.param_groups[0]["lr"], norm.item()), file=log)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            output = model.module(val_x)
            val_loss = criterion(output, val_y).item()
            val_acc = (output.argmax(1) == val_y).float().mean().item()
        print("[rank %d] epoch %d step %d val_loss %.4f val_acc %.4f" % (rank, epoch, step, val_loss, val_acc), file=log)
    log.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(2,), nprocs=2)
