"""Wind farm data: one csv with hourly rows, ported from the torch Dataset of the GPU version."""
import csv

import numpy as np
import mindspore.dataset as ds

FEATURES = ["wind_speed", "wind_sin", "wind_cos", "temperature", "pressure", "humidity", "gust", "power"]
TARGET = FEATURES.index("power")


def load_csv(path):
    """return values [T, F] (nan where the field is empty) and hours [T, 2] = (hour of day, month)"""
    values, hours = [], []
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            values.append([float(row[k]) if row[k] != "" else np.nan for k in FEATURES])
            hours.append([int(row["hour"]), int(row["month"]) - 1])
    return np.array(values, np.float32), np.array(hours, np.int32)


class Scaler:
    def fit(self, data):
        self.mean = np.nanmean(data, axis=0)
        self.std = np.nanstd(data, axis=0) + 1e-6
        return self

    def transform(self, data):
        return (data - self.mean) / self.std

    def restore_target(self, y):
        return y * self.std[TARGET] + self.mean[TARGET]


class WindowDataset:
    """one item = history window, calendar of history, future power, valid mask of future power"""

    def __init__(self, values, hours, history, horizon):
        # hours with an empty field: feature is filled with 0 (= mean), target is masked
        self.valid = ~np.isnan(values[:, TARGET])
        self.values = np.nan_to_num(values, nan=0.0).astype(np.float32)
        self.hours = hours
        self.history = history
        self.horizon = horizon

    def __len__(self):
        return len(self.values) - self.history - self.horizon + 1

    def __getitem__(self, i):
        i = int(i)
        mid = i + self.history
        end = mid + self.horizon
        x = self.values[i:mid]
        cal = self.hours[i:mid]
        y = self.values[mid:end, TARGET]
        mask = self.valid[mid:end].astype(np.float32)
        return x, cal, y, mask


def split_by_time(cfg, values, hours):
    n = len(values)
    a = int(n * cfg.train_ratio)
    b = int(n * (cfg.train_ratio + cfg.val_ratio))
    scaler = Scaler().fit(values[:a])
    values = scaler.transform(values)
    parts = [(values[:a], hours[:a]), (values[a:b], hours[a:b]), (values[b:], hours[b:])]
    sets = [WindowDataset(v, h, cfg.history, cfg.horizon) for v, h in parts]
    return sets, scaler


def add_noise(x, cal, y, mask):
    """sensor noise on the weather columns, the power column stays clean"""
    noise = np.random.normal(0, 0.02, x.shape).astype(np.float32)
    noise[:, TARGET] = 0
    return x + noise, cal, y, mask


def create_dataset(source, batch_size, is_train, rank_id=0, rank_size=1):
    columns = ["x", "cal", "y", "mask"]
    dataset = ds.GeneratorDataset(source, columns, shuffle=is_train, num_parallel_workers=1,
                                  num_shards=rank_size, shard_id=rank_id)
    if is_train:
        dataset = dataset.map(add_noise, input_columns=columns)
    dataset = dataset.batch(batch_size, drop_remainder=is_train)
    return dataset
