# Monthly rents of flats from a table of offers
import copy
import random

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

SEED = 7
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)

# %% the table
df = pd.read_csv("rents.csv")
df = df.drop(columns=["offer_id"])
df = df.dropna(subset=["rent"])
df["year_built"] = df["year_built"].fillna(df["year_built"].median())
df["age"] = 2024 - df["year_built"]
df["area_per_room"] = df["area"] / df["rooms"].clip(lower=1)
df["log_distance"] = np.log1p(df["distance"])
df = pd.get_dummies(df, columns=["district", "heating"], dtype=float)

features = [c for c in df.columns if c not in ("rent", "year_built")]
X = df[features].values.astype("float32")
y = np.log(df["rent"].values.clip(1.0)).astype("float32").reshape(-1, 1)

# %% split, then scale with the training rows alone
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.3, random_state=SEED)
X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=SEED)

scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_val = scaler.transform(X_val)
X_test = scaler.transform(X_test)

y_mean, y_std = y_train.mean(), y_train.std()
y_train = (y_train - y_mean) / y_std
y_val = (y_val - y_mean) / y_std

train_ds = TensorDataset(torch.tensor(X_train, dtype=torch.float32), torch.tensor(y_train, dtype=torch.float32))
val_ds = TensorDataset(torch.tensor(X_val, dtype=torch.float32), torch.tensor(y_val, dtype=torch.float32))
train_dl = DataLoader(train_ds, batch_size=128, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=512)

# %% the model
device = "cuda" if torch.cuda.is_available() else "cpu"


class RentNet(nn.Module):
    def __init__(self, n_in, hidden=(128, 64), p=0.1):
        super().__init__()
        layers = []
        for h in hidden:
            layers += [nn.Linear(n_in, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Dropout(p)]
            n_in = h
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(n_in, 1)

    def forward(self, x):
        return self.out(self.body(x))


model = RentNet(X_train.shape[1]).to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=5)

# %% training
n_epochs = 150
patience = 20
best_loss, best_weights, since_best = float("inf"), None, 0
history = {"train": [], "val": []}

for epoch in range(n_epochs):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        xb, yb = xb.to(device), yb.to(device)
        pred = model(xb)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * xb.size(0)
    train_loss = running / len(train_ds)

    model.eval()
    running = 0.0
    with torch.no_grad():
        for xb, yb in val_dl:
            xb, yb = xb.to(device), yb.to(device)
            running += criterion(model(xb), yb).item() * xb.size(0)
    val_loss = running / len(val_ds)
    scheduler.step(val_loss)

    history["train"].append(train_loss)
    history["val"].append(val_loss)
    print(f"epoch {epoch:3d}  train {train_loss:.4f}  val {val_loss:.4f}  lr {optimizer.param_groups[0]['lr']:.1e}")

    if val_loss < best_loss:
        best_loss = val_loss
        best_weights = copy.deepcopy(model.state_dict())
        since_best = 0
    else:
        since_best += 1
        if since_best >= patience:
            print("no better for", patience, "epochs")
            break

# %% test
model.load_state_dict(best_weights)
model.eval()
with torch.no_grad():
    out = model(torch.tensor(X_test, dtype=torch.float32).to(device)).cpu().numpy()
rent_pred = np.exp(out * y_std + y_mean)
rent_true = np.exp(y_test)
print("MAE", mean_absolute_error(rent_true, rent_pred))
print("R2", r2_score(rent_true, rent_pred))
torch.save({"model": model.state_dict(), "mean": scaler.mean_, "scale": scaler.scale_}, "rents.pt")

plt.plot(history["train"], label="train")
plt.plot(history["val"], label="val")
plt.legend()
plt.savefig("rents.png")
