import copy

import torch
from torch import nn


class ConvBlock(nn.Module):
    """Separable convolution over time with a residual path."""

    def __init__(self, channels, kernel, dropout):
        super().__init__()
        self.depth = nn.Conv1d(channels, channels, kernel, padding=kernel // 2, groups=channels, bias=False)
        self.point = nn.Conv1d(channels, channels, 1, bias=False)
        self.norm = nn.BatchNorm1d(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(torch.relu(x + self.norm(self.point(self.depth(x)))))


class CtcEncoder(nn.Module):
    def __init__(self, n_mels, vocab, channels=80, blocks=3, kernel=7, dropout=0.1):
        super().__init__()
        self.subsample = nn.Sequential(
            nn.Conv1d(n_mels, channels, 5, stride=2, padding=2, bias=False),
            nn.BatchNorm1d(channels),
            nn.ReLU(),
        )
        self.blocks = nn.Sequential(*[ConvBlock(channels, kernel, dropout) for _ in range(blocks)])
        self.proj = nn.Linear(channels, vocab)
        self.reset_parameters()

    def reset_parameters(self):
        for m in self.modules():
            if isinstance(m, (nn.Conv1d, nn.Linear)):
                nn.init.xavier_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, src, src_lengths):
        x = self.blocks(self.subsample(src.transpose(1, 2)))
        logits = self.proj(x.transpose(1, 2))
        lengths = (src_lengths + 1) // 2
        return logits, lengths


class EMA:
    """Moving average of the weights, used for validation and as the final model."""

    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def step(self, model, num_updates):
        d = min(self.decay, (1 + num_updates) / (10 + num_updates))
        for e, p in zip(self.model.state_dict().values(), model.state_dict().values()):
            if e.dtype.is_floating_point:
                e.mul_(d).add_(p, alpha=1 - d)
            else:
                e.copy_(p)
