"""Made-up molecules as graphs; how brittle their resin is depends on which atoms are bound to which."""

import random

import torch

ATOMS = ["C", "N", "O", "S", "F"]
SHARES = [0.5, 0.16, 0.16, 0.1, 0.08]
CLASSES = ["soft", "firm", "brittle"]
MAX_ATOMS = 20


def make_molecule(rng, low=9, high=MAX_ATOMS):
    """Atom names, bonds as pairs of indices, and the class."""
    n = rng.randint(low, high)
    atoms = rng.choices(ATOMS, SHARES, k=n)
    bonds = [(i, rng.randrange(max(0, i - 4), i)) for i in range(1, n)]
    for _ in range(rng.randint(0, 3)):  # rings
        a, b = rng.sample(range(n), 2)
        if (a, b) not in bonds and (b, a) not in bonds:
            bonds.append((a, b))
    weak = sum({atoms[a], atoms[b]} == {"N", "O"} for a, b in bonds)
    weak += sum({atoms[a], atoms[b]} == {"S"} for a, b in bonds)
    return atoms, bonds, min(weak, 2)


def load(count, seed, **sizes):
    """The same number of molecules of each class."""
    rng = random.Random(seed)
    kept, every = [], {0: [], 1: [], 2: []}
    while min(len(v) for v in every.values()) < count // 3:
        molecule = make_molecule(rng, **sizes)
        if len(every[molecule[2]]) < count // 3:
            every[molecule[2]].append(molecule)
    for molecules in every.values():
        kept.extend(molecules)
    return kept


def collate(molecules, index):
    """Atoms (B, N, 5), adjacency (B, N, N), mask (B, N), classes (B,)."""
    n = max(len(atoms) for atoms, _, _ in molecules)
    x = torch.zeros(len(molecules), n, len(ATOMS))
    adj = torch.zeros(len(molecules), n, n)
    mask = torch.zeros(len(molecules), n)
    for k, (atoms, bonds, _) in enumerate(molecules):
        for i, atom in enumerate(atoms):
            x[k, i, index[atom]] = 1
        for a, b in bonds:
            adj[k, a, b] = adj[k, b, a] = 1
        mask[k, : len(atoms)] = 1
    y = torch.tensor([label for _, _, label in molecules])
    return x, adj, mask, y
