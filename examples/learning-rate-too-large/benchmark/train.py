import argparse
import json

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.tensorboard import SummaryWriter

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight-decay", type=float, default=5e-4)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
json.dump(vars(args), open("args.json", "w"), indent=2)
torch.set_num_threads(1)
torch.manual_seed(args.seed)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16 - 0.3
labels = torch.tensor(digits.target)
order = torch.from_numpy(np.random.RandomState(0).permutation(len(images)))
train_set = torch.utils.data.TensorDataset(images[order[:1400]], labels[order[:1400]])
test_set = torch.utils.data.TensorDataset(images[order[1400:]], labels[order[1400:]])
train_loader = torch.utils.data.DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
test_loader = torch.utils.data.DataLoader(test_set, batch_size=200)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
criterion = nn.CrossEntropyLoss()
writer = SummaryWriter("logs")
step = 0
for epoch in range(args.epochs):
    model.train()
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            writer.add_scalar("train/loss", loss.item(), step)
            writer.add_scalar("train/grad_norm", norm.item(), step)
            writer.add_scalar("train/lr", optimizer.param_groups[0]["lr"], step)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        outputs = [(model(x), y) for x, y in test_loader]
    correct = sum((o.argmax(1) == y).sum().item() for o, y in outputs)
    writer.add_scalar("val/loss", sum(criterion(o, y).item() * len(y) for o, y in outputs) / len(test_set), step)
    writer.add_scalar("val/accuracy", correct / len(test_set), step)
writer.close()
