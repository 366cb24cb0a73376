# %% toy DDPM on spiral galaxies (2-D star positions)
import json
import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn, optim


@dataclass(frozen=True)
class C:
    stars: int = 3000
    arms: int = 2
    spread: float = 0.09
    T: int = 50
    dim: int = 48
    temb: int = 16
    batch: int = 96
    iters: int = 30
    warmup: int = 20
    lr: float = 5e-3
    clip: float = 1.0
    ema: float = 0.95
    every: int = 1
    seed: int = 4


c = C()
torch.set_num_threads(1)
g = torch.Generator().manual_seed(c.seed)
torch.manual_seed(c.seed)


# %% data
def galaxy(n):
    r = torch.rand(n, generator=g).sqrt() * 0.95 + 0.05
    arm = torch.randint(c.arms, (n,), generator=g) * (2 * math.pi / c.arms)
    phi = 4.2 * r + arm
    xy = torch.stack([r * phi.cos(), r * phi.sin()], dim=1)
    bulge = torch.rand(n, generator=g) < 0.15
    xy[bulge] = 0.12 * torch.randn(int(bulge.sum()), 2, generator=g)
    return 40.0 * (xy + c.spread * torch.randn(n, 2, generator=g)) + torch.tensor([15.0, -8.0])  # kiloparsec


stars = galaxy(c.stars)
n_fit = int(0.8 * len(stars))
centre, size = stars[:n_fit].mean(0), stars[:n_fit].std(0)
x_fit = (stars[:n_fit] - centre) / size
x_dev = (stars[n_fit:] - centre) / size

# %% noise schedule (cosine, Nichol & Dhariwal)
s = 0.008
f = torch.cos((torch.arange(c.T + 1) / c.T + s) / (1 + s) * math.pi / 2) ** 2
betas = (1 - f[1:] / f[:-1]).clamp(max=0.999)
alphas = 1 - betas
abar = alphas.cumprod(0)


def q_sample(x0, t, eps):
    a = abar[t].unsqueeze(1)
    return a.sqrt() * x0 + (1 - a).sqrt() * eps


# %% network
class Block(nn.Module):
    def __init__(self, dim, temb):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim)
        self.t = nn.Linear(temb, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, h, e):
        return h + self.fc2(F.silu(self.fc1(self.norm(h)) + self.t(e)))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(2, c.dim)
        self.blocks = nn.ModuleList([Block(c.dim, c.temb) for _ in range(2)])
        self.out = nn.Linear(c.dim, 2)

    def time(self, t):
        w = torch.exp(torch.linspace(0, math.log(50.0), c.temb // 2))
        a = (t.float() / c.T).unsqueeze(1) * w
        return torch.cat([a.sin(), a.cos()], dim=1)

    def forward(self, x, t):
        e = self.time(t)
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, e)
        return self.out(h)


net = Denoiser()
ema = Denoiser()
ema.load_state_dict(net.state_dict())
opt = optim.AdamW(net.parameters(), lr=c.lr, weight_decay=1e-4)


def factor(i):
    if i < c.warmup:
        return (i + 1) / c.warmup
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (i - c.warmup) / (c.iters - c.warmup)))


sched = optim.lr_scheduler.LambdaLR(opt, factor)

# %% evaluation: fixed times and noise, plus samples against held-out stars
t_dev = torch.randint(c.T, (len(x_dev),), generator=g)
e_dev = torch.randn(x_dev.shape, generator=g)


@torch.no_grad()
def dev_loss(model):
    return F.mse_loss(model(q_sample(x_dev, t_dev, e_dev), t_dev), e_dev).item()


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for i in reversed(range(c.T)):
        t = torch.full((n,), i)
        mean = (x - betas[i] / (1 - abar[i]).sqrt() * model(x, t)) / alphas[i].sqrt()
        x = mean + betas[i].sqrt() * torch.randn_like(x) if i > 0 else mean
    return x


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


# %% training
log = open("metrics.jsonl", "w")
log.write(json.dumps({"config": asdict(c)}) + "\n")
meter = []
for i in range(1, c.iters + 1):
    x0 = x_fit[torch.randint(n_fit, (c.batch,))]
    t = torch.randint(c.T, (c.batch,))
    eps = torch.randn_like(x0)
    loss = F.mse_loss(net(q_sample(x0, t, eps), t), eps)
    opt.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(net.parameters(), c.clip)
    opt.step()
    lr_now = sched.get_last_lr()[0]
    sched.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), ema.parameters()):
            q.lerp_(p, 1 - c.ema)
    meter.append(loss.item())
    if i % c.every == 0:
        row = {"iter": i, "mse": round(sum(meter) / len(meter), 5), "mse_dev": round(dev_loss(net), 5)}
        row |= {"mse_dev_ema": round(dev_loss(ema), 5), "gn": round(gn.item(), 4), "lr": float(f"{lr_now:.4g}")}
        if i % (c.every * 15) == 0:
            row["energy"] = round(energy_distance(sample(ema, 250), x_dev[:250]), 5)
        log.write(json.dumps(row) + "\n")
        log.flush()
        meter = []
log.close()
print("energy distance of the samples:", row["energy"])
