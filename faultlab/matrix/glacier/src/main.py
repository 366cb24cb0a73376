import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from evaluation import BestKeeper, Evaluator
from torch.utils.data import DataLoader, Dataset


class TileSet(Dataset):
    def __init__(self, name, augment):
        self.m_images = np.load(name + '_images.npy', mmap_mode='r')
        self.m_masks = np.load(name + '_masks.npy', mmap_mode='r')
        self.m_augment = augment

    def __len__(self):
        return len(self.m_images)

    def __getitem__(self, i):
        image = torch.from_numpy(self.m_images[i].astype(np.float32) / 255.0).permute(2, 0, 1)
        mask = torch.from_numpy(self.m_masks[i].astype(np.int64))
        if self.m_augment and random.random() < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        return (image - 0.45) / 0.25, mask


class DataManager:
    def __init__(self, batchSize):
        self.m_train = DataLoader(TileSet('train', True), batch_size=batchSize, shuffle=True)
        self.m_valid = DataLoader(TileSet('valid', False), batch_size=batchSize)
        self.m_test = DataLoader(TileSet('test', False), batch_size=batchSize)

    def getTrain(self):
        return self.m_train

    def getValid(self):
        return self.m_valid

    def getTest(self):
        return self.m_test


class IceNet(nn.Module):
    def __init__(self, channels=24, numClasses=4):
        super().__init__()
        def block(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        self.m_down = block(3, channels)
        self.m_deep = block(channels, 2 * channels)
        self.m_up = block(3 * channels, channels)
        self.m_drop = nn.Dropout2d(0.1)
        self.m_head = nn.Conv2d(channels, numClasses, 1)

    def forward(self, x):
        a = self.m_down(x)
        b = self.m_deep(F.max_pool2d(a, 2))
        b = F.interpolate(b, size=a.shape[-2:], mode='bilinear', align_corners=False)
        return self.m_head(self.m_drop(self.m_up(torch.cat([a, b], dim=1))))


class Trainer:
    def __init__(self, data, device, epochs=40):
        self.m_data = data
        self.m_device = device
        self.m_epochs = epochs
        self.m_model = IceNet().to(device)
        self.m_optimizer = torch.optim.AdamW(self.m_model.parameters(), lr=1e-3, weight_decay=1e-4)
        self.m_loss = nn.CrossEntropyLoss(ignore_index=255)
        self.m_validator = Evaluator(data.getValid(), device)
        self.m_keeper = BestKeeper()

    def getModel(self):
        return self.m_model

    def trainEpoch(self):
        self.m_model.train()
        total = 0.0
        count = 0
        for image, mask in self.m_data.getTrain():
            image, mask = image.to(self.m_device), mask.to(self.m_device)
            self.m_optimizer.zero_grad()
            loss = self.m_loss(self.m_model(image), mask)
            loss.backward()
            self.m_optimizer.step()
            total += loss.item() * len(image)
            count += len(image)
        return total / count

    def run(self):
        for epoch in range(self.m_epochs):
            loss = self.trainEpoch()
            score = self.m_validator.evaluate(self.m_model)
            better = self.m_keeper.offer(score, self.m_model)
            print(f'epoch {epoch} loss {loss:.4f} IoU {score:.4f}{" *" if better else ""}')
        self.m_keeper.restore(self.m_model)


def main():
    random.seed(11)
    np.random.seed(11)
    torch.manual_seed(11)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    data = DataManager(12)
    trainer = Trainer(data, device)
    trainer.run()
    tester = Evaluator(data.getTest(), device)
    print('test IoU', tester.evaluate(trainer.getModel()))
    print('per class', tester.getTable().getIoU().tolist())
    print('pixels', tester.getTable().getPixelAccuracy())


if __name__ == '__main__':
    main()
