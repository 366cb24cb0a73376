"""Recommenders and graphs: negatives, known items, histories, edges, nodes: faults, and right neighbours."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from traindoctor.probes.code.method import graphs
from traindoctor.probes.code.samples import recommended
from traindoctor.probes.code.splits import held_items
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

Check = Callable[[Script], Finding | None]


def told(check: Check, text: str) -> bool:
    """Whether a check finds its fault in a program."""
    text = textwrap.dedent(text)
    found = check(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state.value == "present"


DRAWN = """
import numpy as np
class Pairs:
    def __init__(self, rows, n):
        self.rows, self.n = rows, n
        self.liked = {u: set(i) for u, i in rows.items()}
    def other(self, had):
        j = np.random.randint(self.n)
        {LOOP}
        return j
    def __getitem__(self, k):
        u, i = self.rows[k]
        return u, i, self.other({HAD})
"""
LOOP = "while j in had:\n            j = np.random.randint(self.n)"
FIELD = """
class Draw:
    def __init__(self, table, rng):
        self.rng, self.pairs = rng, table
        self.liked = table.groupby("u")["i"].agg(set)
    def batches(self, n):
        for u, i in self.pairs:
            j = self.rng.integers(0, 99, len(u))
            {LOOP}
            yield u, i, j
"""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (DRAWN.replace("{LOOP}", LOOP).replace("{HAD}", "self.liked[u]"), False),
        (DRAWN.replace("{LOOP}", "pass").replace("{HAD}", "set(self.rows[u])"), True),
        (DRAWN.replace("{LOOP}", "pass").replace("{HAD}", "self.n"), False),  # no set is handed over
        (FIELD.replace("{LOOP}", "pass"), True),
        (FIELD.replace("{LOOP}", "j = [b if b not in self.liked[a] else 0 for a, b in zip(u, j)]"), False),
        (FIELD.replace("{LOOP}", "pass").replace("agg(set)", "agg(list)"), False),
    ],
)
def test_what_is_drawn_may_be_a_positive(text: str, wrong: bool) -> None:
    assert told(recommended.drawn_without_asking, text) is wrong


PADDED = """
import numpy as np
from torch import nn
def read(rows):
    ids = {{}}
    rows = [ids.setdefault(r, {NUMBER}) for r in rows]
    return rows, len(ids)
class Net(nn.Module):
    def __init__(self, n_items):
        super().__init__()
        self.items = nn.Embedding({SIZE}, 8, padding_idx=0)
def other(n_items):
    return {DRAW}
rows, n = read(open("rows"))
net = Net(n)
"""


@pytest.mark.parametrize(
    ("changed", "number", "draw"),
    [
        ({}, False, False),
        ({"NUMBER": "len(ids)"}, True, False),
        ({"NUMBER": "1 + len(ids)"}, False, False),
        ({"NUMBER": "len(ids)", "SIZE": "n_items"}, False, False),  # no row is kept for padding beside them
        ({"DRAW": "np.random.randint(0, n_items)"}, False, True),
        ({"DRAW": "np.random.default_rng().integers(n_items)"}, False, True),
        ({"DRAW": "np.random.randint(n_items) + 1"}, False, False),
        ({"DRAW": "np.random.randint(0, 7)"}, False, False),
    ],
)
def test_padding_is_no_item(changed: dict[str, str], number: bool, draw: bool) -> None:
    text = PADDED.replace("{{}}", "{}")
    usual = {"NUMBER": "len(ids) + 1", "SIZE": "n_items + 1", "DRAW": "np.random.randint(1, n_items + 1)"}
    for key, value in {**usual, **changed}.items():
        text = text.replace("{" + key + "}", value)
    assert told(recommended.first_item_is_padding, text) is number
    assert told(recommended.padding_is_drawn, text) is draw


RANKED = """
def check(net, rows, had):
    hits = 0
    for u, i in rows:
        s = net.scores(u)
        {HIDE}
        top = {TOP}
        hits += i in top
    return hits / len(rows)
def main(net, rows, table):
    had = {u: set(i) for u, i in table.items()}
    return check(net, rows, had)
"""
HIDE = "s[list(had[u])] = -np.inf"


@pytest.mark.parametrize(
    ("hide", "top", "known", "worst"),
    [
        (HIDE, "s.topk(10).indices.tolist()", False, False),
        ("pass", "s.topk(10).indices.tolist()", True, False),
        ("seen = set(had[u])\n        seen.discard(i)", "np.argsort(-s)[:10]", True, False),
        (HIDE, "np.argsort(-s)[:10]", False, False),
        (HIDE, "np.argsort(s)[::-1][:10]", False, False),
        (HIDE, "s.argsort()[-10:]", False, False),
        (HIDE, "np.argsort(s)[:10]", False, True),
        (HIDE, "s.topk(10, largest=False).indices", False, True),
    ],
)
def test_what_is_ranked(hide: str, top: str, known: bool, worst: bool) -> None:
    text = RANKED.replace("{HIDE}", hide).replace("{TOP}", top)
    assert told(recommended.known_items_ranked, text) is known
    assert told(recommended.worst_are_taken, text) is worst


PREFERS = """
import torch.nn.functional as F
def loss(net, u, i, j):
    {LOSS}
