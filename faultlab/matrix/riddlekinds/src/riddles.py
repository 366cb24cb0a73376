"""Riddles: masked pretraining of a small encoder, then classification of the answer's kind.

usage: riddles.py config.yaml
"""
import json
import logging
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader

log = logging.getLogger("riddles")
HOOKS = {"after_epoch": []}


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg["width"]
        self.heads = cfg["heads"]
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.drop = nn.Dropout(cfg["dropout"])

    def attend(self, x, keep):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        w = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        w = w.masked_fill(~keep[:, None, None, :], float("-inf")).softmax(-1)
        return self.proj((self.drop(w) @ v).transpose(1, 2).reshape(b, t, d))

    def forward(self, x, keep):
        x = x + self.drop(self.attend(self.norm1(x), keep))
        return x + self.drop(self.mlp(self.norm2(x)))


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg["vocab"], cfg["width"], padding_idx=0)
        self.pos = nn.Embedding(cfg["length"], cfg["width"])
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg["depth"]))
        self.norm = nn.LayerNorm(cfg["width"])

    def forward(self, ids):
        keep = ids != 0
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x, keep)
        return self.norm(x), keep


class MaskedModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = Encoder(cfg)
        self.bias = nn.Parameter(torch.zeros(cfg["vocab"]))

    def forward(self, ids):
        x, _ = self.encoder(ids)
        return F.linear(x, self.encoder.tok.weight, self.bias)


class Classifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = Encoder(cfg)
        self.head = nn.Sequential(nn.Linear(cfg["width"], cfg["width"]), nn.Tanh(), nn.Dropout(cfg["dropout"]), nn.Linear(cfg["width"], cfg["kinds"]))

    def forward(self, ids):
        x, keep = self.encoder(ids)
        keep = keep.unsqueeze(-1).float()
        return self.head((x * keep).sum(1) / keep.sum(1).clamp(min=1))


def init_weights(m):
    if isinstance(m, (nn.Linear, nn.Embedding)):
        nn.init.trunc_normal_(m.weight, std=0.02)
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.bias)


def build_model(cfg, kind):
    model = {"mask": MaskedModel, "kind": Classifier}[kind](cfg)
    model.apply(init_weights)
    return model


def collate(rows):
    longest = max(len(r["ids"]) for r in rows)
    ids = torch.tensor([r["ids"] + [0] * (longest - len(r["ids"])) for r in rows])
    return ids, torch.tensor([r["kind"] for r in rows])


def mask_words(ids, cfg):
    chosen = (torch.rand(ids.shape) < cfg["mask_rate"]) & (ids != 0)
    return ids.masked_fill(chosen, cfg["mask_id"]), ids.masked_fill(~chosen, -100)


def mask_loss(model, batch, cfg):
    seen, labels = mask_words(batch[0], cfg)
    return F.cross_entropy(model(seen).flatten(0, 1), labels.flatten(), ignore_index=-100)


def kind_loss(model, batch, cfg):
    return F.cross_entropy(model(batch[0]), batch[1])


def fit(model, loader, loss_of, cfg, stage):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=cfg[stage]["lr"], weight_decay=0.01)
    total = cfg[stage]["epochs"] * len(loader)
    warm = max(1, total // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / warm, max(0.0, (total - s) / (total - warm))))
    for epoch in range(cfg[stage]["epochs"]):
        model.train()
        meters = {"loss": 0.0, "n": 0}
        for batch in loader:
            loss = loss_of(model, batch, cfg)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            meters["loss"] += loss.item() * len(batch[0])
            meters["n"] += len(batch[0])
        log.info("%s epoch %d loss %.4f", stage, epoch, meters["loss"] / meters["n"])
        for hook in HOOKS["after_epoch"]:
            hook(model, stage, epoch)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(ids).argmax(1) == kinds).sum().item() for ids, kinds in loader)
    return hits / len(loader.dataset)


def main():
    logging.basicConfig(level=logging.INFO)
    with open(sys.argv[1]) as f:
        cfg = yaml.safe_load(f)
    torch.manual_seed(cfg["seed"])
    rows = {name: [json.loads(line) for line in open(cfg["data"][name])] for name in ("plain", "train", "valid")}
    loaders = {name: DataLoader(r, cfg["batch"], shuffle=name != "valid", collate_fn=collate) for name, r in rows.items()}

    masked = build_model(cfg, "mask")
    fit(masked, loaders["plain"], mask_loss, cfg, "pretrain")
    torch.save(masked.encoder.state_dict(), "encoder.pt")

    model = build_model(cfg, "kind")
    model.encoder.load_state_dict(torch.load("encoder.pt"))
    for p in model.encoder.tok.parameters():
        p.requires_grad = False
    HOOKS["after_epoch"].append(lambda m, stage, epoch: log.info("valid %.4f", accuracy(m, loaders["valid"])))
    fit(model, loaders["train"], kind_loss, cfg, "finetune")
    torch.save(model.state_dict(), "riddles.pt")


if __name__ == "__main__":
    main()
