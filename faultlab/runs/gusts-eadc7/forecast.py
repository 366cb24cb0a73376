# %% imports
import numpy as np
import torch
import yaml
from torch.utils.data import DataLoader, TensorDataset

from weather.station import COLUMNS, StandardScaler, make_windows, simulate
from weather.tcn import Forecaster

# %% settings
with open("settings.yaml") as fh:
    S = yaml.safe_load(fh)
O = S["optim"]
torch.set_num_threads(1)
torch.manual_seed(S["seed"])
rng = np.random.default_rng(S["seed"])

# %% data: the past trains, the following months validate
raw = simulate(S["hours"], rng)
cut = int(len(raw) * S["train_share"])
scaler = StandardScaler().fit(raw[:cut])
past, future = scaler.transform(raw[:cut]), scaler.transform(raw[cut:])
Xtr, Ytr = make_windows(past, S["lookback"], S["horizon"], S["stride"])
Xva, Yva = make_windows(future, S["lookback"], S["horizon"], S["stride"])
tr_loader = DataLoader(TensorDataset(torch.from_numpy(Xtr), torch.from_numpy(Ytr)), batch_size=O["batch_size"], shuffle=True)
va_loader = DataLoader(TensorDataset(torch.from_numpy(Xva), torch.from_numpy(Yva)), batch_size=256)
print("columns:", ", ".join(COLUMNS))
print("windows:", len(Xtr), "train,", len(Xva), "val")
persist = np.abs(Xva[:, -1:, [0, 3, 4]] - Yva).mean()
print(f"persistence mae {persist:.4f}")

# %% model
model = Forecaster(len(COLUMNS), 3, S["horizon"], **S["model"])
opt = torch.optim.SGD(model.parameters(), momentum=0.9, lr=O["lr"], weight_decay=O["weight_decay"])
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=O["max_epochs"])
criterion = torch.nn.MSELoss()


# %% loops
def run_epoch(loader, training):
    model.train(training)
    tot_loss, tot_abs, n = 0.0, 0.0, 0
    with torch.set_grad_enabled(training):
        for xb, yb in loader:
            pred = model(xb)
            loss = criterion(pred, yb)
            if training:
                opt.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), O["grad_clip"])
                opt.step()
            tot_loss += loss.item() * len(xb)
            tot_abs += (pred - yb).abs().mean().item() * len(xb)
            n += len(xb)
    return tot_loss / n, tot_abs / n


best, waited = float("inf"), 0
table = open("history.csv", "w")
table.write("epoch;loss;mae;val_loss;val_mae;lr\n")
for epoch in range(O["max_epochs"]):
    lr = opt.param_groups[0]["lr"]
    loss, mae = run_epoch(tr_loader, training=True)
    val_loss, val_mae = run_epoch(va_loader, training=False)
    sched.step()
    table.write(f"{epoch};{loss:.5f};{mae:.5f};{val_loss:.5f};{val_mae:.5f};{lr:.6f}\n")
    table.flush()
    print(f"epoch {epoch:2d}  loss {loss:.4f}  val_loss {val_loss:.4f}  val_mae {val_mae:.4f}")
    if val_loss < best:
        best, waited = val_loss, 0
        torch.save(model.state_dict(), "best.pt")
    else:
        waited += 1
        if waited >= O["patience"]:
            print("early stopping")
            break
table.close()

# %% result
print(f"best val_loss {best:.4f}")
