"""Train a small convolutional network on texture images."""
import argparse
import json
import logging
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=68)
parser.add_argument("--noise", type=float, default=85.0)
parser.add_argument("--train-size", type=int, default=1200)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--width", type=int, default=8)
parser.add_argument("--dropout", type=float, default=0.1)
parser.add_argument("--label-smoothing", type=float, default=0.0)
parser.add_argument("--learning-rate", type=float, default=0.05)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weight-decay", type=float, default=0.0005)
parser.add_argument("--step-size", type=int, default=8)
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--log-every", type=int, default=8)
parser.add_argument("--resume", type=str, default='')
args = parser.parse_args()
json.dump(vars(args), open("args.json", "w"), indent=2)
logging.basicConfig(filename="run.log", level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
torch.set_num_threads(1)
torch.manual_seed(args.seed)


def load(split, size):
    """Textures of six kinds: orientation and frequency make the class, phase and noise vary."""
    rng = np.random.RandomState({"train": 11, "val": 12}[split])
    labels = rng.randint(0, 6, size)
    rows, columns = np.mgrid[0:12, 0:12]
    angle = labels * np.pi / 6 + rng.normal(0, 0.12, size)
    frequency = 0.9 + 0.25 * (labels % 2) + rng.normal(0, 0.05, size)
    phase = rng.uniform(0, 2 * np.pi, size)
    wave = np.sin(
        frequency[:, None, None] * (np.cos(angle)[:, None, None] * rows + np.sin(angle)[:, None, None] * columns)
        + phase[:, None, None]
    )
    images = np.clip(120 + 70 * wave + rng.normal(0, args.noise, (size, 12, 12)), 0, 255).astype(np.uint8)
    return images, labels


train_images, train_labels = load("train", args.train_size)
val_images, val_labels = load("val", 600)
train_x = torch.tensor(train_images, dtype=torch.float32).unsqueeze(1)
val_x = torch.tensor(val_images, dtype=torch.float32).unsqueeze(1)
train_y, val_y = torch.tensor(train_labels), torch.tensor(val_labels)
mean, std = train_x.mean(), train_x.std()
train_x = (train_x - mean) / std
val_x = (val_x - mean) / std

train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=args.batch_size, shuffle=True, drop_last=True)
val_loader = DataLoader(TensorDataset(val_x, val_y), batch_size=200)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.dropout = nn.Dropout(args.dropout)
        self.head = nn.Linear(2 * width * 9, 6)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = torch.max_pool2d(torch.relu(self.bn2(self.conv2(x))), 2)
        x = self.dropout(x.flatten(1))
        return self.head(x)


model = Net(args.width)
criterion = nn.CrossEntropyLoss(label_smoothing=args.label_smoothing)
optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=args.momentum, weight_decay=args.weight_decay)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=args.step_size, gamma=0.1)
step, start = 0, 1
if args.resume:
    state = torch.load(args.resume)
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    step, start = state["step"], state["epoch"] + 1
    logging.info("resumed from %s at epoch %d", args.resume, start)
for epoch in range(start, args.epochs + 1):
    model.train()
    total_loss, correct, count = 0.0, 0, 0
    for x, y in train_loader:
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
        if step % args.log_every == 0:
            logging.info("epoch=%d step=%d loss=%.4f acc=%.4f lr=%.3e grad_norm=%.4f" % (epoch, step, loss.item(), (output.argmax(1) == y).float().mean().item(), optimizer.param_groups[0]["lr"], norm.item()))
    lr = optimizer.param_groups[0]["lr"]
    scheduler.step()
    model.eval()
    val_loss, val_correct, val_count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in val_loader:
            output = model(x)
            val_loss += criterion(output, y).item() * len(y)
            val_correct += (output.argmax(1) == y).sum().item()
            val_count += len(y)
    logging.info("epoch=%d step=%d val_loss=%.4f val_acc=%.4f" % (epoch, step, val_loss / val_count, val_correct / val_count))
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
    torch.save({**state, "step": step, "epoch": epoch}, "last.pt")
