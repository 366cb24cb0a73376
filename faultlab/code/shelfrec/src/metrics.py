import numpy as np


def target_ranks(scores, target, seen):
    """0-based rank of each target among the items its user has not bought; scores (B, I), seen (B, L)."""
    scores = scores.copy()
    scores[:, 0] = -np.inf
    own = scores[np.arange(len(target)), target]
    np.put_along_axis(scores, seen, -np.inf, axis=1)
    scores[np.arange(len(target)), target] = -np.inf
    return (~(scores < own[:, None])).sum(axis=1)  # ties and NaN count against us


def recall_at(ranks, k):
    return float(np.mean(ranks < k))


def ndcg_at(ranks, k):
    # one relevant item per user, so the ideal gain is 1
    gain = 1.0 / np.log2(ranks + 2.0)
    return float(np.mean(np.where(ranks < k, gain, 0.0)))


def auc(ranks, n_items):
    return float(np.mean(1.0 - ranks / (n_items - 1)))
