import argparse
import json
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from data import INTENTS, load_split


class LossScaler:
    """Dynamic loss scale for fp16 training (GradScaler is not there on this backend)."""

    def __init__(self, init_scale=2.0 ** 16, factor=2.0, window=100):
        self.loss_scale, self.factor, self.window = init_scale, factor, window
        self.good_steps = 0

    def scale(self, loss):
        return loss * self.loss_scale

    def unscale(self, params):
        """fp16 gradients -> fp32 gradients without the scale; True if one of them overflowed."""
        overflow = False
        for p in params:
            if p.grad is None:
                continue
            g = p.grad.half().float()
            overflow |= not torch.isfinite(g).all().item()
            p.grad = g / self.loss_scale
        return overflow

    def update(self, overflow):
        if overflow:
            self.loss_scale = max(self.loss_scale / self.factor, 1.0)
            self.good_steps = 0
        else:
            self.good_steps += 1
            if self.good_steps % self.window == 0:
                self.loss_scale *= self.factor


def fp16(x):
    """Activations are kept in half precision, products accumulate in single precision."""
    return x.half().float()


class Layer(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.ffn = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        score = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        score = score.masked_fill(pad[:, None, None, :], -1e4)
        ctx = (score.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d)
        x = self.ln1(x + self.drop(self.out(ctx)))
        return self.ln2(x + self.drop(self.ffn(x)))


class Classifier(nn.Module):
    def __init__(self, vocab, classes, dim, layers, heads, dropout, max_len=40):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Embedding(max_len, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, dropout) for _ in range(layers))
        self.head = nn.Linear(dim, classes)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, ids):
        pad = ids == 0
        x = self.tok(ids) * math.sqrt(self.tok.embedding_dim) + self.pos(torch.arange(ids.size(1)))
        for layer in self.layers:
            x = fp16(layer(x, pad))
        return fp16(self.head(x[:, 0]))


def build_vocab(rows):
    words = sorted({w for text, _ in rows for w in text.split()})
    return {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]"] + words)}


def make_collate(vocab, classes):
    def collate(rows):
        ids = [[vocab["[CLS]"]] + [vocab.get(w, 1) for w in text.split()] for text, _ in rows]
        length = max(map(len, ids))
        x = torch.tensor([i + [0] * (length - len(i)) for i in ids])
        return x, torch.tensor([classes.index(label) for _, label in rows])
    return collate


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss, correct, count = 0.0, 0, 0
    for x, y in loader:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        correct += (logits.argmax(-1) == y).sum().item()
        count += y.numel()
    model.train()
    return loss / count, correct / count


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch_size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=0.2)
    ap.add_argument("--warmup", type=int, default=80)
    ap.add_argument("--weight_decay", type=float, default=0.01)
    ap.add_argument("--dropout", type=float, default=0.1)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--layers", type=int, default=2)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--n_train", type=int, default=1600)
    ap.add_argument("--init_scale", type=float, default=2.0 ** 16)
    ap.add_argument("--scale_window", type=int, default=100)
    ap.add_argument("--seed", type=int, default=11)
    args = ap.parse_args()
    json.dump(vars(args), open("args.json", "w"), indent=2)
    random.seed(args.seed)
    torch.manual_seed(args.seed)

    train_rows, val_rows = load_split(args.n_train, seed=0), load_split(600, seed=1)
    vocab = build_vocab(train_rows)
    collate = make_collate(vocab, INTENTS)
    train_loader = DataLoader(train_rows, args.batch_size, shuffle=True, drop_last=True, collate_fn=collate)
    val_loader = DataLoader(val_rows, 100, collate_fn=collate)

    model = Classifier(len(vocab), len(INTENTS), args.dim, args.layers, args.heads, args.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=args.weight_decay)
    total = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / args.warmup, max(0.0, (total - s) / (total - args.warmup))))
    scaler = LossScaler(args.init_scale, window=args.scale_window)
    writer = SummaryWriter("runs/queries")

    step = 0
    for epoch in range(args.epochs):
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            overflow = scaler.unscale(model.parameters())
            if not overflow:
                grad_norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                writer.add_scalar("train/grad_norm", grad_norm, step)
            scaler.update(overflow)
            if step % 5 == 0:
                writer.add_scalar("train/loss", loss.item(), step)
                writer.add_scalar("train/lr", optimizer.param_groups[0]["lr"], step)
                writer.add_scalar("train/loss_scale", scaler.loss_scale, step)
            scheduler.step()
            step += 1
        val_loss, val_acc = evaluate(model, val_loader)
        writer.add_scalar("val/loss", val_loss, step)
        writer.add_scalar("val/acc", val_acc, step)
        print(f"epoch {epoch + 1}/{args.epochs}  val_loss {val_loss:.4f}  val_acc {val_acc:.4f}")
    torch.save(model.state_dict(), "model.pt")
    writer.close()


if __name__ == "__main__":
    main()
