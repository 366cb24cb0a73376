# ruff: noqa: E501
"""Tables with scikit-learn's splits and scales, learnt by PyTorch, Keras or scikit-learn."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, TensorDataset
from tensorflow import keras
from sklearn.datasets import load_breast_cancer, fetch_california_housing
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, MinMaxScaler, LabelEncoder
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score, mean_squared_error, mean_absolute_error, r2_score
np.random.seed(0)
torch.manual_seed(0)
"""
READ = [
    """df = pd.read_csv('data/housing.csv')
df = df.dropna()
y = df['MedHouseVal'].values
X = df.drop('MedHouseVal', axis=1).values""",
    """df = pd.read_csv('churn.csv')
df.drop(columns=['RowNumber', 'CustomerId', 'Surname'], inplace=True)
df = pd.get_dummies(df, columns=['Geography', 'Gender'], drop_first=True)
df.fillna(df.median(), inplace=True)
X, y = df.drop(columns=['Exited']), df['Exited']""",
    """data = load_breast_cancer()
X, y = data.data, data.target""",
    """df = pd.read_csv('adult.csv', na_values='?').dropna()
for col in df.select_dtypes('object').columns:
    df[col] = LabelEncoder().fit_transform(df[col])
target = 'income'
X = df[[c for c in df.columns if c != target]].to_numpy(dtype=np.float32)
y = df[target].to_numpy()""",
    """X, y = fetch_california_housing(return_X_y=True)""",
]
TASK = ["r", "b", "b", "b", "r"]
SPLIT = [
    "X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)",
    """X_train, X_tmp, y_train, y_tmp = train_test_split(X, y, test_size=0.3, random_state=0)
X_val, X_test, y_val, y_test = train_test_split(X_tmp, y_tmp, test_size=0.5, random_state=0)""",
    """idx = np.random.RandomState(0).permutation(len(X))
n = int(0.8 * len(X))
X, y = np.asarray(X), np.asarray(y)
X_train, X_test = X[idx[:n]], X[idx[n:]]
y_train, y_test = y[idx[:n]], y[idx[n:]]""",
]
SCALE = [
    """scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)VSCALE""",
    """sc = MinMaxScaler().fit(X_train)
X_train, X_test = sc.transform(X_train), sc.transform(X_test)VSCALE2""",
    """mean, std = X_train.mean(0), X_train.std(0) + 1e-8
X_train = (X_train - mean) / std
X_test = (X_test - mean) / stdVSCALE3""",
]
NET = ["torch", "keras", "sk"]
TORCH_DATA = [
    """class TabularDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.tensor(np.asarray(X), dtype=torch.float32)
        self.y = torch.tensor(np.asarray(y), dtype=torch.float32).unsqueeze(1)
    def __len__(self):
        return len(self.X)
    def __getitem__(self, i):
        return self.X[i], self.y[i]
train_loader = DataLoader(TabularDataset(X_train, y_train), batch_size=64, shuffle=True)
test_loader = DataLoader(TabularDataset(X_test, y_test), batch_size=64)""",
    """X_train_t = torch.from_numpy(np.asarray(X_train)).float()
y_train_t = torch.from_numpy(np.asarray(y_train)).float().view(-1, 1)
X_test_t = torch.from_numpy(np.asarray(X_test)).float()
y_test_t = torch.from_numpy(np.asarray(y_test)).float().view(-1, 1)
train_loader = DataLoader(TensorDataset(X_train_t, y_train_t), batch_size=32, shuffle=True, drop_last=False)
test_loader = DataLoader(TensorDataset(X_test_t, y_test_t), batch_size=256, shuffle=False)""",
]
SCORE_NUMBERS = [
    """model.eval()
preds, trues = [], []
with torch.no_grad():
    for xb, yb in test_loader:
        preds.append(model(xb))
        trues.append(yb)
preds, trues = torch.cat(preds).numpy().ravel(), torch.cat(trues).numpy().ravel()
print('RMSE', np.sqrt(mean_squared_error(trues, preds)), 'MAE', mean_absolute_error(trues, preds), 'R2', r2_score(trues, preds))""",
    """model.eval()
sq, ab, n = 0.0, 0.0, 0
with torch.no_grad():
    for xb, yb in test_loader:
        p = model(xb)
        sq += ((p - yb) ** 2).sum().item()
        ab += (p - yb).abs().sum().item()
        n += len(yb)
print(f'test mse {sq / n:.4f} rmse {(sq / n) ** 0.5:.4f} mae {ab / n:.4f}')""",
]
SCORE_KINDS = [
    """model.eval()
probs, ys = [], []
with torch.no_grad():
    for xb, yb in test_loader:
        probs.extend(torch.sigmoid(model(xb)).squeeze(1).tolist())
        ys.extend(yb.squeeze(1).tolist())
pred = (np.array(probs) > 0.5).astype(int)
print('acc', accuracy_score(ys, pred), 'f1', f1_score(ys, pred), 'auc', roc_auc_score(ys, probs))""",
    """model.eval()
correct = total = 0
with torch.no_grad():
    for xb, yb in test_loader:
        pred = (model(xb) > 0).float()
        correct += (pred == yb).sum().item()
        total += yb.size(0)
print(f'accuracy: {correct / total:.4f}')""",
]
LOOP = [
    """for epoch in range(100):
    model.train()
    epoch_loss = 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    if (epoch + 1) % 10 == 0:
        print(f'Epoch {epoch + 1}, loss {epoch_loss / len(train_loader):.4f}')""",
    """history = {'train': [], 'test': []}
for epoch in range(50):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        pred = model(xb)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    history['train'].append(total / len(train_loader.dataset))
    model.eval()
    with torch.no_grad():
        held = sum(criterion(model(xb), yb).item() * len(xb) for xb, yb in test_loader) / len(test_loader.dataset)
    history['test'].append(held)
    scheduler.step()""",
]
SKLEARN = [
    """clf = MODEL(hidden_layer_sizes=(64, 32), max_iter=500, random_state=0)
clf.fit(X_train, y_train)
print(clf.score(X_test, y_test))""",
    """clf = MODEL(hidden_layer_sizes=(100,), early_stopping=True, random_state=42)
clf.fit(X_train, y_train)
pred = clf.predict(X_test)
print(METRIC(y_test, pred))""",
]
KERAS = [
    """model = keras.Sequential([keras.layers.Input(shape=(X_train.shape[1],)), keras.layers.Dense(64, activation='relu'), keras.layers.Dropout(0.2), keras.layers.Dense(32, activation='relu'), keras.layers.Dense(1OUT)])
model.compile(optimizer='adam', loss='LOSS', metrics=['MET'])
es = keras.callbacks.EarlyStopping(monitor='val_loss', patience=10, restore_best_weights=True)
history = model.fit(X_train, y_train, validation_split=0.2, epochs=200, batch_size=32, callbacks=[es], verbose=0)
print(model.evaluate(X_test, y_test))
pred = model.predict(X_test).ravel()
PRINT"""
]


