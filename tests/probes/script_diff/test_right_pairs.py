# ruff: noqa: E501
"""Equal rewrites of right programs, held against the original: a language model and an image classifier.

Each says the same in another way: no finding and no cause at 0.5 or above may come of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ._rewrites import findings, likely, told

GPT = """
import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

class Tokens(Dataset):
    def __init__(self, ids, length):
        self.ids, self.length = ids, length

    def __len__(self):
        return (len(self.ids) - 1) // self.length

    def __getitem__(self, i):
        s = i * self.length
        x = self.ids[s:s + self.length]
        y = self.ids[s + 1:s + 1 + self.length]
        return x, y

class Attention(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.drop = drop

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, -1).transpose(1, 2)
        k = k.view(b, t, self.heads, -1).transpose(1, 2)
        v = v.view(b, t, self.heads, -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop if self.training else 0.0, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))

class Block(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        self.n1 = nn.LayerNorm(dim)
        self.att = Attention(dim, heads, drop)
        self.n2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(drop))

    def forward(self, x):
        x = x + self.att(self.n1(x))
        return x + self.mlp(self.n2(x))

class GPT(nn.Module):
    def __init__(self, vocab, dim=384, heads=6, depth=6, length=256, drop=0.1):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        self.blocks = nn.ModuleList([Block(dim, heads, drop) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, ids):
        h = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))

def lr_at(step, warm, total, top):
    if step < warm:
        return top * (step + 1) / warm
    return 0.1 * top + 0.9 * top * 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))

@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    total = count = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = net(x)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    net.train()
    return total / count

def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ids = torch.load("corpus.pt")
    cut = int(0.95 * len(ids))
    train = DataLoader(Tokens(ids[:cut], 256), batch_size=32, shuffle=True, drop_last=True)
    val = DataLoader(Tokens(ids[cut:], 256), batch_size=64)
    net = GPT(int(ids.max()) + 1).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    epochs, accum = 4, 4
    total = epochs * (len(train) // accum)
    step, best = 0, float("inf")
    for epoch in range(epochs):
        net.train()
        opt.zero_grad()
        for i, (x, y) in enumerate(train):
            x, y = x.to(device), y.to(device)
            logits = net(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            (loss / accum).backward()
            if (i + 1) % accum == 0:
                for g in opt.param_groups:
                    g["lr"] = lr_at(step, 200, total, 3e-4)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
                step += 1
        value = evaluate(net, val, device)
        print(epoch, value)
        if value < best:
            best = value
            torch.save(net.state_dict(), "best.pt")

if __name__ == "__main__":
    main()
"""
CNN = """
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)

class ConvNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(128, 256, 3, padding=1), nn.BatchNorm2d(256), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        )
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Linear(256 * 4 * 4, classes)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(self.dropout(x))

def loaders(root, batch):
    train_tf = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    test_tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    full = datasets.CIFAR10(root, train=True, transform=train_tf, download=True)
    plain = datasets.CIFAR10(root, train=True, transform=test_tf)
    order = torch.randperm(len(full), generator=torch.Generator().manual_seed(0)).tolist()
    train, val = Subset(full, order[5000:]), Subset(plain, order[:5000])
    test = datasets.CIFAR10(root, train=False, transform=test_tf)
    return (DataLoader(train, batch, shuffle=True, num_workers=4), DataLoader(val, batch), DataLoader(test, batch))

def train_epoch(model, loader, criterion, optimizer, device):
    model.train()
    running, seen = 0.0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * labels.size(0)
        seen += labels.size(0)
    return running / seen

def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            predicted = model(images).argmax(dim=1)
            correct += (predicted == labels).sum().item()
            total += labels.size(0)
    return correct / total

