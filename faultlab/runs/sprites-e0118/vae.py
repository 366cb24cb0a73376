import torch
from torch import nn
import torch.nn.functional as F


class SpriteVAE(nn.Module):
    def __init__(self, n_pixels, latent_dim, hidden):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_pixels, hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU())
        self.to_mu = nn.Linear(hidden, latent_dim)
        self.to_logvar = nn.Linear(hidden, latent_dim)
        self.decoder = nn.Sequential(
            nn.Linear(latent_dim, hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU(),
            nn.Linear(hidden, n_pixels))

    def encode(self, x):
        h = self.encoder(2 * x - 0.5)
        return self.to_mu(h), self.to_logvar(h).clamp(-8, 8)

    def sample(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def forward(self, x):
        mu, logvar = self.encode(x)
        logits = self.decoder(self.sample(mu, logvar))
        return logits, mu, logvar


def elbo_terms(logits, x, mu, logvar):
    recon = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1).mean()
    return recon, kl