SCALE_VALIDATION = (
    "X_val = scaler.transform(X_val)",
    "X_val = sc.transform(X_val)",
    "X_val = (X_val - mean) / std",
)


def write(choice: Choice) -> str | None:
    """The program of one choice."""
    read, split, scale, net, data, score, loop = choice
    numbers = TASK[read] == "r"
    scaled = SCALE[scale].replace("VSCALE3", "").replace("VSCALE2", "").replace("VSCALE", "")
    if split == 1:
        scaled += "\n" + SCALE_VALIDATION[scale]
    parts = [READ[read], SPLIT[split], scaled]
    if NET[net] == "torch":
        layers = "nn.Linear(X_train.shape[1], 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)"
        loss = "nn.MSELoss()" if numbers else "nn.BCEWithLogitsLoss()"
        parts += [TORCH_DATA[data], f"model = nn.Sequential({layers})", f"criterion = {loss}"]
        parts.append("optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)")
        if loop == 1:
            parts.append("scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)")
        parts += [LOOP[loop], (SCORE_NUMBERS if numbers else SCORE_KINDS)[score]]
    elif NET[net] == "keras":
        text = KERAS[0].replace("OUT", "" if numbers else ", activation='sigmoid'")
        text = text.replace("LOSS", "mse" if numbers else "binary_crossentropy").replace(
            "MET", "mae" if numbers else "accuracy"
        )
        figures = "r2_score(y_test, pred), np.sqrt(mean_squared_error(y_test, pred))"
        kinds = "accuracy_score(y_test, (pred > 0.5).astype(int))"
        parts.append(text.replace("PRINT", f"print({figures if numbers else kinds})"))
    else:
        text = SKLEARN[score].replace("MODEL", "MLPRegressor" if numbers else "MLPClassifier")
        parts.append(text.replace("METRIC", "r2_score" if numbers else "accuracy_score"))
    return HEAD + "\n".join(parts) + "\n"


BOOK = Book("tables", tuple(map(len, (READ, SPLIT, SCALE, NET, TORCH_DATA, SCORE_KINDS, LOOP))), write)
