import torch
import torch.nn.functional as F
from torch import nn


def scatter_sum(v, idx, n):
    out = v.new_zeros((n,) + v.shape[1:])
    return out.index_add_(0, idx, v)


def segment_softmax(s, idx, n):
    """Softmax of s (N,) within each segment."""
    top = s.new_full((n,), float("-inf")).scatter_reduce(0, idx, s, reduce="amax")
    e = (s - top[idx]).exp()
    return e / scatter_sum(e, idx, n)[idx]


class EdgeConv(nn.Module):
    def __init__(self, d, n_kinds, drop):
        super().__init__()
        self.kind = nn.Embedding(n_kinds, d)
        self.msg = nn.Linear(d, d)
        self.upd = nn.Sequential(nn.Linear(2 * d, d), nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, d))
        self.drop = drop

    def forward(self, h, src, dst, kind):
        n = h.size(0)
        m = F.relu(self.msg(h[src]) + self.kind(kind))
        deg = scatter_sum(torch.ones_like(dst, dtype=h.dtype), dst, n).clamp(min=1)
        agg = scatter_sum(m, dst, n) / deg[:, None]
        u = self.upd(torch.cat([h, agg], dim=1))
        return h + F.dropout(u, self.drop, self.training)


class WireNet(nn.Module):
    def __init__(self, cfg, n_feats, n_classes):
        super().__init__()
        d = cfg["width"]
        self.enc = nn.Sequential(nn.Linear(n_feats, d), nn.ReLU())
        self.convs = nn.ModuleList([EdgeConv(d, cfg["n_kinds"], cfg["drop"]) for _ in range(cfg["depth"])])
        self.gate = nn.Linear(d * (cfg["depth"] + 1), 1)
        self.head = nn.Sequential(nn.Linear(d * (cfg["depth"] + 1), d), nn.ReLU(), nn.Dropout(cfg["drop"]),
                                  nn.Linear(d, n_classes))
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Linear):
            nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
            nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Embedding):
            nn.init.normal_(m.weight, std=0.1)

    def forward(self, batch):
        h = self.enc(batch["x"])
        levels = [h]
        for conv in self.convs:
            h = conv(h, batch["src"], batch["dst"], batch["kind"])
            levels.append(h)
        z = torch.cat(levels, dim=1)
        w = segment_softmax(self.gate(z).squeeze(1), batch["owner"], batch["size"])
        pooled = scatter_sum(w[:, None] * z, batch["owner"], batch["size"])
        return self.head(pooled)
