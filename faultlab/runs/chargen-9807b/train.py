"""Character-level language model on a generated logbook (decoder-only transformer)."""

import argparse
import json
import math
import time

import torch
import torch.nn as nn
from torch.nn import functional as F

from corpus import write_sections

parser = argparse.ArgumentParser()
parser.add_argument("--block_size", type=int, default=32)
parser.add_argument("--batch_size", type=int, default=12)
parser.add_argument("--accum", type=int, default=2)
parser.add_argument("--n_layer", type=int, default=2)
parser.add_argument("--n_head", type=int, default=4)
parser.add_argument("--n_embd", type=int, default=48)
parser.add_argument("--dropout", type=float, default=0.05)
parser.add_argument("--lr", type=float, default=2e-2)
parser.add_argument("--min_lr", type=float, default=1e-3)
parser.add_argument("--warmup", type=int, default=30)
parser.add_argument("--max_steps", type=int, default=360)
parser.add_argument("--weight_decay", type=float, default=0.1)
parser.add_argument("--grad_clip", type=float, default=1.0)
parser.add_argument("--eval_every", type=int, default=40)
parser.add_argument("--chars", type=int, default=16000, help="per section")
parser.add_argument("--seed", type=int, default=1337)
parser.add_argument("--stop_at", type=int, default=None, help="leave a checkpoint there and quit")
parser.add_argument("--resume", default=None)
args = parser.parse_args()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(args.n_embd, 3 * args.n_embd, bias=False)
        self.proj = nn.Linear(args.n_embd, args.n_embd, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (t.view(B, T, args.n_head, C // args.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(args.n_embd)
        self.attn = Attention()
        self.ln2 = nn.LayerNorm(args.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(args.n_embd, 4 * args.n_embd), nn.GELU(), nn.Linear(4 * args.n_embd, args.n_embd)
        )
        self.drop = nn.Dropout(args.dropout)

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln1(x)))
        x = x + self.drop(self.mlp(self.ln2(x)))
        return x


class CharLM(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, args.n_embd)
        self.pos = nn.Embedding(args.block_size, args.n_embd)
        self.blocks = nn.ModuleList([Block() for _ in range(args.n_layer)])
        self.ln_f = nn.LayerNorm(args.n_embd)
        self.head = nn.Linear(args.n_embd, vocab_size, bias=False)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=2.0)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(data, n):
    ix = torch.randint(len(data) - args.block_size, (n,))
    x = torch.stack([data[i : i + args.block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + args.block_size] for i in ix])
    return x, y


def get_lr(step):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    done = (step - args.warmup) / (args.max_steps - args.warmup)
    return args.min_lr + 0.5 * (1 + math.cos(math.pi * done)) * (args.lr - args.min_lr)


@torch.no_grad()
def estimate_loss(model, data, n=4):
    model.eval()
    loss = torch.stack([model(*get_batch(data, 64)) for _ in range(n)]).mean().item()
    model.train()
    return loss


torch.manual_seed(args.seed)
with open("args.json", "w") as f:
    json.dump(vars(args), f, indent=2)

sections = write_sections(args.chars)
train_text = "".join(s[: int(0.9 * len(s))] for s in sections)
val_text = "".join(s[int(0.9 * len(s)) :] for s in sections)
chars = sorted(set(train_text + val_text))
stoi = {c: i for i, c in enumerate(chars)}
train_data = torch.tensor([stoi[c] for c in train_text])
val_data = torch.tensor([stoi[c] for c in val_text])

model = CharLM(len(chars))
decay = [p for p in model.parameters() if p.dim() >= 2]
no_decay = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": args.weight_decay}, {"params": no_decay, "weight_decay": 0.0}],
    lr=args.lr,
    betas=(0.9, 0.95),
)
first = 0
if args.resume:
    ckpt = torch.load(args.resume)
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    first = ckpt["step"]
    torch.set_rng_state(ckpt["rng"])
    print(f"resumed from {args.resume} at step {first}")
print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(train_data)} characters, vocabulary {len(chars)}")

t0 = time.time()
for step in range(first, args.stop_at or args.max_steps):
    lr = get_lr(step)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.zero_grad()
    total = 0.0
    for _ in range(args.accum):
        loss = model(*get_batch(train_data, args.batch_size)) / args.accum
        loss.backward()
        total += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    optimizer.step()
    if step % 5 == 0:
        ms = 1000 * (time.time() - t0) / (step - first + 1)
        print(f"step {step} | loss {total:.4f} | lr {lr:.2e} | norm {norm:.3f} | {ms:.1f} ms/step", flush=True)
    if (step + 1) % args.eval_every == 0:
        print(f"step {step + 1} | val loss {estimate_loss(model, val_data):.4f}", flush=True)

torch.save(
    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1, "rng": torch.get_rng_state()},
    "ckpt.pt",
)
