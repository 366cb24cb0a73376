"""Synthetic logbook text: six sections, each with its own words and habits."""

import random

SECTIONS = {
    "harbour": ("boat ferry crew tide anchor pilot rope quay".split(), "leaves enters loads waits for turns to".split(" ")),
    "garden": ("bean rose hedge slug spade frost bulb pear".split(), "covers feeds climbs over hides spoils".split(" ")),
    "kitchen": ("soup oven flour onion plate knife broth jam".split(), "boils with burns tastes of fills needs".split(" ")),
    "railway": ("train signal guard switch wagon tunnel clerk bridge".split(), "passes stops at calls slows near meets".split(" ")),
    "clinic": ("nurse fever ward pulse dose splint cough chart".split(), "checks eases follows treats worries".split(" ")),
    "observatory": ("comet lens dome lunar orbit mirror planet dust".split(), "crosses bends hides drifts past lights".split(" ")),
}
WEIGHTS = [32, 16, 8, 4, 3, 2, 1, 1]
PLACES = "north south old new upper lower".split()


def _sentence(rng, nouns, verbs):
    a, b = rng.choices(nouns, weights=WEIGHTS, k=2)
    text = f"the {a} {rng.choice(verbs)} the {b}"
    roll = rng.random()
    if roll < 0.25:
        text = f"in the {rng.choice(PLACES)} {rng.choice(nouns)} " + text
    elif roll < 0.4:
        text += f" and then the {a} rests"
    if rng.random() < 0.1:
        text += " again"
    return text + ". "


def write_sections(chars_each, seed=0):
    """One string per section, about chars_each characters each."""
    rng = random.Random(seed)
    parts = []
    for name, (nouns, verbs) in SECTIONS.items():
        text, day = f"[{name}]\n", 1
        while len(text) < chars_each:
            text += f"day {day}: " + "".join(_sentence(rng, nouns, verbs) for _ in range(rng.randint(1, 3))).rstrip() + "\n"
            day += 1
        parts.append(text)
    return parts
