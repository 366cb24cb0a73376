"""Time series in PyTorch: scales, windows, recurrent nets, scores in the unit of the data."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from torch.utils.data import DataLoader, Dataset, TensorDataset
torch.manual_seed(0)
np.random.seed(0)
LOOKBACK = 24
"""
READ = [
    """df = pd.read_csv('airline.csv', usecols=[1])
values = df.values.astype('float32')""",
    """df = pd.read_csv('AAPL.csv', parse_dates=['Date'], index_col='Date')
df = df.sort_index()
values = df[['Close']].values.astype(np.float32)""",
    """df = pd.read_csv('energy.csv', parse_dates=['time'])
df = df.set_index('time').resample('1h').mean().ffill()
values = df[['load']].to_numpy(dtype='float32')""",
    """t = np.arange(0, 2000)
values = (np.sin(0.05 * t) + 0.1 * np.random.randn(2000)).astype('float32').reshape(-1, 1)""",
]
SCALE = [
    """train_size = int(len(values) * 0.8)
scaler = MinMaxScaler(feature_range=(0, 1))
train = scaler.fit_transform(values[:train_size])
test = scaler.transform(values[train_size:])""",
    """n = int(len(values) * 0.7)
mean, std = values[:n].mean(), values[:n].std()
series = (values - mean) / std
train, test = series[:n], series[n:]""",
    """split = int(0.8 * len(values))
scaler = StandardScaler().fit(values[:split])
data = scaler.transform(values)
train, test = data[:split], data[split - LOOKBACK:]""",
]
WINDOWS = [
    """def create_dataset(dataset, lookback):
    X, y = [], []
    for i in range(len(dataset) - lookback):
        X.append(dataset[i:i + lookback])
        y.append(dataset[i + lookback])
    return torch.tensor(np.array(X)), torch.tensor(np.array(y))
X_train, y_train = create_dataset(train, LOOKBACK)
X_test, y_test = create_dataset(test, LOOKBACK)""",
    """class Windows(Dataset):
    def __init__(self, series, lookback, horizon=1):
        self.series = torch.from_numpy(np.ascontiguousarray(series)).float()
        self.lookback, self.horizon = lookback, horizon
    def __len__(self):
        return len(self.series) - self.lookback - self.horizon + 1
    def __getitem__(self, idx):
        x = self.series[idx:idx + self.lookback]
        y = self.series[idx + self.lookback:idx + self.lookback + self.horizon]
        return x, y.squeeze(0)
train_set, test_set = Windows(train, LOOKBACK), Windows(test, LOOKBACK)""",
    """def sliding_windows(data, seq_length):
    x, y = [], []
    for i in range(len(data) - seq_length - 1):
        x.append(data[i:(i + seq_length)])
        y.append(data[i + seq_length])
    return np.array(x), np.array(y)
xtr, ytr = sliding_windows(train, LOOKBACK)
xte, yte = sliding_windows(test, LOOKBACK)
X_train, y_train = torch.Tensor(xtr), torch.Tensor(ytr)
X_test, y_test = torch.Tensor(xte), torch.Tensor(yte)""",
]
NET = [
    """class LSTM(nn.Module):
    def __init__(self, input_size=1, hidden_size=50, num_layers=1):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)
        self.linear = nn.Linear(hidden_size, 1)
    def forward(self, x):
        out, _ = self.lstm(x)
        return self.linear(out[:, -1, :])
model = LSTM()""",
    """class GRUNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.hidden = hidden
        self.gru = nn.GRU(1, hidden, 2, batch_first=True, dropout=0.2)
        self.fc = nn.Linear(hidden, 1)
    def forward(self, x):
        h0 = torch.zeros(2, x.size(0), self.hidden, device=x.device)
        out, h = self.gru(x, h0)
        return self.fc(h[-1])
model = GRUNet()""",
    """class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(LOOKBACK, 64), nn.ReLU(), nn.Linear(64, 1))
    def forward(self, x):
        return self.net(x)
model = MLP()""",
]
TRAIN = [
    """loader = DataLoader(TRAINDATA, shuffle=True, batch_size=32)
for epoch in range(200):
    model.train()
    for X_batch, y_batch in loader:
        y_pred = model(X_batch)
        loss = loss_fn(y_pred, y_batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 20 != 0:
        continue
    model.eval()
    with torch.no_grad():
        EVAL
    print('Epoch %d: test RMSE %.4f' % (epoch, test_rmse))""",
    """FULL
for epoch in range(300):
    model.train()
    optimizer.zero_grad()
    outputs = model(X_train)
    loss = loss_fn(outputs, y_train)
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        print('Epoch: %d, loss: %1.5f' % (epoch, loss.item()))
model.eval()
with torch.no_grad():
    EVAL
print(test_rmse)""",
]
SCORE = [
    "test_rmse = np.sqrt(loss_fn(model(X_test), y_test).item())",
    """pred = SCALER
        test_rmse = np.sqrt(np.mean((pred - true) ** 2))""",
]


RATES = ("0.001", "3e-3")
BACK = ("scaler.inverse_transform({})", "{} * std + mean", "scaler.inverse_transform({})")
STACKED = """X_test = torch.stack([test_set[i][0] for i in range(len(test_set))])
y_test = torch.stack([test_set[i][1] for i in range(len(test_set))])"""


def write(choice: Choice) -> str | None:
    """The program of one choice; a data set of windows is learnt from in batches alone."""
    read, scale, windows, net, train, score, rate = choice
    of_set = windows == 1
    if of_set and train == 1:
        return None
    said, true = (BACK[scale].format(x) for x in ("model(X_test).numpy()", "y_test.numpy()"))
    scored = SCORE[score].replace("SCALER", f"{said}\n        true = {true}")
    scored = scored.replace("\n        ", "\n    ") if train == 1 else scored
    loop = TRAIN[train].replace("TRAINDATA", "train_set" if of_set else "TensorDataset(X_train, y_train)")
    loop = loop.replace("FULL\n", "").replace("EVAL", scored)
    made = [STACKED] if of_set else []
    made += [f"optimizer = torch.optim.Adam(model.parameters(), lr={RATES[rate]})", "loss_fn = nn.MSELoss()"]
    return HEAD + "\n".join([READ[read], SCALE[scale], WINDOWS[windows], NET[net], *made, loop]) + "\n"


BOOK = Book("series", tuple(map(len, (READ, SCALE, WINDOWS, NET, TRAIN, SCORE, RATES))), write)
