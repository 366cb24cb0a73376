from __future__ import annotations

import logging
import math
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader

from dataset import build_data
from export import INTENTS
from model import IntentModel, init_weights
from settings import Settings

log = logging.getLogger("journeys")


def build_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": settings.optim.weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.optim.lr, betas=tuple(settings.optim.betas))


def build_scheduler(optimizer: torch.optim.Optimizer, warmup: int, total: int) -> LambdaLR:
    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        done = min(1.0, (step - warmup) / max(1, total - warmup))
        return 0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * done))

    return LambdaLR(optimizer, factor)


class Trainer:
    def __init__(self, settings: Settings, rank: int) -> None:
        self.settings, self.rank = settings, rank
        self.world_size = dist.get_world_size()
        self.out_dir = Path(settings.run.out_dir)
        self.train_loader, self.val_loader, self.test_loader, vocabulary = build_data(
            settings.data, rank, self.world_size, settings.run.seed
        )
        torch.manual_seed(settings.run.seed + rank)
        model = IntentModel(len(vocabulary), len(INTENTS), settings.data.max_events, settings.model)
        self.model = DistributedDataParallel(
            model, find_unused_parameters=settings.dist.find_unused_parameters
        )
        self.model.module.apply(init_weights)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=settings.train.label_smoothing)
        self.optimizer = build_optimizer(self.model, settings)
        self.steps_per_epoch = len(self.train_loader) // settings.train.accumulate
        self.total_steps = self.steps_per_epoch * settings.train.epochs
        self.scheduler = build_scheduler(self.optimizer, settings.optim.warmup_steps, self.total_steps)
        self.epoch, self.step, self.best = 0, 0, math.inf
        log.info("%d events in the vocabulary, %d parameters, %d sessions on this rank, %d steps",
                 len(vocabulary), sum(p.numel() for p in model.parameters() if p.requires_grad),
                 len(self.train_loader.sampler), self.total_steps)

    def fit(self, stop_after: int | None) -> None:
        last = min(self.settings.train.epochs, stop_after or self.settings.train.epochs)
        while self.epoch < last:
            self.train_epoch()
            self.epoch += 1
            val_loss, val_acc = self.evaluate(self.val_loader)
            log.info("epoch %d valid loss %.4f acc %.4f", self.epoch, val_loss, val_acc)
            better = val_loss < self.best
            self.best = min(self.best, val_loss)
            self.save("last.pt")
            if better:
                self.save("best.pt")
        if self.epoch < self.settings.train.epochs:
            log.info("time slot used up after epoch %d, resume with --resume", self.epoch)
            return
        self.load("best.pt", weights_only=True)
        log.info("test loss %.4f acc %.4f", *self.evaluate(self.test_loader))

    def train_epoch(self) -> None:
        accumulate = self.settings.train.accumulate
        self.train_loader.sampler.set_epoch(self.epoch)
        self.model.train()
        running, seen = 0.0, 0
        for i, batch in enumerate(self.train_loader):
            boundary = (i + 1) % accumulate == 0
            if i >= self.steps_per_epoch * accumulate:
                break
            with nullcontext() if boundary else self.model.no_sync():
                logits = self.model(batch.events, batch.gaps, batch.mask)
                loss = self.criterion(logits, batch.intent)
                (loss / accumulate).backward()
            running += loss.item()
            seen += 1
            if not boundary:
                continue
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.optim.clip_norm)
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
            self.step += 1
            if self.step % self.settings.run.log_every == 0:
                log.info("epoch %d step %d/%d loss %.4f gnorm %.3f lr %.3e", self.epoch + 1, self.step,
                         self.total_steps, running / seen, norm, self.scheduler.get_last_lr()[0])
                running, seen = 0.0, 0

    @torch.no_grad()
    def evaluate(self, loader: DataLoader) -> tuple[float, float]:
        self.model.eval()
        sums = torch.zeros(3)
        for batch in loader:
            logits = self.model(batch.events, batch.gaps, batch.mask)
            loss = nn.functional.cross_entropy(logits, batch.intent, reduction="sum")
            hits = (logits.argmax(dim=1) == batch.intent).sum()
            sums += torch.stack([loss, hits, torch.tensor(len(logits))])
        dist.all_reduce(sums)
        loss, hits, count = sums.tolist()
        return loss / count, hits / count

    def save(self, name: str) -> None:
        if self.rank == 0:
            state = {
                "model": self.model.module.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "epoch": self.epoch,
                "step": self.step,
                "best": self.best,
            }
            torch.save(state, self.out_dir / name)
        dist.barrier()

    def load(self, name: str, weights_only: bool = False) -> None:
        state = torch.load(self.out_dir / name, map_location="cpu")
        self.model.module.load_state_dict(state["model"])
        if weights_only:
            return
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.epoch, self.step, self.best = state["epoch"], state["step"], state["best"]
        log.info("resumed from %s after epoch %d, step %d", name, self.epoch, self.step)
