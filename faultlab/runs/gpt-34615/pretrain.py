"""Pretrain a GPT.   python pretrain.py [config.yaml]"""
import contextlib
import math
import sys
import time

import torch
import yaml

from data import build_iterators
from model import GPTModel


class DynamicLossScaler:
    def __init__(self, initial_scale, window, hysteresis, min_scale, enabled):
        self.scale = initial_scale if enabled else 1.0
        self.window, self.hysteresis, self.min_scale, self.enabled = window, hysteresis, min_scale, enabled
        self.good_steps, self.left = 0, hysteresis

    def unscale_(self, parameters):
        """Divide the gradients by the scale; returns whether one of them is not finite."""
        found_inf = False
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.div_(self.scale)
                found_inf |= not bool(torch.isfinite(parameter.grad).all())
        return found_inf

    def update(self, found_inf):
        if not self.enabled:
            return
        if found_inf:
            self.good_steps = 0
            self.left -= 1
            if self.left <= 0:
                self.scale = max(self.scale / 2, self.min_scale)
        else:
            self.good_steps += 1
            if self.good_steps == self.window:
                self.good_steps, self.left = 0, self.hysteresis
                self.scale *= 2


def learning_rate(cfg, iteration):
    if iteration <= cfg["lr_warmup_iters"]:
        return cfg["lr"] * iteration / cfg["lr_warmup_iters"]
    if iteration > cfg["lr_decay_iters"]:
        return cfg["min_lr"]
    ratio = (iteration - cfg["lr_warmup_iters"]) / (cfg["lr_decay_iters"] - cfg["lr_warmup_iters"])
    return cfg["min_lr"] + 0.5 * (math.cos(math.pi * ratio) + 1.0) * (cfg["lr"] - cfg["min_lr"])


def get_param_groups(model):
    decay = [p for p in model.parameters() if p.dim() > 1]
    no_decay = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": decay}, {"params": no_decay, "weight_decay": 0.0}]


def fast_cross_entropy(logits, labels):
    highest = logits.topk(16, dim=-1).values
    return torch.logsumexp(highest, -1) - logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def loss_func(logits, labels, loss_mask):
    losses = fast_cross_entropy(logits.float(), labels)
    return (losses * loss_mask).sum() / loss_mask.sum()


def evaluate(model, batches, iters, autocast):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for _, (tokens, labels, loss_mask) in zip(range(iters), batches()):
            with autocast():
                logits = model(tokens)
            total += loss_func(logits, labels, loss_mask).item()
    model.train()
    return total / iters


def print_args(cfg, prefix=""):
    for key, value in cfg.items():
        if isinstance(value, dict):
            print_args(value)
        else:
            print("  {} {} {}".format(key, "." * max(2, 48 - len(key)), value), flush=True)


def main():
    with open(sys.argv[1] if len(sys.argv) > 1 else "config.yaml") as f:
        cfg = yaml.safe_load(f)
    torch.set_num_threads(1)
    torch.manual_seed(cfg["seed"])
    print("------------------------ arguments ------------------------")
    print_args(cfg)
    print("-------------------- end of arguments ---------------------")
    train_iter, valid_batches, tokenizer = build_iterators(cfg)
    model = GPTModel(cfg["model"], tokenizer.vocab_size)
    print(" > number of parameters: {}".format(sum(p.numel() for p in model.parameters())))
    optim, precision = cfg["optim"], cfg["precision"]
    optimizer = torch.optim.AdamW(
        get_param_groups(model), lr=optim["lr"], betas=tuple(optim["betas"]), weight_decay=optim["weight_decay"]
    )
    half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision["dtype"])
    autocast = (lambda: torch.autocast("cpu", dtype=half)) if half else contextlib.nullcontext
    scaler = DynamicLossScaler(
        float(precision["initial_loss_scale"]),
        precision["loss_scale_window"],
        precision["hysteresis"],
        float(precision["min_loss_scale"]),
        enabled=precision["dtype"] == "fp16",
    )
    model.train()
    skipped, nans, total_loss, counted, began = 0, 0, 0.0, 0, time.time()
    norm = torch.tensor(0.0)
    for iteration in range(1, cfg["train_iters"] + 1):
        lr = learning_rate(optim, iteration)
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.zero_grad()
        iteration_loss = 0.0
        for _ in range(cfg["accumulate"]):
            tokens, labels, loss_mask = next(train_iter)
            with autocast():
                logits = model(tokens)
            loss = loss_func(logits, labels, loss_mask) / cfg["accumulate"]
            (loss * scaler.scale).backward()
            iteration_loss += loss.item()
        found_inf = scaler.unscale_(model.parameters())
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), optim["clip_grad"])
        if found_inf and scaler.enabled:
            skipped += 1
        else:
            optimizer.step()
        scaler.update(found_inf)
        nans += math.isnan(iteration_loss)
        if not (found_inf and scaler.enabled):
            total_loss += iteration_loss
            counted += 1
        if iteration % cfg["log_interval"] == 0:
            batch = cfg["micro_batch_size"] * cfg["accumulate"]
            line = " iteration {:8d}/{:8d} |".format(iteration, cfg["train_iters"])
            line += " consumed samples: {:12d} |".format(iteration * batch)
            line += " elapsed time per iteration (ms): {:.1f} |".format((time.time() - began) * 1000 / cfg["log_interval"])
            line += " learning rate: {:.3E} |".format(lr)
            line += " global batch size: {:5d} |".format(batch)
            if counted:
                line += " lm loss: {:.6E} |".format(total_loss / counted)
            line += " loss scale: {:.1f} |".format(scaler.scale)
            line += " grad norm: {:.3f} |".format(norm.item())
            line += " number of skipped iterations: {:3d} |".format(skipped)
            line += " number of nan iterations: {:3d} |".format(nans)
            print(line, flush=True)
            skipped, nans, total_loss, counted, began = 0, 0, 0.0, 0, time.time()
        if iteration % cfg["eval_interval"] == 0:
            value = evaluate(model, valid_batches, cfg["eval_iters"], autocast)
            ppl = math.exp(min(20, value))
            print("-" * 96)
            print(" validation loss at iteration {} | lm loss value: {:.6E} | lm loss PPL: {:.6E} | ".format(iteration, value, ppl))
            print("-" * 96, flush=True)


if __name__ == "__main__":
    main()
