"""Confusion counts of ice, debris, water and rock."""
import copy

import torch


class ConfusionTable:
    def __init__(self, numClasses, ignoreLabel):
        self.m_numClasses = numClasses
        self.m_ignoreLabel = ignoreLabel
        self.reset()

    def reset(self):
        self.m_table = torch.zeros(self.m_numClasses, self.m_numClasses, dtype=torch.int64)

    def add(self, predicted, target):
        valid = target != self.m_ignoreLabel
        index = target[valid] * self.m_numClasses + predicted[valid]
        counts = torch.bincount(index, minlength=self.m_numClasses ** 2)
        self.m_table += counts.reshape(self.m_numClasses, self.m_numClasses).cpu()

    def getIoU(self):
        hit = self.m_table.diag().double()
        union = self.m_table.sum(0) + self.m_table.sum(1) - self.m_table.diag()
        return hit / union.clamp(min=1)

    def getMeanIoU(self):
        return self.getIoU().mean().item()

    def getPixelAccuracy(self):
        return (self.m_table.diag().sum() / self.m_table.sum()).item()

    def getRecall(self):
        return self.m_table.diag() / self.m_table.sum(1).clamp(min=1)


class Evaluator:
    def __init__(self, loader, device, numClasses=4, ignoreLabel=255):
        self.m_loader = loader
        self.m_device = device
        self.m_table = ConfusionTable(numClasses, ignoreLabel)

    def getTable(self):
        return self.m_table

    def evaluate(self, model):
        model.eval()
        self.m_table.reset()
        with torch.no_grad():
            for image, mask in self.m_loader:
                logits = model(image.to(self.m_device))
                self.m_table.add(logits.argmax(dim=1), mask.to(self.m_device))
        model.train()
        return self.m_table.getMeanIoU()


class BestKeeper:
    def __init__(self):
        self.m_score = float('-inf')
        self.m_state = None

    def offer(self, score, model):
        if score > self.m_score:
            self.m_score = score
            self.m_state = copy.deepcopy(model.state_dict())
            return True
        return False

    def getScore(self):
        return self.m_score

    def restore(self, model):
        model.load_state_dict(self.m_state)
