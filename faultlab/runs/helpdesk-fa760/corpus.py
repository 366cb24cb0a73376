"""Support questions in pairs: do both customers ask the same thing?"""

import random

THINGS = {
    "password": ["password", "passcode", "login code"],
    "invoice": ["invoice", "bill", "receipt"],
    "account": ["account", "profile", "user page"],
    "subscription": ["subscription", "plan", "membership"],
    "printer": ["printer", "printing device", "inkjet"],
}
ACTS = {
    "change": ["change", "modify", "update", "edit"],
    "stop": ["cancel", "stop", "end", "get rid of"],
    "fix": ["fix", "repair", "sort out", "restore"],
}
OPEN = ["how do i {a} my {t}", "i want to {a} the {t}", "please help me {a} my {t}", "is it possible to {a} a {t}",
        "cannot {a} my {t}", "what is the way to {a} this {t}", "my {t} , how to {a} it ?"]
FILLER = ["today", "please", "thanks", "again", "urgently", "from my phone", "since monday", "on the website", "hello"]
PAD, UNK = "<pad>", "<unk>"


def utter(act, thing, rnd):
    text = rnd.choice(OPEN).format(a=rnd.choice(ACTS[act]), t=rnd.choice(THINGS[thing]))
    words = text.split()
    for _ in range(rnd.randint(0, 1)):
        words.insert(rnd.choice([0, len(words)]), rnd.choice(FILLER))
    return " ".join(words)


def make_pairs(n, rnd, slip=0.03):
    rows = []
    for _ in range(n):
        act, thing = rnd.choice(list(ACTS)), rnd.choice(list(THINGS))
        same = rnd.random() < 0.5
        act2, thing2 = act, thing
        while not same and (act2, thing2) == (act, thing):
            thing2 = rnd.choice(list(THINGS))
            if rnd.random() < 0.5:
                act2 = rnd.choice(list(ACTS))
        label = int(same) if rnd.random() > slip else 1 - int(same)
        rows.append((utter(act, thing, rnd), utter(act2, thing2, rnd), label))
    return rows


def build_vocab(rows):
    seen = sorted({w for a, b, _ in rows for w in (a + " " + b).split()})
    return {w: i for i, w in enumerate([PAD, UNK, *seen])}


def encode(text, vocab, limit):
    return [vocab.get(w, vocab[UNK]) for w in text.split()][:limit]
