"""Dune profiles (one-dimensional) by denoising diffusion, made of closures and generators."""
from functools import partial
from itertools import islice

import numpy as np
import torch
from torch import nn

T, POINTS, BATCH = 400, 256, 64


def profiles(file, share=0.9, train=True):
    data = np.load(file)["height"].astype(np.float32)
    cut = int(len(data) * share)
    low, high = data[:cut].min(), data[:cut].max()
    part = data[:cut] if train else data[cut:]
    return torch.from_numpy((part - low) / (high - low) * 2 - 1).unsqueeze(1)


def schedule(start=1e-4, end=0.02):
    betas = torch.linspace(start, end, T)
    alphas = 1.0 - betas
    bars = torch.cumprod(alphas, dim=0)
    before = torch.cat([torch.ones(1), bars[:-1]])
    return {"betas": betas, "alphas": alphas, "bars": bars, "before": before}


def at(table, t):
    return table[t].view(-1, 1, 1)


def noiser(table):
    def noised(x0, t, noise):
        bar = at(table["bars"], t)
        return bar.sqrt() * x0 + (1 - bar).sqrt() * noise
    return noised


def stepper(table):
    def step(x, t, predicted):
        beta, alpha, bar = at(table["betas"], t), at(table["alphas"], t), at(table["bars"], t)
        mean = (x - beta / (1 - bar).sqrt() * predicted) / alpha.sqrt()
        variance = beta * (1 - at(table["before"], t)) / (1 - bar)
        return mean + (variance.sqrt() * torch.randn_like(x) if t[0] > 0 else 0)
    return step


def batches(data, size, endless=True):
    while True:
        for rows in torch.randperm(len(data)).split(size):
            yield mirrored(data[rows])
        if not endless:
            return


def mirrored(x):
    turn = torch.rand(len(x), 1, 1) < 0.5
    return torch.where(turn, x.flip(-1), x)


def clock(t, width=64):
    rate = torch.exp(-np.log(10000.0) * torch.arange(width // 2) / (width // 2))
    angle = t.float().unsqueeze(1) * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1)


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        conv = partial(nn.Conv1d, kernel_size=5, padding=2)
        self.time = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, width))
        self.first = conv(1, width)
        self.middle = nn.ModuleList([conv(width, width, dilation=d, padding=2 * d) for d in (1, 2, 4, 8)])
        self.norms = nn.ModuleList([nn.GroupNorm(8, width) for _ in range(4)])
        self.last = conv(width, 1)

    def forward(self, x, t):
        h, c = self.first(x), self.time(clock(t)).unsqueeze(2)
        for norm, layer in zip(self.norms, self.middle):
            h = h + layer(torch.nn.functional.silu(norm(h) + c))
        return self.last(h)


def make_loss(model, noised):
    def loss_of(x0):
        t = torch.randint(0, T, (len(x0),))
        noise = torch.randn_like(x0)
        return nn.functional.mse_loss(model(noised(x0, t, noise), t), noise)
    return loss_of


def averaged(model, decay=0.999):
    shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    def update():
        for k, v in model.state_dict().items():
            shadow[k].mul_(decay).add_(v.detach(), alpha=1 - decay)
    return shadow, update


@torch.no_grad()
def sample(model, step, n=8):
    x = torch.randn(n, 1, POINTS)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        x = step(x, t, model(x, t))
    return x


def train(file="dunes.npz", steps=30000):
    torch.manual_seed(11)
    model, table = Denoiser(), schedule()
    loss_of, step = make_loss(model, noiser(table)), stepper(table)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    shadow, update = averaged(model)
    valid = profiles(file, train=False)
    for n, x0 in enumerate(islice(batches(profiles(file), BATCH), steps)):
        loss = loss_of(x0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update()
        if n % 1000 == 0:
            with torch.no_grad():
                check = loss_of(valid)
            print(n, loss.item(), check.item())
    model.load_state_dict(shadow)
    torch.save({"model": shadow, "samples": sample(model, step)}, "dunes.pt")


if __name__ == "__main__":
    train()
