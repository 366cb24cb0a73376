"""What scripts say of their inputs: each check in all three states, on more than one way of writing it."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State

from .test_code import SOUND, readings

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

MISSING = [
    ("statistics-skip-missing", PRESENT, "mu = np.nanmean(x_train, axis=0)\nx_train = x_train - mu"),
    ("statistics-skip-missing", ABSENT, "mu = np.nanmean(x, 0)\nx = np.where(np.isnan(x), mu, x)"),
    ("statistics-skip-missing", UNKNOWN, "miou = np.nanmean(iou_per_class)"),
    ("statistics-skip-missing", UNKNOWN, "mu = x_train.mean(0)"),
    ("statistics-skip-missing", UNKNOWN, "from .clean import tidy\nmu = np.nanstd(x_train)"),
    ("table-unguarded", PRESENT, 'df = pd.read_csv("train.csv")\nx = df.values'),
    ("table-unguarded", ABSENT, 'df = pd.read_csv("train.csv").dropna()'),
    ("table-unguarded", ABSENT, 'df = pl.read_parquet("a.parquet")\ndf = df.fill_null(0)'),
    ("table-unguarded", UNKNOWN, 'x = np.load("train.npy")'),
    ("table-unguarded", UNKNOWN, 'history = pd.read_csv("log.csv")'),
]


@pytest.mark.parametrize(("symptom", "state", "code"), MISSING)
def test_missing_values(symptom: str, state: State, code: str) -> None:
    """Empty fields that nothing deals with are named; what deals with them makes the symptom absent."""
    found = readings(f"{code}\n{SOUND}")["script-" + symptom]

    assert found.state is state, found.why
