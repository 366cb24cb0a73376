"""Character language model, trained in mixed precision. Usage: python train.py config.yaml"""
import math
import pydoc_data.topics
import sys

import torch
import yaml
from torch import nn
from torch.nn import functional as F

cfg = yaml.safe_load(open(sys.argv[1]))
torch.set_num_threads(1)
torch.manual_seed(cfg["seed"])
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[cfg["precision"]]

text = "\n".join(v for _, v in sorted(pydoc_data.topics.topics.items()))[:200000]
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]


def batch(source):
    start = torch.randint(len(source) - cfg["context"] - 1, (cfg["batch_size"],))
    x = torch.stack([source[i : i + cfg["context"]] for i in start])
    y = torch.stack([source[i + 1 : i + 1 + cfg["context"]] for i in start])
    return x, y


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        nn.init.normal_(self.up.weight, std=1.3)
        nn.init.normal_(self.down.weight, std=1e-4)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.relu(self.up(self.norm2(x))) ** 3)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        width = cfg["width"]
        self.token = nn.Embedding(len(chars), width)
        self.position = nn.Embedding(cfg["context"], width)
        self.blocks = nn.ModuleList(Block(width, cfg["heads"]) for _ in range(cfg["layers"]))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(chars))

    def forward(self, x):
        h = self.token(x) + self.position(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["learning_rate"], weight_decay=cfg["weight_decay"])
scaler = torch.amp.GradScaler("cpu", enabled=cfg["precision"] == "fp16")


def learning_rate(step):
    if step < cfg["warmup_steps"]:
        return (step + 1) / cfg["warmup_steps"]
    done = (step - cfg["warmup_steps"]) / (cfg["max_steps"] - cfg["warmup_steps"])
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate)
print(f"parameters: {sum(p.numel() for p in model.parameters())}, vocabulary: {len(chars)}")
for step in range(1, cfg["max_steps"] + 1):
    x, y = batch(train_data)
    with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
        logits = model(x)
        loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["grad_clip"])
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    if step % cfg["log_every"] == 0:
        line = f"step {step} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.3e} grad_norm {norm.item():.3f}"
        if scaler.is_enabled():
            line += f" loss_scale {scaler.get_scale():g}"
        print(line, flush=True)
    if step % cfg["eval_every"] == 0:
        with torch.no_grad(), torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            losses = [F.cross_entropy(model(a).float().flatten(0, 1), b.flatten()) for a, b in (batch(val_data) for _ in range(4))]
        print(f"step {step} val_loss {torch.stack(losses).mean().item():.4f}", flush=True)
