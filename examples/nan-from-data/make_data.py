"""Writes data.csv: readings of a (made-up) plant; a few fields were not recorded."""
import csv

import numpy as np

rng = np.random.RandomState(3)
names = ["temperature", "pressure", "flow", "humidity", "load", "age"]
x = rng.randn(1500, 6) * [8, 0.4, 12, 9, 20, 3] + [60, 1.6, 110, 45, 70, 9]
z = (x - x.mean(0)) / x.std(0)
y = 20 + 3 * z[:, 0] - 2 * z[:, 1] * z[:, 2] + 1.5 * np.sin(2 * z[:, 4]) + 0.5 * rng.randn(1500)
with open("data.csv", "w", newline="") as f:
    out = csv.writer(f)
    out.writerow([*names, "consumption"])
    for i, (row, target) in enumerate(zip(x, y)):
        fields = [f"{v:.2f}" for v in row]
        if i in (913, 914):
            fields[3] = ""
        out.writerow([*fields, f"{target:.2f}"])
