"""A graph network that tells how brittle the resin of a molecule is."""

import math
import sys
from functools import partial
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from loguru import logger
from torch import nn
from torch.utils.data import DataLoader

from molecules import ATOMS, CLASSES, collate, load

CONFIG = SimpleNamespace(
    n_train=2400,
    n_val=600,
    batch_size=48,
    epochs=9,
    hidden=64,
    layers=3,
    dropout=0.1,
    lr=2e-6,
    weight_decay=1e-2,
    warmup_steps=40,
    max_grad_norm=5.0,
    log_every=10,
    seed=21,
)


class Messages(nn.Module):
    def __init__(self, hidden, dropout):
        super().__init__()
        self.own = nn.Linear(hidden, hidden)
        self.others = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h, adj):
        message = F.relu(self.own(h) + adj @ self.others(h))
        return self.norm(h + self.dropout(message))


class GraphNet(nn.Module):
    def __init__(self, hidden, layers, dropout):
        super().__init__()
        self.embed = nn.Linear(len(ATOMS), hidden)
        self.layers = nn.ModuleList(Messages(hidden, dropout) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, len(CLASSES)))

    def forward(self, x, adj, mask):
        h = self.embed(x)
        for layer in self.layers:
            h = layer(h, adj)
        pooled = (h * mask.unsqueeze(-1)).sum(dim=1) / 5
        return self.head(pooled)


def lr_lambda(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup))))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    loss, right, n = 0.0, 0, 0
    for x, adj, mask, y in loader:
        logits = model(x, adj, mask)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(-1) == y).sum().item()
        n += len(y)
    return loss / n, right / n


def main():
    cfg = CONFIG
    logger.remove()
    logger.add(sys.stdout, format="{time:YYYY-MM-DD HH:mm:ss.SSS} | {level: <8} | {name}:{function}:{line} - {message}")
    logger.info(f"config: {vars(cfg)}")
    torch.manual_seed(cfg.seed)
    index = {atom: i for i, atom in enumerate(ATOMS)}
    train_set = load(cfg.n_train, seed=1)
    val_set = load(cfg.n_val, seed=2)
    batch = partial(collate, index=index)
    train_loader = DataLoader(train_set, cfg.batch_size, shuffle=True, collate_fn=batch)
    val_loader = DataLoader(val_set, 200, collate_fn=batch)
    logger.info(f"{len(train_set)} training and {len(val_set)} validation molecules")

    model = GraphNet(cfg.hidden, cfg.layers, cfg.dropout)
    logger.info(f"model has {sum(p.numel() for p in model.parameters()):,} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    total = cfg.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(lr_lambda, warmup=cfg.warmup_steps, total=total))

    step, best = 0, 0.0
    for epoch in range(1, cfg.epochs + 1):
        model.train()
        for x, adj, mask, y in train_loader:
            loss = F.cross_entropy(model(x, adj, mask), y)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.max_grad_norm)
            optimizer.step()
            step += 1
            if step % cfg.log_every == 0:
                lr = scheduler.get_last_lr()[0]
                logger.info(f"epoch {epoch}/{cfg.epochs} step {step}/{total} loss={loss.item():.4f} lr={lr:.3e} |g|={norm:.3f}")
            scheduler.step()
        val_loss, val_acc = validate(model, val_loader)
        best = max(best, val_acc)
        logger.success(f"epoch {epoch} done: validation loss={val_loss:.4f}, accuracy={val_acc:.2%}, best={best:.2%}")


if __name__ == "__main__":
    main()
