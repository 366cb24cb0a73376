"""One-step forecast of the load of a power grid from the last two days (GRU)."""
import json
import numpy as np
import torch
from torch import nn

config = json.load(open("config.json"))
history = {}
torch.set_num_threads(1)
torch.manual_seed(config["seed"])
np.random.seed(config["seed"])


def hourly_load(hours, seed):
    """Megawatts: daily and weekly cycle, slow drift, weather noise."""
    rng = np.random.RandomState(seed)
    t = np.arange(hours)
    weather = np.convolve(rng.normal(0, 1, hours + 23), np.ones(24) / 24, "valid")
    return 8200 + 1500 * np.sin(2 * np.pi * t / 24) + 600 * np.sin(2 * np.pi * t / 168 + 1) + 900 * weather + rng.normal(0, 90, hours)


def windows(series, length=48):
    x = np.stack([series[i : i + length] for i in range(len(series) - length)])
    return torch.tensor(x, dtype=torch.float32).unsqueeze(-1), torch.tensor(series[length:], dtype=torch.float32).unsqueeze(-1)


raw = hourly_load(config["train_size"] + 600, 21)
train_raw, valid_raw = raw[:-600], raw[-600:]
centre, scale = train_raw.mean(), train_raw.std()
train_x, train_y = windows((train_raw - centre) / scale)
valid_x, valid_y = windows((valid_raw - centre) / scale)


class Forecaster(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gru = nn.GRU(1, size, batch_first=True)
        self.out = nn.Linear(size, 1)

    def forward(self, x):
        states, _ = self.gru(x)
        return self.out(states[:, -1])


model = Forecaster(config["hidden"])
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9, weight_decay=config["weight_decay"])
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=3)
step = 0
for epoch in range(1, config["epochs"] + 1):
    model.train()
    total_loss, count = 0.0, 0
    for ids in torch.randperm(len(train_x)).split(config["batch_size"]):
        x, y = train_x[ids], train_y[ids]
        output = model(x)
        loss = criterion(output, y)
        loss.backward()
        norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
        if step % 8 == 7:
            optimizer.step()
            optimizer.zero_grad()
        step += 1
        total_loss += loss.item() * len(ids)
        count += len(ids)
    lr = optimizer.param_groups[0]["lr"]
    model.eval()
    with torch.no_grad():
        output = model(valid_x)
        val_loss = criterion(output, valid_y).item()
        val_mae = (output - valid_y).abs().mean().item()
    scheduler.step(val_loss)
    history.setdefault("train_loss", []).append(total_loss / count)
    history.setdefault("val_loss", []).append(val_loss)
    history.setdefault("val_mae", []).append(val_mae)
    history.setdefault("lr", []).append(lr)
json.dump(history, open("history.json", "w"))
