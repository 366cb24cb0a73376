"""Held-out samples that are one end of an order, and those that a script makes of another kind."""

from __future__ import annotations

import pytest

from traindoctor.probes.code.splits.one_end import held_out_end

from .._script import finding

GROUPED = """
PLACES = {"harbour": (3, 4), "garden": (5, 6)}
def write(n):
    return [card(place) for place in PLACES for _ in range(n // 2)]
def filled(n):
    rows = []
    for place in PLACES.values():
        for _ in range(n):
            rows.append(card(place))
    return rows
def mixed(n):
    return [card(rng.choice(list(PLACES))) for _ in range(n)]
"""
BY_NUMBER = "val_set = [t for i, t in enumerate(texts) if i in held]"
HALVES = "train_cards, val_cards = cards[:640], cards[640:]"
IN_ORDER = """
def make(n):
    labels = np.sort(rng.integers(0, 8, n))
    return draw(labels), labels
x, y = make(960)
"""
CUT = "train_x, val_x = x[:800], x[800:]"
MASKS = "level = t.mean(1)\ntrain_t, val_t = t[level < 3], t[level >= 3]"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("held_out = days[np.argsort(warmth)][:9]", "present"),
        ("order = np.argsort(x[:, 3])\ntrain_idx = order[9:]\nval_idx = order[:9]", "present"),
        ("order = sorted(range(len(x)), key=lambda i: x[i].mean())\nval_x = x[order[90:]]", "present"),
        ("held_out = days[np.argsort(dates)][:9]", "absent"),
        ("held_out = days[np.argsort(rng.random(len(days)))][:9]", "absent"),
        ("val_idx = np.argsort(y)[::5]", "unknown"),  # so many of each class
        (f"{GROUPED}cards = write(800)\nval_cards = cards[640:]", "present"),
        (
            f"{GROUPED}texts = [c[1] for c in write(800)]\nheld = set(range(640, 800))\n{BY_NUMBER}",
            "present",
        ),
        (f"{GROUPED}cards = filled(8)\nval_set = Subset(cards, range(640, 800))", "present"),
        (f"{GROUPED}cards = write(800)\nrng.shuffle(cards)\n{HALVES}", "absent"),
        (f"{GROUPED}cards = mixed(800)\n{HALVES}", "absent"),
        (IN_ORDER + CUT, "present"),
        (
            IN_ORDER.replace("np.sort(rng.integers(0, 8, n))", "np.repeat(np.arange(8), n // 8)") + CUT,
            "present",
        ),
        (IN_ORDER.replace("np.sort(rng.integers(0, 8, n))", "np.arange(n) % 8") + CUT, "absent"),
        (IN_ORDER + "x = x[rng.permutation(960)]\n" + CUT, "absent"),
        (MASKS, "present"),
        (MASKS.replace("level = t.mean(1)", "level = rng.random(len(t))"), "unknown"),
        ("train_t, val_t = t[t.year < 2019], t[t.year >= 2019]", "unknown"),  # an order that is meant
        ("train_t, val_t = t[t.level < 9], t[t.level < 9]", "unknown"),
    ],
)
def test_one_end(text: str, wanted: str) -> None:
    """One end of a ranking, a range, groups or classes; not of time, of chance, or of what was mixed."""
    found = finding(held_out_end, text)
    assert found.state.value == wanted, found.why
