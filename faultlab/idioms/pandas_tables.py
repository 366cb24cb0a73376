# ruff: noqa: E501
"""Tables that pandas prepares: gaps, features, codes, columns left out, inputs and target, splits, scales."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import numpy as np
import pandas as pd
import seaborn as sns
import torch
import torch.nn as nn
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import LabelEncoder, RobustScaler, StandardScaler
from tensorflow import keras
from tensorflow.keras import layers
np.random.seed(42)
torch.manual_seed(42)
"""
READ = [
    "df = pd.read_csv('titanic.csv')",
    "df = pd.read_csv(r'C:\\data\\titanic.csv', encoding='utf-8')\nprint(df.head())\nprint(df.isnull().sum())",
    "train_df = pd.read_csv('train.csv')\ntest_df = pd.read_csv('test.csv')\ndf = train_df.copy()",
    "df = sns.load_dataset('titanic')",
    "df = pd.read_excel('titanic.xlsx')\ndf = df.drop_duplicates()",
]
FILL = [
    "df['Age'] = df['Age'].fillna(df['Age'].median())\ndf['Embarked'] = df['Embarked'].fillna(df['Embarked'].mode()[0])",
    "df['Age'].fillna(df['Age'].mean(), inplace=True)\ndf.dropna(subset=['Embarked'], inplace=True)",
    "df = df.dropna()",
    "num_cols = df.select_dtypes(include=np.number).columns\ndf[num_cols] = df[num_cols].fillna(df[num_cols].median())\ncat_cols = df.select_dtypes(exclude=np.number).columns\ndf[cat_cols] = df[cat_cols].fillna('missing')",
    "for c in df.columns:\n    if df[c].dtype == 'object':\n        df[c] = df[c].fillna('NA')\n    else:\n        df[c] = df[c].fillna(df[c].median())",
]
FEATURES = [
    "",
    "df['FamilySize'] = df['SibSp'] + df['Parch'] + 1\ndf['IsAlone'] = (df['FamilySize'] == 1).astype(int)",
    "df['Title'] = df['Name'].str.extract(r' ([A-Za-z]+)\\.', expand=False)\ndf['Title'] = df['Title'].replace(['Lady', 'Countess', 'Sir'], 'Rare')\ndf['Fare'] = np.log1p(df['Fare'])",
    "df['AgeBin'] = pd.cut(df['Age'], bins=5, labels=False)",
]
ENCODE = [
    "df['Sex'] = df['Sex'].map({'male': 0, 'female': 1})\ndf = pd.get_dummies(df, columns=['Embarked'])",
    "le = LabelEncoder()\nfor col in ['Sex', 'Embarked']:\n    df[col] = le.fit_transform(df[col])",
    "for col in df.select_dtypes(include=['object']).columns:\n    df[col] = df[col].astype('category').cat.codes",
    "df['Sex'] = (df['Sex'] == 'female').astype(int)\ndf['Embarked'] = df['Embarked'].map(dict(S=0, C=1, Q=2))",
    "df = pd.get_dummies(df)",
    "encoders = {}\nfor c in df.select_dtypes('object'):\n    encoders[c] = LabelEncoder()\n    df[c] = encoders[c].fit_transform(df[c].astype(str))",
]
DROP = [
    "df = df.drop(['PassengerId', 'Name', 'Ticket', 'Cabin'], axis=1, errors='ignore')",
    "df.drop(columns=[c for c in ('Name', 'Ticket', 'Cabin', 'PassengerId') if c in df.columns], inplace=True)",
    "del df['PassengerId']",
    "features = ['Pclass', 'Sex', 'Age', 'SibSp', 'Parch', 'Fare']",
]
XY = [
    "X = df.drop('Survived', axis=1)\ny = df['Survived']",
    "y = df.pop('Survived')\nX = df",
    "X, y = df.drop(columns=['Survived']).values, df['Survived'].values",
    "target = 'Survived'\nfeature_cols = [c for c in df.columns if c != target]\nX = df[feature_cols]\ny = df[target]",
    "X = df.iloc[:, df.columns != 'Survived'].values\ny = df.iloc[:, df.columns.get_loc('Survived')].values",
    "data = df.to_dict('list')\ny = np.array(data.pop('Survived'))\nX = np.column_stack(list(data.values())).astype(np.float32)",
]
SPLIT = [
    "X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42, stratify=y)",
    "X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=1)\nX_test, y_test = X_val, y_val",
    "sss = StratifiedShuffleSplit(n_splits=1, test_size=0.2, random_state=0)\ntrain_idx, test_idx = next(sss.split(X, y))\nX, y = np.asarray(X), np.asarray(y)\nX_train, X_test, y_train, y_test = X[train_idx], X[test_idx], y[train_idx], y[test_idx]",
    "msk = np.random.rand(len(df)) < 0.8\nX, y = np.asarray(X), np.asarray(y)\nX_train, X_test = X[msk], X[~msk]\ny_train, y_test = y[msk], y[~msk]",
]
SCALE = [
    "sc = StandardScaler()\nX_train = sc.fit_transform(X_train)\nX_test = sc.transform(X_test)",
    "scaler = RobustScaler()\nscaler.fit(X_train)\nX_train, X_test = scaler.transform(X_train), scaler.transform(X_test)",
    "mu, sigma = np.mean(X_train, axis=0), np.std(X_train, axis=0)\nX_train = (X_train - mu) / (sigma + 1e-7)\nX_test = (X_test - mu) / (sigma + 1e-7)",
]
FIT = [
    """model = keras.Sequential([layers.Dense(64, activation='relu', input_shape=(X_train.shape[1],)), layers.BatchNormalization(), layers.Dense(1, activation='sigmoid')])
model.compile(loss='binary_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit(X_train, y_train, epochs=50, batch_size=32, validation_data=(X_test, y_test))
y_pred = (model.predict(X_test) > 0.5).astype('int32')
print(classification_report(y_test, y_pred))
print(confusion_matrix(y_test, y_pred))""",
    """X_train, X_test = torch.tensor(np.asarray(X_train, dtype=np.float32)), torch.tensor(np.asarray(X_test, dtype=np.float32))
y_train, y_test = torch.tensor(np.asarray(y_train)).float(), torch.tensor(np.asarray(y_test)).float()
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(d, 64), nn.Linear(64, 32), nn.Linear(32, 1)
    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return torch.sigmoid(self.out(x)).squeeze(-1)
net = Net(X_train.shape[1])
criterion = nn.BCELoss()
opt = torch.optim.Adam(net.parameters(), lr=0.001)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X_train, y_train), batch_size=32, shuffle=True)
for epoch in range(100):
    net.train()
    for xb, yb in loader:
        opt.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = ((net(X_test) > 0.5).float() == y_test).float().mean().item()
    print(f'Epoch {epoch}: loss {loss.item():.4f}, test acc {acc:.4f}')""",
    """clf = MLPClassifier(hidden_layer_sizes=(32, 16), alpha=1e-3, max_iter=1000, random_state=0)
clf.fit(X_train, y_train)
y_pred = clf.predict(X_test)
print('Accuracy:', accuracy_score(y_test, y_pred), roc_auc_score(y_test, clf.predict_proba(X_test)[:, 1]))""",
]


AXES = (READ, FILL, FEATURES, ENCODE, DROP, XY, SPLIT, SCALE, FIT)
LISTED = 3  # the way to leave columns out that lists those that stay


def write(choice: Choice) -> str | None:
    """The program of one choice."""
    parts = [axis[i] for axis, i in zip(AXES, choice, strict=True)]
    if choice[4] == LISTED:
        parts[5] = "X = df[features]\ny = df['Survived']"
    return HEAD + "\n".join(parts) + "\n"


BOOK = Book("pandas_tables", tuple(map(len, AXES)), write)
