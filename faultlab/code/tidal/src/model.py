import torch
from torch import nn


class TideNet(nn.Module):
    def __init__(self, channels=13, waves=10, width=96, layers=2, drop=0.1):
        super().__init__()
        self.inp = nn.Sequential(nn.Linear(channels, width), nn.LayerNorm(width))
        self.enc = nn.GRU(width, width, num_layers=layers, dropout=drop, batch_first=True)
        self.dec = nn.GRU(waves, width, num_layers=layers, dropout=drop, batch_first=True)
        self.mix = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Dropout(drop))
        self.out = nn.Linear(width, 1)
        self.scale = width ** -0.5

    def forward(self, past, future):
        memory, state = self.enc(self.inp(past))
        query, _ = self.dec(future, state)
        weight = torch.softmax(query @ memory.transpose(1, 2) * self.scale, dim=-1)
        seen = weight @ memory
        change = self.out(self.mix(torch.cat([query, seen], dim=-1))).squeeze(-1)
        return past[:, -1:, 0] + change
