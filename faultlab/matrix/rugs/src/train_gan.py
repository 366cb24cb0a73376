"""Woven rug patterns from noise: a small GAN with hinge losses, an averaged generator and linear decay."""
import argparse
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.utils import save_image

DEFAULTS = {
    "data": {"root": "rugs", "size": 64, "batch": 64, "workers": 4},
    "model": {"z": 128, "ch": 64},
    "optim": {"g_lr": 1e-4, "d_lr": 4e-4, "betas": [0.0, 0.9]},
    "schedule": {"iters": 100000, "hold": 50000},
    "train": {"n_critic": 2, "ema": 0.999, "ema_start": 1000, "log": 100, "save": 5000, "seed": 1, "out": "out"},
}


class Generator(nn.Module):
    def __init__(self, z, ch):
        super().__init__()
        self.z = z
        self.fc = nn.Linear(z, ch * 8 * 16)
        blocks = []
        for i, o in ((8, 4), (4, 2), (2, 1), (1, 1)):
            blocks += [nn.Upsample(scale_factor=2), nn.Conv2d(ch * i, ch * o, 3, 1, 1), nn.BatchNorm2d(ch * o), nn.ReLU(True)]
        self.body = nn.Sequential(*blocks, nn.Conv2d(ch, 3, 3, 1, 1), nn.Tanh())

    def forward(self, z):
        x = self.fc(z)
        return self.body(x.view(len(z), -1, 4, 4))


class Critic(nn.Module):
    def __init__(self, ch):
        super().__init__()
        sn, layers, c = nn.utils.spectral_norm, [], 3
        for o in (1, 2, 4, 8):
            layers += [sn(nn.Conv2d(c, ch * o, 4, 2, 1)), nn.LeakyReLU(0.1)]
            c = ch * o
        self.body, self.out = nn.Sequential(*layers), sn(nn.Linear(c, 1))

    def forward(self, x):
        return self.out(self.body(x).sum(dim=(2, 3))).squeeze(1)


def build_models(cfg, device):
    g = Generator(**cfg["model"]).to(device)
    d = Critic(cfg["model"]["ch"]).to(device)
    g_ema = copy.deepcopy(g).eval().requires_grad_(False)
    return g, d, g_ema


def build_optimizers(cfg, g, d):
    o = cfg["optim"]
    g_opt = torch.optim.Adam(g.parameters(), lr=o["g_lr"], betas=tuple(o["betas"]))
    d_opt = torch.optim.Adam(d.parameters(), lr=o["d_lr"], betas=tuple(o["betas"]))
    return g_opt, d_opt


def build_schedulers(cfg, *optimizers):
    s = cfg["schedule"]

    def linear(it):
        return 1.0 - max(0, it - s["hold"]) / (s["iters"] - s["hold"])

    return [torch.optim.lr_scheduler.LambdaLR(o, linear) for o in optimizers]


@torch.no_grad()
def update_ema(g_ema, g, decay):
    for e, p in zip(g_ema.parameters(), g.parameters()):
        e.lerp_(p, 1.0 - decay)
    for e, b in zip(g_ema.buffers(), g.buffers()):
        e.copy_(b)


def forever(loader):
    while True:
        yield from loader


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    ap.add_argument("--resume", action="store_true")
    args = ap.parse_args()
    cfg = copy.deepcopy(DEFAULTS)
    if args.config:
        with open(args.config) as f:
            for k, v in yaml.safe_load(f).items():
                cfg[k].update(v)
    tr = cfg["train"]
    torch.manual_seed(tr["seed"])
    os.makedirs(tr["out"], exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    tf = transforms.Compose([
        transforms.Resize(cfg["data"]["size"]), transforms.CenterCrop(cfg["data"]["size"]),
        transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3),
    ])
    loader = DataLoader(ImageFolder(cfg["data"]["root"], tf), cfg["data"]["batch"], shuffle=True, drop_last=True, num_workers=cfg["data"]["workers"])
    batches = forever(loader)

    g, d, g_ema = build_models(cfg, device)
    g_opt, d_opt = build_optimizers(cfg, g, d)
    g_sch, d_sch = build_schedulers(cfg, g_opt, d_opt)
    state = {"g": g, "d": d, "g_ema": g_ema, "g_opt": g_opt, "d_opt": d_opt, "g_sch": g_sch, "d_sch": d_sch}
    start, path = 0, os.path.join(tr["out"], "last.pt")
    if args.resume:
        saved = torch.load(path, map_location=device)
        for k, v in state.items():
            v.load_state_dict(saved[k])
        start = saved["it"]

    fixed = torch.randn(36, g.z, generator=torch.Generator().manual_seed(0)).to(device)
    meters = {"d": 0.0, "g": 0.0}
    for it in range(start, cfg["schedule"]["iters"]):
        g.train()
        for _ in range(tr["n_critic"]):
            real = next(batches)[0].to(device)
            with torch.no_grad():
                fake = g(torch.randn(len(real), g.z, device=device))
            d_loss = F.relu(1 - d(real)).mean() + F.relu(1 + d(fake)).mean()
            d_opt.zero_grad()
            d_loss.backward()
            d_opt.step()
        g_loss = -d(g(torch.randn(cfg["data"]["batch"], g.z, device=device))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        g_sch.step()
        d_sch.step()
        update_ema(g_ema, g, tr["ema"] if it > tr["ema_start"] else 0.0)

        meters["d"] += d_loss.item() / tr["log"]
        meters["g"] += g_loss.item() / tr["log"]
        if (it + 1) % tr["log"] == 0:
            print(f"it {it + 1} d {meters['d']:.4f} g {meters['g']:.4f} lr {g_sch.get_last_lr()[0]:.2e}")
            meters = dict.fromkeys(meters, 0.0)
        if (it + 1) % tr["save"] == 0:
            torch.save({**{k: v.state_dict() for k, v in state.items()}, "it": it + 1}, path)
            save_image(g_ema(fixed) * 0.5 + 0.5, os.path.join(tr["out"], f"{it + 1:06d}.png"), nrow=6)


if __name__ == "__main__":
    main()
