import torch
from torch import nn


class Seq2Quantiles(nn.Module):
    """GRU over the past, GRU over the known future started from its state, quantiles per hour."""

    def __init__(self, n_features, hidden, layers, dropout, quantiles):
        super().__init__()
        self.encoder = nn.GRU(n_features, hidden, layers, batch_first=True, dropout=dropout)
        self.decoder = nn.GRU(n_features - 1, hidden, layers, batch_first=True, dropout=dropout)
        self.out = nn.Sequential(nn.Linear(hidden, hidden), nn.ELU(), nn.Dropout(dropout))
        self.quant = nn.Linear(hidden, len(quantiles))
        for gru in (self.encoder, self.decoder):
            for name, w in gru.named_parameters():
                if "weight_hh" in name:
                    nn.init.orthogonal_(w)

    def forward(self, past, future):
        _, state = self.encoder(past)
        h, _ = self.decoder(future, state)
        return self.quant(self.out(h))


class PinballLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.register_buffer("q", torch.tensor(list(quantiles)))

    def forward(self, pred, target):
        err = target.unsqueeze(-1) - pred.float()
        return torch.maximum(self.q * err, (self.q - 1) * err).mean()
