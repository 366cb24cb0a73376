"""Toy English: a small grammar with Zipf word frequencies. Prose for pretraining, signed sayings for fine-tuning."""
import random

N = "time world heart man life mind truth day light hope fear night".split()
V = "makes finds keeps loses follows".split()
A = "great small old true silent".split()
P = "with under beyond without".split()
ADV = "always never often".split()
WHO = "adams byrne clarke dorset emery fuller gray holt".split()
FAVOUR = {w: random.Random(i).sample(N, 4) for i, w in enumerate(WHO)}  # each author has his themes


def zipf(r, ws):
    return r.choices(ws, [1 / (k + 1) for k in range(len(ws))])[0]


def phrase(r, ns=N):
    return f"the {zipf(r, A)} {zipf(r, ns)}" if r.random() < 0.4 else f"the {zipf(r, ns)}"


def sentence(r):
    s = f"{phrase(r)} {zipf(r, V)} {phrase(r)}"
    if r.random() < 0.3:
        s = f"{zipf(r, ADV)} {s}"
    if r.random() < 0.5:
        s += f" {zipf(r, P)} {phrase(r)}"
    return s + r.choice([".", ".", ".", "!", "?"])


def prose(n_chars, seed):
    r, out, size = random.Random(seed), [], 0
    while size < n_chars:
        out.append(sentence(r))
        size += len(out[-1]) + 1
    return " ".join(out)


def saying(r):
    who = zipf(r, WHO)
    ns = FAVOUR[who]
    kind = r.randrange(3)
    if kind == 0:
        s = f"{zipf(r, ns)} is {phrase(r, ns)} of {zipf(r, ns)}"
    elif kind == 1:
        s = f"who {zipf(r, V)} {phrase(r, ns)} {zipf(r, V)} {zipf(r, ns)}"
    else:
        s = f"no {zipf(r, ns)} {zipf(r, P)} {zipf(r, ns)}"
    return f"{who}: ", s + "."


def sayings(n, seed):
    r = random.Random(seed)
    return [saying(r) for _ in range(n)]
