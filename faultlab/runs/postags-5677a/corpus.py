"""Sentences of a made-up language: tags follow one another in a grammar, and many words can have two tags."""
import random
from collections import Counter

import torch
from torch.nn.utils.rnn import pad_sequence

TAGS = ["DET", "ADJ", "NOUN", "VERB", "ADV", "ADP", "PRON", "NUM"]
NEXT = {
    "<s>": {"DET": 5, "PRON": 4, "ADV": 1, "NUM": 1, "NOUN": 1},
    "DET": {"NOUN": 6, "ADJ": 4},
    "ADJ": {"NOUN": 8, "ADJ": 1},
    "NOUN": {"VERB": 6, "ADP": 3, "</s>": 2},
    "VERB": {"DET": 4, "ADV": 2, "ADP": 2, "PRON": 1, "NUM": 1, "</s>": 2},
    "ADV": {"VERB": 2, "ADP": 2, "DET": 1, "</s>": 3},
    "ADP": {"DET": 5, "NOUN": 2, "NUM": 2, "PRON": 2},
    "PRON": {"VERB": 8, "ADV": 1, "</s>": 1},
    "NUM": {"NOUN": 7, "ADJ": 2},
}
OPEN = {"ADJ": 50, "NOUN": 110, "VERB": 70, "ADV": 25}
CLOSED = {"DET": 5, "ADP": 9, "PRON": 7, "NUM": 12}
PAD, UNK = 0, 1
IGNORE = -100


def make_lexicon(rnd):
    def word():
        return "".join(rnd.choice("ptkmnslrv") + rnd.choice("aeiou") for _ in range(rnd.randint(1, 3)))

    lexicon = {tag: [word() for _ in range(n)] for tag, n in (OPEN | CLOSED).items()}
    for a, b in (("NOUN", "VERB"), ("VERB", "NOUN"), ("NOUN", "ADJ"), ("ADV", "ADJ"), ("ADP", "ADV")):
        k = len(lexicon[a]) // 4
        lexicon[a][-k:] = [rnd.choice(lexicon[b]) for _ in range(k)]
    return lexicon


def make_sentences(n, lexicon, max_len, rnd):
    out = []
    while len(out) < n:
        words, tags, prev = [], [], "<s>"
        while len(tags) < max_len:
            options = NEXT[prev]
            prev = rnd.choices(list(options), list(options.values()))[0]
            if prev == "</s>":
                break
            rank = min(int(rnd.expovariate(4.0) * len(lexicon[prev])), len(lexicon[prev]) - 1)
            words.append(lexicon[prev][rank])
            tags.append(prev)
        if len(tags) >= 3:
            out.append((words, tags))
    return out


class Vocab:
    def __init__(self, sentences, min_count):
        counts = Counter(w for words, _ in sentences for w in words)
        kept = sorted(w for w, c in counts.items() if c >= min_count)
        self.index = {w: i + 2 for i, w in enumerate(kept)}
        self.tag_index = {t: i for i, t in enumerate(TAGS)}

    def __len__(self):
        return len(self.index) + 2

    def encode(self, words):
        return torch.tensor([self.index.get(w, UNK) for w in words])

    def encode_tags(self, tags):
        return torch.tensor([self.tag_index[t] for t in tags])


def batches(sentences, vocab, size, rnd=None):
    order = list(range(len(sentences)))
    if rnd is not None:
        rnd.shuffle(order)
    for i in range(0, len(order), size):
        part = [sentences[j] for j in order[i:i + size]]
        tokens = pad_sequence([vocab.encode(w) for w, _ in part], batch_first=True, padding_value=PAD)
        gold = pad_sequence([vocab.encode_tags(t) for _, t in part], batch_first=True, padding_value=IGNORE)
        yield tokens, gold, torch.tensor([len(w) for w, _ in part])
