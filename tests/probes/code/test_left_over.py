# ruff: noqa: E501
"""What a program makes ready and leaves, branches that lead nowhere, axes, spreads and shards."""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
LOOP = """
def main(model, loader, optimizer):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def _net(init: str, forward: str, more: str = "") -> str:
    pad = "\n        "
    return (
        TORCH
        + "class Net(nn.Module):\n    def __init__(self, n, heads):\n        super().__init__()"
        + "".join(pad + line for line in init.split("; "))
        + "\n    def forward(self, x, skip):"
        + "".join(pad + line for line in forward.split("; "))
        + "\n"
        + more
        + LOOP
    )


SCALING = {
    "a scaler that divides": (
        "class Scaler:\n    def fit(self, x):\n        self.mu, self.sd = x.mean(0), x.std(0)\n        return self\n"
        "    def __call__(self, x):\n        return (x - self.mu) / self.sd\n"
        "def load(x):\n    return Scaler().fit(x)(x)\n",
        False,
    ),
    "a scaler that only fills": (
        "class Scaler:\n    def fit(self, x):\n        self.mu = np.nanmean(x, 0)\n        self.sd = np.nanstd(x, 0)\n        return self\n"
        "    def __call__(self, x):\n        return np.where(np.isnan(x), self.mu, x)\n"
        "def load(x):\n    s = Scaler().fit(x)\n    torch.save({'sd': s.sd}, 's.pt')\n    return s(x)\n",
        True,
    ),
    "fitted and not applied": (
        "class Standard:\n    def fit(self, x):\n        self.mean, self.std = x.mean(0), x.std(0)\n        return self\n"
        "    def transform(self, x):\n        return (x - self.mean) / self.std\n"
        "def load(x):\n    s = Standard().fit(x)\n    return x, s\n",
        True,
    ),
    "fitted and applied": (
        "class Standard:\n    def fit(self, x):\n        self.mean, self.std = x.mean(0), x.std(0)\n        return self\n"
        "    def transform(self, x):\n        return (x - self.mean) / self.std\n"
        "def load(x):\n    s = Standard().fit(x)\n    return s.transform(x), s\n",
        False,
    ),
    "handed over and not looked at": (
        "def pack(rows, scaler):\n    x = np.stack(rows)\n    return x.astype('float32')\n"
        "def load(rows, scaler):\n    return pack(rows, scaler)\n",
        True,
    ),
    "handed over and used": (
        "def pack(rows, scaler):\n    x = scaler(np.stack(rows))\n    return x.astype('float32')\n"
        "def load(rows, scaler):\n    return pack(rows, scaler)\n",
        False,
    ),
    "figures at the head of the file": (
        "MEAN = (0.5, 0.4, 0.4)\nSTD = (0.2, 0.2, 0.2)\ndef load(x):\n    return x.float()\n",
        True,
    ),
    "a store of figures of several sets": (
        "A_MEAN, A_STD = [0.5], [0.2]\nB_MEAN, B_STD = [0.4], [0.3]\nC_MEAN, C_STD = [0.1], [1.0]\ndef load(x):\n    return x.float()\n",
        False,
    ),
}


@pytest.mark.parametrize("case", SCALING)
def test_scaling_that_is_left(case: str) -> None:
    code, found = SCALING[case]
    assert (state("script-scaling-unused", TORCH + code + LOOP) == "present") is found


BRANCHES = {
    "overwritten": (
        "self.a = nn.Linear(n, n); self.b = nn.Linear(n, n)",
        "h = self.a(x); h = self.b(skip); return h",
        True,
    ),
    "read before": (
        "self.a = nn.Linear(n, n); self.b = nn.Linear(n, n)",
        "h = self.a(x); h = self.b(h); return h",
        False,
    ),
    "twin": (
        "self.n1 = nn.LayerNorm(n); self.n2 = nn.LayerNorm(n); self.a = nn.Linear(n, n)",
        "x = self.n1(x); return self.n1(self.a(x))",
        True,
    ),
    "both": (
        "self.n1 = nn.LayerNorm(n); self.n2 = nn.LayerNorm(n); self.a = nn.Linear(n, n)",
        "x = self.n1(x); return self.n2(self.a(x))",
        False,
    ),
    "joined with itself": (
        "self.a = nn.Linear(n, n); self.b = nn.Linear(2 * n, n)",
        "h = self.a(x); return self.b(torch.cat([h, h], dim=-1))",
        True,
    ),
    "angles for both halves": (
        "self.register_buffer('f', torch.ones(n))",
        "h = x[:, None] * self.f; return torch.cat([h, h], dim=-1)",
        False,
    ),
    "added to itself": (
        "self.a = nn.Linear(n, n); self.p = nn.Linear(n, n) if heads else None",
        "h = self.a(x); s = self.p(x) if self.p is not None else h; return h + s",
        True,
    ),
    "added to its input": (
        "self.a = nn.Linear(n, n); self.p = nn.Linear(n, n) if heads else None",
        "h = self.a(x); s = self.p(x) if self.p is not None else x; return h + s",
        False,
    ),
}


@pytest.mark.parametrize("case", BRANCHES)
def test_branches_that_lead_nowhere(case: str) -> None:
    init, forward, found = BRANCHES[case]
    assert (state("script-branch-lost", _net(init, forward)) == "present") is found


def test_a_branch_of_keras_that_nothing_takes() -> None:
    code = """
