"""Synthetic order mails, one (words, tags) pair per sentence, written out form by form like the templates they stand for."""
import random

ITEMS = ["oak", "pine", "maple", "screw", "hinge", "bracket", "panel", "board", "lamp", "cable", "plug", "paint", "tile",
         "brush", "rail"]
KINDS = ["small", "white", "steel", "long", "heavy", "park", "garden"]
PLACES = ["oak", "pine", "mill", "park", "station", "garden", "church", "bridge", "maple", "north"]
WAYS = ["street", "road", "lane", "square"]
MONTHS = ["march", "april", "may", "june", "july"]
FORMS = ["{O:please send} {QTY} {ITEM} {O:to} {ADDR}",
         "{O:we need} {QTY} {ITEM} {O:by} {DATE}",
         "{O:the} {ITEM} {O:went to} {ADDR} {O:on} {DATE}",
         "{O:deliver on} {DATE} {O:to} {ADDR}",
         "{QTY} {ITEM} {O:and} {QTY} {ITEM} {O:please}",
         "{O:cancel} {QTY} {O:of the} {ITEM} {O:ordered} {DATE}"]


def span(kind, rng):
    if kind == "QTY":
        return [str(rng.randint(1, 40))] + (["boxes", "of"] if rng.random() < 0.2 else [])
    if kind == "ITEM":
        return ([rng.choice(KINDS)] if rng.random() < 0.5 else []) + [rng.choice(ITEMS)]
    if kind == "DATE":
        day, month = str(rng.randint(1, 31)), rng.choice(MONTHS)
        return [day, month] if rng.random() < 0.6 else [month, day]
    number, name = str(rng.randint(1, 40)), [rng.choice(PLACES)] + ([rng.choice(WAYS)] if rng.random() < 0.7 else [])
    return [number] + name if rng.random() < 0.5 else name + [number]


def sentence(form, rng):
    words, tags = [], []
    for piece in form.strip("{}").split("} {"):
        if piece.startswith("O:"):
            words += piece[2:].split()
            tags += ["O"] * len(piece[2:].split())
        else:
            new = span(piece, rng)
            words += new
            tags += ["B-" + piece] + ["I-" + piece] * (len(new) - 1)
    return [w[:-1] + "x" if rng.random() < 0.02 and w.isalpha() else w for w in words], tags


def read_mails(n, seed):
    rng = random.Random(seed)
    return [sentence(form, rng) for form in FORMS for _ in range(n // len(FORMS))]
