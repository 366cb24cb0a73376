from penletters import corpus


def greedy_decode(log_probs, lens):
    """Best path of (T, N, classes): repeats merged, then blanks removed."""
    texts = []
    best = log_probs.argmax(dim=-1).transpose(0, 1).tolist()
    for path, n in zip(best, lens.tolist()):
        out, last = [], corpus.BLANK
        for k in path[:n]:
            if k != last and k != corpus.BLANK:
                out.append(corpus.ID_TO_CHAR[k])
            last = k
        texts.append("".join(out))
    return texts


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (x != y))
    return row[-1]


class CharErrorRate:
    def __init__(self):
        self.edits = self.chars = 0

    def add(self, hyps, refs):
        for hyp, ref in zip(hyps, refs):
            self.edits += edit_distance(hyp, ref)
            self.chars += len(ref)

    def value(self):
        return self.edits / max(1, self.chars)
