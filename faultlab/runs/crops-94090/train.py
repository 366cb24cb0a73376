import json
import logging
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from fields import CROPS, load_fields


@dataclass
class Config:
    world_size: int = 2
    epochs: int = 9
    batch_size: int = 16  # per process
    max_lr: float = 2e-3
    weight_decay: float = 1e-2
    label_smoothing: float = 0.0
    accumulate: int = 2
    channels: int = 24
    dropout: float = 0.3
    n_train: int = 1920
    n_val: int = 480
    data_seed: int = 77
    seed: int = 303
    log_every: int = 5


class CropNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        c = cfg.channels
        self.encoder = nn.Sequential(
            nn.Conv1d(6, c, 5, padding=2, bias=False),
            nn.BatchNorm1d(c),
            nn.ReLU(),
            nn.Conv1d(c, c, 5, padding=2, bias=False),
            nn.BatchNorm1d(c),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(c, 2 * c, 3, padding=1, bias=False),
            nn.BatchNorm1d(2 * c),
            nn.ReLU(),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(2 * c * 12, 64), nn.ReLU(), nn.Dropout(cfg.dropout), nn.Linear(64, len(CROPS))
        )

    def forward(self, x):
        return self.classifier(self.encoder(x))


def get_logger(rank):
    Path("logs").mkdir(exist_ok=True)
    logger = logging.getLogger(f"rank{rank}")
    handler = logging.FileHandler(f"logs/rank_{rank}.log", mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    return logger


def build_loaders(cfg, rank):
    x_train, y_train = map(torch.from_numpy, load_fields(cfg.n_train, cfg.data_seed))
    x_val, y_val = map(torch.from_numpy, load_fields(cfg.n_val, cfg.data_seed + 1))
    mean, std = x_train.mean(dim=(0, 2), keepdim=True), x_train.std(dim=(0, 2), keepdim=True)
    x_train, x_val = (x_train - mean) / std, (x_val - mean) / std
    train_set, val_set = TensorDataset(x_train, y_train), TensorDataset(x_val, y_val)
    train_sampler = DistributedSampler(train_set, cfg.world_size, rank, shuffle=True, seed=cfg.seed, drop_last=True)
    val_sampler = DistributedSampler(val_set, cfg.world_size, rank, shuffle=False)
    train_loader = DataLoader(train_set, cfg.batch_size, sampler=train_sampler, drop_last=True)
    val_loader = DataLoader(val_set, 120, sampler=val_sampler)
    return train_loader, val_loader


@torch.no_grad()
def validate(model, loader):
    model.eval()
    totals = torch.zeros(3)
    for x, y in loader:
        logits = model(x)
        totals[0] += nn.functional.cross_entropy(logits, y, reduction="sum")
        totals[1] += (logits.argmax(1) == y).sum()
        totals[2] += len(y)
    dist.all_reduce(totals)
    return (totals[0] / totals[2]).item(), (totals[1] / totals[2]).item()


def worker(rank, cfg):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29571")
    dist.init_process_group("gloo", rank=rank, world_size=cfg.world_size)
    torch.manual_seed(cfg.seed)
    log = get_logger(rank)
    train_loader, val_loader = build_loaders(cfg, rank)
    model = DDP(CropNet(cfg))
    criterion = nn.CrossEntropyLoss(label_smoothing=cfg.label_smoothing)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.max_lr, weight_decay=cfg.weight_decay)
    steps_per_epoch = len(train_loader) // cfg.accumulate
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=cfg.max_lr, total_steps=cfg.epochs * steps_per_epoch, pct_start=0.2
    )
    log.info("world size %d, %d fields per process, %s", dist.get_world_size(), len(train_loader.sampler), asdict(cfg))

    step = 0
    for epoch in range(1, cfg.epochs + 1):
        train_loader.sampler.set_epoch(epoch)
        model.train()
        for i, (x, y) in enumerate(train_loader, 1):
            loss = criterion(model(x), y) / cfg.accumulate
            loss.backward()
            if i % cfg.accumulate:
                continue
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad()
            lr = optimizer.param_groups[0]["lr"]
            if step < cfg.epochs * steps_per_epoch - 1:
                scheduler.step()
            step += 1
            if step % cfg.log_every == 0:
                loss_value = loss.item() * cfg.accumulate
                log.info("epoch %d step %d loss %.4f grad_norm %.3f lr %.6f", epoch, step, loss_value, grad_norm, lr)
        val_loss, val_acc = validate(model, val_loader)
        log.info("epoch %d validation loss %.4f accuracy %.4f", epoch, val_loss, val_acc)
    if rank == 0:
        torch.save(model.module.state_dict(), "cropnet.pt")
        Path("config.json").write_text(json.dumps(asdict(cfg), indent=2))
    dist.destroy_process_group()


if __name__ == "__main__":
    config = Config()
    mp.spawn(worker, args=(config,), nprocs=config.world_size)
