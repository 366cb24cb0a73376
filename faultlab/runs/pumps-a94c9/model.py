"""Convolutions over the window, a GRU on top, remaining life from its last state."""

from __future__ import annotations

import torch
from torch import nn

from config import ModelConfig


class ConvBlock(nn.Module):
    def __init__(self, c_in: int, c_out: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, kernel_size=5, stride=stride, padding=2, bias=False)
        self.norm = nn.BatchNorm1d(c_out)
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.norm(self.conv(x)))


class RulNet(nn.Module):
    def __init__(self, n_sensors: int, cfg: ModelConfig) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            ConvBlock(n_sensors, cfg.conv_channels, stride=2),
            ConvBlock(cfg.conv_channels, cfg.conv_channels, stride=2),
        )
        self.gru = nn.GRU(cfg.conv_channels, cfg.gru_hidden, batch_first=True)
        self.head = nn.Sequential(
            nn.Linear(cfg.gru_hidden, cfg.gru_hidden),
            nn.ReLU(),
            nn.Linear(cfg.gru_hidden, 1),
        )
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module: nn.Module) -> None:
        if isinstance(module, (nn.Conv1d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.GRU):
            for name, p in module.named_parameters():
                if name.startswith("weight_hh"):
                    nn.init.orthogonal_(p)
                elif name.startswith("weight_ih"):
                    nn.init.xavier_uniform_(p)
                else:
                    nn.init.zeros_(p)

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        """windows: (batch, time, sensors) -> (batch,)"""
        z = self.encoder(windows.transpose(1, 2))
        states, _ = self.gru(z.transpose(1, 2))
        return self.head(states[:, -1]).squeeze(-1)