def train(net, rows, rng):
    for u, i in rows:
        j = rng.integers(0, 99, len(u))
        loss(net, u, i, j).backward()
"""


@pytest.mark.parametrize(
    ("loss", "wrong"),
    [
        ("return -F.logsigmoid(net(u, i) - net(u, j)).mean()", False),
        ("return -F.logsigmoid(net(u, j) - net(u, i)).mean()", True),
        ("d = net(u, j) - net(u, i)\n    return F.softplus(d).mean()", False),
        ("d = net(u, i) - net(u, j)\n    return F.softplus(d).mean()", True),
        ("d = net(u, j) - net(u, i)\n    return -(d.sigmoid() + 1e-9).log().mean()", False),
        ("return F.softplus(-(net(u, i) - net(u, j))).mean()", False),
    ],
)
def test_which_item_the_loss_prefers(loss: str, wrong: bool) -> None:
    assert told(recommended.drawn_item_preferred, PREFERS.replace("{LOSS}", loss)) is wrong


@pytest.mark.parametrize(
    ("second", "wrong"),
    [
        ("bce(n, torch.zeros_like(n))", False),
        ("bce(n, torch.ones_like(n))", True),
        ("bce(q, torch.ones_like(q))", False),  # of another network: both are to be taken for real
        ("bce(n[keep], torch.ones(9))", True),
    ],
)
def test_answers_that_are_all_wanted(second: str, wrong: bool) -> None:
    text = f"p, n = net(seq, pos, neg)\nq = other(seq)\nloss = bce(p, torch.ones_like(p)) + {second}\n"
    assert told(recommended.all_are_wanted, text) is wrong


HELD = """
def read(users):
    train, valid, test = {}, {}, {}
    for u, rows in users.items():
        rows.sort()
        seq = [i for _, i in rows]
        TAKEN
    return train, valid, test
"""


@pytest.mark.parametrize(
    ("taken", "wrong"),
    [
        ("train[u], valid[u], test[u] = seq[:-2], seq[-2], seq[-1]", False),
        ("train[u], valid[u], test[u] = seq[:-2], [seq[-2]], [seq[-1]]", False),
        ("train[u] = seq[:-1]\n        test[u] = seq[-1]", False),
        ("train[u], valid[u], test[u] = seq, seq[-2], seq[-1]", True),
        ("train[u] = seq[:-1]\n        valid[u] = [seq[-2]]\n        test[u] = [seq[-1]]", True),
        ("train[u] = seq[:]\n        test[u] = seq[-1]", True),
    ],
)
def test_held_items_in_the_history(taken: str, wrong: bool) -> None:
    assert told(held_items.held_items_kept, HELD.replace("TAKEN", taken)) is wrong


RANKS = """
def parts(t):
    place = t.groupby("u").cumcount(ascending=False)
    a = t[place == 0].copy()
    b = t[place == 1]
    c = t[place {}]
    return c, b, a
"""


@pytest.mark.parametrize(
    ("test", "wrong"), [(">= 2", False), ("> 1", False), (">= 1", True), ("> 0", True), ("!= 0", True)]
)
def test_ranks_of_rows_that_meet(test: str, wrong: bool) -> None:
    assert told(held_items.ranks_meet, RANKS.format(test)) is wrong


ORDER = """
def read(lines):
    users, train, test = {}, {}, {}
    for line in lines:
        u, i, t = line.split()
        users.setdefault(u, []).append((int(t), i))
    for u, rows in users.items():
        SORT
        seq = [i for _, i in rows]
        train[u], test[u] = seq[:-1], seq[-1]
    return train, test
"""


@pytest.mark.parametrize(
    ("line", "wrong"), [("rows.sort()", False), ("rows = sorted(rows)", False), ("pass", True)]
)
def test_histories_out_of_order(line: str, wrong: bool) -> None:
    assert told(held_items.last_of_no_order, ORDER.replace("SORT", line)) is wrong


ROWS = """
def learn(net, items, width):
    row, at = np.zeros(width), width - 1
    for i in reversed(items):
        row[at] = i
        at -= 1
    return net(row)[:, -1]
def check(net, items, width):
    rows = np.zeros((1, width))
    CUT
    rows[0, PLACE] = items
    return net(rows)[:, -1]
