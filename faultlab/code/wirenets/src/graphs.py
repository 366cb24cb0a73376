"""Reading of the circuit graphs and batching by offset.

One npz: x (all nodes, 6 measurements each, NaN = not measured), src/dst/kind (all edges, node numbers local
to their graph), node_ptr / edge_ptr (start of each graph, length G+1), family (G strings).
"""
import numpy as np
import torch


def load_npz(path):
    z = np.load(path, allow_pickle=False)
    graphs = []
    for g in range(len(z["family"])):
        n0, n1 = z["node_ptr"][g], z["node_ptr"][g + 1]
        e0, e1 = z["edge_ptr"][g], z["edge_ptr"][g + 1]
        graphs.append({
            "x": z["x"][n0:n1].astype(np.float32),
            "src": z["src"][e0:e1].astype(np.int64),
            "dst": z["dst"][e0:e1].astype(np.int64),
            "kind": z["kind"][e0:e1].astype(np.int64),
            "family": str(z["family"][g]),
        })
    return graphs


def stratified_split(graphs, fracs, rng):
    """Three lists of indices, each family cut in the same proportions."""
    parts = ([], [], [])
    fam = np.array([g["family"] for g in graphs])
    for f in np.unique(fam):
        idx = rng.permutation(np.flatnonzero(fam == f))
        a = int(len(idx) * fracs[0])
        b = a + int(len(idx) * fracs[1])
        for part, chunk in zip(parts, (idx[:a], idx[a:b], idx[b:])):
            part.extend(chunk.tolist())
    return parts


class Scaler:
    def fit(self, graphs):
        x = np.concatenate([g["x"] for g in graphs])
        self.mu = np.nanmean(x, axis=0)
        self.sd = np.nanstd(x, axis=0) + 1e-6
        return self

    def __call__(self, x):
        x = np.where(np.isnan(x), self.mu, x)
        return (x - self.mu) / self.sd


class GraphSet:
    def __init__(self, graphs, index, scaler, class_of):
        self.items = [graphs[i] for i in index]
        self.scaler = scaler
        self.class_of = class_of

    def __len__(self):
        return len(self.items)

    def labels(self):
        return torch.tensor([self.class_of[g["family"]] for g in self.items])

    def collate(self, picks):
        xs, src, dst, kind, owner, y = [], [], [], [], [], []
        off = 0
        for b, i in enumerate(picks):
            g = self.items[i]
            n = len(g["x"])
            xs.append(self.scaler(g["x"]))
            src.append(g["src"] + off)
            dst.append(g["dst"] + off)
            kind.append(g["kind"])
            owner.append(np.full(n, b))
            y.append(self.class_of[g["family"]])
            off += n
        cat = lambda parts: torch.from_numpy(np.concatenate(parts))
        return {"x": cat(xs).float(), "src": cat(src), "dst": cat(dst), "kind": cat(kind),
                "owner": cat(owner), "y": torch.tensor(y), "size": len(picks)}

    def batches(self, size, shuffle=False, rng=None):
        order = rng.permutation(len(self)) if shuffle else np.arange(len(self))
        for a in range(0, len(order), size):
            yield self.collate(order[a:a + size])
