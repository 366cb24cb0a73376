import torch.nn as nn


def stage(c_in, c_out, stride):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1), nn.BatchNorm2d(c_out), nn.ReLU())


class CornerNet(nn.Module):
    def __init__(self, width=8, hidden=64, points=4, drop=0.0):
        super().__init__()
        self.points = points
        self.features = nn.Sequential(
            stage(1, width, 2),
            stage(width, 2 * width, 2),
            stage(2 * width, 2 * width, 1),
        )
        self.regress = nn.Sequential(
            nn.Flatten(),
            nn.Linear(2 * width * 36, hidden),
            nn.ReLU(),
            nn.Dropout(drop),
            nn.Linear(hidden, points * 2),
        )

    def forward(self, x):
        return self.regress(self.features(x)).view(-1, self.points, 2)
