"""Synthetic stand-in for a table of film ratings: users (age), films (genre, year), stars from 1 to 5."""
import numpy as np
import torch
from torch.utils.data import TensorDataset

N_USERS, N_FILMS, N_GENRES = 900, 400, 8


def simulate(n_ratings=40000, seed=21):
    rng = np.random.default_rng(seed)
    age = rng.integers(16, 75, N_USERS)
    year = rng.integers(1950, 2024, N_FILMS)
    genre = rng.integers(0, N_GENRES, N_FILMS)
    taste = 0.6 * rng.standard_normal((N_USERS, N_GENRES))
    user_bias, film_bias = 0.45 * rng.standard_normal(N_USERS), 0.5 * rng.standard_normal(N_FILMS)
    p, q = rng.standard_normal((N_USERS, 3)), rng.standard_normal((N_FILMS, 3))

    activity, fame = rng.gamma(1.5, size=N_USERS) + 0.3, np.exp(film_bias + 0.8 * rng.standard_normal(N_FILMS))
    pairs = rng.choice(N_USERS * N_FILMS, n_ratings, replace=False, p=np.outer(activity, fame).ravel() / activity.sum() / fame.sum())
    user, film = np.sort(pairs) // N_FILMS, np.sort(pairs) % N_FILMS
    born = 2010 - age[user] + 15 - year[film]
    score = (
        3.6 + user_bias[user] + film_bias[film] + taste[user, genre[film]]
        + 0.2 * (p[user] * q[film]).sum(1) - 0.25 * np.abs(born / 25) + 0.5 * rng.standard_normal(n_ratings)
    )
    stars = np.clip(np.rint(score), 1, 5)
    return user, film, stars, age, year, genre


def load(val_fraction):
    """Train and validation sets of (user, film, features, stars), and the mean of the training stars."""
    user, film, stars, age, year, genre = simulate()
    age = (age - age.mean()) / age.std()
    year = (year - year.mean()) / year.std()
    features = np.column_stack([np.eye(N_GENRES)[genre[film]], age[user], year[film]])
    order = np.random.default_rng(0).permutation(len(stars))
    n_val = int(val_fraction * len(stars))
    val_rows, train_rows = np.sort(order[:n_val]), np.sort(order[n_val:])

    def tensors(rows):
        return TensorDataset(
            torch.from_numpy(user[rows]), torch.from_numpy(film[rows]),
            torch.from_numpy(features[rows]).float(), torch.from_numpy(stars[rows]).float(),
        )

    return tensors(train_rows), tensors(val_rows), stars[train_rows].mean()
