import json
import math
import random
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from cards import write_cards


@dataclass
class Config:
    n_cards: int = 2000
    max_len: int = 48
    d_model: int = 48
    n_heads: int = 4
    n_layers: int = 2
    dropout: float = 0.1
    batch_size: int = 16
    max_steps: int = 200
    learning_rate: float = 6e-3
    warmup_steps: int = 20
    weight_decay: float = 0.05
    max_grad_norm: float = 1.0
    log_every: int = 5
    eval_every: int = 25
    seed: int = 21


PAD, BOS, EOS = 0, 1, 2


class Tokenizer:
    def __init__(self, cards):
        words = sorted({w for card in cards for w in card})
        self.ids = {w: i for i, w in enumerate(["<pad>", "<bos>", "<eos>", *words])}

    def __len__(self):
        return len(self.ids)

    def encode(self, card):
        return [BOS] + [self.ids[w] for w in card] + [EOS]


class PostcardLM(nn.Module):
    def __init__(self, vocab_size, cfg):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, cfg.d_model)
        self.positions = nn.Embedding(cfg.max_len, cfg.d_model)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                cfg.d_model, cfg.n_heads, 4 * cfg.d_model, cfg.dropout, activation="gelu", batch_first=True
            )
            for _ in range(cfg.n_layers)
        )
        self.lm_head = nn.Linear(cfg.d_model, vocab_size, bias=False)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.02)
        self.lm_head.weight = self.tokens.weight

    def forward(self, ids):
        length = ids.size(1)
        x = self.tokens(ids) + self.positions(torch.arange(length, device=ids.device))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.lm_head(x)


def collate(batch):
    longest = max(len(ids) for ids in batch)
    ids = torch.full((len(batch), longest), PAD)
    for row, card in zip(ids, batch):
        row[: len(card)] = torch.tensor(card)
    return ids[:, :-1], ids[:, 1:]


def loss_of(model, inputs, targets):
    logits = model(inputs)
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total, tokens = 0.0, 0
    for inputs, targets in loader:
        n = (targets != PAD).sum().item()
        total += loss_of(model, inputs, targets).item() * n
        tokens += n
    model.train()
    return total / tokens


def lr_factor(step, cfg):
    if step < cfg.warmup_steps:
        return (step + 1) / cfg.warmup_steps
    progress = (step - cfg.warmup_steps) / max(1, cfg.max_steps - cfg.warmup_steps)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def endless(loader):
    while True:
        yield from loader


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    with open("config.json", "w") as f:
        json.dump(asdict(cfg), f, indent=2)

    cards = write_cards(cfg.n_cards)
    tokenizer = Tokenizer(cards)
    held_out = set(random.Random(0).sample(range(len(cards)), len(cards) // 10))
    train_set = [tokenizer.encode(c) for i, c in enumerate(cards) if i not in held_out]
    val_set = [tokenizer.encode(cards[i]) for i in sorted(held_out)]
    train_loader = DataLoader(train_set, cfg.batch_size, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(val_set, 64, collate_fn=collate)

    model = PostcardLM(len(tokenizer), cfg)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=cfg.learning_rate, betas=(0.9, 0.98), weight_decay=cfg.weight_decay
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: lr_factor(step, cfg))

    with open("log.jsonl", "w") as log:
        batches = endless(train_loader)
        for step in range(1, cfg.max_steps + 1):
            inputs, targets = next(batches)
            loss = loss_of(model, inputs, targets)
            optimizer.zero_grad()
            loss.backward()
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.max_grad_norm)
            optimizer.step()
            lr = scheduler.get_last_lr()[0]
            scheduler.step()
            if step % cfg.log_every == 0:
                row = {"step": step, "loss": round(loss.item(), 4), "lr": lr, "grad_norm": round(grad_norm.item(), 4)}
                print(json.dumps(row), file=log, flush=True)
            if step % cfg.eval_every == 0:
                val_loss = evaluate(model, val_loader)
                row = {"step": step, "val_loss": round(val_loss, 4), "val_ppl": round(math.exp(val_loss), 3)}
                print(json.dumps(row), file=log, flush=True)
    torch.save(model.state_dict(), "postcards.pt")


if __name__ == "__main__":
    main()
