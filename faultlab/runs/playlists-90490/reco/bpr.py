import torch
from torch import nn
from torch.nn import functional as F


class MatrixFactorization(nn.Module):
    def __init__(self, num_users, num_tracks, dim, init_std=0.1):
        super().__init__()
        self.user_factors = nn.Embedding(num_users, dim)
        self.track_factors = nn.Embedding(num_tracks, dim)
        self.track_bias = nn.Embedding(num_tracks, 1)
        nn.init.normal_(self.user_factors.weight, std=init_std)
        nn.init.normal_(self.track_factors.weight, std=init_std)
        nn.init.zeros_(self.track_bias.weight)

    def forward(self, users, tracks):
        dot = (self.user_factors(users) * self.track_factors(tracks)).sum(-1)
        return dot + self.track_bias(tracks).squeeze(-1)

    def score_all(self, users):
        return self.user_factors(users) @ self.track_factors.weight.T + self.track_bias.weight.T

    def penalty(self, users, pos, neg):
        parts = [self.user_factors(users), self.track_factors(pos), self.track_factors(neg)]
        return sum(p.pow(2).sum(-1).mean() for p in parts)


def bpr_loss(pos_scores, neg_scores):
    return -F.logsigmoid(pos_scores - neg_scores).mean()
