"""Columns among the inputs that hold later rows, or the row that is to be told."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """\
import numpy as np
import pandas as pd
import torch
from torch import nn

df = pd.read_csv('sales.csv').sort_values('day')
"""
TAIL = """
df = df.dropna()
cols = ['past', 'weekday', 'price']
train, val = df[df['day'] < '2021'], df[df['day'] >= '2021']
m, s = train[cols].mean(), train[cols].std()
x = torch.tensor(((train[cols] - m) / s).values).float()
vx = torch.tensor(((val[cols] - m) / s).values).float()
y = torch.tensor(train['sold'].values).float()
vy = torch.tensor(val['sold'].values).float()
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
for epoch in range(50):
    opt.zero_grad()
    ((net(x)[:, 0] - y) ** 2).mean().backward()
    opt.step()
    with torch.no_grad():
        print(((net(vx)[:, 0] - vy) ** 2).mean().item())
"""

AHEAD = [
    "df['past'] = df['sold'].shift(-1)",
    "df['past'] = df.groupby('shop')['sold'].shift(periods=-7)",
    "by = df.groupby('shop')['price']\ndf['past'] = by.shift(-1)",
    "LAG = -1\ndf['past'] = df['sold'].shift(LAG)",
    "df['past'] = df['sold'].rolling(7, center=True).mean()",
    "df['past'] = df['sold'].rolling(7).mean()",
    "df['past'] = df.groupby('shop')['sold'].transform(lambda s: s.rolling(7, min_periods=1).mean())",
    "df['past'] = df['sold'].expanding().mean()",
    "df['past'] = df['sold'].ewm(span=7).mean()",
    "df['past'] = df['sold'].diff()",
]
BEHIND = [
    "df['past'] = df['sold'].shift(1)",
    "df['past'] = df.groupby('shop')['sold'].shift(periods=7)",
    "df['past'] = df['sold'].shift(1).rolling(7).mean()",
    "df['past'] = df['sold'].rolling(7, closed='left').mean()",
    "df['past'] = df.groupby('shop')['sold'].transform(lambda s: s.shift().expanding().mean())",
    "df['past'] = df['price'].rolling(7).mean()",  # another column than the told one
    "def past(s):\n    return s.shift(1).rolling(7).mean()\n"
    "df['past'] = df.groupby('shop')['sold'].transform(past)",
    "df['past'] = df['sold'].diff()\ndf['past'] = df['past'].shift(1)",
    # the target is what looks ahead, and the inputs may hold today
    "df['now'] = df['sold']\ndf['sold'] = df['sold'].shift(-1)\ndf['past'] = df['now'].rolling(7).mean()",
    "df['past'] = df['sold'].rolling(7).mean()\ndf['sold'] = df['sold'].shift(-1)",
]


@pytest.mark.parametrize("made", AHEAD)
def test_inputs_hold_later_rows(made: str) -> None:
    assert state("script-training-sees-evaluation", f"{HEAD}{made}\n{TAIL}") == "present"


@pytest.mark.parametrize("made", BEHIND)
def test_inputs_hold_earlier_rows(made: str) -> None:
    assert state("script-training-sees-evaluation", f"{HEAD}{made}\n{TAIL}") != "present"


def test_the_column_that_looks_ahead_is_the_target() -> None:
    tail = TAIL.replace("['sold'].values", "['next'].values")
    for made in ("df['next'] = df['sold'].shift(-1)\n", "df['next'] = df['sold'].shift(-1) - df['sold']\n"):
        program = f"{HEAD}{made}df['past'] = df['sold'].rolling(7).mean()\n{tail}"
        assert state("script-training-sees-evaluation", program) != "present"


def test_what_is_known_ahead_may_be_an_input() -> None:
    tail = TAIL.replace("'past'", "'holiday_next'")
    program = f"{HEAD}df['holiday_next'] = df['holiday'].shift(-1)\n{tail}"
    assert state("script-training-sees-evaluation", program) != "present"
