import torch
from torch import nn


class QuantNet(nn.Module):
    """Predicts several quantiles of log lifetime; increments keep them in order."""

    def __init__(self, n_num, n_grease, width=64, n_q=3, p_drop=0.05):
        super().__init__()
        self.grease = nn.Embedding(n_grease, 4)
        self.fc1 = nn.Linear(n_num + 4, width)
        self.bn1 = nn.BatchNorm1d(width)
        self.fc2 = nn.Linear(width, width)
        self.bn2 = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(p_drop)
        self.head = nn.Linear(width, n_q)

    def forward(self, num, grease):
        z = torch.cat([num, self.grease(grease)], dim=1)
        z = torch.relu(self.bn1(self.fc1(z)))
        z = z + self.drop(torch.relu(self.bn2(self.fc2(z))))
        raw = self.head(z)
        steps = nn.functional.softplus(raw[:, 1:])
        return torch.cat([raw[:, :1], raw[:, :1] + steps.cumsum(dim=1)], dim=1)


def pinball(pred, target, taus):
    diff = target.unsqueeze(1) - pred
    return torch.maximum(taus * diff, (taus - 1) * diff).mean()
