"""Seq2seq with attention: "the 3rd of march 1998" -> "19980303"."""

import logging
import math
import random
import sys

import torch
import torch.nn.functional as F
import yaml
from torch import nn

from data import BOS, EOS, PAD, VOCAB, collate, make_pairs

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    handlers=[logging.FileHandler("train.log"), logging.StreamHandler(sys.stdout)],
)
log = logging.getLogger("datenorm")


class Encoder(nn.Module):
    def __init__(self, emb, hidden, dropout):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(dropout)
        self.bridge = nn.Linear(2 * hidden, hidden)

    def forward(self, src):
        memory, last = self.rnn(self.drop(self.embed(src)))
        return self.drop(memory), torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))


class Decoder(nn.Module):
    def __init__(self, emb, hidden, dropout):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.cell = nn.GRUCell(emb + 2 * hidden, hidden)
        self.query = nn.Linear(hidden, 2 * hidden)
        self.out = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, VOCAB))
        self.drop = nn.Dropout(dropout)

    def step(self, token, state, context, memory, mask):
        state = self.cell(torch.cat([token, context], dim=-1), state)
        score = torch.einsum("bh,bsh->bs", self.query(state), memory) / math.sqrt(memory.size(-1))
        weight = score.float().masked_fill(~mask, float("-inf")).softmax(dim=-1)
        context = torch.einsum("bs,bsh->bh", weight.to(memory.dtype), memory)
        return self.out(torch.cat([state, context], dim=-1)), state, context


class Seq2Seq(nn.Module):
    def __init__(self, emb, hidden, dropout):
        super().__init__()
        self.encoder = Encoder(emb, hidden, dropout)
        self.decoder = Decoder(emb, hidden, dropout)

    def forward(self, src, tgt_in):
        """Logits (B, T, V) with teacher forcing."""
        memory, state = self.encoder(src)
        context = memory.new_zeros(memory.size(0), memory.size(2))
        inputs = self.decoder.drop(self.decoder.embed(tgt_in))
        logits = []
        for t in range(tgt_in.size(1)):
            logit, state, context = self.decoder.step(inputs[:, t], state, context, memory, src != PAD)
            logits.append(logit)
        return torch.stack(logits, dim=1)

    @torch.no_grad()
    def greedy(self, src, length):
        memory, state = self.encoder(src)
        context = memory.new_zeros(memory.size(0), memory.size(2))
        token = torch.full((src.size(0),), BOS)
        tokens = []
        for _ in range(length):
            logit, state, context = self.decoder.step(self.decoder.embed(token), state, context, memory, src != PAD)
            token = logit.argmax(dim=-1)
            tokens.append(token)
        return torch.stack(tokens, dim=1)


def batches(pairs, size):
    """Endless stream of batches; a new order each epoch."""
    while True:
        random.shuffle(pairs)
        for i in range(0, len(pairs) - size + 1, size):
            yield collate(pairs[i : i + size])


def seq_loss(logits, target):
    return F.cross_entropy(logits.float().transpose(1, 2), target, ignore_index=PAD)


@torch.no_grad()
def validate(model, pairs, size):
    model.eval()
    losses, right = [], 0
    for i in range(0, len(pairs), size):
        src, tgt = collate(pairs[i : i + size])
        losses.append(seq_loss(model(src, tgt[:, :-1]), tgt[:, 1:]).item() * len(src))
        guess = model.greedy(src, tgt.size(1) - 1)
        right += (guess == tgt[:, 1:]).all(dim=1).sum().item()
    model.train()
    return sum(losses) / len(pairs), right / len(pairs)


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    train_pairs = make_pairs(cfg["n_train"], seed=100)
    valid_pairs = make_pairs(cfg["n_valid"], seed=200)

    model = Seq2Seq(cfg["emb"], cfg["hidden"], cfg["dropout"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])

    def lr_share(step):
        if step < cfg["warmup"]:
            return (step + 1) / cfg["warmup"]
        done = (step - cfg["warmup"]) / (cfg["max_steps"] - cfg["warmup"])
        return cfg["final_lr_share"] + (1 - cfg["final_lr_share"]) * 0.5 * (1 + math.cos(math.pi * done))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_share)
    log.info("config %s", cfg)
    log.info("%d parameters, %d training pairs", sum(p.numel() for p in model.parameters()), len(train_pairs))

    stream = batches(train_pairs, cfg["batch_size"])
    model.train()
    for step in range(1, cfg["max_steps"] + 1):
        src, tgt = next(stream)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(src, tgt[:, :-1])
        loss = seq_loss(logits, tgt[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
        lr = scheduler.get_last_lr()[0]
        optimizer.step()
        scheduler.step()
        if step % cfg["log_every"] == 0:
            log.info("step %d/%d loss %.4f lr %.3e grad_norm %.3f",
                     step, cfg["max_steps"], loss.item(), lr, grad_norm.item())
        if step % cfg["valid_every"] == 0:
            val_loss, exact = validate(model, valid_pairs, 100)
            log.info("step %d valid_loss %.4f exact_match %.4f", step, val_loss, exact)


if __name__ == "__main__":
    main()
