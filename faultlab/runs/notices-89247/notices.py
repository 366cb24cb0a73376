"""Toy corpus: short municipal notices with a category, made up from word lists."""

import random

CATEGORIES = ["roadworks", "waste", "water", "council", "events", "permits"]
SHARE = [0.29, 0.22, 0.18, 0.14, 0.10, 0.07]

KEYWORDS = {
    "roadworks": "closed diversion asphalt resurfacing lane traffic detour kerb signals trench junction paving bridge",
    "waste": "bins collection recycling glass bulky garden compost containers truck pickup sacks landfill paper",
    "water": "mains pressure outage valve boiling supply pipe flushing leak hydrant meter chlorine sewer",
    "council": "agenda session budget vote minutes committee mayor hearing motion quorum chamber deputies bylaw",
    "events": "market concert parade fair stalls music festival fireworks stage choir lanterns race booth",
    "permits": "application deadline form licence fee renewal office stamp building terrace approval plan signature",
}
STREETS = "Mill Church Harbour Station Orchard Castle Garden River Market School Meadow Chapel".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
FILLER = (
    "please note that the will be from until due to residents are asked affected area new public for and in on all "
    "this week next month information call number notice between hours local service expected further plan office "
    "supply week paper music garden building traffic collection market meter"
).split()


def _notice(category, rng):
    words = rng.sample(KEYWORDS[category].split(), rng.randint(1, 3))
    if rng.random() < 0.45:  # notices mention other business as well
        words.append(rng.choice(KEYWORDS[rng.choice(CATEGORIES)].split()))
    words += rng.choices(FILLER, k=rng.randint(6, 14))
    rng.shuffle(words)
    words.insert(rng.randrange(len(words)), f"{rng.choice(STREETS)} Street")
    words.insert(rng.randrange(len(words)), rng.choice(DAYS))
    return " ".join(words).capitalize() + "."


def load_notices(count=2100, seed=11):
    """Rows of the archive, one category after the other, as the archive is kept."""
    rng = random.Random(seed)
    rows = []
    for category, share in zip(CATEGORIES, SHARE):
        for _ in range(round(count * share)):
            filed_as = rng.choice(CATEGORIES) if rng.random() < 0.04 else category  # clerks slip, too
            rows.append({"text": _notice(category, rng), "category": filed_as})
    return rows
