"""Character-level language model on the Python documentation."""
import json
import yaml
import math
import pydoc_data.topics

import torch
import torch.nn.functional as F
from torch import nn

cfg = yaml.safe_load(open("config.yaml"))
log = open("metrics.jsonl", "w")
torch.manual_seed(cfg["seed"])
torch.set_num_threads(1)

text = "\n".join(body for _, body in sorted(pydoc_data.topics.topics.items()))[: cfg["train_size"]]
letters = sorted(set(text))
index = {c: i for i, c in enumerate(letters)}
data = torch.tensor([index[c] for c in text])
train_data, val_data = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]


def get_batch(source):
    starts = torch.randint(len(source) - cfg["block_size"] - 1, (cfg["batch_size"],))
    x = torch.stack([source[i : i + cfg["block_size"]] for i in starts])
    y = torch.stack([source[i + 1 : i + 1 + cfg["block_size"]] for i in starts])
    return x, y


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(width)
        self.ln2 = nn.LayerNorm(width)
        self.attn = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(cfg["dropout"])

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.attn(self.ln1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.proj(a.transpose(1, 2).reshape(b, t, c)))
        x = x + self.drop(self.out(F.gelu(self.fc(self.ln2(x)))))
        return x


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(len(letters), cfg["n_embd"])
        self.wpe = nn.Embedding(cfg["block_size"], cfg["n_embd"])
        self.blocks = nn.ModuleList([Block(cfg["n_embd"], 4) for _ in range(cfg["n_layer"])])
        self.ln = nn.LayerNorm(cfg["n_embd"])
        self.head = nn.Linear(cfg["n_embd"], len(letters), bias=False)
        self.apply(self.init)

    def init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=cfg["init_std"])

    def forward(self, x):
        h = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.ln(h))


def get_lr(step):
    if step < cfg["warmup_steps"]:
        return cfg["learning_rate"] * (step + 1) / cfg["warmup_steps"]
    done = (step - cfg["warmup_steps"]) / max(1, cfg["max_steps"] - cfg["warmup_steps"])
    return cfg["min_lr"] + 0.5 * (1 + math.cos(math.pi * done)) * (cfg["learning_rate"] - cfg["min_lr"])


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["learning_rate"], betas=(0.9, cfg["beta2"]), weight_decay=cfg["weight_decay"])
epoch = 0
for step in range(1, cfg["max_steps"] + 1):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(step - 1)
    x, y = get_batch(train_data)
    output = model(x)
    loss = F.cross_entropy(output.flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
    optimizer.step()
    if step % cfg["log_every"] == 0:
        log.write(json.dumps({"step": step, "epoch": epoch, "loss": loss.item(), "lr": optimizer.param_groups[0]["lr"], "grad_norm": norm.item()}) + "\n")
    if step % cfg["eval_interval"] == 0:
        model.eval()
        with torch.no_grad():
            losses = []
            for _ in range(16):
                x, y = get_batch(val_data)
                output = model(x)
                losses.append(F.cross_entropy(output.flatten(0, 1), y.flatten()).item())
        val_loss = sum(losses) / len(losses)
        model.train()
        log.write(json.dumps({"step": step, "epoch": epoch, "val_loss": val_loss}) + "\n")
log.close()
