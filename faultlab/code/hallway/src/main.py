import json
import os
import random
import sys

import numpy as np
import torch
import yaml

import networks  # noqa: F401  fills the registries
from datasets import build_loader
from registry import HOOKS, LOSSES, MODELS


class Hook:
    def before_iter(self, runner): ...
    def after_iter(self, runner): ...
    def after_epoch(self, runner): ...


@HOOKS.register
class ScheduleHook(Hook):
    def before_iter(self, runner):
        cfg, it, total = runner.cfg["schedule"], runner.it, runner.total_iters
        f = min(1.0, (it + 1) / cfg["warmup"]) * (1.0 - it / total) ** cfg["power"]
        for g in runner.optimizer.param_groups:
            g["lr"] = g["base_lr"] * f


@HOOKS.register
class OptimizerHook(Hook):
    def after_iter(self, runner):
        accumulate = runner.cfg["runner"]["accumulate"]
        (runner.loss / accumulate).backward()
        if (runner.it + 1) % accumulate == 0:
            torch.nn.utils.clip_grad_norm_(runner.model.parameters(), runner.cfg["runner"]["max_norm"])
            runner.optimizer.step()
            runner.optimizer.zero_grad()


@HOOKS.register
class LogHook(Hook):
    def __init__(self, every):
        self.every = every

    def after_iter(self, runner):
        if (runner.it + 1) % self.every == 0:
            runner.write(iter=runner.it + 1, loss=runner.loss.item(), lr=runner.optimizer.param_groups[-1]["lr"])


@HOOKS.register
class EvalHook(Hook):
    def __init__(self, every):
        self.every = every

    @torch.no_grad()
    def after_epoch(self, runner):
        if (runner.epoch + 1) % self.every:
            return
        runner.model.eval()
        sums, n = {"abs_rel": 0.0, "rmse": 0.0, "delta1": 0.0}, 0
        for batch in runner.val_loader:
            image, depth = batch["image"].to(runner.device), batch["depth"].to(runner.device)
            pred, valid = runner.model(image), runner.valid(depth)
            for p, g, v in zip(pred, depth, valid):
                p, g = p[v], g[v]
                if g.numel() == 0:
                    continue
                sums["abs_rel"] += ((p - g).abs() / g).mean().item()
                sums["rmse"] += (p - g).pow(2).mean().sqrt().item()
                sums["delta1"] += (torch.maximum(p / g, g / p) < 1.25).float().mean().item()
                n += 1
        runner.metrics = {k: s / n for k, s in sums.items()}
        runner.write(epoch=runner.epoch + 1, **runner.metrics)


@HOOKS.register
class CheckpointHook(Hook):
    def __init__(self, key, rule):
        self.key, self.sign = key, {"less": -1.0, "greater": 1.0}[rule]
        self.best = float("-inf")

    def after_epoch(self, runner):
        score = self.sign * runner.metrics[self.key]
        if score > self.best:
            self.best = score
            torch.save({"model": runner.model.state_dict(), "metrics": runner.metrics},
                       os.path.join(runner.cfg["work_dir"], "best.pth"))


def build_optimizer(model, type, lr, weight_decay, encoder_mult):
    groups = [{"params": list(model.encoder.parameters()), "lr": lr * encoder_mult},
              {"params": list(model.neck.parameters()) + list(model.head.parameters()), "lr": lr}]
    optimizer = getattr(torch.optim, type)(groups, weight_decay=weight_decay)
    for g in optimizer.param_groups:
        g["base_lr"] = g["lr"]
    return optimizer


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = MODELS.build(cfg["model"]).to(self.device)
        self.losses = [LOSSES.build(c) for c in cfg["losses"]]
        self.optimizer = build_optimizer(self.model, **cfg["optimizer"])
        self.train_loader = build_loader(cfg["data"], "train")
        self.val_loader = build_loader(cfg["data"], "val")
        self.hooks = [HOOKS.build(c) for c in cfg["hooks"]]
        self.total_iters = cfg["runner"]["epochs"] * len(self.train_loader)
        self.it, self.epoch, self.metrics = 0, 0, {}
        os.makedirs(cfg["work_dir"], exist_ok=True)

    def write(self, **record):
        with open(os.path.join(self.cfg["work_dir"], "log.jsonl"), "a") as f:
            f.write(json.dumps(record) + "\n")

    def valid(self, depth):
        return (depth > 0) & (depth < self.model.head.max_depth)

    def call(self, stage):
        for hook in self.hooks:
            getattr(hook, stage)(self)

    def run(self):
        for self.epoch in range(self.cfg["runner"]["epochs"]):
            self.model.train()
            for batch in self.train_loader:
                self.call("before_iter")
                image, depth = batch["image"].to(self.device), batch["depth"].to(self.device)
                pred, valid = self.model(image), self.valid(depth)
                self.loss = sum(loss(pred, depth, valid) for loss in self.losses)
                self.call("after_iter")
                self.it += 1
            self.call("after_epoch")


def main():
    with open(sys.argv[1] if len(sys.argv) > 1 else "depth.yaml") as f:
        cfg = yaml.safe_load(f)
    random.seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    Runner(cfg).run()


if __name__ == "__main__":
    main()
