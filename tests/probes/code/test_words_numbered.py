"""Categories that are numbered over all rows are no leak; figures of all rows are."""

from __future__ import annotations

import pytest

from .._scripts import state

FOLDS = """
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from sklearn import metrics, model_selection, preprocessing


def load(path):
    frame = pd.read_csv(path)
    encoder = preprocessing.{made}
    codes = encoder.fit_transform(frame[["region", "channel"]])
    return codes, frame["claim"].to_numpy(np.float32)


def run(codes, labels, inside, outside):
    codes, truth = torch.tensor(codes), torch.tensor(labels)
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    rows = torch.tensor(inside)
    for epoch in range(9):
        for now in rows[torch.randperm(len(rows))].split(64):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(net(codes[now].float())[:, 0], truth[now])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            guess = net(codes[outside].float())[:, 0].numpy()
        print(metrics.roc_auc_score(labels[outside], guess))


codes, labels = load("claims.csv")
for inside, outside in model_selection.StratifiedKFold(5).split(codes, labels):
    run(codes, labels, inside, outside)
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [("OrdinalEncoder(dtype=np.int64)", False), ("OneHotEncoder()", False), ("StandardScaler()", True)],
)
def test_which_number_a_word_has_is_no_figure_of_the_rows(made: str, told: bool) -> None:
    assert (state("script-learns-from-held-out", FOLDS.replace("{made}", made)) == "present") is told
