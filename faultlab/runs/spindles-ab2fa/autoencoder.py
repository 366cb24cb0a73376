from torch import nn


class WindowAutoencoder(nn.Module):
    def __init__(self, n_in, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_in, hidden),
            nn.LeakyReLU(0.1),
            nn.Linear(hidden, hidden // 2),
            nn.LeakyReLU(0.1),
            nn.Linear(hidden // 2, latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden // 2),
            nn.LeakyReLU(0.1),
            nn.Linear(hidden // 2, hidden),
            nn.LeakyReLU(0.1),
            nn.Linear(hidden, n_in),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))
