import argparse
import copy
import json
import os

import numpy as np
import torch

from data import get_loaders
from diffusion import Diffusion
from unet import UNet


def parse_args():
    p = argparse.ArgumentParser("class-conditional tile generation")
    p.add_argument("--data", default="data/tiles32.npz")
    p.add_argument("--out", default="runs/base")
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--accum", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--wd", type=float, default=1e-2)
    p.add_argument("--warmup", type=int, default=1000)
    p.add_argument("--iters", type=int, default=120000)
    p.add_argument("--ch", type=int, default=64)
    p.add_argument("--timesteps", type=int, default=1000)
    p.add_argument("--p-uncond", type=float, default=0.1)
    p.add_argument("--ema", type=float, default=0.9995)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--eval-every", type=int, default=2000)
    p.add_argument("--workers", type=int, default=4)
    p.add_argument("--no-flip", action="store_true")
    p.add_argument("--no-amp", action="store_true")
    p.add_argument("--resume", default="")
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def param_groups(net, wd):
    decay = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim <= 1]
    return [{"params": decay, "weight_decay": wd}, {"params": plain, "weight_decay": 0.0}]


@torch.no_grad()
def update_ema(ema_net, net, decay):
    for pe, p in zip(ema_net.parameters(), net.parameters()):
        pe.lerp_(p, 1.0 - decay)
    for be, b in zip(ema_net.buffers(), net.buffers()):
        be.copy_(b)


@torch.no_grad()
def evaluate(ema_net, diff, loader, device):
    ema_net.eval()
    gen = torch.Generator().manual_seed(0)
    total, n = 0.0, 0
    for x, y in loader:
        t = torch.randint(0, diff.steps, (len(x),), generator=gen).to(device)
        noise = torch.randn(x.shape, generator=gen).to(device)
        loss = diff.loss(ema_net, x.to(device), y.to(device), t=t, noise=noise)
        total += loss.item() * len(x)
        n += len(x)
    return total / n


def endless(loader):
    while True:
        yield from loader


def main():
    args = parse_args()
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    use_amp = device == "cuda" and not args.no_amp

    train_loader, val_loader, n_classes = get_loaders(args)
    net = UNet(n_classes, ch=args.ch).to(device)
    ema_net = copy.deepcopy(net).requires_grad_(False)
    diff = Diffusion(args.timesteps, device)
    opt = torch.optim.AdamW(param_groups(net, args.wd), lr=args.lr, betas=(0.9, 0.99))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / args.warmup))
    scaler = torch.amp.GradScaler(device, enabled=use_amp)

    start, best = 0, float("inf")
    if args.resume:
        ck = torch.load(args.resume, map_location=device)
        net.load_state_dict(ck["net"])
        ema_net.load_state_dict(ck["ema"])
        opt.load_state_dict(ck["opt"])
        sched.load_state_dict(ck["sched"])
        scaler.load_state_dict(ck["scaler"])
        start, best = ck["it"], ck["best"]

    log = open(os.path.join(args.out, "log.jsonl"), "a")
    batches = endless(train_loader)
    net.train()
    for it in range(start, args.iters):
        opt.zero_grad(set_to_none=True)
        running = 0.0
        for _ in range(args.accum):
            x, y = next(batches)
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with torch.autocast(device, dtype=torch.float16, enabled=use_amp):
                loss = diff.loss(net, x, y, p_uncond=args.p_uncond) / args.accum
            scaler.scale(loss).backward()
            running += loss.item()
        scaler.unscale_(opt)
        gnorm = torch.nn.utils.clip_grad_norm_(net.parameters(), args.clip)
        scaler.step(opt)
        scaler.update()
        sched.step()
        update_ema(ema_net, net, min(args.ema, (it + 1) / (it + 10)))

        rec = {"it": it + 1, "loss": running, "gnorm": float(gnorm), "lr": sched.get_last_lr()[0]}
        if (it + 1) % args.eval_every == 0:
            rec["val"] = evaluate(ema_net, diff, val_loader, device)
            state = {"net": net.state_dict(), "ema": ema_net.state_dict(), "opt": opt.state_dict(),
                     "sched": sched.state_dict(), "scaler": scaler.state_dict(), "it": it + 1,
                     "best": min(best, rec["val"])}
            torch.save(state, os.path.join(args.out, "last.pt"))
            if rec["val"] < best:
                best = rec["val"]
                torch.save(state, os.path.join(args.out, "best.pt"))
        log.write(json.dumps(rec) + "\n")
        log.flush()

    ema_net.load_state_dict(torch.load(os.path.join(args.out, "best.pt"), map_location=device)["ema"])
    ema_net.eval()
    grid = diff.sample(ema_net, torch.arange(n_classes, device=device), size=32)
    np.save(os.path.join(args.out, "samples.npy"), grid.cpu().numpy())


if __name__ == "__main__":
    main()