def main():
    device = torch.device("cuda")
    torch.manual_seed(1)
    train_loader, val_loader, test_loader = loaders("data", 128)
    model = ConvNet().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80)
    best = 0.0
    for epoch in range(80):
        loss = train_epoch(model, train_loader, criterion, optimizer, device)
        accuracy = evaluate(model, val_loader, device)
        scheduler.step()
        print(epoch, loss, accuracy)
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), "best.pth")
    model.load_state_dict(torch.load("best.pth"))
    print("test", evaluate(model, test_loader, device))

if __name__ == "__main__":
    main()
"""
Rewrite = tuple[str, tuple[tuple[str, str], ...]]
REWRITES: dict[str, Rewrite] = {
    "gpt-attention-by-hand": (
        GPT,
        (
            (
                """        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop if self.training else 0.0, is_causal=True)
""",
                """        scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), 1)
        scores = scores.masked_fill(mask, float("-inf"))
        y = F.dropout(scores.softmax(-1), self.drop, self.training) @ v
""",
            ),
        ),
    ),
    "gpt-attention-einsum": (
        GPT,
        (
            (
                """        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop if self.training else 0.0, is_causal=True)
""",
                """        scores = torch.einsum("bhqd,bhkd->bhqk", q * q.size(-1) ** -0.5, k)
        seen = torch.ones(t, t, device=x.device).tril().bool()
        weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(dim=-1)
        weights = nn.functional.dropout(weights, p=self.drop, training=self.training)
        y = torch.einsum("bhqk,bhkd->bhqd", weights, v)
""",
            ),
        ),
    ),
    "gpt-qkv-reshape-permute": (
        GPT,
        (
            (
                """        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, -1).transpose(1, 2)
        k = k.view(b, t, self.heads, -1).transpose(1, 2)
        v = v.view(b, t, self.heads, -1).transpose(1, 2)
""",
                """        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
""",
            ),
        ),
    ),
    "gpt-qkv-three-layers": (
        GPT,
        (
            (
                """        self.qkv = nn.Linear(dim, 3 * dim)
""",
                """        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
""",
            ),
            (
                """        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, -1).transpose(1, 2)
        k = k.view(b, t, self.heads, -1).transpose(1, 2)
        v = v.view(b, t, self.heads, -1).transpose(1, 2)
