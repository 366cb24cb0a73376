import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalBlock(nn.Module):
    def __init__(self, channels, kernel, dilation, dropout):
        super().__init__()
        self.pad = (kernel - 1) * dilation
        self.conv1 = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.conv2 = nn.Conv1d(channels, channels, 1)
        self.norm = nn.GroupNorm(4, channels)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        h = F.gelu(self.conv1(F.pad(x, (self.pad, 0))))
        h = self.drop(self.conv2(self.norm(h)))
        return x + h


class Forecaster(nn.Module):
    def __init__(self, n_features, n_targets, horizon, channels=24, kernel=3, dilations=(1, 2, 4), dropout=0.1):
        super().__init__()
        self.horizon, self.n_targets = horizon, n_targets
        self.inp = nn.Conv1d(n_features, channels, 1)
        self.blocks = nn.ModuleList(CausalBlock(channels, kernel, d, dropout) for d in dilations)
        self.out = nn.Linear(channels, horizon * n_targets)

    def forward(self, x):
        h = self.inp(x.transpose(1, 2))
        for block in self.blocks:
            h = block(h)
        return self.out(h[:, :, -1]).view(-1, self.horizon, self.n_targets)
