# ruff: noqa: E501
"""Frames that are split before inputs and target are taken: by chance, by time, by groups, by files; pipelines."""

from __future__ import annotations

from . import Book, Choice

HEAD = """import glob
import sqlite3
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, QuantileTransformer, StandardScaler
from torch.utils.data import DataLoader, TensorDataset
SEED, TARGET = 7, 'default'
np.random.seed(SEED)
torch.manual_seed(SEED)
"""
READ = (
    "df = pd.concat([pd.read_csv(f) for f in sorted(glob.glob('data/part-*.csv'))], ignore_index=True)",
    "with sqlite3.connect('loans.db') as con:\n    df = pd.read_sql('select * from loans', con, parse_dates=['date'])",
    "df = pd.read_parquet('loans.parquet').drop_duplicates().reset_index(drop=True)",
    "df = pd.read_csv('loans.csv', parse_dates=['date'], dtype={'customer': str})\ndf.columns = df.columns.str.lower().str.replace(' ', '_')",
)
MAKE = (
    "df['date'] = pd.to_datetime(df['date'])\ndf['month'] = df['date'].dt.month\ndf['dow'] = df['date'].dt.dayofweek",
    "df['ratio'] = df['amount'] / df['income'].replace(0, np.nan)\ndf['ratio'] = df['ratio'].fillna(0)\ndf['log_amount'] = np.log1p(df['amount'])",
    "df = df.sort_values(['customer', 'date'])\ndf['prev_amount'] = df.groupby('customer')['amount'].shift(1).fillna(0)\ndf['n_loans'] = df.groupby('customer').cumcount()",
    "df['purpose'] = df['purpose'].str.strip().str.lower()\ndf['amount_bin'] = pd.cut(df['amount'], [0, 1000, 5000, 20000, np.inf], labels=False)",
    "",
)
SPLIT = (
    "train_df, test_df = train_test_split(df, test_size=0.2, random_state=SEED, stratify=df[TARGET])",
    "train_df = df.sample(frac=0.8, random_state=SEED)\ntest_df = df.drop(train_df.index)",
    "df = df.sort_values('date')\ncutoff = int(len(df) * 0.8)\ntrain_df, test_df = df.iloc[:cutoff].copy(), df.iloc[cutoff:].copy()",
    "train_df = df[df['date'] < '2023-01-01'].copy()\ntest_df = df[df['date'] >= '2023-01-01'].copy()",
    "gss = GroupShuffleSplit(n_splits=1, test_size=0.2, random_state=SEED)\ntr, te = next(gss.split(df, groups=df['customer']))\ntrain_df, test_df = df.iloc[tr], df.iloc[te]",
    "customers = df['customer'].unique()\nnp.random.shuffle(customers)\nheld = set(customers[: len(customers) // 5])\nis_test = df['customer'].isin(held)\ntrain_df, test_df = df[~is_test], df[is_test]",
    "train_df, test_df = train_test_split(df, test_size=0.3, random_state=SEED)\nval_df, test_df = train_test_split(test_df, test_size=0.5, random_state=SEED)",
)
COLUMNS = (
    "num = ['amount', 'income', 'age']\ncat = ['purpose', 'region']",
    "cat = [c for c in df.columns if df[c].dtype == 'object' and c not in ('customer',)]\nnum = [c for c in df.columns if c not in cat + [TARGET, 'customer', 'date']]",
    "drop_cols = [TARGET, 'customer', 'date']\nnum = train_df.drop(columns=drop_cols).select_dtypes(include='number').columns.tolist()\ncat = train_df.drop(columns=drop_cols).select_dtypes(exclude='number').columns.tolist()",
)
PREPARE = (
    """pre = ColumnTransformer([('num', make_pipeline(SimpleImputer(strategy='median'), StandardScaler()), num), ('cat', OneHotEncoder(handle_unknown='ignore', sparse_output=False), cat)])
X_train, X_test = pre.fit_transform(train_df), pre.transform(test_df)
VALpre.transform(val_df)""",
    """med = train_df[num].median()
mean, std = train_df[num].fillna(med).mean(), train_df[num].fillna(med).std()
enc = OrdinalEncoder(handle_unknown='use_encoded_value', unknown_value=-1).fit(train_df[cat])
def prepare(frame):
    a = ((frame[num].fillna(med) - mean) / std).to_numpy()
    return np.hstack([a, enc.transform(frame[cat])])
X_train, X_test = prepare(train_df), prepare(test_df)
VALprepare(val_df)""",
    """train_cat, test_cat = pd.get_dummies(train_df[cat]), pd.get_dummies(test_df[cat])
test_cat = test_cat.reindex(columns=train_cat.columns, fill_value=0)
qt = QuantileTransformer(output_distribution='normal', random_state=SEED).fit(train_df[num].fillna(0))
X_train = np.hstack([qt.transform(train_df[num].fillna(0)), train_cat.to_numpy(dtype=float)])
X_test = np.hstack([qt.transform(test_df[num].fillna(0)), test_cat.to_numpy(dtype=float)])
VALnp.hstack([qt.transform(val_df[num].fillna(0)), pd.get_dummies(val_df[cat]).reindex(columns=train_cat.columns, fill_value=0).to_numpy(dtype=float)])""",
)
FIT = (
    """clf = MLPClassifier(hidden_layer_sizes=(64,), early_stopping=True, random_state=SEED).fit(X_train, y_train)
p = clf.predict_proba(X_test)[:, 1]
print('auc', roc_auc_score(y_test, p), 'logloss', log_loss(y_test, p), 'acc', accuracy_score(y_test, clf.predict(X_test)))""",
    """ds = TensorDataset(torch.as_tensor(X_train, dtype=torch.float32), torch.as_tensor(y_train, dtype=torch.float32))
loader = DataLoader(ds, batch_size=512, shuffle=True)
net = nn.Sequential(nn.Linear(X_train.shape[1], 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
loss_fn = nn.BCEWithLogitsLoss()
xt = torch.as_tensor(X_test, dtype=torch.float32)
for epoch in range(30):
    net.train()
    seen = total = 0
    for xb, yb in loader:
        out = net(xb).squeeze(1)
        loss = loss_fn(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
        seen += len(xb)
    net.eval()
    with torch.no_grad():
        p = torch.sigmoid(net(xt)).squeeze(1).numpy()
    print(f'{epoch}: loss {total / seen:.4f} auc {roc_auc_score(y_test, p):.4f} acc {((p > 0.5) == y_test).mean():.4f}')""",
)
PARTED = 6  # the split that gives a validation part


def write(choice: Choice) -> str | None:
    """The program of one choice."""
    read, make, split, columns, prepare, fit = choice
    parts = [READ[read], MAKE[make], SPLIT[split], COLUMNS[columns]]
    prepared, _, held = PREPARE[prepare].rpartition("\nVAL")
    parts += [prepared, "y_train, y_test = train_df[TARGET].to_numpy(), test_df[TARGET].to_numpy()"]
    body = FIT[fit]
    if split == PARTED:
        parts += [f"X_val, y_val = {held}, val_df[TARGET].to_numpy()"]
        body += (
            "\nprint('val auc', roc_auc_score(y_val, clf.predict_proba(X_val)[:, 1]))"
            if fit == 0
            else "\nwith torch.no_grad():\n    pv = torch.sigmoid(net(torch.as_tensor(X_val, dtype=torch.float32))).squeeze(1).numpy()\nprint('val auc', roc_auc_score(y_val, pv))"
        )
    return HEAD + "\n".join([*parts, body]) + "\n"


BOOK = Book("frames", tuple(map(len, (READ, MAKE, SPLIT, COLUMNS, PREPARE, FIT))), write)