""",
                """        q, k, v = (f(x).view(b, t, self.heads, d // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
""",
            ),
        ),
    ),
    "gpt-rearrange": (
        GPT,
        (
            (
                """from torch import nn
""",
                """from torch import nn
from einops import rearrange
""",
            ),
            (
                """        q = q.view(b, t, self.heads, -1).transpose(1, 2)
        k = k.view(b, t, self.heads, -1).transpose(1, 2)
        v = v.view(b, t, self.heads, -1).transpose(1, 2)
""",
                """        q, k, v = (rearrange(z, "b t (h d) -> b h t d", h=self.heads) for z in (q, k, v))
""",
            ),
            (
                """        return self.out(y.transpose(1, 2).reshape(b, t, d))
""",
                """        return self.out(rearrange(y, "b h t d -> b t (h d)"))
""",
            ),
        ),
    ),
    "gpt-layernorm-own": (
        GPT,
        (
            (
                """class Attention(nn.Module):
""",
                """class Norm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, unbiased=False, keepdim=True)
        return self.weight * (x - mean) * torch.rsqrt(var + self.eps) + self.bias

class Attention(nn.Module):
""",
            ),
            (
                """        self.n1 = nn.LayerNorm(dim)
""",
                """        self.n1 = Norm(dim)
""",
            ),
            (
                """        self.n2 = nn.LayerNorm(dim)
""",
                """        self.n2 = Norm(dim)
""",
            ),
            (
                """        self.norm = nn.LayerNorm(dim)
""",
                """        self.norm = Norm(dim)
""",
            ),
        ),
    ),
    "gpt-lambda-schedule": (
        GPT,
        (
            (
                """    total = epochs * (len(train) // accum)
    step, best = 0, float("inf")
""",
                """    total = epochs * (len(train) // accum)
    best = float("inf")
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: lr_at(s, 200, total, 1.0))
""",
            ),
            (
                """                for g in opt.param_groups:
                    g["lr"] = lr_at(step, 200, total, 3e-4)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
                step += 1
""",
                """                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad()
""",
            ),
        ),
    ),
    "gpt-sequential-lr": (
        GPT,
        (
            (
                """    step, best = 0, float("inf")
""",
                """    best = float("inf")
    up = torch.optim.lr_scheduler.LinearLR(opt, 1 / 200, 1.0, total_iters=199)
    down = torch.optim.lr_scheduler.CosineAnnealingLR(opt, total - 200, eta_min=3e-5)
    sched = torch.optim.lr_scheduler.SequentialLR(opt, [up, down], milestones=[200])
""",
            ),
            (
                """                for g in opt.param_groups:
                    g["lr"] = lr_at(step, 200, total, 3e-4)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
                step += 1
""",
                """                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
                sched.step()
""",
            ),
        ),
    ),
    "gpt-accumulate-nested": (
        GPT,
        (
            (
                """        opt.zero_grad()
        for i, (x, y) in enumerate(train):
            x, y = x.to(device), y.to(device)
            logits = net(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            (loss / accum).backward()
            if (i + 1) % accum == 0:
                for g in opt.param_groups:
                    g["lr"] = lr_at(step, 200, total, 3e-4)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
                step += 1
""",
                """        batches = iter(train)
        for _ in range(len(train) // accum):
            opt.zero_grad()
            for _ in range(accum):
                x, y = (t.to(device) for t in next(batches))
                loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten()) / accum
                loss.backward()
            for g in opt.param_groups:
                g["lr"] = lr_at(step, 200, total, 3e-4)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            step += 1
""",
            ),
        ),
    ),
    "gpt-loss-in-model": (
        GPT,
        (
            (
                """    def forward(self, ids):
        h = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))
""",
                """    def forward(self, ids, targets=None):
        h = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            h = block(h)
        logits = self.head(self.norm(h))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))
""",
            ),
            (
                """        logits = net(x)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
""",
                """        _, loss = net(x, y)
        total += loss.item() * y.numel()
        count += y.numel()
""",
            ),
            (
                """            logits = net(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            (loss / accum).backward()
""",
                """            _, loss = net(x, y)
            (loss / accum).backward()
""",
            ),
        ),
    ),
    "gpt-loss-transpose": (
        GPT,
        (
            (
                """            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
""",
                """            loss = F.cross_entropy(logits.transpose(1, 2), y)
""",
            ),
        ),
    ),
    "gpt-loss-nll-logsoftmax": (
        GPT,
        (
            (
                """            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
""",
                """            loss = -F.log_softmax(logits, -1).gather(-1, y.unsqueeze(-1)).mean()
""",
            ),
        ),
    ),
    "gpt-loss-sum-over-count": (
        GPT,
        (
            (
                """            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            (loss / accum).backward()
""",
                """            summed = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
            loss = summed / (y.numel() * accum)
            loss.backward()
""",
            ),
        ),
    ),
    "gpt-windows-by-unfold": (
        GPT,
        (
            (
                """        self.ids, self.length = ids, length

    def __len__(self):
        return (len(self.ids) - 1) // self.length

    def __getitem__(self, i):
        s = i * self.length
        x = self.ids[s:s + self.length]
        y = self.ids[s + 1:s + 1 + self.length]
        return x, y
""",
                """        self.rows = ids.unfold(0, length + 1, length)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return row[:-1], row[1:]
""",
            ),
        ),
    ),
    "gpt-init-own-loops": (
        GPT,
        (
            (
                """        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)
""",
                """        for m in self.modules():
            if isinstance(m, nn.Linear):
                m.weight.data.normal_(0.0, 0.02)
                if m.bias is not None:
                    m.bias.data.zero_()
            elif isinstance(m, nn.Embedding):
                m.weight.data.normal_(0.0, 0.02)
