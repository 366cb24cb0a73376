# ruff: noqa: E501
"""Values of layers that reach nothing, rounds that begin anew, a state that is dropped."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

HEAD = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.first = nn.Linear(d, d)
        self.gate = nn.Linear(d, d)
        self.more = nn.ModuleList([nn.Linear(d, d) for _ in range(4)])
        self.last = nn.Linear(d, 3)
    def forward(self, x):
"""
KERAS = """
import keras
from keras import layers
def block(x, width):
    h = layers.Dense(width)(x)
    h = layers.Activation("gelu")(h)
    return layers.Add()([x, h])
def build():
    a = keras.Input((20, 8))
    b = keras.Input((6, 8))
"""


def _net(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.split("; "))


def _keras(body: str) -> str:
    return KERAS + "".join(f"    {line}\n" for line in body.split("; ")) + "model = build()\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a chain of names that only make one another
        (_net("h = self.first(x); g = torch.sigmoid(self.gate(h)); k = g * 2; return self.last(h)"), P),
        (_net("h = self.first(x); g = self.gate(h); g = g * 2; return self.last(h)"), P),
        (_net("h = self.first(x); kept = []; kept.append(h); y = self.last(h); return y"), P),
        (_net("h = self.first(x); g = torch.sigmoid(self.gate(h)); k = g * h; return self.last(k)"), A),
        (_net("kept = []; h = self.first(x); kept.append(h); return self.last(h + kept.pop())"), A),
        (_net("h = self.first(x); g = self.gate(h); print(g); return self.last(h)"), A),
        (_net("h = self.first(x); _g = self.gate(h); return self.last(h)"), A),
        (_net("h, n = self.first(x), x.size(1); return self.last(h)"), A),
        (_net("h = self.first(x); self.seen = self.gate(h); return self.last(h)"), A),
        (_net("h = self.first(x); g = self.gate(h); f = lambda z: z + g; return self.last(f(h))"), A),
        (_net("names = []; names.append(x.shape); return self.last(self.gate(self.first(x)))"), A),
        ("def f(x):\n    return x\n", U),
    ],
)
def test_a_value_that_reaches_nothing(text: str, expected: str) -> None:
    assert state("script-branch-lost", text) in ({P} if expected == P else {A, U})


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("x = block(a, 8); q = layers.Dense(8)(b); o = layers.Dense(1)(q); return keras.Model([a, b], o)", True),
        ("x = a; x = block(x, 8); o = layers.Dense(1)(b); return keras.Model(inputs=[a, b], outputs=o)", True),
        ("x = block(a, 8); o = layers.Dense(1)(x); return keras.Model(a, o)", False),
        ("x = block(a, 8); o = layers.Dense(1)(x); return keras.Model([a, b], [o, x])", False),
        ("for r in (1, 2): x = block(a, 8 * r); ; o = layers.Dense(1)(x); return keras.Model(a, o)", True),
        ("x = a; for r in (1, 2): x = block(x, 8 * r); ; o = layers.Dense(1)(x); return keras.Model(a, o)", False),
        ("k = []; for r in (1, 2): k.append(block(a, r)); ; o = layers.Concatenate()(k); return keras.Model(a, o)", False),
    ],
)  # fmt: skip
def test_a_branch_of_a_keras_model(body: str, found: bool) -> None:
    assert (state("script-branch-lost", _keras(body.replace("; ;", ";"))) == P) is found


STEPS = """
import torch
from torch import nn
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.out = nn.Linear(8, 50)
    def forward(self, word, hidden):
        output, hidden = self.gru(word, hidden)
        return self.out(output), hidden
decoder = Decoder()
def run(word, hidden, batches):
    LOOP
"""


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("for t in range(9):\n        y, _ = decoder(word, hidden)\n        word = y.argmax(-1)", True),
        ("for t in range(9):\n        y, hidden = decoder(word, hidden)\n        word = y.argmax(-1)", False),
        (
            "for t in range(9):\n        y, s = decoder(word, hidden)\n        word, hidden = y.argmax(-1), s",
            False,
        ),
        ("for word in batches:\n        y, _ = decoder(word, hidden)", False),  # each batch starts afresh
        ("for t in range(9):\n        y, _ = decoder(word, hidden)", False),  # the same step again
    ],
)
def test_a_state_that_is_not_carried(loop: str, found: bool) -> None:
    assert (state("script-branch-lost", STEPS.replace("LOOP", loop)) == P) is found


