# tiny ViT on 32x32 doodles, one file.   accelerate launch main.py --data doodle.npz
import argparse
import copy
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset

MEAN, STD = 0.19, 0.33  # of train ink, 0..1


class Doodles(Dataset):
    def __init__(self, path, split, aug=False):
        z = np.load(path)
        self.x, self.y, self.aug = z[f"x_{split}"], z[f"y_{split}"].astype("int64"), aug

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = torch.from_numpy(self.x[i]).float()[None] / 255.0
        if self.aug:
            if torch.rand(()) < 0.5:
                x = x.flip(-1)
            dy, dx = torch.randint(-3, 4, (2,)).tolist()
            x = torch.roll(x, (dy, dx), (-2, -1))
        return (x - MEAN) / STD, self.y[i]


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.g, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.g


class Attn(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv, self.out = h, nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2)) * (d // self.h) ** -0.5
        a = a.softmax(-1)
        return self.out((a @ v).transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.n1, self.n2 = RMSNorm(d), RMSNorm(d)
        self.attn = Attn(d, h)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(p), nn.Linear(4 * d, d))
        self.drop = nn.Dropout(p)

    def forward(self, x):
        x = x + self.drop(self.attn(self.n1(x)))
        x = x + self.drop(self.mlp(self.n2(x)))
        return x


class ViT(nn.Module):
    def __init__(self, classes, d=192, depth=9, h=3, patch=4, size=32, p=0.1):
        super().__init__()
        self.embed = nn.Conv2d(1, d, patch, patch)
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2, d) * 0.02)
        self.blocks = nn.ModuleList([Block(d, h, p) for _ in range(depth)])
        self.norm = RMSNorm(d)
        self.head = nn.Linear(d, classes)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.pos
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.norm(x).mean(1))


def mixup(x, y, alpha):
    lam = float(np.random.beta(alpha, alpha))
    perm = torch.randperm(x.size(0), device=x.device)
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


@torch.no_grad()
def ema_update(ema, model, decay):
    for e, p in zip(ema.parameters(), model.parameters()):
        e.lerp_(p.detach().to(e.dtype), 1 - decay)


@torch.no_grad()
def evaluate(net, loader, acc):
    net.eval()
    hit, n, nll = 0, 0, 0.0
    for x, y in loader:
        z = net(x)
        z, y = acc.gather_for_metrics((z, y))
        hit += (z.argmax(-1) == y).sum().item()
        nll += F.cross_entropy(z.float(), y, reduction="sum").item()
        n += y.numel()
    return hit / n, nll / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="doodle.npz")
    ap.add_argument("--out", default="runs/vit")
    ap.add_argument("--bs", type=int, default=128)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--wd", type=float, default=0.05)
    ap.add_argument("--warmup", type=int, default=400)
    ap.add_argument("--mix", type=float, default=0.2)
    ap.add_argument("--ema", type=float, default=0.999)
    ap.add_argument("--amp", default="fp16")
    ap.add_argument("--resume", default="")
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--seed", type=int, default=0)
    a = ap.parse_args()

    acc = Accelerator(gradient_accumulation_steps=a.accum, mixed_precision=a.amp)
    set_seed(a.seed)

    tr = Doodles(a.data, "train", aug=True)
    va = Doodles(a.data, "val")
    tl = DataLoader(tr, a.bs, shuffle=True, num_workers=a.workers, drop_last=True)
    vl = DataLoader(va, 256, num_workers=a.workers)

    model = ViT(int(tr.y.max()) + 1)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=a.wd, betas=(0.9, 0.98))
    model, opt, tl, vl = acc.prepare(model, opt, tl, vl)
    ema = copy.deepcopy(acc.unwrap_model(model)).requires_grad_(False)

    total = math.ceil(len(tl) / a.accum) * a.epochs

    def lr_at(s):
        if s < a.warmup:
            return a.lr * (s + 1) / a.warmup
        return a.lr * 0.5 * (1 + math.cos(math.pi * (s - a.warmup) / max(1, total - a.warmup)))

    step, first = 0, 0
    if a.resume:
        acc.load_state(a.resume)
        extra = torch.load(os.path.join(a.resume, "extra.pt"), map_location="cpu")
        ema.load_state_dict(extra["ema"])
        step, first = extra["step"], extra["epoch"] + 1

    for ep in range(first, a.epochs):
        model.train()
        run = 0.0
        for x, y in tl:
            with acc.accumulate(model):
                x, ya, yb, lam = mixup(x, y, a.mix)
                z = model(x)
                loss = lam * F.cross_entropy(z, ya) + (1 - lam) * F.cross_entropy(z, yb)
                acc.backward(loss)
                if acc.sync_gradients:
                    acc.clip_grad_norm_(model.parameters(), 1.0)
                    for g in opt.param_groups:
                        g["lr"] = lr_at(step)
                opt.step()
                opt.zero_grad()
            if acc.sync_gradients:
                step += 1
                ema_update(ema, acc.unwrap_model(model), a.ema)
            run += loss.item()
        top1, nll = evaluate(ema, vl, acc)
        acc.print(f"epoch {ep} loss {run / len(tl):.4f} val_acc {top1:.4f} val_nll {nll:.4f} lr {lr_at(step):.2e}")
        acc.save_state(a.out)
        if acc.is_main_process:
            extra = {"ema": ema.state_dict(), "step": step, "epoch": ep}
            torch.save(extra, os.path.join(a.out, "extra.pt"))


if __name__ == "__main__":
    main()