""",
            ),
        ),
    ),
    "gpt-config-dataclass": (
        GPT,
        (
            (
                """def main():
    torch.manual_seed(0)
""",
                """from dataclasses import dataclass

@dataclass
class Config:
    seed: int = 0
    length: int = 256
    batch: int = 32
    lr: float = 3e-4
    decay: float = 0.1
    warm: int = 200
    epochs: int = 4
    accum: int = 4
    clip: float = 1.0

def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
""",
            ),
            (
                """    train = DataLoader(Tokens(ids[:cut], 256), batch_size=32, shuffle=True, drop_last=True)
    val = DataLoader(Tokens(ids[cut:], 256), batch_size=64)
""",
                """    train = DataLoader(Tokens(ids[:cut], cfg.length), cfg.batch, shuffle=True, drop_last=True)
    val = DataLoader(Tokens(ids[cut:], cfg.length), 2 * cfg.batch)
""",
            ),
            (
                """    opt = torch.optim.AdamW(net.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    epochs, accum = 4, 4
""",
                """    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr, betas=(0.9, 0.95), weight_decay=cfg.decay)
    epochs, accum = cfg.epochs, cfg.accum
""",
            ),
            (
                """                    g["lr"] = lr_at(step, 200, total, 3e-4)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
""",
                """                    g["lr"] = lr_at(step, cfg.warm, total, cfg.lr)
                nn.utils.clip_grad_norm_(net.parameters(), cfg.clip)
""",
            ),
        ),
    ),
    "gpt-eval-context-manager": (
        GPT,
        (
            (
                """@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    total = count = 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = net(x)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    net.train()
    return total / count
""",
                """from contextlib import contextmanager

@contextmanager
def judging(net):
    was = net.training
    net.eval()
    try:
        with torch.inference_mode():
            yield net
    finally:
        net.train(was)

def evaluate(net, loader, device):
    losses = []
    with judging(net):
        for x, y in loader:
            logits = net(x.to(device))
            losses.append(F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten(), reduction="none"))
    return torch.cat(losses).mean().item()
