import torch.nn as nn


class BeatNet(nn.Module):
    def __init__(self, settings):
        super().__init__()
        blocks, c_in = [], 1
        for c_out in settings.channels:
            blocks += [
                nn.Conv1d(c_in, c_out, settings.kernel, padding=settings.kernel // 2),
                nn.BatchNorm1d(c_out),
                nn.ReLU(),
                nn.MaxPool1d(2),
            ]
            c_in = c_out
        self.features = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool1d(4)
        self.dropout = nn.Dropout(settings.dropout)
        self.classifier = nn.Linear(c_in * 4, len(settings.class_names))

    def forward(self, x):
        h = self.features(x)
        h = self.pool(h).flatten(1)
        return self.classifier(self.dropout(h))