from tensorflow import keras
from tensorflow.keras import layers
def build():
    numbers, hour = keras.Input((4,)), keras.Input((), dtype="int32")
    code = layers.Embedding(24, 4)(hour)
    x = layers.Concatenate()([numbers, JOINED])
    model = keras.Model([numbers, hour], layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model
build().fit([1], [2])
"""
    assert state("script-branch-lost", code.replace("JOINED", "numbers")) == "present"
    assert state("script-branch-lost", code.replace("JOINED", "code")) != "present"


def test_a_mask_that_is_not_looked_at() -> None:
    loss = "class Masked(nn.Module):\n    def forward(self, pred, target, mask):\n        d = (pred - target).abs()\n        return {}\n"
    use = "def train(net, loader, opt):\n    crit = Masked()\n    for x, y, m in loader:\n        loss = crit(net(x), y, m)\n        loss.backward(); opt.step(); opt.zero_grad()\n"
    code = TORCH + loss + use
    assert state("script-label-padding-counts", code.format("d.mean()")) == "present"
    assert state("script-label-padding-counts", code.format("(d * mask).sum() / mask.sum()")) != "present"


def test_gaps_that_are_looked_for_after_filling() -> None:
    code = TORCH + "def load(v):\n    {}\n    return v, ok\n" + LOOP
    late = "v = np.nan_to_num(v, nan=0.0)\n    ok = ~np.isnan(v)"
    early = "ok = ~np.isnan(v)\n    v = np.nan_to_num(v, nan=0.0)"
    assert state("script-label-padding-counts", code.format(late)) == "present"
    assert state("script-label-padding-counts", code.format(early)) != "present"


AXES = {
    "summed over time, one over channels": (
        "self.s = nn.Conv1d(n, n, 1); self.v = nn.Conv1d(n, n, 1)",
        "w = torch.softmax(self.s(x), dim=1); return (w * self.v(x)).sum(dim=-1)",
        True,
    ),
    "summed where they are one": (
        "self.s = nn.Conv1d(n, n, 1); self.v = nn.Conv1d(n, n, 1)",
        "w = torch.softmax(self.s(x), dim=2); return (w * self.v(x)).sum(dim=-1)",
        False,
    ),
    "einsum over the keys": (
        "self.q = nn.Linear(n, n)",
        "a = torch.einsum('bqc,bkc->bqk', x, skip); a = a.softmax(dim=1); return torch.einsum('bqk,bkc->bqc', a, skip)",
        True,
    ),
    "einsum as it should be": (
        "self.q = nn.Linear(n, n)",
        "a = torch.einsum('bqc,bkc->bqk', x, skip); a = a.softmax(dim=2); return torch.einsum('bqk,bkc->bqc', a, skip)",
        False,
    ),
    "length over the batch": ("self.p = nn.Linear(n, n)", "return F.normalize(self.p(x), dim=0)", True),
    "length over the features": ("self.p = nn.Linear(n, n)", "return F.normalize(self.p(x), dim=-1)", False),
    "turned by a reshape": (
        "self.n = nn.BatchNorm1d(n)",
        "b, c, t = x.shape; y = self.n(x.transpose(1, 2).reshape(b * t, c)); return y.reshape(b, c, t)",
        True,
    ),
    "turned by a transpose": (
        "self.n = nn.BatchNorm1d(n)",
        "b, c, t = x.shape; y = self.n(x.transpose(1, 2).reshape(b * t, c)); return y.reshape(b, t, c).transpose(1, 2)",
        False,
    ),
    "heads out of the steps": (
        "self.q = nn.Linear(n, n)",
        "b, t, c = x.shape; q = self.q(x); return q.view(b, 4, t, c // 4)",
        True,
    ),
    "heads out of the features": (
        "self.q = nn.Linear(n, n)",
        "b, t, c = x.shape; q = self.q(x); return q.view(b, t, 4, c // 4).transpose(1, 2)",
        False,
    ),
    "patches": (
        "self.q = nn.Linear(n, n)",
        "b, c, h, w = x.shape; return x.reshape(b, c, h // 4, 4, w // 4, 4)",
        False,
    ),
    "flattened": ("self.q = nn.Linear(n, n)", "b, c, h, w = x.shape; return x.reshape(b, c, h * w)", False),
}


@pytest.mark.parametrize("case", AXES)
def test_axes(case: str) -> None:
    init, forward, found = AXES[case]
    assert (state("script-axis-wrong", _net(init, forward)) == "present") is found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("h, w, c = a.shape\n        return torch.from_numpy(a).reshape(c, h, w)", True),
        ("h, w, c = a.shape\n        return torch.from_numpy(a).permute(2, 0, 1)", False),
        ("h, w, c = a.shape\n        return torch.from_numpy(a).reshape(h * w, c)", False),
    ],
)
def test_samples_that_are_torn(code: str, found: bool) -> None:
    data = f"class Tiles:\n    def __getitem__(self, i):\n        a = self.a[i]\n        {code}\n"
    assert (state("script-sample-scrambled", TORCH + data + LOOP) == "present") is found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("if isinstance(m, nn.Linear):\n            nn.init.normal_(m.weight)", True),
        ("if isinstance(m, (nn.Conv2d, nn.Linear)):\n            m.weight.data.normal_(0, 1)", True),
        ("if isinstance(m, nn.Linear):\n            nn.init.normal_(m.weight, std=0.02)", False),
        ("if isinstance(m, nn.Embedding):\n            nn.init.normal_(m.weight)", False),
        ("m.up = nn.Linear(8, 8)\n        nn.init.normal_(m.up.weight)", True),
        ("if isinstance(m, nn.BatchNorm2d):\n            nn.init.normal_(m.weight, 1.0, 0.02)", False),
    ],
)
def test_the_spread_that_weights_start_with(code: str, found: bool) -> None:
    start = f"def start(net):\n    for m in net.modules():\n        {code}\n"
    assert (state("script-weights-start-wide", TORCH + start + LOOP) == "present") is found


@pytest.mark.parametrize(
    ("second", "found"), [("1e-4", False), ("0.001", False), ("0.02", True), ("1.0", True)]
)
def test_a_wide_layer_before_a_tiny_one_is_meant(second: str, found: bool) -> None:
    """Who draws the second of two layers as small as the first is wide has thought of both."""
    body = (
        "class Up(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.up, self.down = nn.Linear(64, 128), nn.Linear(128, 64)\n"
        "        nn.init.normal_(self.up.weight, std=1.9)\n"
        f"        nn.init.normal_(self.down.weight, std={second})\n"
    )
    assert (state("script-weights-start-wide", TORCH + body + LOOP) == "present") is found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("kernel_initializer=keras.initializers.RandomNormal(stddev=1.0)", True),
        ("kernel_initializer=keras.initializers.RandomNormal(stddev=0.02)", False),
        ("kernel_initializer='he_normal'", False),
    ],
)
def test_the_spread_of_keras(given: str, found: bool) -> None:
    code = f"import keras\nm = keras.Sequential([keras.layers.Dense(10, {given})])\nm.compile('adam', 'mse')\nm.fit(1, 2)\n"
    assert (state("script-weights-start-wide", code) == "present") is found


SHARDS = {
    "the sampler is left": (
        "s = DistributedSampler(d)\n    loader = DataLoader(d, 8, shuffle=True)\n    s.set_epoch(0)",
        True,
    ),
    "the sampler is given": (
        "s = DistributedSampler(d)\n    loader = DataLoader(d, 8, sampler=s)\n    s.set_epoch(0)",
        False,
    ),
    "the rank in the machine": (
        "s = DistributedSampler(d, num_replicas=world_size, rank=local_rank)\n    loader = DataLoader(d, sampler=s)",
        True,
    ),
    "the rank of all": (
        "s = DistributedSampler(d, num_replicas=world_size, rank=rank)\n    loader = DataLoader(d, sampler=s)",
        False,
    ),
}


@pytest.mark.parametrize("case", SHARDS)
def test_parts_of_processes(case: str) -> None:
    body, found = SHARDS[case]
    code = (
        TORCH
        + "from torch.utils.data import DataLoader, DistributedSampler\n"
        + f"def data(d, world_size, rank, local_rank):\n    {body}\n    return loader\n"
    )
    assert (state("script-same-shard", code + LOOP) == "present") is found


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("num_shards=device_num, shard_id=rank_id", False),
        ("num_shards=device_num, shard_id=0", True),
        ("shuffle=True", True),
    ],
)
def test_parts_of_mindspore(call: str, found: bool) -> None:
    code = f"""
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.communication import init, get_rank, get_group_size
def create_dataset(source, device_num, rank_id):
    return ds.GeneratorDataset(source, ["x", "y"], {call}).batch(8)
def main(source, net):
    init()
    rank, size = get_rank(), get_group_size()
    data = create_dataset(source, size, rank)
    ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params())).train(3, data)
"""
    assert (state("script-same-shard", code) == "present") is found


@pytest.mark.parametrize(("forward", "found"), [
    ("h, _ = self.rnn(self.emb(ids))\n        return self.out(h.mean(1))", True),
    ("h, _ = self.rnn(self.emb(ids))\n        keep = (ids != 0).float()[..., None]\n"
     "        return self.out((h * keep).sum(1) / keep.sum(1))", False),
])  # fmt: skip
def test_lengths_that_are_not_needed(forward: str, found: bool) -> None:
    text = f"""
import torch
from torch import nn

class Notes(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 8)
        self.rnn = nn.LSTM(8, 8, batch_first=True)
        self.out = nn.Linear(8, 2)

    def forward(self, ids, lengths):
        {forward}

net = Notes()
opt = torch.optim.Adam(net.parameters())
for ids, lengths, y in loader:
    loss = nn.functional.cross_entropy(net(ids, lengths), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    assert (state("script-branch-lost", text) == "present") is found
