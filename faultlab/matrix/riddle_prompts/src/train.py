import argparse
import json
import math
import os
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, Dataset

PAD, BOS, SEP, EOS = 0, 1, 2, 3
OFFSET = 4


def build_vocab(path):
    letters = set()
    with open(path, encoding="utf-8") as handle:
        for line in handle:
            item = json.loads(line)
            letters.update(item["riddle"])
            letters.update(item["answer"])
    return {c: i + OFFSET for i, c in enumerate(sorted(letters))}


class Riddles(Dataset):
    """Riddle and answer in one sequence; only the answer is learnt."""

    def __init__(self, path, vocab, cfg):
        self.items = [json.loads(line) for line in open(path, encoding="utf-8")]
        self.vocab = vocab
        self.cfg = cfg

    def __len__(self):
        return len(self.items)

    def encode(self, text):
        return [self.vocab[c] for c in text if c in self.vocab]

    def __getitem__(self, index):
        item = self.items[index]
        prompt = [BOS] + self.encode(item["riddle"]) + [SEP]
        answer = self.encode(item["answer"]) + [EOS]
        ids = (prompt + answer)[: self.cfg["max_len"]]
        labels = ([-100] * len(prompt) + answer)[: self.cfg["max_len"]]
        return torch.tensor(ids), torch.tensor(labels)


def collate(batch):
    longest = max(len(ids) for ids, _ in batch)
    ids = torch.full((len(batch), longest), PAD, dtype=torch.long)
    labels = torch.full((len(batch), longest), -100, dtype=torch.long)
    keep = torch.zeros(len(batch), longest, dtype=torch.bool)
    for row, (i, l) in enumerate(batch):
        ids[row, : len(i)] = i
        labels[row, : len(l)] = l
        keep[row, : len(i)] = True
    return {"ids": ids, "labels": labels, "keep": keep}


class Teller(nn.Module):
    def __init__(self, n_tokens, cfg):
        super().__init__()
        self.tok = nn.Embedding(n_tokens, cfg["width"], padding_idx=PAD)
        self.pos = nn.Embedding(cfg["max_len"], cfg["width"])
        layer = nn.TransformerEncoderLayer(
            cfg["width"], cfg["heads"], 4 * cfg["width"], cfg["dropout"], batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, cfg["layers"], enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg["width"])
        self.head = nn.Linear(cfg["width"], n_tokens)

    def forward(self, ids, keep):
        t = ids.size(1)
        h = self.tok(ids) + self.pos(torch.arange(t, device=ids.device))
        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=ids.device), 1)
        h = self.body(h, mask=future, src_key_padding_mask=~keep)
        return self.head(self.norm(h))


def answer_loss(logits, labels):
    logits = logits[:, :-1].reshape(-1, logits.size(-1))
    target = labels[:, 1:].reshape(-1)
    return F.cross_entropy(logits, target, ignore_index=-100)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    meters = {"nll": 0.0, "tokens": 0}
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        logits = model(batch["ids"], batch["keep"])
        n = int((batch["labels"][:, 1:] != -100).sum())
        meters["nll"] += answer_loss(logits, batch["labels"]).item() * n
        meters["tokens"] += n
    model.train()
    return meters["nll"] / max(meters["tokens"], 1)


def main(cfg):
    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    vocab = build_vocab(cfg["train_file"])
    train_set = Riddles(cfg["train_file"], vocab, cfg)
    valid_set = Riddles(cfg["valid_file"], vocab, cfg)
    train_loader = DataLoader(train_set, batch_size=cfg["batch"], shuffle=True, collate_fn=collate, drop_last=True)
    valid_loader = DataLoader(valid_set, batch_size=cfg["batch"], shuffle=False, collate_fn=collate)
    model = Teller(len(vocab) + OFFSET, cfg).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["decay"])
    total = cfg["epochs"] * len(train_loader)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1.0, (s + 1) / cfg["warmup"]) * 0.5 * (1 + math.cos(math.pi * min(s, total) / total))
    )
    best = float("inf")
    for epoch in range(cfg["epochs"]):
        for batch in train_loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            logits = model(batch["ids"], batch["keep"])
            loss = answer_loss(logits, batch["labels"])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
        score = evaluate(model, valid_loader, device)
        print(f"epoch {epoch} train {loss.item():.3f} valid {score:.3f}")
        if score < best:
            best = score
            os.makedirs(cfg["out"], exist_ok=True)
            torch.save({"model": model.state_dict(), "vocab": vocab, "cfg": cfg}, os.path.join(cfg["out"], "best.pt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="riddles.yaml")
    main(yaml.safe_load(open(parser.parse_args().config)))
