"""
Pretrain a small GPT on data/{train,val}.bin (uint16 token ids).
Overrides: python pretrain.py dim=512 lr=3e-4 ...
"""
import ast
import math
import os
import sys
import time
from contextlib import nullcontext

import numpy as np
import torch

from gpt import GPT, GPTConfig

# ---- settings -----------------------------------------------------------
data_dir = "data"
out_dir = "out"
resume = False
vocab, ctx, layers, heads, dim, drop = 8192, 256, 6, 6, 384, 0.1
micro_bs = 16
accum = 8                 # sequences per update = micro_bs * accum
lr = 6e-4
min_lr = 6e-5
warmup = 400
max_iters = 20000
wd = 0.1
betas = (0.9, 0.95)
clip = 1.0
eval_every, eval_iters = 250, 100
device = "cuda" if torch.cuda.is_available() else "cpu"
dtype = "bfloat16" if device == "cpu" or torch.cuda.is_bf16_supported() else "float16"
compile = device == "cuda"
# -------------------------------------------------------------------------
for a in sys.argv[1:]:
    k, v = a.split("=")
    assert k in globals(), k
    try:
        v = ast.literal_eval(v)
    except (ValueError, SyntaxError):
        pass
    globals()[k] = v

os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(1337)
dev_type = "cuda" if "cuda" in device else "cpu"
pt_dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
amp = nullcontext() if dtype == "float32" else torch.autocast(dev_type, dtype=pt_dtype)

bins = {s: np.memmap(os.path.join(data_dir, s + ".bin"), dtype=np.uint16, mode="r") for s in ("train", "val")}


def get_batch(split):
    d = bins[split]
    ix = torch.randint(len(d) - ctx - 1, (micro_bs,))
    x = torch.stack([torch.from_numpy(d[i:i + ctx].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(d[i + 1:i + 1 + ctx].astype(np.int64)) for i in ix])
    return x.to(device), y.to(device)


def get_lr(it):
    if it < warmup:
        return lr * (it + 1) / warmup
    if it > max_iters:
        return min_lr
    t = (it - warmup) / (max_iters - warmup)
    return min_lr + 0.5 * (1 + math.cos(math.pi * t)) * (lr - min_lr)


model = GPT(GPTConfig(vocab, ctx, layers, heads, dim, drop)).to(device)

decay = [p for p in model.parameters() if p.dim() >= 2]
plain = [p for p in model.parameters() if p.dim() < 2]
opt = torch.optim.AdamW(
    [{"params": decay, "weight_decay": wd}, {"params": plain, "weight_decay": 0.0}], lr=lr, betas=betas
)
scaler = torch.amp.GradScaler(dev_type, enabled=(dtype == "float16"))

it0, best = 0, 1e9
if resume:
    ck = torch.load(os.path.join(out_dir, "ckpt.pt"), map_location=device)
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["opt"])
    scaler.load_state_dict(ck["scaler"])
    it0, best = ck["it"] + 1, ck["best"]

net = torch.compile(model) if compile else model


@torch.no_grad()
def estimate():
    model.eval()
    out = {}
    for s in ("train", "val"):
        ls = torch.zeros(eval_iters)
        for i in range(eval_iters):
            x, y = get_batch(s)
            with amp:
                ls[i] = net(x, y)[1].item()
        out[s] = ls.mean().item()
    model.train()
    return out


model.train()
t0 = time.time()
for it in range(it0, max_iters):
    now = get_lr(it)
    for g in opt.param_groups:
        g["lr"] = now

    if it % eval_every == 0:
        e = estimate()
        print(f"[eval] {it}: train {e['train']:.4f} val {e['val']:.4f}")
        if e["val"] < best:
            best = e["val"]
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "scaler": scaler.state_dict(),
                        "it": it, "best": best}, os.path.join(out_dir, "ckpt.pt"))

    total = 0.0
    for _ in range(accum):
        x, y = get_batch("train")
        with amp:
            _, loss = net(x, y)
            loss = loss / accum
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(opt)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad(set_to_none=True)

    if it % 10 == 0:
        print(f"{it}: loss {total:.4f} lr {now:.2e} norm {norm:.2f} {time.time() - t0:.1f}s")
        t0 = time.time()
