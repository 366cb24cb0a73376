import math

import torch
import torch.nn.functional as F


def cosine_betas(steps, s=0.008):
    x = torch.linspace(0, steps, steps + 1, dtype=torch.float64) / steps
    f = torch.cos((x + s) / (1 + s) * math.pi / 2) ** 2
    return (1 - f[1:] / f[:-1]).clamp(max=0.999).float()


class Diffusion:
    def __init__(self, steps, device):
        self.steps = steps
        self.betas = cosine_betas(steps).to(device)
        self.acp = torch.cumprod(1.0 - self.betas, dim=0)

    def q_sample(self, x0, t, noise):
        a = self.acp[t].view(-1, 1, 1, 1)
        return a.sqrt() * x0 + (1.0 - a).sqrt() * noise

    def loss(self, net, x0, y, t=None, noise=None, p_uncond=0.0):
        if t is None:
            t = torch.randint(0, self.steps, (x0.shape[0],), device=x0.device)
        if noise is None:
            noise = torch.randn_like(x0)
        if p_uncond > 0:
            drop = torch.rand(y.shape, device=y.device) < p_uncond
            y = torch.where(drop, torch.full_like(y, net.null_id), y)
        pred = net(self.q_sample(x0, t, noise), t, y)
        return F.mse_loss(pred.float(), noise)

    @torch.no_grad()
    def sample(self, net, y, size, guidance=1.5):
        x = torch.randn(y.shape[0], 3, size, size, device=y.device)
        null = torch.full_like(y, net.null_id)
        for i in reversed(range(self.steps)):
            t = torch.full_like(y, i)
            eps_c, eps_u = net(x, t, y), net(x, t, null)
            eps = eps_u + guidance * (eps_c - eps_u)
            a, b = self.acp[i], self.betas[i]
            x0 = ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-1, 1)
            a_prev = self.acp[i - 1] if i > 0 else torch.ones_like(a)
            mean = (a_prev.sqrt() * b * x0 + (1 - b).sqrt() * (1 - a_prev) * x) / (1 - a)
            x = mean + (b * (1 - a_prev) / (1 - a)).sqrt() * torch.randn_like(x) if i > 0 else mean
        return x
