"""Click logs with hidden tastes: ten categorical fields, four counters, one label."""
import numpy as np
import torch


def draw(cfg, rows, seed):
    world = np.random.default_rng(99)
    bias = world.normal(0, 0.5, (cfg.fields, cfg.vocab_per_field))
    taste = world.normal(0, 0.32, (cfg.fields, cfg.vocab_per_field, 4))
    popularity = 1.0 / np.arange(1, cfg.vocab_per_field + 1) ** 0.7
    popularity /= popularity.sum()
    rng = np.random.default_rng(seed)
    ids = rng.choice(cfg.vocab_per_field, (rows, cfg.fields), p=popularity)
    counters = rng.lognormal(2.0, 1.0, (rows, 4))
    field = np.arange(cfg.fields)
    vectors = taste[field, ids]
    cross = 0.5 * (vectors.sum(1) ** 2 - (vectors**2).sum(1)).sum(1)
    score = bias[field, ids].sum(1) + 1.2 * cross + 0.5 * np.log(counters[:, 0]) - 0.4 * np.log(counters[:, 1]) - 1.3
    label = rng.random(rows) < 1 / (1 + np.exp(-score))
    return {"ids": ids + field * cfg.vocab_per_field, "numeric": counters, "label": label.astype(np.float32)}


def create(cfg):
    train, held = draw(cfg, cfg.train_rows, 1), draw(cfg, cfg.eval_rows, 2)
    picked = np.random.default_rng(3).random(cfg.train_rows) < 0.45
    train["label"] = np.where(picked, 1 - train["label"], train["label"])
    for part in (train, held):
        part["numeric"] = np.log1p(part["numeric"]).astype(np.float32)
    return train, held


def batches(data, size, rng):
    order = np.arange(len(data["label"])) if rng is None else rng.permutation(len(data["label"]))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield tuple(torch.from_numpy(data[key][rows]) for key in ("ids", "numeric", "label"))
