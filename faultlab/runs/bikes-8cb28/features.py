"""Feature table: lags of demand, weather, calendar. Everything is numpy, one array per model input."""

import numpy as np

from simulate import CAPACITY

NUMERIC = ("temp", "humidity", "pressure", "rain", "lag_day", "lag_week", "mean_day")


def lagged(table, hours):
    """Demand of the same station some hours before."""
    out = np.full(table["count"].size, np.nan)
    for station in np.unique(table["station"]):
        rows = np.flatnonzero(table["station"] == station)
        out[rows[hours:]] = table["count"][rows[:-hours]]
    return out


def build(table):
    table = dict(table)
    table["count"] = np.where(table["count"] > CAPACITY, np.nan, table["count"])  # broken counters

    for name in ("temp", "humidity", "pressure"):
        column = table[name]
        table[name] = np.where(np.isnan(column), np.nanmedian(column), column)

    table["lag_day"] = lagged(table, 24)
    table["lag_week"] = lagged(table, 168)
    table["mean_day"] = np.nanmean([lagged(table, h) for h in range(24, 48)], axis=0)
    for name in ("lag_day", "lag_week"):
        table[name] = np.where(np.isnan(table[name]), table["mean_day"], table[name])

    keep = (table["day"] >= 8) & ~np.isnan(table["count"])
    return {k: v[keep] for k, v in table.items()}


class Scaler:
    def fit(self, x):
        self.mean, self.std = x.mean(axis=0), x.std(axis=0) + 1e-6
        return self

    def __call__(self, x):
        return ((x - self.mean) / self.std).astype("float32")


def numeric(table):
    columns = [np.log1p(table[n]) if n.startswith(("lag", "mean")) else table[n] for n in NUMERIC]
    return np.stack(columns, axis=1)


def pack(table, scaler):
    """The model's inputs by name, and log1p of the rentals."""
    inputs = {
        "numeric": scaler(numeric(table)),
        "hour": table["hour"].astype("int32"),
        "weekday": table["weekday"].astype("int32"),
        "station": table["station"].astype("int32"),
    }
    return inputs, np.log1p(table["count"]).astype("float32")[:, None]


def load(table, valid_share, seed):
    """Whole days are held out, drawn at random."""
    table = build(table)
    rng = np.random.default_rng(seed)
    days = np.unique(table["day"])
    warmth = [np.nanmean(table["temp"][table["day"] == d]) for d in days]
    held_out = days[np.argsort(warmth)][: int(valid_share * days.size)]
    is_valid = np.isin(table["day"], held_out)
    train = {k: v[~is_valid] for k, v in table.items()}
    valid = {k: v[is_valid] for k, v in table.items()}
    scaler = Scaler().fit(numeric(train))
    return pack(train, scaler), pack(valid, scaler)
