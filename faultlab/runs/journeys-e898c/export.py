"""Stand-in for the warehouse export: simulated shop sessions, one row per session."""

from __future__ import annotations

import numpy as np

INTENTS = ["browse", "buy", "compare", "support", "return", "gift"]
SHARES = [0.31, 0.25, 0.17, 0.12, 0.09, 0.06]
TERMINAL = ["tab_closed", "order_placed", "list_saved", "ticket_opened", "label_printed", "voucher_sent"]
SECTIONS = ["shoes", "jackets", "kitchen", "garden", "toys", "books", "audio", "lamps"]
ACTIONS = ["view", "zoom", "filter", "cart", "review", "faq"]
EVENTS = [f"{section}/{action}" for section in SECTIONS for action in ACTIONS]
MARKETS = ["de", "fr", "nl", "pl"]


def read_export(n: int, seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    intent = np.sort(rng.choice(len(INTENTS), size=n, p=SHARES))  # the export is written queue by queue
    market = rng.choice(len(MARKETS), size=n, p=[0.4, 0.3, 0.2, 0.1])
    length = np.clip(rng.lognormal(3.1, 0.4, size=n).astype(int), 8, 60)

    habits = rng.dirichlet(np.full(len(ACTIONS), 6.0), size=len(INTENTS))
    n_actions = len(ACTIONS)
    section = rng.integers(len(SECTIONS), size=n)
    steps = np.empty((n, 60), dtype=int)
    for t in range(60):
        section = np.where(rng.random(n) < 0.25, rng.integers(len(SECTIONS), size=n), section)
        action = (habits[intent].cumsum(1) < rng.random((n, 1))).sum(1).clip(max=n_actions - 1)
        steps[:, t] = section * n_actions + action
    # an intent shows in short habits of two actions within a section: the order matters
    pairs = [(0, 4), (4, 0), (1, 2), (2, 1), (5, 3), (3, 5)]
    for _ in range(4):
        at = (rng.random(n) * (length - 2)).astype(int)
        shown = rng.random(n) < 0.8
        first, second = np.array(pairs)[intent].T
        where = rng.integers(len(SECTIONS), size=n)
        rows = np.flatnonzero(shown)
        steps[rows, at[rows]] = (where * n_actions + first)[rows]
        steps[rows, at[rows] + 1] = (where * n_actions + second)[rows]
    pace = rng.normal(size=len(INTENTS)) * 0.5
    seconds = np.exp(2.6 + pace[intent][:, None] + 0.8 * rng.normal(size=(n, 60)))

    events = [[EVENTS[e] for e in row[:k]] + [TERMINAL[c]] for row, k, c in zip(steps, length, intent)]
    gaps = [list(row[:k]) + [1.0] for row, k in zip(seconds, length)]
    # what the first release of the router had guessed
    guess = np.where(rng.random(n) < 0.4, rng.choice(len(INTENTS), size=n, p=SHARES), intent)
    return {
        "events": events,
        "gaps": gaps,
        "intent": [INTENTS[i] for i in intent],
        "router_v1": [INTENTS[i] for i in guess],
        "market": [MARKETS[m] for m in market],
    }