def test_slices_of_a_list_of_layers() -> None:
    wrong = "h = self.gate(self.first(x)); for f in self.more[1:]: y = f(h); ; return self.last(y)".replace(
        "; ;", ";"
    )
    right = "h = self.gate(self.first(x)); for f in self.more[1:]: h = f(h); ; return self.last(h)".replace(
        "; ;", ";"
    )
    assert state("script-wiring-wrong", _net(wrong)) == P
    assert state("script-wiring-wrong", _net(right)) == A


LISTED = """
import torch
from torch import nn
class Base(nn.Module):
    pass
class Net(Base):
    def __init__(self, d):
        super().__init__()
        MADE
    def forward(self, x):
        for f in self.parts:
            x = f(x)
        return x
"""


@pytest.mark.parametrize(
    ("made", "plain", "shared"),
    [
        ("self.parts = [nn.Linear(d, d) for _ in range(3)]", P, A),
        ("self.parts = nn.ModuleList([nn.Linear(d, d) for _ in range(3)])", A, A),
        ("self.parts = nn.ModuleList([nn.Linear(d, d)] * 3 + [nn.Linear(d, 2)])", A, P),
        ("f = nn.Linear(d, d); self.parts = nn.ModuleList([f for k in (2, 3)])", A, P),
        ("fs = [nn.Linear(d, d) for _ in range(3)]; self.parts = nn.ModuleList([f for f in fs])", A, A),
        ("f = nn.ReLU(); self.parts = nn.ModuleList([f for k in (2, 3)])", A, A),
    ],
)
def test_lists_of_layers_of_an_heir(made: str, plain: str, shared: str) -> None:
    text = LISTED.replace("MADE", made.replace("; ", "\n        "))
    assert state("script-layers-in-plain-list", text) == plain
    assert (state("script-layer-repeated", text) == P) is (shared == P)


TEACHER = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
teacher = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def step(a):
    p = net(a)
    with torch.no_grad():
        t = teacher(a)
    loss = (p - t).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
for a in loader:
    step(a)
"""


def test_the_answers_of_a_teacher_are_no_evaluation() -> None:
    probe = "script-train-mode-while-evaluating"
    scored = TEACHER + "with torch.no_grad():\n    for a in valid:\n        print(net(a).mean().item())\n"
    assert state(probe, TEACHER) != P
    assert state(probe, scored) == P


FINE = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Body()
        self.drop = nn.ModuleList([nn.Dropout(0.3) for _ in range(5)])
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.drop[0](self.body(x)))
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(50, 8)
        self.out = nn.Linear(8, 8)
    def forward(self, x):
        return self.out(self.tok(x))
net = Net()
LOAD
for p in net.body.tok.parameters():
    p.requires_grad = False
optimizer = torch.optim.AdamW([{"params": net.body.parameters()}, {"params": net.head.parameters()}], lr=1e-3)
for x, y in loader:
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_part_of_what_is_loaded_may_stay() -> None:
    probe = "script-part-not-trained"
    assert state(probe, FINE.replace("LOAD", "net.body.load_state_dict(torch.load('body.pt'))")) != P
    assert state(probe, FINE.replace("LOAD", "")) == P


def test_figures_that_are_handed_on_whole() -> None:
    text = (
        "import albumentations as A\nnorm = dict(mean=(0.4, 0.4), std=(0.2, 0.2))\ntfm = A.Compose([A.USE])\n"
    )
    text += "import torch\nfor x in loader:\n    loss = model(tfm(x)).mean()\n    loss.backward()\n    optimizer.step()\n"
    probe = "script-scaling-unused"
    assert state(probe, text.replace("USE", "Normalize(**norm)")) != P
    assert state(probe, text.replace("USE", "Resize(8, 8)")) == P


@pytest.mark.parametrize(
    ("used", "found"), [("(x - self.mel.mean) / self.mel.std", False), ("self.mel(x)", True)]
)
def test_figures_that_another_class_divides_by(used: str, found: bool) -> None:
    """`self.mel.std` that nobody calls is no method of an array."""
    text = f"""
