"""Riddle -> answer, letter by letter: a GRU encoder-decoder from closures and partials."""
import json
import math
import random
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

PAD, BOS, EOS = 0, 1, 2
SETTINGS = dict(width=128, lr=1e-3, epochs=25, batch=32, seed=5)


def read(path):
    with open(path) as f:
        return [(r['riddle'], r['answer']) for r in map(json.loads, f)]


def alphabet(pairs):
    letters = sorted({c for pair in pairs for text in pair for c in text})
    return {c: i + 3 for i, c in enumerate(letters)}


def encode(table, text):
    return torch.tensor([BOS] + [table[c] for c in text if c in table] + [EOS])


def batches(pairs, enc, size, shuffle=False):
    order = list(range(len(pairs)))
    if shuffle:
        random.shuffle(order)
    for at in range(0, len(order), size):
        chosen = [pairs[i] for i in order[at:at + size]]
        src = pad_sequence([enc(a) for a, _ in chosen], batch_first=True, padding_value=PAD)
        tgt = pad_sequence([enc(b) for _, b in chosen], batch_first=True, padding_value=PAD)
        yield src, tgt


class Seq2Seq(nn.Module):
    def __init__(self, letters, width):
        super().__init__()
        self.embed = nn.Embedding(letters, width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(width, letters)

    def forward(self, src, inp):
        lengths = (src != PAD).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(self.drop(self.embed(src)), lengths.cpu(), batch_first=True,
                                                   enforce_sorted=False)
        _, state = self.encoder(packed)
        states, _ = self.decoder(self.drop(self.embed(inp)), state)
        return self.out(self.drop(states))


def token_loss(logits, gold, reduction='mean'):
    return F.cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=PAD, reduction=reduction)


def make_step(model, optimizer):
    def step(src, tgt):
        model.train()
        loss = token_loss(model(src, tgt[:, :-1]), tgt[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()
    return step


@torch.no_grad()
def measure(model, stream):
    model.eval()
    nll = tokens = right = whole = rows = 0
    for src, tgt in stream():
        gold = tgt[:, 1:]
        logits = model(src, tgt[:, :-1])
        real = gold != PAD
        same = (logits.argmax(-1) == gold) & real
        nll += token_loss(logits, gold, reduction='sum').item()
        tokens += real.sum().item()
        right += same.sum().item()
        whole += (same | ~real).all(1).sum().item()
        rows += gold.size(0)
    return {'ppl': math.exp(nll / tokens), 'letters': right / tokens, 'answers': whole / rows}


def main(s=SETTINGS):
    random.seed(s['seed'])
    torch.manual_seed(s['seed'])
    train, valid, test = (read(f'{part}.jsonl') for part in ('train', 'valid', 'test'))
    table = alphabet(train)
    stream = partial(batches, enc=partial(encode, table), size=s['batch'])
    model = Seq2Seq(len(table) + 3, s['width'])
    step = make_step(model, torch.optim.Adam(model.parameters(), lr=s['lr']))
    best = (math.inf, None)
    for epoch in range(s['epochs']):
        losses = [step(src, tgt) for src, tgt in stream(train, shuffle=True)]
        found = measure(model, partial(stream, valid))
        print(epoch, f'{sum(losses) / len(losses):.3f}', *(f'{k} {v:.3f}' for k, v in found.items()))
        if found['ppl'] < best[0]:
            best = (found['ppl'], {k: v.clone() for k, v in model.state_dict().items()})
    model.load_state_dict(best[1])
    print('test', measure(model, partial(stream, test)))


if __name__ == '__main__':
    main()