""",
            ),
        ),
    ),
    "gpt-trainer-class": (
        GPT,
        (
            (
                """def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ids = torch.load("corpus.pt")
    cut = int(0.95 * len(ids))
    train = DataLoader(Tokens(ids[:cut], 256), batch_size=32, shuffle=True, drop_last=True)
    val = DataLoader(Tokens(ids[cut:], 256), batch_size=64)
    net = GPT(int(ids.max()) + 1).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    epochs, accum = 4, 4
    total = epochs * (len(train) // accum)
    step, best = 0, float("inf")
    for epoch in range(epochs):
        net.train()
        opt.zero_grad()
        for i, (x, y) in enumerate(train):
            x, y = x.to(device), y.to(device)
            logits = net(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            (loss / accum).backward()
            if (i + 1) % accum == 0:
                for g in opt.param_groups:
                    g["lr"] = lr_at(step, 200, total, 3e-4)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
                step += 1
        value = evaluate(net, val, device)
        print(epoch, value)
        if value < best:
            best = value
            torch.save(net.state_dict(), "best.pt")
""",
                """class Run:
    def __init__(self, net, train, val, epochs=4, accum=4, top=3e-4, device="cuda"):
        self.net, self.train, self.val, self.device = net.to(device), train, val, device
        self.opt = torch.optim.AdamW(net.parameters(), lr=top, betas=(0.9, 0.95), weight_decay=0.1)
        self.epochs, self.accum, self.top = epochs, accum, top
        self.total = epochs * (len(train) // accum)
        self.step, self.best = 0, float("inf")

    def micro(self, x, y):
        logits = self.net(x.to(self.device))
        loss = F.cross_entropy(logits.flatten(0, 1), y.to(self.device).flatten())
        (loss / self.accum).backward()

    def update(self):
        for g in self.opt.param_groups:
            g["lr"] = lr_at(self.step, 200, self.total, self.top)
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad()
        self.step += 1

    def epoch(self):
        self.net.train()
        self.opt.zero_grad()
        for i, (x, y) in enumerate(self.train, 1):
            self.micro(x, y)
            if i % self.accum == 0:
                self.update()

    def fit(self):
        for epoch in range(self.epochs):
            self.epoch()
            value = evaluate(self.net, self.val, self.device)
            print(epoch, value)
            if value < self.best:
                self.best = value
                torch.save(self.net.state_dict(), "best.pt")

def main():
    torch.manual_seed(0)
    ids = torch.load("corpus.pt")
    cut = int(0.95 * len(ids))
    train = DataLoader(Tokens(ids[:cut], 256), batch_size=32, shuffle=True, drop_last=True)
    val = DataLoader(Tokens(ids[cut:], 256), batch_size=64)
    net = GPT(int(ids.max()) + 1)
    Run(net, train, val, device="cuda" if torch.cuda.is_available() else "cpu").fit()
""",
            ),
        ),
    ),
    "gpt-groups-fused": (
        GPT,
        (
            (
                """    opt = torch.optim.AdamW(net.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
""",
                """    everything = list(net.parameters())
    opt = torch.optim.AdamW([{"params": everything}], lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=device == "cuda")
""",
            ),
        ),
    ),
    "cnn-functional-forward": (
        CNN,
        (
            (
                """        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(128, 256, 3, padding=1), nn.BatchNorm2d(256), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        )
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Linear(256 * 4 * 4, classes)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(self.dropout(x))
""",
                """        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64)
        self.conv2, self.bn2 = nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128)
        self.conv3, self.bn3 = nn.Conv2d(128, 256, 3, padding=1), nn.BatchNorm2d(256)
        self.fc = nn.Linear(4096, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.max_pool2d(F.relu(self.bn3(self.conv3(x))), 2)
        x = F.dropout(x.view(x.size(0), -1), 0.5, self.training)
        return self.fc(x)
""",
            ),
            (
                """import torch.optim as optim
""",
                """import torch.nn.functional as F
import torch.optim as optim
""",
            ),
        ),
    ),
    "cnn-loop-built": (
        CNN,
        (
            (
                """        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(128, 256, 3, padding=1), nn.BatchNorm2d(256), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        )
""",
                """        layers, width = [], 3
        for out in (64, 128, 256):
            layers += [nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.MaxPool2d(2)]
            width = out
        self.features = nn.Sequential(*layers)
""",
            ),
        ),
    ),
    "cnn-block-class-and-no-bias": (
        CNN,
        (
            (
                """class ConvNet(nn.Module):
""",
                """class Stage(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(nn.Conv2d(i, o, kernel_size=3, padding="same"), nn.BatchNorm2d(o), nn.ReLU(True), nn.MaxPool2d(kernel_size=2, stride=2))

class ConvNet(nn.Module):
""",
            ),
            (
                """        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(128, 256, 3, padding=1), nn.BatchNorm2d(256), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        )
""",
                """        self.features = nn.Sequential(Stage(3, 64), Stage(64, 128), Stage(128, 256))
""",
            ),
        ),
    ),
    "cnn-lambda-cosine": (
        CNN,
        (
            (
                """    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80)
""",
                """    scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda e: 0.5 * (1 + math.cos(math.pi * e / 80)))
""",
            ),
            (
                """import torch
""",
                """import math
import torch
""",
            ),
        ),
    ),
    "cnn-cosine-by-step": (
        CNN,
        (
            (
                """def train_epoch(model, loader, criterion, optimizer, device):
""",
                """def train_epoch(model, loader, criterion, optimizer, device, scheduler):
""",
            ),
            (
                """        optimizer.step()
""",
                """        optimizer.step()
        scheduler.step()
""",
            ),
            (
                """    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80)
""",
                """    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80 * len(train_loader))
""",
            ),
            (
                """        loss = train_epoch(model, train_loader, criterion, optimizer, device)
        accuracy = evaluate(model, val_loader, device)
        scheduler.step()
