"""Generated practice messages: an archive to pretrain on, and a small set that was triaged by hand."""

import random

CLASSES = ["prescription", "appointment", "results", "invoice", "urgent"]
SHARE = [0.3, 0.28, 0.18, 0.14, 0.1]
TOPIC_WORDS = [
    "refill tablets dose pharmacy inhaler renew pack repeat insulin cream ointment capsules syrup script".split(),
    "reschedule cancel slot morning booking visit confirm earlier calendar tuesday thursday checkup referral".split(),
    "blood report lab scan xray cholesterol values letter biopsy sample culture findings printout".split(),
    "bill insurance paid charge copay reminder amount transfer account refund statement cost bank".split(),
    "chest bleeding fainted fever breathing swollen severe numb collapse vomiting dizzy spreading rash".split(),
]
COMMON = ("hello please thank you i my the a for to of and is it can could would have has with about need want "
          "doctor nurse practice today yesterday week since still again know call back question regards").split()


def _message(rng, topic):
    """Common words, some of the topic, fewer of another one; short or long."""
    other = rng.randrange(len(CLASSES))
    words = []
    for _ in range(rng.randint(6, 20)):
        u = rng.random()
        pool = TOPIC_WORDS[topic] if u < 0.26 else TOPIC_WORDS[other] if u < 0.33 else COMMON
        words.append(rng.choice(pool))
    text = " ".join(words)
    return text.capitalize() if rng.random() < 0.7 else text


def archive(n, seed):
    """Texts and the desk (of eight) that each went to: two desks share a topic by halves, one message in ten strays."""
    rng = random.Random(seed)
    texts, desks = [], []
    for _ in range(n):
        topic = rng.randrange(len(CLASSES))
        text = _message(rng, topic)
        desk = topic if rng.random() < 0.8 else 5 + topic % 3
        texts.append(text)
        desks.append(rng.randrange(8) if rng.random() < 0.1 else desk)
    return texts, desks


def triaged(n, seed):
    """(text, class name), sorted by class as the worklists were exported."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        topic = rng.choices(range(len(CLASSES)), SHARE)[0]
        label = topic if rng.random() > 0.04 else rng.randrange(len(CLASSES))
        rows.append((_message(rng, topic), CLASSES[label]))
    return sorted(rows, key=lambda row: CLASSES.index(row[1]))
