"""Next letter of a hymn book; small causal transformer, everything by index and hand."""
import math
import os
import random
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, LEN, WIDTH, HEADS, LAYERS, STEPS = 32, 96, 128, 4, 3, 4000
PAD, BOS, EOS = 0, 1, 2

random.seed(3)
np.random.seed(3)
torch.manual_seed(3)

path = sys.argv[1] if len(sys.argv) > 1 else "hymns"
names = sorted(os.listdir(path))
texts = []
for i in range(len(names)):
    with open(os.path.join(path, names[i]), encoding="utf-8") as f:
        texts.append(f.read())
order = list(range(len(texts)))
random.shuffle(order)
cut = len(order) * 9 // 10
train_texts = [texts[i] for i in order[:cut]]
valid_texts = [texts[i] for i in order[cut:]]

UNK = 3
chars = sorted(set("".join(train_texts)))
index = {}
for i in range(len(chars)):
    index[chars[i]] = i + 4
vocab = len(chars) + 4


def encode(text):
    ids = [BOS]
    for c in text:
        ids.append(index.get(c, UNK))
    ids.append(EOS)
    return ids


def pack(book):
    flat = []
    for text in book:
        flat.extend(encode(text))
    return np.array(flat, dtype=np.int64)


train_ids = pack(train_texts)
valid_ids = pack(valid_texts)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.n1(x)).split(WIDTH, dim=2)
        q = q.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        k = k.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        v = v.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        s = q @ k.transpose(-2, -1) / math.sqrt(c // HEADS)
        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)
        s = s.masked_fill(future, float("-inf"))
        y = (s.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(y)
        return x + self.mlp(self.n2(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(vocab, WIDTH)
        pos = torch.arange(LEN).unsqueeze(1).float()
        rate = torch.exp(torch.arange(0, WIDTH, 2).float() * (-math.log(10000.0) / WIDTH))
        table = torch.zeros(LEN, WIDTH)
        table[:, 0::2] = torch.sin(pos * rate)
        table[:, 1::2] = torch.cos(pos * rate)
        self.register_buffer("table", table)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocab)

    def forward(self, x):
        h = self.emb(x) * math.sqrt(WIDTH) + self.table[: x.shape[1]]
        return self.head(self.norm(self.blocks(h)))


def batch(ids):
    x = np.empty((BATCH, LEN), dtype=np.int64)
    y = np.empty((BATCH, LEN), dtype=np.int64)
    for b in range(BATCH):
        s = np.random.randint(0, len(ids) - LEN - 1)
        x[b] = ids[s:s + LEN]
        y[b] = ids[s + 1:s + LEN + 1]
    return torch.from_numpy(x), torch.from_numpy(y)


@torch.no_grad()
def measure(net):
    net.eval()
    total, count = 0.0, 0
    for s in range(0, len(valid_ids) - LEN - 1, LEN):
        x = torch.from_numpy(valid_ids[s:s + LEN])[None]
        y = torch.from_numpy(valid_ids[s + 1:s + LEN + 1])[None]
        logits = net(x)
        total += F.cross_entropy(logits.view(-1, vocab), y.view(-1), reduction="sum").item()
        count += y.numel()
    net.train()
    return math.exp(total / count)


@torch.no_grad()
def sing(net, n, temperature=0.8):
    net.eval()
    ids = torch.tensor([[BOS]])
    for _ in range(n):
        logits = net(ids[:, -LEN:])[:, -1]
        p = F.softmax(logits / temperature, dim=-1)
        new = torch.multinomial(p, 1)
        if new.item() == EOS:
            break
        ids = torch.cat([ids, new], dim=1)
    net.train()
    return "".join(chars[i - 4] for i in ids[0].tolist() if i >= 4)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=6e-4, weight_decay=0.05)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)
for step in range(STEPS):
    x, y = batch(train_ids)
    loss = F.cross_entropy(net(x).view(-1, vocab), y.view(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 200 == 0:
        print(step, loss.item(), measure(net))
        print(sing(net, 200))
torch.save(net.state_dict(), "hymns.pt")
