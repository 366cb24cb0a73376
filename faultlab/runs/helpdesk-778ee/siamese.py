import torch
from torch import nn


class SentenceEncoder(nn.Module):
    def __init__(self, n_words, embed, hidden, dropout):
        super().__init__()
        self.words = nn.Embedding(n_words, embed, padding_idx=0)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True)
        self.drop = nn.Dropout(dropout)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        with torch.autocast("cpu", enabled=False):  # oneDNN has no half LSTM here
            states, _ = self.lstm(self.drop(self.words(ids)))
        states = states.masked_fill(~mask, -1e4)
        return states.max(dim=1).values


class PairClassifier(nn.Module):
    """One encoder reads both sentences; the head sees their distance and product."""

    def __init__(self, n_words, cfg):
        super().__init__()
        self.encoder = SentenceEncoder(n_words, cfg["embed"], cfg["hidden"], cfg["dropout"])
        width = cfg["hidden"]
        self.head = nn.Sequential(nn.Linear(2 * width, 64), nn.ReLU(), nn.Dropout(cfg["dropout"]), nn.Linear(64, 1))

    def forward(self, left, right):
        u, v = self.encoder(left), self.encoder(right)
        return self.head(torch.cat([(u - v).abs(), u * v], dim=1)).squeeze(1)
