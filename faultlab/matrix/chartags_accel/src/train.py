import json
import sys
from pathlib import Path

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import set_seed
from torch import nn
from transformers import get_linear_schedule_with_warmup

from data import IGNORE, make_loaders
from model import Tagger

CONFIG = {
    "data": "corpus",
    "out": "runs/tagger",
    "epochs": 25,
    "batch_size": 32,
    "accumulate": 4,
    "lr": 1e-3,
    "weight_decay": 0.01,
    "warmup_share": 0.06,
    "clip": 1.0,
    "valid_share": 0.1,
    "word_dropout": 0.05,
    "workers": 2,
    "seed": 7,
    "resume": "",
}


class Trainer:
    def __init__(self, config):
        self.config = config
        self.accelerator = Accelerator(kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=False)])
        set_seed(config["seed"], device_specific=True)
        train_loader, valid_loader, self.vocabulary = make_loaders(config)
        torch.manual_seed(config["seed"])
        model = Tagger(len(self.vocabulary), len(self.vocabulary.tags))
        optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=config["weight_decay"])
        self.model, self.optimizer, self.train_loader, self.valid_loader = self.accelerator.prepare(
            model, optimizer, train_loader, valid_loader
        )
        self.updates = len(self.train_loader) // config["accumulate"]
        total = self.updates * config["epochs"]
        self.scheduler = get_linear_schedule_with_warmup(
            self.optimizer.optimizer, int(total * config["warmup_share"]), total
        )
        self.criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
        self.first, self.best = 0, -1.0

    def loss_of(self, batch):
        logits = self.model(batch["ids"], batch["lengths"])
        return self.criterion(logits.reshape(-1, logits.size(-1)), batch["tags"].reshape(-1))

    def train_epoch(self):
        every = self.config["accumulate"]
        self.model.train()
        total = 0.0
        self.optimizer.zero_grad()
        for i, batch in enumerate(self.train_loader):
            if i >= self.updates * every:
                break
            if (i + 1) % every:
                with self.accelerator.no_sync(self.model):
                    loss = self.loss_of(batch)
                    self.accelerator.backward(loss / every)
            else:
                loss = self.loss_of(batch)
                self.accelerator.backward(loss / every)
                self.accelerator.clip_grad_norm_(self.model.parameters(), self.config["clip"])
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
            total += loss.detach().item()
        return total / (self.updates * every)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        counts = torch.zeros(2, device=self.accelerator.device)
        for batch in self.valid_loader:
            predicted = self.model(batch["ids"], batch["lengths"]).argmax(-1)
            known = batch["tags"] != IGNORE
            counts[0] += ((predicted == batch["tags"]) & known).sum()
            counts[1] += known.sum()
        right, seen = self.accelerator.reduce(counts, reduction="sum").tolist()
        return right / seen

    def save(self, epoch):
        state = {
            "model": self.accelerator.unwrap_model(self.model).state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "epoch": epoch,
            "best": self.best,
        }
        self.accelerator.save(state, Path(self.config["out"]) / "last.pt")

    def load(self, path):
        state = torch.load(path, map_location="cpu")
        self.accelerator.unwrap_model(self.model).load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.first, self.best = state["epoch"] + 1, state["best"]

    def fit(self):
        out = Path(self.config["out"])
        out.mkdir(parents=True, exist_ok=True)
        if self.accelerator.is_main_process:
            self.vocabulary.save(out / "vocabulary.json")
        if self.config["resume"]:
            self.load(self.config["resume"])
        for epoch in range(self.first, self.config["epochs"]):
            loss = self.train_epoch()
            accuracy = self.evaluate()
            self.accelerator.print(json.dumps({"epoch": epoch, "loss": round(loss, 4), "accuracy": round(accuracy, 4)}))
            if accuracy > self.best:
                self.best = accuracy
                self.accelerator.save(self.accelerator.unwrap_model(self.model).state_dict(), out / "best.pt")
            self.save(epoch)
        self.accelerator.wait_for_everyone()
        self.accelerator.unwrap_model(self.model).load_state_dict(torch.load(out / "best.pt", map_location="cpu"))
        self.accelerator.print("best accuracy", self.evaluate())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CONFIG.update(json.loads(Path(sys.argv[1]).read_text()))
    Trainer(CONFIG).fit()
