import collections
import math


def ngrams(w, n):
    return collections.Counter(tuple(w[i:i + n]) for i in range(len(w) - n + 1))


def bleu(hyps, refs, order=4):
    """Corpus BLEU of tokenised sentences, one reference each, in 0..100."""
    hit, tot = [0] * order, [0] * order
    hl = sum(map(len, hyps))
    rl = sum(map(len, refs))
    for h, r in zip(hyps, refs):
        for n in range(1, order + 1):
            a, b = ngrams(h, n), ngrams(r, n)
            hit[n - 1] += sum((a & b).values())
            tot[n - 1] += sum(a.values())
    if min(hit) == 0:
        return 0.0
    prec = sum(math.log(x / y) for x, y in zip(hit, tot)) / order
    bp = min(0.0, 1 - rl / hl)
    return 100 * math.exp(prec + bp)
