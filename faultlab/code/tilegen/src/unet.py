import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def zero_module(m):
    for p in m.parameters():
        nn.init.zeros_(p)
    return m


def sinusoid(t, dim):
    half = dim // 2
    freqs = torch.exp(-math.log(10000.0) * torch.arange(half, device=t.device) / half)
    ang = t.float()[:, None] * freqs[None]
    return torch.cat([ang.cos(), ang.sin()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, emb_dim, dropout):
        super().__init__()
        self.norm1 = nn.GroupNorm(8, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.emb = nn.Linear(emb_dim, 2 * cout)
        self.norm2 = nn.GroupNorm(8, cout)
        self.drop = nn.Dropout(dropout)
        self.conv2 = zero_module(nn.Conv2d(cout, cout, 3, padding=1))
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.emb(F.silu(emb))[:, :, None, None].chunk(2, dim=1)
        h = self.norm2(h) * (1 + scale) + shift
        h = self.conv2(self.drop(F.silu(h)))
        return self.skip(x) + h


class AttnBlock(nn.Module):
    def __init__(self, ch, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, ch)
        self.qkv = nn.Conv2d(ch, 3 * ch, 1)
        self.proj = zero_module(nn.Conv2d(ch, ch, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, h * w).unbind(1)
        att = torch.einsum("bhci,bhcj->bhij", q, k) * (c // self.heads) ** -0.5
        att = att.softmax(dim=-1)
        out = torch.einsum("bhij,bhcj->bhci", att, v).reshape(b, c, h, w)
        return x + self.proj(out)


class UNet(nn.Module):
    """Predicts the noise in x_t; class index n_classes stands for 'no class'."""

    def __init__(self, n_classes, ch=64, mults=(1, 2, 2), dropout=0.1):
        super().__init__()
        emb_dim = 4 * ch
        self.ch = ch
        self.null_id = n_classes
        self.time_mlp = nn.Sequential(nn.Linear(ch, emb_dim), nn.SiLU(), nn.Linear(emb_dim, emb_dim))
        self.cls_emb = nn.Embedding(n_classes + 1, emb_dim)
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.downs, self.ups = nn.ModuleList(), nn.ModuleList()
        widths, cur = [ch], ch
        for i, m in enumerate(mults):
            self.downs.append(ResBlock(cur, ch * m, emb_dim, dropout))
            cur = ch * m
            widths.append(cur)
            if i < len(mults) - 1:
                self.downs.append(nn.Conv2d(cur, cur, 3, stride=2, padding=1))
                widths.append(cur)
        self.mid = nn.ModuleList([ResBlock(cur, cur, emb_dim, dropout) for _ in range(2)])
        self.mid_attn = AttnBlock(cur)
        for i, m in reversed(list(enumerate(mults))):
            for _ in range(2):
                self.ups.append(ResBlock(cur + widths.pop(), ch * m, emb_dim, dropout))
                cur = ch * m
            if i > 0:
                self.ups.append(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(cur, cur, 3, padding=1)))
        self.out = nn.Sequential(nn.GroupNorm(8, cur), nn.SiLU(), zero_module(nn.Conv2d(cur, 3, 3, padding=1)))

    def forward(self, x, t, y):
        emb = self.time_mlp(sinusoid(t, self.ch)) + self.cls_emb(y)
        h = self.stem(x)
        stack = [h]
        for layer in self.downs:
            h = layer(h, emb) if isinstance(layer, ResBlock) else layer(h)
            stack.append(h)
        h = self.mid[0](h, emb)
        h = self.mid_attn(h)
        h = self.mid[1](h, emb)
        for layer in self.ups:
            if isinstance(layer, ResBlock):
                h = layer(torch.cat([h, stack.pop()], dim=1), emb)
            else:
                h = layer(h)
        return self.out(h)
