# %% [markdown]
# # House prices
# MLP on the log of the sale price. RMSE is on the log (RMSLE of the price), R2 as well.

# %%
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 7
N_HOUSES = 1500
TEST_SHARE = 0.2
BATCH = 100
EPOCHS = 30
LR = 5e-3
WEIGHT_DECAY = 1e-4
HIDDEN = 48
DROPOUT = 0.05
CLIP = 1.0

torch.set_num_threads(1)
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

# %% the data: one row a house
area = np.exp(rng.normal(4.75, 0.35, N_HOUSES))                 # square metres
lot = area * np.exp(rng.normal(1.4, 0.5, N_HOUSES))
rooms = np.clip(np.round(area / 27 + rng.normal(0, 0.8, N_HOUSES)), 1, 12)
year = rng.integers(1900, 2023, N_HOUSES).astype(float)
renovated = np.where(rng.random(N_HOUSES) < 0.3, year + rng.uniform(0, 1, N_HOUSES) * (2023 - year), year)
quality = np.clip(np.round(5.5 + (year - 1960) / 40 + rng.normal(0, 1.3, N_HOUSES)), 1, 10)
distance = rng.gamma(2.0, 4.0, N_HOUSES)                        # km to the centre
garage = rng.poisson(1.1, N_HOUSES).astype(float)
district = rng.integers(0, 8, N_HOUSES)
level = rng.normal(0, 0.22, 8)

log_price = (
    12.2 + 0.75 * (np.log(area) - 4.75) + 0.09 * np.log(lot / area) + 0.085 * (quality - 5.5)
    + 0.05 * np.minimum(garage, 3) - 0.35 * (1 - np.exp(-(2023 - renovated) / 35))
    - 0.045 * distance * (level[district] + 0.6) + level[district]
    + 0.02 * (rooms - area / 27) + rng.normal(0, 0.09, N_HOUSES)
)
price = np.exp(log_price)

numeric = np.stack([area, lot, rooms, 2023 - year, 2023 - renovated, quality, distance, garage], axis=1)
onehot = np.eye(8)[district]

# %% split, scale
perm = rng.permutation(N_HOUSES)
n_test = int(TEST_SHARE * N_HOUSES)
test_idx, train_idx = perm[:n_test], perm[n_test:]

numeric[:, :2] = np.log(numeric[:, :2])
mu, sd = numeric[train_idx].mean(0), numeric[train_idx].std(0)
X = np.hstack([(numeric - mu) / sd, onehot])
y = np.log(price)
y_mean, y_std = y[train_idx].mean(), y[train_idx].std()
y = (y - y_mean) / y_std

Xtr = torch.tensor(X[train_idx], dtype=torch.float32)
Xte = torch.tensor(X[test_idx], dtype=torch.float32)
ytr = torch.tensor(y[train_idx], dtype=torch.float32)
yte = torch.tensor(y[test_idx], dtype=torch.float32)
print("train", tuple(Xtr.shape), "test", tuple(Xte.shape), "median price", int(np.median(price)))

# %% the model
net = nn.Sequential(
    nn.Linear(Xtr.shape[1], HIDDEN), nn.SiLU(), nn.Dropout(DROPOUT),
    nn.Linear(HIDDEN, HIDDEN), nn.SiLU(), nn.Dropout(DROPOUT),
    nn.Linear(HIDDEN, 1),
)
opt = torch.optim.Adam(net.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
steps_per_epoch = math.ceil(len(Xtr) / BATCH)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=LR, total_steps=EPOCHS * steps_per_epoch, pct_start=0.2)


def score(pred, target):
    err = pred - target
    rmse = err.pow(2).mean().sqrt().item() * y_std
    r2 = 1 - err.pow(2).sum().item() / (target - target.mean()).pow(2).sum().item()
    return rmse, r2


# %% train
for epoch in range(EPOCHS):
    net.train()
    order = torch.randperm(len(Xtr))
    loss_sum = 0.0
    for start in range(0, len(Xtr), BATCH):
        idx = order[start:start + BATCH]
        out = net(Xtr[idx]).squeeze(-1)
        loss = F.mse_loss(out, ytr[idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), CLIP)
        opt.step()
        loss_sum += loss.item() * len(idx)
    sched.step()
    net.eval()
    with torch.no_grad():
        pred = net(Xte).squeeze(-1)
        test_mse = F.mse_loss(pred, yte).item()
        test_rmse, test_r2 = score(pred, yte)
        train_rmse, train_r2 = score(net(Xtr).squeeze(-1), ytr)
    print(f"epoch {epoch + 1:2d}  loss {loss_sum / len(Xtr):.4f}  test loss {test_mse:.4f}  "
          f"RMSE {train_rmse:.4f} / {test_rmse:.4f}  R2 {train_r2:.3f} / {test_r2:.3f}")

# %% a look at some houses
euros = torch.exp(pred * y_std + y_mean)
truth = torch.exp(yte * y_std + y_mean)
for i in range(5):
    print(f"predicted {euros[i].item():10.0f}   sold for {truth[i].item():10.0f}")
