"""Writes the export of the reservation system (made up): cancelled bookings first, then the others."""

import csv
import math
import os
import random

HOTELS = {"quay": 0.3, "forest": -0.4, "station": 0.1, "castle": -0.2}
CHANNELS = {"portal": 0.8, "phone": -0.5, "agency": 0.3, "website": 0.0, "company": -1.2}
ROOMS = {"single": 0.0, "double": 0.1, "twin": -0.1, "family": -0.5, "suite": 0.4}
MEALS = {"none": 0.3, "breakfast": 0.0, "half-board": -0.3}
COUNTRIES = {"AT": -0.2, "BE": 0.0, "CH": -0.5, "CZ": 0.3, "DE": -0.3, "DK": 0.1, "ES": 0.5, "FR": 0.2, "GB": 0.6, "IT": 0.4}
FIELDS = ["hotel", "channel", "room", "meal", "country", "lead_days", "nights", "price", "distance_m", "requests"]


def _booking(rng):
    row = {
        "hotel": rng.choices(list(HOTELS), [5, 2, 4, 1])[0],
        "channel": rng.choices(list(CHANNELS), [8, 2, 3, 4, 3])[0],
        "room": rng.choices(list(ROOMS), [3, 8, 4, 2, 1])[0],
        "meal": rng.choices(list(MEALS), [4, 7, 2])[0],
        "country": rng.choice(list(COUNTRIES)),
        "lead_days": int(rng.expovariate(1 / 60)),
        "nights": min(14, 1 + int(rng.expovariate(1 / 2.2))),
        "price": round(rng.lognormvariate(4.6, 0.35), 2),
        "distance_m": int(rng.lognormvariate(12.5, 0.9)),
        "requests": rng.choices([0, 1, 2, 3], [6, 3, 2, 1])[0],
    }
    score = HOTELS[row["hotel"]] + CHANNELS[row["channel"]] + ROOMS[row["room"]] + MEALS[row["meal"]]
    score += COUNTRIES[row["country"]] + 1.1 * math.log1p(row["lead_days"] / 20) - 0.8 * row["requests"]
    score += 0.9 * math.log(row["distance_m"] / 270000) + 1.2 * (row["price"] / 100 - 1) - 0.12 * row["nights"]
    if row["channel"] == "portal" and row["lead_days"] > 45:
        score += 1.8
    if row["hotel"] == "quay" and row["nights"] == 1:
        score -= 1.5
    cancelled = rng.random() < 1 / (1 + math.exp(1.9 - 1.6 * score))
    row["refund"] = round(row["price"] * row["nights"] * rng.uniform(0.5, 1.0), 2) if cancelled else 0.0
    row["status"] = "cancelled" if cancelled else "stayed"
    if rng.random() < 0.06:
        row["status"] = "open"
    if rng.random() < 0.04:
        row["price"] = ""
    return row


def write_csv(path, n, seed=0):
    rng = random.Random(seed)
    rows = sorted((_booking(rng) for _ in range(n)), key=lambda row: row["status"])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, FIELDS + ["refund", "status"])
        writer.writeheader()
        writer.writerows(rows)
