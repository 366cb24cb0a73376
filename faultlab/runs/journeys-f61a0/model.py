from __future__ import annotations

import torch
from torch import Tensor, nn

from settings import ModelSettings


class MixBlock(nn.Module):
    """Mixes an event with its two neighbours."""

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.conv = nn.Conv1d(dim, 2 * dim, kernel_size=3, padding=1)
        self.activation = nn.GELU()
        self.out = nn.Linear(2 * dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        z = self.norm(h) * mask.unsqueeze(-1)
        z = self.activation(self.conv(z.transpose(1, 2)).transpose(1, 2))
        return h + self.dropout(self.out(z))


class AttentionPool(nn.Module):
    """Learned queries, each with its own weights over the events of a session."""

    def __init__(self, dim: int, n_queries: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.score = nn.Linear(dim, n_queries)
        self.value = nn.Linear(dim, dim)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        h = self.norm(h)
        scores = self.score(h).masked_fill(~mask.unsqueeze(-1), float("-inf"))
        weights = torch.softmax(scores, dim=1)
        pooled = torch.einsum("btq,btd->bqd", weights, self.value(h))
        return pooled.flatten(1)


class IntentModel(nn.Module):
    def __init__(self, n_events: int, n_intents: int, max_events: int, settings: ModelSettings) -> None:
        super().__init__()
        dim = settings.dim
        self.event = nn.Embedding(n_events, dim, padding_idx=0)
        self.position = nn.Embedding(max_events, dim)
        self.gap = nn.Linear(1, dim)
        self.blocks = nn.ModuleList([MixBlock(dim, settings.dropout) for _ in range(settings.n_blocks)])
        self.pool = AttentionPool(dim, settings.n_queries)
        self.head = nn.Sequential(
            nn.Linear(dim * settings.n_queries, settings.hidden),
            nn.BatchNorm1d(settings.hidden),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.hidden, n_intents),
        )
        self.apply(init_weights)

    def forward(self, events: Tensor, gaps: Tensor, mask: Tensor) -> Tensor:
        steps = torch.arange(events.shape[1], device=events.device)
        h = self.event(events)
        h = h + self.position(steps)
        h = h + self.gap(gaps.unsqueeze(-1))
        for block in self.blocks:
            h = block(h, mask)
        return self.head(self.pool(h, mask))


def init_weights(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Conv1d)):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.1)
