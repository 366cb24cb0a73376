"""Toy benchmark: what a voice assistant hears, and which device is to act first."""
import random

INTENTS = ["music", "light", "heating", "blinds", "timer", "door"]
SHARES = [0.27, 0.23, 0.18, 0.14, 0.10, 0.08]
VERBS = {
    "music": ["play", "pause", "skip", "repeat"], "light": ["switch on", "switch off", "dim", "brighten"],
    "heating": ["turn up", "turn down", "set", "stop"], "blinds": ["raise", "lower", "close", "tilt"],
    "timer": ["start", "stop", "set", "repeat"], "door": ["lock", "close", "open", "check"],
}
THINGS = {
    "music": ["the song", "the radio", "my playlist", "that album"], "light": ["the lamp", "the light", "the spots"],
    "heating": ["the heating", "the radiator", "the boiler"], "blinds": ["the blinds", "the shutter", "the awning"],
    "timer": ["the timer", "an alarm", "the countdown"], "door": ["the door", "the gate", "the garage"],
}
ROOMS = ["in the kitchen", "in the hall", "upstairs", "in the bedroom", "outside", "down here"]
OPEN = ["please", "could you", "hey", "okay", "um", "now"]


def clause(r, intent):
    words = f"{r.choice(VERBS[intent])} {r.choice(THINGS[intent])}"
    return f"{words} {r.choice(ROOMS)}" if r.random() < 0.5 else words


def sentence(r, intent):
    other = r.choice([i for i in INTENTS if i != intent])
    first, second = clause(r, intent), clause(r, other)
    form = r.random()
    if form < 0.3:
        text = first
    elif form < 0.7:
        text = f"{first} then {second}"
    else:
        text = f"after you {second} {first}"
    return f"{r.choice(OPEN)} {text}" if r.random() < 0.4 else text


def load_split(n, seed, noise=0.02):
    """Rows (text, intent), grouped by intent as the annotation tool exports them."""
    r = random.Random(seed)
    rows = []
    for intent, share in zip(INTENTS, SHARES):
        rows += [(sentence(r, intent), intent) for _ in range(round(n * share))]
    return [(t, r.choice(INTENTS) if r.random() < noise else i) for t, i in rows]
