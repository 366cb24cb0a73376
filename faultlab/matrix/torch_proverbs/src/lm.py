"""A small language model of proverbs."""

import json
import math
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "text": "proverbs.txt",
    "out": "runs/proverbs",
    "block": 96,
    "layers": 4,
    "heads": 4,
    "width": 128,
    "dropout": 0.1,
    "batch_size": 16,
    "accumulate": 4,
    "epochs": 12,
    "lr": 6e-4,
    "min_lr": 6e-5,
    "warmup_steps": 200,
    "weight_decay": 0.1,
    "betas": (0.9, 0.95),
    "eps": 1e-8,
    "clip": 1.0,
    "seed": 1234,
    "resume": None,
}
PAD, BOS, EOS = 0, 1, 2


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


def read_lines(path):
    with open(path, encoding="utf-8") as f:
        return [line.strip().lower() for line in f if line.strip()]


def make_vocabulary(lines):
    letters = sorted(set("".join(lines)))
    return {c: i + 3 for i, c in enumerate(letters)}


class Proverbs(Dataset):
    def __init__(self, lines, vocabulary, block):
        self.rows = []
        for line in lines:
            ids = [BOS] + [vocabulary[c] for c in line if c in vocabulary][: block - 1] + [EOS]
            self.rows.append(torch.tensor(ids))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    longest = max(len(r) for r in rows)
    ids = torch.full((len(rows), longest), PAD)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    x = ids[:, :-1]
    y = ids[:, 1:].clone()
    y[y == PAD] = -100
    return x, y


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        future = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
        weights = self.drop(F.softmax(scores, dim=-1))
        y = (weights @ v).transpose(1, 2).contiguous().view(b, t, c)
        return self.drop(self.proj(y))


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class ProverbModel(nn.Module):
    def __init__(self, vocabulary_size, cfg):
        super().__init__()
        self.token = nn.Embedding(vocabulary_size, cfg["width"], padding_idx=PAD)
        self.place = nn.Embedding(cfg["block"] + 1, cfg["width"])
        self.drop = nn.Dropout(cfg["dropout"])
        self.layers = nn.ModuleList(
            [Layer(cfg["width"], cfg["heads"], cfg["dropout"]) for _ in range(cfg["layers"])]
        )
        self.norm = nn.LayerNorm(cfg["width"])
        self.head = nn.Linear(cfg["width"], vocabulary_size, bias=False)
        self.apply(init_weights)

    def forward(self, ids):
        places = torch.arange(ids.size(1), device=ids.device)
        x = self.drop(self.token(ids) + self.place(places))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, mean=0.0, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def make_optimizer(model, cfg):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": decay, "weight_decay": cfg["weight_decay"]},
        {"params": plain, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=cfg["lr"], betas=cfg["betas"], eps=cfg["eps"])


def rate_at(step, total, cfg):
    if step < cfg["warmup_steps"]:
        return (step + 1) / cfg["warmup_steps"]
    done = (step - cfg["warmup_steps"]) / max(1, total - cfg["warmup_steps"])
    low = cfg["min_lr"] / cfg["lr"]
    return low + 0.5 * (1 - low) * (1 + math.cos(math.pi * min(1.0, done)))


def sequence_loss(logits, targets, reduction="mean"):
    return F.cross_entropy(
        logits.reshape(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-100, reduction=reduction
    )


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    total, tokens = 0.0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        total += sequence_loss(model(x), y, reduction="sum").item()
        tokens += (y != -100).sum().item()
    model.train()
    return total / tokens


def train(cfg):
    seed_everything(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    os.makedirs(cfg["out"], exist_ok=True)
    lines = read_lines(cfg["text"])
    random.shuffle(lines)
    cut = int(0.9 * len(lines))
    vocabulary = make_vocabulary(lines)
    with open(os.path.join(cfg["out"], "vocabulary.json"), "w", encoding="utf-8") as f:
        json.dump(vocabulary, f)
    train_loader = DataLoader(
        Proverbs(lines[:cut], vocabulary, cfg["block"]),
        batch_size=cfg["batch_size"], shuffle=True, collate_fn=collate, drop_last=True,
    )
    val_loader = DataLoader(
        Proverbs(lines[cut:], vocabulary, cfg["block"]), batch_size=cfg["batch_size"], collate_fn=collate
    )

    model = ProverbModel(len(vocabulary) + 3, cfg).to(device)
    optimizer = make_optimizer(model, cfg)
    updates = len(train_loader) // cfg["accumulate"]
    total_steps = updates * cfg["epochs"]
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, total_steps, cfg))
    best, first_epoch = float("inf"), 0
    if cfg["resume"]:
        state = torch.load(cfg["resume"], map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        best, first_epoch = state["best"], state["epoch"] + 1

    model.train()
    for epoch in range(first_epoch, cfg["epochs"]):
        optimizer.zero_grad(set_to_none=True)
        for i, (x, y) in enumerate(train_loader):
            if i >= updates * cfg["accumulate"]:
                break
            x, y = x.to(device), y.to(device)
            loss = sequence_loss(model(x), y)
            (loss / cfg["accumulate"]).backward()
            if (i + 1) % cfg["accumulate"] == 0:
                norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
            if i % 50 == 0:
                print(f"epoch {epoch} batch {i} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")
        val = evaluate(model, val_loader, device)
        print(f"epoch {epoch} val loss {val:.4f} perplexity {math.exp(val):.2f}")
        if val < best:
            best = val
            torch.save(model.state_dict(), os.path.join(cfg["out"], "best.pt"))
        torch.save(
            {
                "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(), "epoch": epoch, "best": best,
            },
            os.path.join(cfg["out"], "last.pt"),
        )
    model.load_state_dict(torch.load(os.path.join(cfg["out"], "best.pt"), map_location=device))
    print("a proverb:", sample(model, vocabulary, cfg, device))


@torch.no_grad()
def sample(model, vocabulary, cfg, device, temperature=0.8):
    model.eval()
    letters = {i: c for c, i in vocabulary.items()}
    ids = torch.tensor([[BOS]], device=device)
    while ids.size(1) < cfg["block"]:
        logits = model(ids)[:, -1, :] / temperature
        after = torch.multinomial(F.softmax(logits, dim=-1), 1)
        if after.item() == EOS:
            break
        ids = torch.cat([ids, after], dim=1)
    return "".join(letters.get(i, "") for i in ids[0, 1:].tolist())


if __name__ == "__main__":
    train(CONFIG)
