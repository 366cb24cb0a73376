import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvUnit(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(c_out)
        self.refine = nn.Conv2d(c_out, c_out, 3, padding=1, bias=False)
        self.refine_norm = nn.BatchNorm2d(c_out)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return F.relu(x + self.refine_norm(self.refine(x)))


class EmbeddingNet(nn.Module):
    def __init__(self, width, embedding):
        super().__init__()
        self.backbone = nn.Sequential(
            ConvUnit(3, width), ConvUnit(width, 2 * width), ConvUnit(2 * width, 4 * width), ConvUnit(4 * width, 8 * width)
        )
        self.project = nn.Sequential(nn.Linear(8 * width, 8 * width), nn.ReLU(), nn.Linear(8 * width, embedding))

    def forward(self, x):
        pooled = self.backbone(x).flatten(2).mean(-1)
        return F.normalize(self.project(pooled), dim=1)


class SupervisedContrastive(nn.Module):
    """Pulls all images of one brand together against all others of the batch (unit-length embeddings)."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, z, labels):
        sim = z @ z.t() / self.temperature
        itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
        positive = (labels[:, None] == labels[None, :]) & ~itself
        sim = sim.masked_fill(itself, float("-inf"))
        log_prob = sim - torch.logsumexp(sim, dim=1, keepdim=True)
        log_prob = log_prob.masked_fill(~positive, 0.0)
        return -(log_prob.sum(1) / positive.sum(1).clamp(min=1)).mean()
