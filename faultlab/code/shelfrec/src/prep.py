"""Turns events.csv (user_id,country,item_id,ts) and items.csv (item_id,category,brand,price) into numpy arrays."""
import csv
import zlib
from collections import defaultdict

import numpy as np

HIST_LEN = 30
N_USER_BUCKETS = 2 ** 14
N_BRAND_BUCKETS = 2 ** 10
N_COUNTRY_BUCKETS = 64


def bucket(text, n_buckets):
    return zlib.crc32(text.encode()) % n_buckets


def read_catalogue(path):
    with open(path, newline="") as fh:
        rows = sorted(csv.DictReader(fh), key=lambda r: r["item_id"])
    item_row = {r["item_id"]: k + 1 for k, r in enumerate(rows)}  # 0 is padding
    categories = {c: k for k, c in enumerate(sorted({r["category"] for r in rows}))}
    n = len(rows) + 1
    cat = np.zeros(n, dtype=np.int64)
    brand = np.zeros(n, dtype=np.int64)
    price = np.zeros(n, dtype=np.float32)
    for k, r in enumerate(rows, start=1):
        cat[k] = categories[r["category"]]
        brand[k] = bucket("brand=" + r["brand"], N_BRAND_BUCKETS)
        price[k] = np.log1p(float(r["price"]))  # give-aways cost 0
    price[1:] = (price[1:] - price[1:].mean()) / price[1:].std()
    return item_row, {"category": cat, "brand": brand, "price": price, "n_categories": len(categories)}


def read_sessions(path, item_row):
    """user -> list of item rows in time order; events of items that left the catalogue are dropped."""
    per_user, country = defaultdict(list), {}
    with open(path, newline="") as fh:
        for r in csv.DictReader(fh):
            if r["item_id"] not in item_row:
                continue
            per_user[r["user_id"]].append((int(r["ts"]), item_row[r["item_id"]]))
            country[r["user_id"]] = r["country"]
    sessions = {u: [item for _, item in sorted(ev)] for u, ev in per_user.items() if len(ev) >= 4}
    return sessions, country


def pad_history(items):
    out = np.zeros(HIST_LEN, dtype=np.int64)
    tail = items[-HIST_LEN:]
    out[:len(tail)] = tail
    return out


def pack(examples):
    users, countries, hists, targets = zip(*examples)
    return {"user": np.array(users), "country": np.array(countries), "hist": np.stack(hists),
            "target": np.array(targets)}


def build_examples(sessions, country):
    """Last purchase of each user tests, the one before validates, the others train."""
    train, val, test = [], [], []
    for u in sorted(sessions):
        items = sessions[u]
        n = len(items)
        ub = bucket("user=" + u, N_USER_BUCKETS)
        cb = bucket("country=" + country[u], N_COUNTRY_BUCKETS)
        for p in range(1, n - 2):
            train.append((ub, cb, pad_history(items[:p]), items[p]))
        val.append((ub, cb, pad_history(items[:n - 2]), items[n - 2]))
        test.append((ub, cb, pad_history(items[:n - 1]), items[n - 1]))
    return pack(train), pack(val), pack(test)


def log_popularity(targets, n_items):
    count = np.bincount(targets, minlength=n_items).astype(np.float64)
    return np.log((count + 1.0) / (count.sum() + n_items)).astype(np.float32)
