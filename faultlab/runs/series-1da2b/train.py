"""One-step forecast of the load of a power grid from the last two days (GRU)."""
import argparse
import csv
import json
import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=132)
parser.add_argument("--train-size", type=int, default=2400)
parser.add_argument("--hidden", type=int, default=24)
parser.add_argument("--learning-rate", type=float, default=0.05)
parser.add_argument("--weight-decay", type=float, default=0.0)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--grad-clip", type=float, default=1.0)
parser.add_argument("--epochs", type=int, default=14)
parser.add_argument("--log-every", type=int, default=5)
args = parser.parse_args()
json.dump(vars(args), open("args.json", "w"), indent=2)
log_file = open("metrics.csv", "w", newline="")
log = csv.DictWriter(log_file, ["step", "epoch", "loss", "lr", "grad_norm", "val_loss", "val_mae"])
log.writeheader()
torch.set_num_threads(1)
torch.manual_seed(args.seed)
np.random.seed(args.seed)


def hourly_load(hours, seed):
    """Megawatts: daily and weekly cycle, slow drift, weather noise."""
    rng = np.random.RandomState(seed)
    t = np.arange(hours)
    weather = np.convolve(rng.normal(0, 1, hours + 23), np.ones(24) / 24, "valid")
    return 8200 + 1500 * np.sin(2 * np.pi * t / 24) + 600 * np.sin(2 * np.pi * t / 168 + 1) + 900 * weather + rng.normal(0, 90, hours)


def windows(series, length=48):
    x = np.stack([series[i : i + length] for i in range(len(series) - length)])
    return torch.tensor(x, dtype=torch.float32).unsqueeze(-1), torch.tensor(series[length:], dtype=torch.float32).unsqueeze(-1)


raw = hourly_load(args.train_size + 600, 21)
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
        return self.out((torch.softmax(states.mean(-1) * 12, 1).unsqueeze(-1) * states).sum(1) + states[:, -1])


model = Forecaster(args.hidden)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=0.9, weight_decay=args.weight_decay)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=3)
step = 0
for epoch in range(1, args.epochs + 1):
    model.train()
    total_loss, count = 0.0, 0
    for ids in torch.randperm(len(train_x)).split(args.batch_size):
        x, y = train_x[ids], train_y[ids]
        output = model(x)
        loss = criterion(output, y)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
        optimizer.step()
        step += 1
        total_loss += loss.item() * len(ids)
        count += len(ids)
        if step % args.log_every == 0:
            log.writerow({"step": step, "epoch": epoch, "loss": loss.item(), "lr": optimizer.param_groups[0]["lr"], "grad_norm": norm.item()})
    lr = optimizer.param_groups[0]["lr"]
    model.eval()
    with torch.no_grad():
        output = model(valid_x)
        val_loss = criterion(output, valid_y).item()
        val_mae = (output - valid_y).abs().mean().item()
    scheduler.step(val_loss)
    log.writerow({"step": step, "epoch": epoch, "val_loss": val_loss, "val_mae": val_mae})
log_file.close()
