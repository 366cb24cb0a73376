"""Wave height from buoy spectra: three numbers (height, period, spread) out of 64 bins."""
import math
import os

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(3)
np.random.seed(3)

d = np.load("buoys.npz")
x = np.log1p(d["spectra"]).astype(np.float32)  # (N, 64)
y = d["sea"].astype(np.float32)  # (N, 3)
nights = d["deployment"]

test = np.isin(nights, np.unique(nights)[-4:])
xt, yt = x[~test], y[~test]
xv, yv = x[test], y[test]
mx, sx = xt.mean(0), xt.std(0) + 1e-6
my, sy = yt.mean(0), yt.std(0) + 1e-6
xt, xv = (xt - mx) / sx, (xv - mx) / sx
yt, yv = (yt - my) / sy, (yv - my) / sy
xt, yt, xv, yv = (torch.from_numpy(a) for a in (xt, yt, xv, yv))

n = len(xt)
B = 128
nb = n // B
E = 80
lr0 = 2e-3
warm = 5 * nb
total = E * nb

net = torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.LayerNorm(256),
    torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256),
    torch.nn.Linear(256, 3),
)
decay = [p for p in net.parameters() if p.ndim > 1]
plain = [p for p in net.parameters() if p.ndim <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}], lr=lr0, betas=(0.9, 0.98))
mean = [p.detach().clone() for p in net.parameters()]


def rate(s):
    if s < warm:
        return lr0 * (s + 1) / warm
    f = (s - warm) / (total - warm)
    return 0.5 * lr0 * (1 + math.cos(math.pi * f))


def follow(m=0.999):
    with torch.no_grad():
        for a, p in zip(mean, net.parameters()):
            a.mul_(m).add_(p, alpha=1 - m)


def exchange():
    with torch.no_grad():
        for a, p in zip(mean, net.parameters()):
            t = p.clone()
            p.copy_(a)
            a.copy_(t)


e0, k, best = 0, 0, 1e9
if os.path.exists("wave.pt"):
    c = torch.load("wave.pt")
    net.load_state_dict(c["net"])
    opt.load_state_dict(c["opt"])
    for a, b in zip(mean, c["mean"]):
        a.copy_(b)
    e0, k, best = c["epoch"] + 1, c["k"], c["best"]

hist = np.zeros((E, 2))
for e in range(e0, E):
    net.train()
    order = torch.randperm(n)
    s = 0.0
    for j in range(nb):
        i = order[j * B:(j + 1) * B]
        for g in opt.param_groups:
            g["lr"] = rate(k)
        loss = F.smooth_l1_loss(net(xt[i]), yt[i])
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        follow()
        k += 1
        s += loss.item()
    exchange()
    net.eval()
    with torch.no_grad():
        v = F.l1_loss(net(xv), yv).item()
    if v < best:
        best = v
        torch.save(net.state_dict(), "wave_best.pt")
    exchange()
    hist[e] = s / nb, v
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "mean": mean, "epoch": e, "k": k, "best": best}, "wave.pt")
    print(f"{e:3d} {s / nb:.4f} {v:.4f} lr {opt.param_groups[0]['lr']:.2e}")
np.save("hist.npy", hist)
