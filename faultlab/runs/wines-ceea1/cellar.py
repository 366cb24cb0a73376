"""Toy register of wines: chemistry sheets with gaps, typing slips and a long tail of small wineries."""

import numpy as np

GRAPES = ["syrah", "merlot", "grenache", "mourvedre", "carignan", "cinsault"]
FRACTIONS = [0.34, 0.24, 0.17, 0.12, 0.08, 0.05]
N_REGIONS, N_WINERIES = 24, 90
CLOSURES = ["cork", "screw", "glass", "synthetic"]


def make_register(n=7500, label_source="register", seed=20):
    rng = np.random.default_rng(seed)
    k = len(GRAPES)
    # every winery lies in one region and grows its own mix of grapes
    region_of = rng.integers(N_REGIONS, size=N_WINERIES)
    taste = rng.dirichlet(np.full(k, 1.2), size=N_REGIONS)
    size = 1.0 / np.arange(4, N_WINERIES + 4)
    winery = rng.choice(N_WINERIES, size=n, p=size / size.sum())
    mix = np.array(FRACTIONS) * (taste[region_of] + 0.12)
    mix /= mix.sum(1, keepdims=True)
    grape = (mix[winery].cumsum(1) < rng.random((n, 1))).sum(1).clip(max=k - 1)

    vintage = rng.integers(2002, 2020, size=n)
    warm = (vintage - 2002) / 17.0
    centre = rng.normal(size=(k, 6)) * 0.95
    terroir = rng.normal(size=(N_REGIONS, 6)) * 0.45
    z = centre[grape] + terroir[region_of[winery]] + rng.normal(size=(n, 6)) * 0.85
    z[:, 0] += 1.6 * warm
    z[:, 2] -= 1.3 * warm
    z[:, 4] += 1.1 * warm
    cols = {
        "alcohol": 12.8 + 0.6 * z[:, 0],
        "residual_sugar": np.exp(0.7 + 0.55 * z[:, 1]),
        "total_acidity": 5.6 + 0.5 * z[:, 2],
        "ph": 3.5 - 0.05 * z[:, 2] + 0.06 * rng.normal(size=n),
        "so2": np.exp(4.2 + 0.35 * z[:, 3]),
        "colour": 9.0 + 2.1 * z[:, 4],
        "tannin": 1900 + 420 * z[:, 5],
        "price": np.exp(2.4 + 0.3 * z[:, 5] + 0.4 * rng.normal(size=n)),
        "vintage": vintage.astype(float),
        "bottle_ml": np.full(n, 750.0),
        "region": region_of[winery],
        "winery": winery,
        "closure": rng.integers(len(CLOSURES), size=n),
    }
    for name in ("so2", "price"):  # decimal comma lost
        slip = rng.random(n) < 0.004
        cols[name] = np.where(slip, cols[name] * 1000, cols[name])
    for name in ("residual_sugar", "so2", "price"):
        cols[name] = np.where(rng.random(n) < 0.03, np.nan, cols[name])

    # the register is kept grape by grape, article numbers are handed out in that order
    order = np.lexsort((winery, grape))
    cols = {c: v[order] for c, v in cols.items()}
    grape = grape[order]
    cols["article_no"] = 10000.0 + np.cumsum(rng.integers(1, 4, size=n))
    if label_source == "crowd":  # grape as guessed by visitors of the tasting room
        guess = np.random.default_rng(seed + 1)
        wrong = guess.random(n) < 0.35
        grape = np.where(wrong, guess.integers(k, size=n), grape)
    cols["grape"] = np.array(GRAPES)[grape]
    return cols