"""


@pytest.mark.parametrize(
    ("cut", "place", "wrong"),
    [
        ("items = items[-width:]", "width - len(items) :", False),
        ("items = items[-width:]", "-len(items) :", False),
        ("items = items[-width:]", ": len(items)", True),
        ("items = items[:width]", "width - len(items) :", True),
    ],
)
def test_rows_placed_at_the_other_end(cut: str, place: str, wrong: bool) -> None:
    assert told(held_items.placed_at_other_end, ROWS.replace("CUT", cut).replace("PLACE", place)) is wrong
    assert not told(
        held_items.placed_at_other_end, ROWS.replace("[:, -1]", ".mean(1)").replace("PLACE", ": len(items)")
    )


LINKS = """
import torch
from torch_geometric.nn import GCNConv
from torch_geometric.utils import negative_sampling
from torch_geometric.datasets import {DATA}
from torch_geometric.transforms import RandomLinkSplit
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = GCNConv(8, 8)
    def encode(self, x, edges):
        return self.conv(x, edges)
    def score(self, z, pairs):
        return ({SCORE}).sum(-1)
data = {DATA}("x", "y", transform=RandomLinkSplit(0.1, 0.1{SPLIT}))
net = Net()
z = net.encode(data.x, {EDGES})
drawn = negative_sampling(data.edge_index)
said = net.score(z, torch.cat([{PAIRS}], -1))
truth = torch.cat([{TRUTH}])
"""
LINK = {
    "DATA": "Planetoid",
    "SCORE": "z[pairs[0]] * z[pairs[1]]",
    "SPLIT": ", is_undirected=True",
    "EDGES": "data.edge_index",
    "PAIRS": "data.edge_label_index, drawn",
    "TRUTH": "torch.ones(9), torch.zeros(9)",
}


@pytest.mark.parametrize(
    ("check", "changed", "right"),
    [
        (graphs.asked_edges_carry_messages, {"EDGES": "data.edge_label_index"}, {}),
        (
            graphs.asked_edges_carry_messages,
            {"EDGES": "torch.cat([data.edge_index, data.edge_label_index], 1)"},
            {},
        ),
        (graphs.other_direction_left, {"SPLIT": ""}, {"SPLIT": "", "DATA": "EllipticBitcoinDataset"}),
        (graphs.other_direction_left, {"SPLIT": ", is_undirected=False"}, {"SPLIT": ", True"}),
        (graphs.pairs_answered_otherwise, {"PAIRS": "drawn, data.edge_label_index"}, {}),
        (
            graphs.pairs_answered_otherwise,
            {"TRUTH": "torch.zeros(9), torch.ones(9)"},
            {"TRUTH": "torch.zeros(9), torch.ones(9)", "PAIRS": "drawn, data.edge_label_index"},
        ),
        (graphs.pairs_answered_otherwise, {"TRUTH": "torch.ones(9), torch.ones_like(said)"}, {}),
        (graphs.one_end_with_itself, {"SCORE": "z[pairs[0]] * z[pairs[0]]"}, {}),
        (graphs.one_end_with_itself, {"SCORE": "torch.cat([z[pairs[1]], z[pairs[1]]], -1)"}, {}),
    ],
)
def test_links(check: Check, changed: dict[str, str], right: dict[str, str]) -> None:
    for parts, wrong in ((changed, True), (right, False), ({}, False)):
        text = LINKS
        for key, value in {**LINK, **parts}.items():
            text = text.replace("{" + key + "}", value)
        assert told(check, text) is wrong


NODES = """
import torch, scipy.sparse as sp
import torch.nn.functional as F
from torch import nn
class Layer(nn.Module):
    def forward(self, adj, h):
        return torch.sparse.mm(adj, h @ self.w)
class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([Layer(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
    def forward(self, adj, h):
        for k, layer in enumerate(self.layers):
            h = layer(adj, h)
            {BENT}
        return h
def scaled(adj):
    degree = adj.sum(1)
    d = sp.diags(1.0 / degree ** 0.5)
    return {SCALED}
net = Net([9, 8, 7])
adj = torch.sparse_coo_tensor(*scaled(read()))
opt = torch.optim.Adam(net.parameters())
@torch.no_grad()
def check(rows):
    return (net(adj, x)[rows].argmax(1) == y[rows]).float().mean()
for epoch in range(9):
    out = net(adj, x)
    loss = F.cross_entropy({LOSS})
    loss.backward()
    opt.step()
"""
NODE = {
    "BENT": "if k < 1:\n                h = F.relu(h)",
    "SCALED": "d @ adj @ d",
    "LOSS": "out[train], y[train]",
}


@pytest.mark.parametrize(
    ("check", "changed"),
    [
        (graphs.loss_of_held_out_nodes, {"LOSS": "out, y"}),
        (graphs.degrees_never_applied, {"SCALED": "adj"}),
        (graphs.loop_ends_in_relu, {"BENT": "h = F.relu(h)"}),
    ],
)
def test_nodes(check: Check, changed: dict[str, str]) -> None:
    for parts, wrong in ((changed, True), ({}, False)):
        text = NODES
        for key, value in {**NODE, **parts}.items():
            text = text.replace("{" + key + "}", value)
        assert told(check, text) is wrong
    other = NODES.replace("{BENT}", "h = F.relu(h)").replace("return h\n", "return self.head(h)\n")
    assert not told(
        graphs.loop_ends_in_relu, other.replace("{LOSS}", "out[train], y[train]").replace("{SCALED}", "d")
    )
