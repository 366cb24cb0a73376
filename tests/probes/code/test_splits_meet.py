"""Parts of the data that meet, and inputs that hold what is to be predicted."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
SEES = "script-training-sees-evaluation"

HEAD = """
import torch
from torch import nn
import pandas as pd
from torch.utils.data import DataLoader, Dataset, TensorDataset
table = pd.read_csv("rows.csv")
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
def learn(loader):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        ('train_set = Rows(table[table["fold"] <= 8])\nval_set = Rows(table[table["fold"] == 8])', True),
        ("train_set = Rows(table[table.fold != 3])\nval_set = Rows(table[table.fold >= 3])", True),
        (
            'train = table[table["year"].isin([1, 2, 3])]\ntest = table[table["year"].isin([3, 4])]',
            True,
        ),
        ('train_set = Rows(table[table["fold"] < 8])\nval_set = Rows(table[table["fold"] == 8])', False),
        ("train_set = Rows(table[table.fold != 3])\nval_set = Rows(table[table.fold == 3])", False),
        ("train = table[table.fold > 1]\ntest = table[table.part == 2]", False),
    ],
)
def test_rows_that_meet_both_conditions(body: str, fires: bool) -> None:
    assert (state(SEES, HEAD + body + "\n") == P) == fires


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        (
            "rest, test = train_test_split(table, test_size=0.2, random_state=1)\n"
            "train, val = train_test_split(table, test_size=0.2, random_state=2)",
            True,
        ),
        ("train, val = random_split(rows, [8, 2])\nfit_part, test = random_split(rows, [7, 3])", True),
        (
            "part = rows.train_test_split(0.2)\ntrain_data = rows.map(t)\ntest_data = part['test'].map(t)",
            True,
        ),
        (
            "rest, test = train_test_split(table, test_size=0.2, random_state=1)\n"
            "train, val = train_test_split(rest, test_size=0.2, random_state=2)",
            False,
        ),
        (
            "x_train, x_test = train_test_split(table, random_state=1)\n"
            "y_train, y_test = train_test_split(table, random_state=1)",
            False,
        ),
        (
            "part = rows.train_test_split(0.2)\ntrain_data = part['train'].map(encode)\n"
            "test_data = part['test'].map(encode)",
            False,
        ),
    ],
)
def test_a_whole_that_is_split_once_more(body: str, fires: bool) -> None:
    assert (state(SEES, HEAD + body + "\n") == P) == fires


@pytest.mark.parametrize(
    ("files", "fires"),
    [
        ('{"train": "train.csv", "validation": "train.csv"}', True),
        ('{"train": "a.json", "dev": "b.json", "test": "a.json"}', True),
        ('{"training": "rows/*.csv", "eval": "rows/*.csv"}', True),
        ('{"train": "train.csv", "validation": "validation.csv"}', False),
        ('{"train": 1, "test": 1}', False),
        ('{"train": "cuda", "test": "cuda"}', False),
    ],
)
def test_one_file_for_both_sides(files: str, fires: bool) -> None:
    assert (state(SEES, HEAD + f"data = load_dataset('csv', data_files={files})\n") == P) == fires


TABLE = (
    HEAD
    + """
table["log_price"] = np.log1p(table["price"])
{MADE}
features = {FEATURES}
x = table[features].values
y = table["log_price"].values
"""
)


@pytest.mark.parametrize(
    ("made", "features", "fires"),
    [
        ("", '["age", "log_price"]', True),
        ("", '["age", "price"]', True),
        ('table["rate"] = table["price"] / table["area"]', '["age", "rate"]', True),
        ("", '["age", "area"]', False),
        ('table["rate"] = table["fee"] / table["area"]', '["age", "rate"]', False),
        ('table["past"] = table.groupby("id")["price"].shift(1)', '["age", "past"]', False),
    ],
)
def test_the_target_among_the_inputs(made: str, features: str, fires: bool) -> None:
    text = TABLE.replace("{MADE}", made).replace("{FEATURES}", features)

    assert (state(SEES, text) == P) == fires


SERIES = (
    HEAD
    + """
horizon = 24
{MADE}
inputs = ["meals", "smooth"]
class Windows(Dataset):
    def __init__(self, frame):
        self.x, self.y = frame[inputs].values, frame["meals"].values
    def __getitem__(self, i):
        m = i + 72
        return {PAIR}
"""
)
AHEAD = "self.x[i:m], self.y[m : m + horizon]"


@pytest.mark.parametrize(
    ("made", "pair", "fires"),
    [
        ('table["smooth"] = table["meals"].rolling(5, center=True).mean()', AHEAD, True),
        ('table["smooth"] = table["meals"].shift(-1)', AHEAD, True),
        ("", "self.x[i : m + horizon], self.y[m : m + horizon]", True),
        ("", "self.x[i:m], self.y[i : i + horizon]", True),
        ('table["smooth"] = table["meals"].rolling(5).mean()', AHEAD, False),
        ('table["smooth"] = table["meals"].shift(1)', AHEAD, False),
        ("", "self.x[i:m], self.y[i:m]", False),
    ],
)
def test_inputs_do_not_reach_into_what_is_forecast(made: str, pair: str, fires: bool) -> None:
    assert (state(SEES, SERIES.replace("{MADE}", made).replace("{PAIR}", pair)) == P) == fires
