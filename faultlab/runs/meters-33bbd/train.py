"""Next-hour load forecast for smart meters with an LSTM."""
import lightning as L
import numpy as np
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset

from simulate import read_meters


class LoadWindows(Dataset):
    """Windows of `lookback` hours (load, hour, weekend) and the load of the hour after."""

    def __init__(self, load, hour, weekend, lookback=24, stride=5):
        self.lookback = lookback
        self.load = load.astype(np.float32)
        angle = 2 * np.pi * hour / 24
        self.calendar = np.stack([np.sin(angle), np.cos(angle), weekend], axis=1).astype(np.float32)
        starts = range(0, len(load) - lookback, stride)
        self.index = [(m, t) for m in range(load.shape[1]) for t in starts]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        m, t = self.index[i]
        end = t + self.lookback
        window = np.concatenate([self.load[t:end, m : m + 1], self.calendar[t + 1 : end + 1]], axis=1)
        return torch.from_numpy(window), torch.tensor(self.load[end, m])


def fill_gaps(load):
    """Failed transmissions become gaps, and gaps are interpolated."""
    load = np.where(load > 20, np.nan, load)
    t = np.arange(len(load))
    for m in range(load.shape[1]):
        ok = np.isfinite(load[:, m])
        load[:, m] = np.interp(t, t[ok], load[ok, m])
    return load


class MeterData(L.LightningDataModule):
    def __init__(self, batch_size=64, train_days=55):
        super().__init__()
        self.save_hyperparameters()

    def setup(self, stage=None):
        load, hour, weekend = read_meters()
        load = fill_gaps(load)
        cut = 24 * self.hparams.train_days
        mean, std = load[:cut].mean(), load[:cut].std()
        load = (load - mean) / std
        self.train_set = LoadWindows(load[:cut], hour[:cut], weekend[:cut])
        self.valid_set = LoadWindows(load[cut:], hour[cut:], weekend[cut:])
        self.kw_per_std = float(std)

    def train_dataloader(self):
        return DataLoader(self.train_set, self.hparams.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.valid_set, 512)


class LoadForecaster(L.LightningModule):
    def __init__(self, hidden_size=32, lr=4e-3, weight_decay=1e-4, kw_per_std=1.0):
        super().__init__()
        self.save_hyperparameters()
        self.lstm = nn.LSTM(4, hidden_size, batch_first=True)
        self.head = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1]).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        pred = self(x)
        self.log("val_loss", F.mse_loss(pred, y), prog_bar=True)
        self.log("val_mae", (pred - y).abs().mean() * self.hparams.kw_per_std)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(
            self.parameters(), lr=self.hparams.lr, weight_decay=self.hparams.weight_decay
        )
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.85)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}


def main():
    L.seed_everything(7)
    data = MeterData()
    data.setup()
    model = LoadForecaster(kw_per_std=data.kw_per_std)
    trainer = L.Trainer(
        max_epochs=1,
        limit_train_batches=40,
        accelerator="cpu",
        gradient_clip_val=1.0,
        log_every_n_steps=10,
        logger=CSVLogger(".", name="lightning_logs"),
        callbacks=[LearningRateMonitor(logging_interval="epoch")],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, data)


if __name__ == "__main__":
    main()