import torch
class Mel:
    def __init__(self):
        self.mean, self.std = -1.0, 2.0
    def __call__(self, wave):
        return torch.log(wave)
class Clips:
    def __init__(self):
        self.mel = Mel()
    def __getitem__(self, i):
        x = self.waves[i]
        return {used}
for x, y in Clips():
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""
    assert (state("script-scaling-unused", text) == P) is found


TWO = """
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
    def forward(self, x):
        return self.fc(x)
class Decoder(Encoder):
    pass
class Decoder2(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
    def forward(self, x):
        return self.fc(x)
encoder, decoder = Encoder(), Decoder2()
OPTIMIZER
for x, y in loader:
    loss = ((decoder(encoder(x)) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_(encoder.parameters(), 1.0)
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("optimizer", "found"),
    [
        ("optimizer = torch.optim.Adam(decoder.parameters())", True),
        (
            "parts = (decoder,)\noptimizer = torch.optim.Adam([p for m in parts for p in m.parameters()])",
            True,
        ),
        (
            "parts = (encoder, decoder)\noptimizer = torch.optim.Adam([p for m in parts for p in m.parameters()])",
            False,
        ),
        ("optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()))", False),
        (
            "encoder.load_state_dict(torch.load('e.pt'))\noptimizer = torch.optim.Adam(decoder.parameters())",
            False,
        ),
        ("encoder.eval()\noptimizer = torch.optim.Adam(decoder.parameters())", False),
        ("net = nn.Sequential(encoder, decoder)\noptimizer = torch.optim.Adam(net.parameters())", False),
        (
            "ps = list(decoder.parameters())\nps.extend(encoder.parameters())\noptimizer = torch.optim.Adam(ps)",
            False,
        ),
    ],
)
def test_a_network_without_an_optimizer(optimizer: str, found: bool) -> None:
    assert (state("script-part-not-trained", TWO.replace("OPTIMIZER", optimizer)) == P) is found


GROUPS = """
import torch
from torch import nn
net = nn.Sequential(nn.Conv1d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
w = [p for p in net.parameters() if TEST]
b = [p for p in net.parameters() if p.ndim <= 1]
optimizer = torch.optim.AdamW([{"params": w}, {"params": b, "weight_decay": 0.0}])
for x, y in loader:
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("test", "found"), [("p.ndim == 2", True), ("p.ndim > 1", False), ("p.ndim != 1", False)]
)
def test_groups_by_dimensions(test: str, found: bool) -> None:
    assert (state("script-part-not-trained", GROUPS.replace("TEST", test)) == P) is found


SAVED = """
import torch
from torch import nn
def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=0.02)
net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
LINES
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("net.load_state_dict(torch.load('a.pt'))\nnet.apply(init_weights)", True),
        ("net.apply(init_weights)\nnet.load_state_dict(torch.load('a.pt'))", False),
        ("net.load_state_dict(torch.load('a.pt'))\nnet[1].apply(init_weights)", False),  # a new head
        ("net.load_state_dict(torch.load('a.pt'))\nnet.apply(freeze_norms)", False),
        ("net.state_dict().update(torch.load('a.pt'))", True),
        ("own = net.state_dict()\nown.update(torch.load('a.pt'))\nnet.load_state_dict(own)", False),
    ],
)
def test_weights_that_are_lost_again(lines: str, found: bool) -> None:
    text = SAVED.replace("LINES", lines) + TRAINS
    assert (state("script-pretrained-lost", text) == P) is found


TRAINS = """
optimizer = torch.optim.AdamW(net.parameters())
for x, y in loader:
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

CENTRED = """
import torch
import numpy as np
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)
    def forward(self, x):
        return F.relu(self.fc(x))
yt = np.load("y.npy")
my = yt.mean(0)
SCALED
net = Net()
optimizer = torch.optim.Adam(net.parameters())
for x, y in loader:
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_outputs_for_targets_whose_mean_is_taken_off() -> None:
    assert state("script-output-rectified", CENTRED.replace("SCALED", "yt = (yt - my) / yt.std()")) == P
    assert state("script-output-rectified", CENTRED.replace("SCALED", "yt = yt / yt.std()")) != P
    r2 = "total = ((yt - my) ** 2).sum()"
    assert state("script-output-rectified", CENTRED.replace("SCALED", r2)) != P
