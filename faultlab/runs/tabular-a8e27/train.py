import csv
import yaml
import numpy as np
import torch
import torch.nn as nn

hp = dict(
    seed=141,
    train_size=2000,
    hidden=64,
    dropout=0.5,
    label_smoothing=0.0,
    lr=0.002,
    weight_decay=0.0001,
    batch_size=64,
    epochs=20,
    log_every=5,
)
yaml.safe_dump(hp, open("hparams.yaml", "w"))
log_file = open("metrics.csv", "w", newline="")
log = csv.DictWriter(log_file, ["step", "epoch", "loss", "lr", "grad_norm", "val_loss", "val_acc"])
log.writeheader()
torch.manual_seed(hp["seed"])
torch.set_num_threads(1)


def customers(size, seed):
    """Four groups of customers, eighteen numeric columns in their natural units."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(size, 6))
    mixing = np.random.default_rng(99).normal(size=(6, 18))
    columns = np.tanh(hidden @ mixing) + 0.35 * rng.normal(size=(size, 18))
    score = np.stack([hidden[:, 0] * hidden[:, 1], hidden[:, 2] - 0.5 * hidden[:, 3], np.abs(hidden[:, 4]) - 0.8, hidden[:, 5]], 1)
    target = (score + 0.3 * rng.normal(size=score.shape)).argmax(1)
    scale = np.logspace(-2, 4, 18)
    return columns * scale + 3 * scale, target


features, labels = customers(hp["train_size"] + 800, 5)
x_train, y_train = features[:-800], labels[:-800]
x_test, y_test = features[-800:], labels[-800:]
mu, sigma = x_train.mean(0), x_train.std(0)
x_train = (x_train - mu) / sigma
x_test = (x_test - mu) / sigma
x_train, x_test = torch.tensor(x_train, dtype=torch.float32), torch.tensor(x_test, dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

model = nn.Sequential(
    nn.Linear(18, hp["hidden"]),
    nn.ReLU(),
    nn.Dropout(hp["dropout"]),
    nn.Linear(hp["hidden"], hp["hidden"]),
    nn.ReLU(),
    nn.Dropout(hp["dropout"]),
    nn.Linear(hp["hidden"], 4),
)
criterion = nn.CrossEntropyLoss(label_smoothing=hp["label_smoothing"])
optimizer = torch.optim.Adam(model.parameters(), lr=hp["lr"], weight_decay=hp["weight_decay"])
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=hp["epochs"])
step = 0
for epoch in range(1, hp["epochs"] + 1):
    model.train()
    total_loss, correct, count = 0.0, 0, 0
    order = torch.randperm(len(x_train))
    for start in range(0, len(order), hp["batch_size"]):
        ids = order[start : start + hp["batch_size"]]
        x, y = x_train[ids], y_train[ids]
        output = model(x)
        loss = criterion(output, y)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm()
        optimizer.step()
        step += 1
        total_loss += loss.item() * len(y)
        correct += (output.argmax(1) == y).sum().item()
        count += len(y)
        if step % hp["log_every"] == 0:
            log.writerow({"step": step, "epoch": epoch, "loss": loss.item(), "lr": optimizer.param_groups[0]["lr"], "grad_norm": norm.item()})
    lr = optimizer.param_groups[0]["lr"]
    scheduler.step()
    model.eval()
    with torch.no_grad():
        output = model(x_test)
        val_loss = criterion(output, y_test).item()
        val_acc = (output.argmax(1) == y_test).float().mean().item()
    log.writerow({"step": step, "epoch": epoch, "val_loss": val_loss, "val_acc": val_acc})
log_file.close()
