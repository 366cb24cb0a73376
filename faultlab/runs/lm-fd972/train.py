"""Character-level language model on the Python documentation."""
import csv
import json
import math
import pydoc_data.topics

import torch
import torch.nn.functional as F
from torch import nn

config = json.load(open("config.json"))
log_file = open("metrics.csv", "w", newline="")
log = csv.DictWriter(log_file, ["step", "epoch", "loss", "lr", "grad_norm", "val_loss"])
log.writeheader()
torch.manual_seed(config["seed"])
torch.set_num_threads(1)

text = "\n".join(body for _, body in sorted(pydoc_data.topics.topics.items()))[: config["train_size"]]
letters = sorted(set(text))
index = {c: i for i, c in enumerate(letters)}
data = torch.tensor([index[c] for c in text])
train_data, val_data = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]


def get_batch(source):
    starts = torch.randint(len(source) - config["block_size"] - 1, (config["batch_size"],))
    x = torch.stack([source[i : i + config["block_size"]] for i in starts])
    y = torch.stack([source[i + 1 : i + 1 + config["block_size"]] for i in starts])
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
        self.drop = nn.Dropout(config["dropout"])

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
        self.wte = nn.Embedding(len(letters), config["n_embd"])
        self.wpe = nn.Embedding(config["block_size"], config["n_embd"])
        self.blocks = nn.ModuleList([Block(config["n_embd"], 4) for _ in range(config["n_layer"])])
        self.ln = nn.LayerNorm(config["n_embd"])
        self.head = nn.Linear(config["n_embd"], len(letters), bias=False)
        self.apply(self.init)

    def init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=config["init_std"])

    def forward(self, x):
        h = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.ln(h))


def get_lr(step):
    if step < config["warmup_steps"]:
        return config["lr"] * (step + 1) / config["warmup_steps"]
    done = (step - config["warmup_steps"]) / max(1, config["max_steps"] - config["warmup_steps"])
    return config["min_lr"] + 0.5 * (1 + math.cos(math.pi * done)) * (config["lr"] - config["min_lr"])


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], betas=(0.9, config["beta2"]), weight_decay=config["weight_decay"])
epoch = 0
for step in range(1, config["max_steps"] + 1):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(step - 1)
    x, y = get_batch(train_data)
    output = model(x)
    loss = F.cross_entropy(output.flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), config["grad_clip"])
    optimizer.step()
    if step % config["log_every"] == 0:
        log.writerow({"step": step, "epoch": epoch, "loss": loss.item(), "lr": optimizer.param_groups[0]["lr"], "grad_norm": norm.item()})
    if step % config["eval_interval"] == 0:
        model.eval()
        with torch.no_grad():
            losses = []
            for _ in range(16):
                x, y = get_batch(val_data)
                output = model(x)
                losses.append(F.cross_entropy(output.flatten(0, 1), y.flatten()).item())
        val_loss = sum(losses) / len(losses)
        model.train()
        log.writerow({"step": step, "epoch": epoch, "val_loss": val_loss})
log_file.close()
