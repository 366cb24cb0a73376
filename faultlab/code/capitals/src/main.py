"""Handwritten letters (EMNIST "letters") with a small convolutional network.

    python main.py --epochs 12
"""
import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms

CLASSES = 26


class Net(nn.Module):
    def __init__(self, drop=0.3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(64)
        self.conv3 = nn.Conv2d(64, 64, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(64)
        self.dropout = nn.Dropout(drop)
        self.fc1 = nn.Linear(64 * 7 * 7, 128)
        self.fc2 = nn.Linear(128, CLASSES)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
            elif isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(x, 2)
        x = F.relu(self.bn2(self.conv2(x)))
        y = self.bn3(self.conv3(x))
        x = F.relu(x + y)
        x = F.max_pool2d(x, 2)
        x = torch.flatten(x, 1)
        x = self.dropout(x)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print("Train Epoch: {} [{}/{}]\tLoss: {:.6f}".format(
                epoch, batch_idx * len(data), len(train_loader.dataset), loss.item()))
            if args.dry_run:
                break


def test(model, device, loader, name):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1)
            correct += pred.eq(target).sum().item()
    test_loss /= len(loader.dataset)
    accuracy = correct / len(loader.dataset)
    print("{}: average loss: {:.4f}, accuracy: {}/{} ({:.2f}%)\n".format(
        name, test_loss, correct, len(loader.dataset), 100.0 * accuracy))
    return accuracy


def upright(img):
    # the files hold every letter mirrored along its diagonal
    return img.transpose(1, 2)


def to_index(label):
    # "letters" counts from 1
    return label - 1


def get_loaders(args):
    normalize = transforms.Normalize((0.1722,), (0.3309,))
    train_tf = transforms.Compose([
        transforms.ToTensor(),
        upright,
        transforms.RandomAffine(degrees=10, translate=(0.08, 0.08), scale=(0.9, 1.1)),
        normalize,
    ])
    test_tf = transforms.Compose([
        transforms.ToTensor(),
        upright,
        normalize,
    ])

    def emnist(train, tf):
        return datasets.EMNIST(args.data, split="letters", train=train, download=True,
                               transform=tf, target_transform=to_index)

    augmented, plain = emnist(True, train_tf), emnist(True, test_tf)
    order = torch.randperm(len(plain), generator=torch.Generator().manual_seed(args.seed)).tolist()
    train_set = Subset(augmented, order[args.val_size:])
    val_set = Subset(plain, order[:args.val_size])
    test_set = emnist(False, test_tf)

    kwargs = {"num_workers": args.workers, "pin_memory": torch.cuda.is_available()}
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True, **kwargs)
    val_loader = DataLoader(val_set, batch_size=args.test_batch_size, **kwargs)
    test_loader = DataLoader(test_set, batch_size=args.test_batch_size, **kwargs)
    return train_loader, val_loader, test_loader


def main():
    parser = argparse.ArgumentParser(description="EMNIST letters")
    parser.add_argument("--data", default="./data")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--test-batch-size", type=int, default=1000)
    parser.add_argument("--val-size", type=int, default=12800)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--step-size", type=int, default=4, help="epochs between two decays")
    parser.add_argument("--gamma", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--log-interval", type=int, default=100)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--out", default="runs")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, val_loader, test_loader = get_loaders(args)

    model = Net().to(device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum,
                          weight_decay=args.weight_decay)
    scheduler = StepLR(optimizer, step_size=args.step_size, gamma=args.gamma)

    start, best = 1, 0.0
    last_path, best_path = os.path.join(args.out, "last.pt"), os.path.join(args.out, "best.pt")
    if args.resume:
        state = torch.load(last_path, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        start, best = state["epoch"] + 1, state["best"]

    for epoch in range(start, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        accuracy = test(model, device, val_loader, "Validation")
        scheduler.step()
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), best_path)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "epoch": epoch, "best": best}, last_path)

    model.load_state_dict(torch.load(best_path, map_location=device))
    test(model, device, test_loader, "Test")


if __name__ == "__main__":
    main()
