"""Made-up holiday postcards, sorted by place."""

import random

PLACES = {
    "coast": ("beach pier lighthouse dunes island", "swam sailed fished paddled", "waves gulls salt sand"),
    "alps": ("summit hut glacier meadow pass", "hiked climbed skied rested", "snow clouds cowbells stones"),
    "city": ("museum market opera bridge tower", "walked shopped danced queued", "trams crowds music lights"),
    "lake": ("jetty village campsite forest mill", "rowed cycled camped cooked", "ducks mist reeds mosquitoes"),
    "desert": ("oasis canyon bazaar camp ruins", "rode wandered bargained waited", "heat camels dust stars"),
}
GREETINGS = ["dear aunt", "dear grandma", "dear all", "hello you two", "dear neighbours"]
CLOSINGS = ["many greetings from the {0}", "wish you were here", "see you soon", "greetings from the {0} and back soon"]
COMPANY = ["we", "the children", "my sister and i", "our group", "the dog and i"]
TIMES = ["today", "yesterday", "this morning", "last night", "on sunday"]


def _zipf(rng, words):
    return rng.choices(words, weights=[1 / (i + 1) for i in range(len(words))])[0]


def _card(rng, place):
    spots, deeds, sights = (words.split() for words in PLACES[place])
    spot, who = _zipf(rng, spots), _zipf(rng, COMPANY)
    text = f"{_zipf(rng, GREETINGS)} , "
    for _ in range(rng.choice([1, 2, 2, 3])):
        kind = rng.random()
        if kind < 0.5:
            text += f"{_zipf(rng, TIMES)} {who} {_zipf(rng, deeds)} near the {spot} . "
        elif kind < 0.8:
            text += f"the {_zipf(rng, sights)} and the {_zipf(rng, sights)} at the {spot} are lovely . "
        else:
            text += f"tomorrow {who} will see the {_zipf(rng, spots)} . "
    return (text + _zipf(rng, CLOSINGS).format(place)).split()


def write_cards(n, seed=0):
    rng = random.Random(seed)
    return [_card(rng, place) for place in PLACES for _ in range(n // len(PLACES))]
