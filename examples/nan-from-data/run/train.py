import json

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(7)
table = np.genfromtxt("../data.csv", delimiter=",", skip_header=1, dtype=np.float32)
x, y = torch.from_numpy(table[:, :-1]), torch.from_numpy(table[:, -1:])
mean, std = x[:900].mean(0), x[:900].std(0)
x = (x - mean) / std
y = (y - y[:900].mean()) / y[:900].std()
train = torch.utils.data.TensorDataset(x[:1300], y[:1300])
loader = torch.utils.data.DataLoader(train, batch_size=16, shuffle=True)
x_val, y_val = x[1300:], y[1300:]

model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
log = open("log.jsonl", "w")
step = 0
for epoch in range(8):
    for a, b in loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        step += 1
        if step % 4 == 0:
            log.write(json.dumps({"step": step, "epoch": epoch, "train_loss": loss.item(), "grad_norm": norm.item(), "lr": 1e-3}) + "\n")
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x_val), y_val).item()
    log.write(json.dumps({"step": step, "epoch": epoch, "val_loss": val}) + "\n")
    log.flush()
