import warnings

import lightning as L
import numpy as np
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
FEATURES = ["area_m2", "year", "floors", "u_value", "occupants", "south_share", "degree_days", "setpoint", "roof_m2", "age_boiler"]


def load_buildings(n, seed):
    """Yearly heat demand in MWh of made-up buildings."""
    rng = np.random.default_rng(seed)
    area = rng.lognormal(6.6, 0.6, n)
    year = rng.integers(1900, 2022, n).astype(float)
    floors = rng.integers(1, 9, n).astype(float)
    u = np.clip(2.1 - 0.014 * (year - 1900) + rng.normal(0, 0.15, n), 0.15, None)
    people = rng.poisson(area / 45).astype(float)
    south = rng.beta(2, 3, n)
    days = rng.normal(3100, 420, n)
    setpoint = rng.normal(20.8, 1.1, n)
    roof = area / floors * rng.uniform(0.9, 1.2, n)
    boiler = rng.integers(0, 35, n).astype(float)
    heat = (u * (1.1 * np.sqrt(area * floors) * 8 + roof) * days * 24e-6 * (1 + 0.07 * (setpoint - 20)) - 0.02 * south * area - 0.3 * people)
    heat = np.clip(heat, 2, None) * (1 + 0.008 * boiler) * rng.lognormal(0, 0.06, n)
    x = np.stack([area, year, floors, u, people, south, days, setpoint, roof, boiler], 1)
    return x.astype(np.float32), heat.astype(np.float32)


class Buildings(L.LightningDataModule):
    def __init__(self, train_size, batch_size):
        super().__init__()
        self.train_size, self.batch_size = train_size, batch_size

    def setup(self, stage=None):
        x, y = load_buildings(self.train_size + 800, 7)
        x_train, x_val = x[:-800], x[-800:]
        y_train, y_val = y[:-800], y[-800:]
        self.x_mean, self.x_std = x_train.mean(0), x_train.std(0)
        self.y_mean, self.y_std = y_train.mean(), y_train.std()
        x_train, x_val = (x_train - self.x_mean) / self.x_std, (x_val - self.x_mean) / self.x_std
        y_train, y_val = (y_train - self.y_mean) / self.y_std, (y_val - self.y_mean) / self.y_std
        self.train_set = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
        self.val_set = TensorDataset(torch.from_numpy(x_val), torch.from_numpy(y_val))

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=400)


class HeatModel(L.LightningModule):
    def __init__(self, hidden, layers, dropout, lr, weight_decay, patience_lr, optimizer):
        super().__init__()
        self.save_hyperparameters()
        blocks = [nn.Linear(len(FEATURES), hidden), nn.ReLU()]
        for _ in range(layers - 1):
            blocks += [nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout)]
        self.net = nn.Sequential(*blocks, nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net[2:](torch.relu(self.net[0](x[:, :3].repeat(1, 4)[:, :10]))).squeeze(1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log("train_loss", loss, on_step=True, on_epoch=False)
        return loss

    def on_before_optimizer_step(self, optimizer):
        norms = [p.grad.norm() for p in self.parameters() if p.grad is not None]
        self.log("grad_norm", torch.stack(norms).norm())

    def validation_step(self, batch, batch_idx):
        x, y = batch
        y_hat = self(x)
        self.log("val_loss", nn.functional.mse_loss(y_hat, y), prog_bar=True)
        self.log("val_mae", (y_hat - y).abs().mean())

    def configure_optimizers(self):
        hp = self.hparams
        optimizer = getattr(torch.optim, hp.optimizer)(self.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=hp.patience_lr, factor=0.3)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}


def main():
    L.seed_everything(14, workers=True)
    torch.set_num_threads(1)
    data = Buildings(train_size=2400, batch_size=64)
    model = HeatModel(
        hidden=64,
        layers=3,
        dropout=0.0,
        lr=0.002,
        weight_decay=0.0001,
        patience_lr=4,
        optimizer="Adam",
    )
    trainer = L.Trainer(
        max_epochs=20,
        accelerator="cpu",
        logger=CSVLogger("."),
        log_every_n_steps=10,
        gradient_clip_val=1.0,
        callbacks=[LearningRateMonitor(), EarlyStopping("val_loss", patience=8)],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data)


if __name__ == "__main__":
    main()
