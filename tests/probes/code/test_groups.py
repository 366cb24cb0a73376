"""Rows of groups, ways back of edges, numbers of letters, and lists of layers of which one is asked."""

from __future__ import annotations

import pytest

from .._scripts import state

TABLE = """
import pandas as pd
import torch
from torch import nn

def features(df):
    df["week"] = df.groupby("shop")["sold"].transform(lambda s: s.rolling(7, min_periods=1).mean())
    {LINE}
    return df

df = pd.read_csv("days.csv").sort_values({BY})
df = features(df)
model = nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters())
for x, y in batches(df):
    opt.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("line", "by", "found"),
    [
        ('df["lag"] = df["sold"].shift(1)', '["shop", "day"]', True),
        ('df["lag"] = df["sold"].shift(7).fillna(0)', '["shop", "day"]', True),
        ('df["lag"] = df.groupby("shop")["sold"].shift(1)', '["shop", "day"]', False),
        # one series, sorted by time alone: the table holds no groups in blocks
        ('df["lag"] = df["sold"].shift(1)', '"day"', False),
        ('df["lag"] = df["sold"].shift(1)', '["day", "shop"]', False),
        # the first row of each group is marked
        (
            'df["lag"] = df["sold"].shift(1).where(df["shop"] == df["shop"].shift(1))',
            '["shop", "day"]',
            False,
        ),
        ('df["new"] = df["shop"] != df["shop"].shift(1)', '["shop", "day"]', False),
    ],
)
def test_shifted_over_groups(line: str, by: str, found: bool) -> None:
    program = TABLE.replace("{LINE}", line).replace("{BY}", by)
    assert (state("script-method-slipped", program) == "present") is found


EDGES = """
import torch
from torch import nn

def read(path):
    edges = torch.load(path).t()
    both = {BOTH}
    return both

net = nn.Linear(4, 2)
for x, y in loader:
    nn.functional.cross_entropy(net(x), y).backward()
"""


@pytest.mark.parametrize(
    ("both", "found"),
    [
        ("torch.cat([edges, edges.flip(1)], dim=1)", "present"),
        ("torch.cat((edges, torch.flip(edges, [1])), 1)", "absent"),  # a list of axes is not read
        ("torch.cat([edges, edges.flip(0)], dim=1)", "absent"),
        ("torch.cat([edges, edges.flip(1)], dim=0)", "absent"),  # edges in rows of two
    ],
)
def test_edges_not_turned(both: str, found: str) -> None:
    assert state("script-method-slipped", EDGES.replace("{BOTH}", both)) == found


READER = """
import torch
from torch import nn

LETTERS = {LETTERS}
index = {TABLE}

net = nn.LSTM(32, 40)
loss_of = nn.CTCLoss({BLANK})
for x, text, frames, lengths in loader:
    targets = torch.tensor([index[c] for t in text for c in t])
    loss_of(net(x)[0].log_softmax(2), targets, frames, lengths).backward()
"""


@pytest.mark.parametrize(
    ("letters", "table", "blank", "found"),
    [
        ('"abcdefgh"', "{c: i for i, c in enumerate(LETTERS)}", "", True),
        ('"abcdefgh"', "{c: i for i, c in enumerate(LETTERS)}", "blank=0, zero_infinity=True", True),
        ('"abcdefgh"', "{c: i + 1 for i, c in enumerate(LETTERS)}", "", False),
        ('"abcdefgh"', "{c: i for i, c in enumerate(LETTERS, 1)}", "", False),
        ('"abcdefgh"', "{c: i for i, c in enumerate(LETTERS)}", "blank=len(LETTERS)", False),
        ('"-abcdefgh"', "{c: i for i, c in enumerate(LETTERS)}", "", False),
        ('["<blank>", *"abc"]', "{c: i for i, c in enumerate(LETTERS)}", "", False),
    ],
)
def test_letter_is_the_blank(letters: str, table: str, blank: str, found: bool) -> None:
    program = READER.replace("{LETTERS}", letters).replace("{TABLE}", table).replace("{BLANK}", blank)
    assert (state("script-method-slipped", program) == "present") is found


LISTS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, 8) for n in sizes])
        self.out = nn.Linear(sum(t.embedding_dim for t in self.tables), 1)
    def forward(self, x):
        return self.out(torch.cat({PARTS}, 1))
"""


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ("[self.tables[0](x[:, i]) for i in range(x.shape[1])]", True),
        ("[self.tables[i](x[:, i]) for i in range(x.shape[1])]", False),
        ("[t(x[:, i]) for i, t in enumerate(self.tables)]", False),
        ("[self.tables[0](x[:, 0]), self.tables[1](x[:, 1])]", False),
        ("[self.tables[0](x)]", False),  # a list of one
    ],
)
def test_one_of_list_asked(parts: str, found: bool) -> None:
    assert (state("script-branch-lost", LISTS.replace("{PARTS}", parts)) == "present") is found
