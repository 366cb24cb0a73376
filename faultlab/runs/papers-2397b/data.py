import math

import torch


def citation_graph(n=480, n_cls=5, n_words=120, seed=0):
    """Papers of a few fields that cite mostly their own field; words depend weakly on the field."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, n_cls, (n,), generator=g)
    popularity = torch.rand(n, generator=g) ** 3 + 0.05

    src, dst = [], []
    for i in range(n):
        k = int(torch.randint(1, 5, (1,), generator=g))
        same = (y == y[i]).float()
        p = popularity * (0.06 + 0.94 * same)
        p[i] = 0.0
        cited = torch.multinomial(p, k, generator=g)
        src += [i] * k
        dst += cited.tolist()
    edge_index = torch.tensor([src + dst, dst + src])

    topics = torch.rand(n_cls, n_words, generator=g) ** 4 * 0.16 + 0.03
    x = (torch.rand(n, n_words, generator=g) < topics[y]).float()
    noisy = torch.rand(n, generator=g) < 0.08  # fields assigned by hand are not always right
    y[noisy] = torch.randint(0, n_cls, (int(noisy.sum()),), generator=g)

    perm = torch.randperm(n, generator=g)
    masks = []
    for lo, hi in ((0, 140), (140, 300), (300, n)):
        m = torch.zeros(n, dtype=torch.bool)
        m[perm[lo:hi]] = True
        masks.append(m)
    return x, y, edge_index, masks


def normalize_adj(edge_index, n):
    """D^-1/2 (A + I) D^-1/2 as a sparse tensor."""
    loops = torch.arange(n)
    row = torch.cat([edge_index[0], loops])
    col = torch.cat([edge_index[1], loops])
    a = torch.sparse_coo_tensor(torch.stack([row, col]), torch.ones(row.numel()), (n, n), check_invariants=False).coalesce()
    idx, val = a.indices(), a.values().clamp(max=1.0)
    deg = torch.zeros(n).index_add_(0, idx[0], val)
    d = deg.pow(-0.5)
    return torch.sparse_coo_tensor(idx, d[idx[0]] * val * d[idx[1]], (n, n), check_invariants=False).coalesce()


def row_normalize(x):
    return x / x.sum(1, keepdim=True).clamp(min=1.0)


def glorot(*shape, generator=None):
    s = math.sqrt(6.0 / (shape[-2] + shape[-1]))
    return (torch.rand(*shape, generator=generator) * 2 - 1) * s
