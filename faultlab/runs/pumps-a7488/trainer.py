"""Training, evaluation, checkpoints."""

from __future__ import annotations

import csv
import logging
import math
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from config import Config
from data import WindowDataset

log = logging.getLogger(__name__)


class Trainer:
    def __init__(self, cfg: Config, model: nn.Module, train_set: WindowDataset, val_set: WindowDataset) -> None:
        self.cfg = cfg
        self.out = Path(cfg.output_dir)
        self.model = model
        self.criterion = nn.MSELoss()
        self.train_loader = DataLoader(train_set, batch_size=cfg.train.batch_size, shuffle=True, drop_last=True)
        self.val_loader = DataLoader(val_set, batch_size=256)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.train.lr, weight_decay=cfg.train.weight_decay)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._lr_factor)
        self.epoch = 0
        self.global_step = 0
        self.best_mae = math.inf

    def _lr_factor(self, epoch: int) -> float:
        """Linear warm-up, then half a cosine."""
        t = self.cfg.train
        if epoch < t.warmup_epochs:
            return (epoch + 1) / (t.warmup_epochs + 1)
        done = (epoch - t.warmup_epochs) / max(1, t.epochs - t.warmup_epochs)
        return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    def fit(self) -> None:
        stop = min(self.cfg.train.epochs, self.epoch + self.cfg.train.epochs_per_job)
        while self.epoch < stop:
            start = time.time()
            lr = self.optimizer.param_groups[0]["lr"]
            train_loss = self._train_epoch()
            val = self.evaluate()
            self.scheduler.step()
            self.epoch += 1
            log.info(
                "epoch %d done: train_loss=%.5f val_loss=%.5f val_mae=%.2f cycles",
                self.epoch,
                train_loss,
                val["loss"],
                val["mae"],
            )
            self._write_row(
                epoch=self.epoch,
                train_loss=f"{train_loss:.6f}",
                val_loss=f"{val['loss']:.6f}",
                val_mae=f"{val['mae']:.3f}",
                lr=f"{lr:.3e}",
                seconds=f"{time.time() - start:.1f}",
            )
            if val["mae"] < self.best_mae:
                self.best_mae = val["mae"]
                self.save("best.pt")
            self.save("last.pt")
        if self.epoch >= self.cfg.train.epochs:
            if (self.out / "best.pt").exists():
                self.model.load_state_dict(torch.load(self.out / "best.pt")["model"])
            val = self.evaluate()
            log.info("training finished, exported model: val_mae=%.2f cycles", val["mae"])
        else:
            log.info("job limit reached at epoch %d, resubmit with --resume", self.epoch)

    def _train_epoch(self) -> float:
        self.model.train()
        total, seen = 0.0, 0
        for windows, rul in self.train_loader:
            pred = self.model(windows)
            loss = self.criterion(pred, rul)
            self.optimizer.zero_grad()
            loss.backward()
            grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.train.clip_norm)
            self.optimizer.step()
            self.global_step += 1
            total += loss.item() * len(rul)
            seen += len(rul)
            if self.global_step % self.cfg.train.log_every == 0:
                log.info(
                    "epoch %d step %d loss=%.5f grad_norm=%.3f lr=%.2e",
                    self.epoch + 1,
                    self.global_step,
                    loss.item(),
                    float(grad_norm),
                    self.optimizer.param_groups[0]["lr"],
                )
        return total / seen

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Loss in scaled units, mean absolute error in cycles."""
        self.model.eval()
        cap = self.cfg.data.rul_cap
        loss_sum, abs_sum, n = 0.0, 0.0, 0
        for windows, rul in self.val_loader:
            pred = self.model(windows)
            loss_sum += self.criterion(pred, rul).item() * len(rul)
            abs_sum += (pred - rul).abs().sum().item() * cap
            n += len(rul)
        return {"loss": loss_sum / n, "mae": abs_sum / n}

    def save(self, name: str) -> None:
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "epoch": self.epoch,
                "global_step": self.global_step,
                "best_mae": self.best_mae,
                "rng": torch.get_rng_state(),
            },
            self.out / name,
        )

    def resume(self) -> None:
        state = torch.load(self.out / "last.pt")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.epoch = state["epoch"]
        self.global_step = state["global_step"]
        self.best_mae = state["best_mae"]
        torch.set_rng_state(state["rng"])
        log.info("resumed from %s at epoch %d", self.out / "last.pt", self.epoch)

    def _write_row(self, **row: object) -> None:
        path = self.out / "metrics.csv"
        new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as f:
            writer = csv.DictWriter(f, row)
            if new:
                writer.writeheader()
            writer.writerow(row)