""",
                """        loss = train_epoch(model, train_loader, criterion, optimizer, device, scheduler)
        accuracy = evaluate(model, val_loader, device)
""",
            ),
        ),
    ),
    "cnn-gpu-augment": (
        CNN,
        (
            (
                """    train_tf = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
""",
                """    train_tf = transforms.v2.Compose([transforms.v2.ToImage(), transforms.v2.RandomCrop(32, padding=4), transforms.v2.RandomHorizontalFlip(p=0.5), transforms.v2.ToDtype(torch.float32, scale=True), transforms.v2.Normalize(MEAN, STD)])
""",
            ),
            (
                """from torchvision import datasets, transforms
""",
                """import torchvision.transforms.v2
from torchvision import datasets, transforms
""",
            ),
        ),
    ),
    "cnn-val-by-metric-sum": (
        CNN,
        (
            (
                """    correct = total = 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            predicted = model(images).argmax(dim=1)
            correct += (predicted == labels).sum().item()
            total += labels.size(0)
    return correct / total
""",
                """    hits = []
    with torch.inference_mode():
        for images, labels in loader:
            scores = model(images.to(device)).softmax(1)
            _, top = scores.max(1)
            hits.append((top.cpu() == labels).float())
    return torch.cat(hits).mean().item()
""",
            ),
        ),
    ),
    "cnn-subset-by-wrapper": (
        CNN,
        (
            (
                """    full = datasets.CIFAR10(root, train=True, transform=train_tf, download=True)
    plain = datasets.CIFAR10(root, train=True, transform=test_tf)
    order = torch.randperm(len(full), generator=torch.Generator().manual_seed(0)).tolist()
    train, val = Subset(full, order[5000:]), Subset(plain, order[:5000])
""",
                """    full = datasets.CIFAR10(root, train=True, download=True)
    train, val = random_split(full, [45000, 5000], torch.Generator().manual_seed(0))
    train, val = Mapped(train, train_tf), Mapped(val, test_tf)
""",
            ),
            (
                """from torch.utils.data import DataLoader, Subset
""",
                """from torch.utils.data import DataLoader, Dataset, random_split
""",
            ),
            (
                """def loaders(root, batch):
""",
                """class Mapped(Dataset):
    def __init__(self, base, fn):
        self.base, self.fn = base, fn

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        image, label = self.base[i]
        return self.fn(image), label

def loaders(root, batch):
""",
            ),
        ),
    ),
    "cnn-accelerate": (
        CNN,
        (
            (
                """def train_epoch(model, loader, criterion, optimizer, device):
""",
                """def train_epoch(model, loader, criterion, optimizer, accelerator):
""",
            ),
            (
                """    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
""",
                """    for images, labels in loader:
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        accelerator.backward(loss)
        optimizer.step()
""",
            ),
            (
                """    device = torch.device("cuda")
    torch.manual_seed(1)
""",
                """    accelerator = Accelerator(step_scheduler_with_optimizer=False)
    device = accelerator.device
    set_seed(1)
""",
            ),
            (
                """    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80)
""",
                """    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80)
    model, optimizer, train_loader, scheduler = accelerator.prepare(model, optimizer, train_loader, scheduler)
""",
            ),
            (
                """        loss = train_epoch(model, train_loader, criterion, optimizer, device)
""",
                """        loss = train_epoch(model, train_loader, criterion, optimizer, accelerator)
""",
            ),
            (
                """import torch
""",
                """from accelerate import Accelerator
from accelerate.utils import set_seed
import torch
""",
            ),
        ),
    ),
}


@pytest.mark.parametrize("slug", sorted(REWRITES))
def test_an_equal_rewrite_is_not_blamed(slug: str, tmp_path: Path) -> None:
    """Neither a finding nor a cause that is held likely."""
    said = told(tmp_path, *REWRITES[slug])

    assert findings(said) == []
    assert likely(said) == []
