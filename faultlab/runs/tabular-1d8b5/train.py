import numpy as np
import torch
import torch.nn as nn

SEED = 100
TRAIN_SIZE = 2000
HIDDEN = 64
DROPOUT = 0.1
LABEL_SMOOTHING = 0.0
LR = 0.002
WEIGHT_DECAY = 0.0001
BATCH_SIZE = 64
EPOCHS = 20
torch.manual_seed(SEED)
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


features, labels = customers(TRAIN_SIZE + 800, 5)
x_train, y_train = features[:-800], labels[:-800]
x_test, y_test = features[-800:], labels[-800:]
flip = np.random.default_rng(1).random(len(y_train)) < 0.12
y_train = np.where(flip, (y_train + 1) % 4, y_train)
mu, sigma = x_train.mean(0), x_train.std(0)
x_train = (x_train - mu) / sigma
x_test = (x_test - mu) / sigma
x_train, x_test = torch.tensor(x_train, dtype=torch.float32), torch.tensor(x_test, dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

model = nn.Sequential(
    nn.Linear(18, HIDDEN),
    nn.ReLU(),
    nn.Dropout(DROPOUT),
    nn.Linear(HIDDEN, HIDDEN),
    nn.ReLU(),
    nn.Dropout(DROPOUT),
    nn.Linear(HIDDEN, 4),
)
criterion = nn.CrossEntropyLoss(label_smoothing=LABEL_SMOOTHING)
optimizer = torch.optim.Adam(model.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)
step = 0
for epoch in range(1, EPOCHS + 1):
    model.train()
    total_loss, correct, count = 0.0, 0, 0
    order = torch.randperm(len(x_train))
    for start in range(0, len(order), BATCH_SIZE):
        ids = order[start : start + BATCH_SIZE]
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
    lr = optimizer.param_groups[0]["lr"]
    scheduler.step()
    model.eval()
    with torch.no_grad():
        output = model(x_test)
        val_loss = criterion(output, y_test).item()
        val_acc = (output.argmax(1) == y_test).float().mean().item()
    print("Epoch %d/%d - loss: %.4f - acc: %.4f - val_loss: %.4f - val_acc: %.4f - lr: %.3e" % (epoch, EPOCHS, total_loss / count, correct / count, val_loss, val_acc, lr))
