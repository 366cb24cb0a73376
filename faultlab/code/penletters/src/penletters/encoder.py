import torch
from torch import nn
from torch.nn.utils import rnn

from penletters import corpus


class Subsample(nn.Module):
    """Two strided convolutions over time: (N, T, C) -> (N, T // 4, D)."""

    def __init__(self, c_in, dim):
        super().__init__()
        self.conv1 = nn.Conv1d(c_in, dim, kernel_size=2, stride=2)
        self.conv2 = nn.Conv1d(dim, dim, kernel_size=2, stride=2)
        self.act = nn.ReLU()

    def forward(self, x):
        x = x.transpose(1, 2)
        x = self.act(self.conv2(self.act(self.conv1(x))))
        return x.transpose(1, 2)


class PenEncoder(nn.Module):
    def __init__(self, dim, layers, dropout):
        super().__init__()
        self.front = Subsample(corpus.NUM_CHANNELS, dim)
        self.norm = nn.LayerNorm(dim)
        self.rnn = nn.GRU(dim, dim, num_layers=layers, dropout=dropout, bidirectional=True, batch_first=True)
        self.classify = nn.Linear(2 * dim, len(corpus.ALPHABET) + 1)

    def forward(self, sig, sig_lens):
        """Log-probabilities (T', N, classes) and the valid lengths T' of each recording."""
        h = self.norm(self.front(sig))
        lens = sig_lens // corpus.REDUCTION
        packed = rnn.pack_padded_sequence(h, lens.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        scores = self.classify(h)
        return scores.log_softmax(dim=-1).transpose(0, 1), lens
