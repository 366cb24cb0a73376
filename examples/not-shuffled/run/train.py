import csv

import torch
import yaml
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(4)
params = dict(batch_size=32, epochs=8, lr=0.02, momentum=0.9, hidden=128)
yaml.safe_dump(params, open("params.yaml", "w"))

x, y = load_digits(return_X_y=True)
x = torch.tensor(x, dtype=torch.float32) / 16
y = torch.tensor(y)
held_out = torch.arange(len(x)) % 5 == 0
x_train, y_train, x_val, y_val = x[~held_out], y[~held_out], x[held_out], y[held_out]
# one file per class, as exported
files = [(x_train[y_train == c], y_train[y_train == c]) for c in range(10)]
train_set = TensorDataset(torch.cat([a for a, _ in files]), torch.cat([b for _, b in files]))
loader = DataLoader(train_set, batch_size=params["batch_size"], shuffle=False)

model = nn.Sequential(nn.Linear(64, params["hidden"]), nn.ReLU(), nn.Linear(params["hidden"], 10))
optimizer = torch.optim.SGD(model.parameters(), lr=params["lr"], momentum=params["momentum"])
criterion = nn.CrossEntropyLoss()

with open("metrics.csv", "w", newline="") as f:
    out = csv.writer(f)
    out.writerow(["step", "epoch", "loss", "accuracy", "val_loss", "val_accuracy"])
    step = 0
    for epoch in range(params["epochs"]):
        for a, b in loader:
            logits = model(a)
            loss = criterion(logits, b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            out.writerow([step, epoch, f"{loss.item():.5f}", f"{(logits.argmax(1) == b).float().mean().item():.4f}", "", ""])
        with torch.no_grad():
            logits = model(x_val)
            out.writerow([step, epoch, "", "", f"{criterion(logits, y_val).item():.5f}", f"{(logits.argmax(1) == y_val).float().mean().item():.4f}"])
