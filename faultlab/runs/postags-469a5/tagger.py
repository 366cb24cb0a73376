import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from corpus import IGNORE, PAD, UNK


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, emb, hidden, dropout, word_dropout):
        super().__init__()
        self.emb = nn.Embedding(n_words, emb, padding_idx=PAD)
        self.gru = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(2 * hidden, n_tags)
        self.word_dropout = word_dropout

    def forward(self, tokens, lengths):
        if self.training and self.word_dropout:
            gone = torch.rand(tokens.shape) < self.word_dropout
            tokens = tokens.masked_fill(gone & (tokens != PAD), UNK)
        e = self.drop(self.emb(tokens))
        packed = pack_padded_sequence(e, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.out(self.drop(states))


def nll(logits, gold):
    return nn.functional.cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=IGNORE)


def evaluate(tagger, data):
    tagger.eval()
    loss, right, tokens = 0.0, 0, 0
    with torch.no_grad():
        for x, gold, lengths in data:
            logits = tagger(x, lengths)
            real = gold != IGNORE
            n = int(real.sum())
            loss += nll(logits, gold).item() * n
            right += int((logits.argmax(-1) == gold)[real].sum())
            tokens += n
    return loss / tokens, right / tokens
