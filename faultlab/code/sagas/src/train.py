# byte LM on the sagas corpus (one .txt per saga)
#   deepspeed train.py --texts sagas/ --save ckpt/base
import argparse
import glob
import json
import math
import os

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset

BOS, PAD, VOCAB = 256, 257, 258


class Windows(Dataset):
    def __init__(self, files, ctx):
        self.windows = []
        for name in files:
            with open(name, "rb") as f:
                ids = [BOS, *f.read()]
            for i in range(0, len(ids) - 1, ctx):
                w = ids[i : i + ctx + 1]
                self.windows.append(w + [PAD] * (ctx + 1 - len(w)))

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        w = torch.tensor(self.windows[i])
        x, y = w[:-1], w[1:]
        return x, y.masked_fill(y == PAD, -100)


class Attention(nn.Module):
    def __init__(self, dim, heads, ctx):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.register_buffer("future", torch.ones(ctx, ctx, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        att = att.masked_fill(self.future[:T, :T], float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(B, T, D))


class Layer(nn.Module):
    def __init__(self, dim, heads, ctx, p):
        super().__init__()
        self.ln1, self.att = nn.LayerNorm(dim), Attention(dim, heads, ctx)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.drop = nn.Dropout(p)

    def forward(self, x):
        x = x + self.drop(self.att(self.ln1(x)))
        return x + self.drop(self.mlp(self.ln2(x)))


class SagaLM(nn.Module):
    def __init__(self, dim=512, depth=8, heads=8, ctx=512, p=0.1):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, dim), nn.Embedding(ctx, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, ctx, p) for _ in range(depth))
        self.ln = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VOCAB, bias=False)
        self.apply(self.init)
        self.out.weight = self.tok.weight

    @staticmethod
    def init(m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.size(1), device=x.device))
        for layer in self.layers:
            h = layer(h)
        return self.out(self.ln(h))


def nll(engine, x, y, reduction="mean"):
    logits = engine(x.to(engine.device)).float()
    return F.cross_entropy(logits.flatten(0, 1), y.to(engine.device).flatten(), ignore_index=-100, reduction=reduction)


@torch.no_grad()
def perplexity(engine, loader):
    engine.eval()
    total = torch.zeros(2, dtype=torch.float64, device=engine.device)
    for x, y in loader:
        total[0] += nll(engine, x, y, "sum").double()
        total[1] += (y != -100).sum()
    dist.all_reduce(total)
    return math.exp(total[0] / total[1])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--texts", required=True)
    ap.add_argument("--save", default="ckpt")
    ap.add_argument("--config", default="ds_config.json")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--ctx", type=int, default=512)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--local_rank", type=int, default=0)
    args = ap.parse_args()

    deepspeed.init_distributed()
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    with open(args.config) as f:
        config = json.load(f)
    micro, accum = config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"]

    sagas = sorted(glob.glob(os.path.join(args.texts, "*.txt")))
    train_set = Windows([s for i, s in enumerate(sagas) if i % 10 > 1], args.ctx)
    sampler = DistributedSampler(train_set, world, rank, shuffle=True, seed=args.seed, drop_last=True)
    train_loader = DataLoader(train_set, micro, sampler=sampler, num_workers=2, drop_last=True)
    held = [Windows(sagas[k::10], args.ctx) for k in (0, 1)]
    val_loader, test_loader = (DataLoader(Subset(h, range(rank, len(h), world)), micro) for h in held)

    model = SagaLM(ctx=args.ctx)
    matrices = [w for w in model.parameters() if w.ndim > 1]
    vectors = [w for w in model.parameters() if w.ndim <= 1]
    config["scheduler"]["params"]["total_num_steps"] = args.epochs * len(train_loader) // accum
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=[{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], config=config
    )
    start, best = 0, math.inf
    if os.path.isdir(os.path.join(args.save, "last")):
        _, client = engine.load_checkpoint(args.save, tag="last")
        start, best = client["epoch"], client["best"]

    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        engine.train()
        for step, (x, y) in enumerate(train_loader):
            loss = nll(engine, x, y)
            engine.backward(loss)
            engine.step()
            if rank == 0 and step % 200 == 0:
                print(f"{epoch}:{step} loss {loss.item():.4f} lr {engine.get_lr()[0]:.2e}", flush=True)
        ppl = perplexity(engine, val_loader)
        if rank == 0:
            print(f"epoch {epoch} val ppl {ppl:.3f}", flush=True)
        if ppl < best:
            best = ppl
            engine.save_checkpoint(args.save, tag="best", client_state={"epoch": epoch + 1, "best": best})
        engine.save_checkpoint(args.save, tag="last", client_state={"epoch": epoch + 1, "best": best})

    engine.load_checkpoint(args.save, tag="best")
    ppl = perplexity(engine, test_loader)
    if rank == 0:
        print(f"test ppl {ppl:.3f}")


if __name__ == "__main__":
    main()
