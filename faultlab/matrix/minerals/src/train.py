import os
import random
import sys

import numpy as np
import torch
from torch import nn

from data import DataManager, LabelTable


class MineralNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        blocks, last = [], 3
        for width in (32, 64, 128):
            blocks += [nn.Conv2d(last, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
            last = width
        self.m_features = nn.Sequential(*blocks)
        self.m_head = nn.Linear(last, classes)

    def forward(self, x):
        return self.m_head(self.m_features(x).mean(dim=(2, 3)))


class Evaluator:
    def __init__(self, model, loader, device):
        self.m_model = model
        self.m_loader = loader
        self.m_device = device

    def evaluate(self):
        self.m_model.eval()
        hits, seen = 0, 0
        with torch.no_grad():
            for x, y in self.m_loader:
                guess = self.m_model(x.to(self.m_device)).argmax(dim=1).cpu()
                hits += (guess == y).sum().item()
                seen += len(y)
        return hits / seen


class Trainer:
    def __init__(self, manager, outDir):
        self.m_device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.m_manager = manager
        self.m_outDir = outDir
        self.m_model = MineralNet(manager.getTable().size()).to(self.m_device)
        self.m_loss = nn.CrossEntropyLoss(weight=manager.getClassWeights().to(self.m_device))
        self.m_optimizer = torch.optim.SGD(self.m_model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
        self.m_loader = manager.getTrainLoader()
        self.m_evaluator = Evaluator(self.m_model, manager.getValidLoader(), self.m_device)

    def runEpoch(self):
        self.m_model.train()
        for x, y in self.m_loader:
            self.m_optimizer.zero_grad()
            loss = self.m_loss(self.m_model(x.to(self.m_device)), y.to(self.m_device))
            loss.backward()
            self.m_optimizer.step()

    def run(self, epochs):
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.m_optimizer, T_max=epochs)
        best = -1.0
        for epoch in range(epochs):
            self.runEpoch()
            schedule.step()
            score = self.m_evaluator.evaluate()
            print("epoch", epoch, "accuracy", round(score, 4))
            if score > best:
                best = score
                torch.save(self.m_model.state_dict(), os.path.join(self.m_outDir, "best.pt"))
        self.m_manager.getTable().toFile(os.path.join(self.m_outDir, "labels.json"))


def report(manager, outDir):
    """Accuracy of every class by the saved model."""
    table = LabelTable.fromFile(os.path.join(outDir, "labels.json"))
    model = MineralNet(table.size())
    model.load_state_dict(torch.load(os.path.join(outDir, "best.pt"), map_location="cpu"))
    model.eval()
    right, seen = np.zeros(table.size()), np.zeros(table.size())
    with torch.no_grad():
        for x, y in manager.getValidLoader():
            guess = model(x).argmax(dim=1)
            for k in range(table.size()):
                right[k] += ((guess == k) & (y == k)).sum().item()
                seen[k] += (y == k).sum().item()
    for k in range(table.size()):
        print(table.getName(k), right[k] / max(seen[k], 1))


if __name__ == "__main__":
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    data = DataManager(sys.argv[1], 64)
    Trainer(data, sys.argv[2]).run(40)
    report(data, sys.argv[2])
