import collections
import os
import random

import torch

PAD, BOS, EOS, UNK = range(4)


def tokenise(line):
    return line.strip().lower().split()


class Vocab:
    def __init__(self, words):
        self.itos = ["<pad>", "<s>", "</s>", "<unk>"] + list(words)
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    @classmethod
    def build(cls, lines, size):
        cnt = collections.Counter(w for l in lines for w in tokenise(l))
        ranked = sorted(cnt.items(), key=lambda wc: (-wc[1], wc[0]))
        return cls(w for w, _ in ranked[:size - 4])

    def __len__(self):
        return len(self.itos)

    def encode(self, line):
        return [self.stoi.get(w, UNK) for w in tokenise(line)] + [EOS]

    def decode(self, ids):
        out = []
        for i in ids:
            if i == EOS:
                break
            out.append(self.itos[i])
        return out


def read_lines(root, split, lang):
    with open(os.path.join(root, f"{split}.{lang}"), encoding="utf-8") as f:
        return f.read().splitlines()


def read_pairs(root, split, sl, tl, vs, vt, max_len):
    s, t = read_lines(root, split, sl), read_lines(root, split, tl)
    assert len(s) == len(t), (split, len(s), len(t))
    pairs = [(vs.encode(a), vt.encode(b)) for a, b in zip(s, t)]
    if split == "train":
        pairs = [p for p in pairs if max(map(len, p)) <= max_len]
    return pairs


def pad(seqs):
    out = torch.full((len(seqs), max(map(len, seqs))), PAD, dtype=torch.long)
    for r, s in enumerate(seqs):
        out[r, :len(s)] = torch.tensor(s)
    return out


def collate(pairs):
    src, tgt = zip(*pairs)
    slen = torch.tensor([len(s) for s in src])
    return pad(src), slen, pad([[BOS] + t for t in tgt])


class TokenBatches:
    """Batches of pairs of similar length, at most max_tok target tokens each; every rank gets its own share."""

    def __init__(self, pairs, max_tok, rank=0, world=1, shuffle=False, seed=0):
        self.pairs, self.max_tok = pairs, max_tok
        self.rank, self.world, self.shuffle, self.seed = rank, world, shuffle, seed
        self.epoch = 0

    def _plan(self):
        rng = random.Random(self.seed + self.epoch)
        idx = list(range(len(self.pairs)))
        if self.shuffle:
            rng.shuffle(idx)
        idx.sort(key=lambda i: (len(self.pairs[i][1]), len(self.pairs[i][0])))
        plan, cur, longest = [], [], 0
        for i in idx:
            longest = max(longest, len(self.pairs[i][1]) + 1)
            if cur and longest * (len(cur) + 1) > self.max_tok:
                plan.append(cur)
                cur, longest = [], len(self.pairs[i][1]) + 1
            cur.append(i)
        plan.append(cur)
        if self.shuffle:
            rng.shuffle(plan)
        even = len(plan) // self.world * self.world
        return plan[:even][self.rank::self.world] if self.world > 1 else plan

    def __iter__(self):
        for chunk in self._plan():
            yield collate([self.pairs[i] for i in chunk])
