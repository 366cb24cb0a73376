"""Plays of tracks by listeners (simulated taste clusters + popularity), leave-one-out split."""
from collections import defaultdict

import numpy as np


def simulate_plays(num_users, num_tracks, rng):
    dim = 6
    genres = rng.normal(size=(12, dim))
    track_vec = genres[rng.integers(0, 12, num_tracks)] + 0.35 * rng.normal(size=(num_tracks, dim))
    fame = rng.gumbel(scale=0.6, size=num_tracks)
    plays = []
    for user in range(num_users):
        a, b = rng.integers(0, 12, 2)
        taste = 0.7 * genres[a] + 0.5 * genres[b] + 0.25 * rng.normal(size=dim)
        score = 0.75 * track_vec @ taste + fame + rng.gumbel(scale=0.8, size=num_tracks)
        n = int(rng.integers(12, 30))
        liked = np.argpartition(-score, n)[:n]
        plays += [(user, int(t)) for t in rng.permutation(liked)]
    return plays


def leave_one_out(plays):
    """The last play of each listener is held out."""
    by_user = defaultdict(list)
    for user, track in plays:
        by_user[user].append(track)
    train = [(u, t) for u, ts in by_user.items() for t in ts[:-1]]
    held_out = {u: ts[-1] for u, ts in by_user.items()}
    return train, held_out


class TripletSampler:
    """Batches of (user, played track, track not played)."""

    def __init__(self, train_pairs, num_tracks, batch_size, rng):
        self.users = np.array([u for u, _ in train_pairs])
        self.tracks = np.array([t for _, t in train_pairs])
        self.num_tracks = num_tracks
        self.batch_size = batch_size
        self.rng = rng
        self.known = np.zeros((self.users.max() + 1, num_tracks), dtype=bool)
        self.known[self.users, self.tracks] = True

    def __len__(self):
        return -(-len(self.users) // self.batch_size)

    def negatives(self, users):
        neg = self.rng.integers(0, self.num_tracks, len(users))
        clash = self.known[users, neg]
        while clash.any():
            neg[clash] = self.rng.integers(0, self.num_tracks, int(clash.sum()))
            clash = self.known[users, neg]
        return neg

    def __iter__(self):
        order = self.rng.permutation(len(self.users))
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            users = self.users[rows]
            yield users, self.tracks[rows], self.negatives(users)
