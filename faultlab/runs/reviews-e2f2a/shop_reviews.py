"""Stand-in for the shop's review export: same shape, made-up words."""

import random

CATEGORIES = ["books", "kitchen", "audio", "garden"]
NEGATORS = ["not", "never", "hardly"]
FILLERS = [f"w{i}" for i in range(120)]
LIKED = {c: [f"{c[:2]}_good{i}" for i in range(3)] for c in CATEGORIES} | {"all": [f"good{i}" for i in range(4)]}
DISLIKED = {c: [f"{c[:2]}_bad{i}" for i in range(3)] for c in CATEGORIES} | {"all": [f"bad{i}" for i in range(4)]}
TOPICS = {c: [f"{c[:2]}_thing{i}" for i in range(8)] for c in CATEGORIES}
STAR_SHARES = {1: 0.18, 2: 0.14, 3: 0.10, 4: 0.26, 5: 0.32}


def _opinion(rng, category, stars):
    """One remark, as good or bad as the stars say; sometimes put the other way round."""
    good = rng.random() < {1: 0.02, 2: 0.05, 3: 0.5, 4: 0.95, 5: 0.98}[stars]
    negated = rng.random() < 0.2
    words = (LIKED if good != negated else DISLIKED)[category if rng.random() < 0.6 else "all"]
    return ([rng.choice(NEGATORS)] if negated else []) + [rng.choice(words)]


def load_export(n=5500, misclicks=0.03, unrated=0.2, seed=5):
    """List of dicts with category, stars (0: not rated), title, body; ordered by category, then stars."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        category = rng.choice(CATEGORIES)
        stars = rng.choices(list(STAR_SHARES), STAR_SHARES.values())[0]
        words = []
        for _ in range(rng.randint(3, 5)):
            words += rng.choices(FILLERS + TOPICS[category], k=rng.randint(1, 3))
            words += _opinion(rng, category, stars)
        if rng.random() < misclicks:
            stars = rng.choice(list(STAR_SHARES))
        if rng.random() < unrated:
            stars = 0
        title = f"rated_{stars} {rng.choice(TOPICS[category])}"
        rows.append({"category": category, "stars": stars, "title": title, "body": " ".join(words)})
    return sorted(rows, key=lambda r: (r["category"], r["stars"]))
