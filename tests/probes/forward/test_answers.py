"""What the answers of a network tell, in several spellings; right neighbours stay silent."""

from __future__ import annotations

import pytest

from traindoctor.probes.forward.judged import verdicts

from .._scripts import state
from ._train import kinds, known, of, pictures, tokens

CNN = """
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(2 * width * 7 * 7, 10)

    def forward(self, x):
        x = self.body(x).flatten(1)
        return self.head(self.drop(x))
"""
GPT = """
class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in (q, k, v))
        a = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        hidden = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        a = a.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.out((a @ v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.attend = Attention(d, heads)
        self.one, self.two = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.attend(self.one(x))
        return x + self.mlp(self.two(x))


class Net(nn.Module):
    def __init__(self, d=32, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(torch.zeros(1, LONG, d))
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        x = self.tok(ids) + self.pos[:, : ids.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
"""
LAYERS = """
class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(LONG, d)
        layer = nn.TransformerEncoderLayer(d, 4, 64, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        t = ids.shape[1]
        hidden = nn.Transformer.generate_square_subsequent_mask(t)
        x = self.tok(ids) + self.pos(torch.arange(t, device=ids.device))
        return self.head(self.body(x, mask=hidden))
"""
GRU = """
class Net(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.gru = nn.GRU(d, d, num_layers=2, batch_first=True)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        h, _ = self.gru(self.tok(ids))
        return self.head(h)
"""
END = "return self.head(self.drop(x))"
ONE = CNN.replace("2 * width * 7 * 7, 10", "2 * width * 7 * 7, 1")
LOGS = CNN.replace(END, "return F.log_softmax(self.head(x), dim=1)")
RIGHT = [
    pictures(CNN),
    pictures(LOGS, loss="nn.NLLLoss()"),
    pictures(LOGS),
    pictures(ONE.replace(END, "return torch.sigmoid(self.head(x)).squeeze(1)"), loss="nn.BCELoss()"),
    pictures(ONE.replace(END, "return F.relu(self.head(x)).squeeze(1)"), loss="nn.MSELoss()"),
    tokens(GPT),
    tokens(LAYERS),
    tokens(GRU),
]  # fmt: skip
CENTRED = CNN.replace(END, "x = self.head(x)\n        return x - x.mean(0)")
MET = [
    pictures(CNN.replace(END, "return F.log_softmax(self.head(x), dim=0)")),
    pictures(CENTRED),
    pictures(CNN.replace("self.body(x).flatten(1)", "F.normalize(self.body(x).flatten(1), dim=0)")),
]


@pytest.mark.parametrize("text", RIGHT)
def test_right_networks_have_no_verdict(text: str) -> None:
    assert known(text).meet <= 1e-9
    assert kinds(text) == []


@pytest.mark.parametrize("text", MET)
def test_samples_that_meet_are_told_where_they_meet(text: str) -> None:
    (found,) = verdicts(of(text))
    assert found.kind == "met"
    assert any(word in text.splitlines()[found.node.lineno - 1] for word in ("dim=0", "mean(0)"))
    assert state("script-axis-wrong", text) == "present"


def test_a_recurrent_layer_that_takes_samples_for_steps() -> None:
    text = tokens(GRU.replace(", batch_first=True", ""))
    assert kinds(text) == ["met-in-layer"]
    assert state("script-batch-first-missing", text) == "present"
    turned = GRU.replace(", batch_first=True", "").replace(
        "h, _ = self.gru(self.tok(ids))", "h = self.gru(self.tok(ids).transpose(0, 1))[0].transpose(0, 1)"
    )
    assert kinds(tokens(turned)) == []


def test_a_reshape_that_mixes_samples() -> None:
    mixed = GRU.replace(
        "h, _ = self.gru(self.tok(ids))",
        "x = self.tok(ids)\n        h, _ = self.gru(x.view(x.size(1), x.size(0), -1))\n"
        "        h = h.transpose(0, 1)",
    ).replace(", batch_first=True", "")
    assert kinds(tokens(mixed)) == ["met-by-shape"]


def test_critics_and_answers_about_pairs_are_left_alone() -> None:
    assert kinds(pictures(CENTRED.replace("class Net", "class Critic"), make="Critic()")) == []
    pairs = CNN.replace(END, "z = F.normalize(self.head(x), dim=1)\n        return z @ z.T")
    assert kinds(pictures(pairs)) == []


@pytest.mark.parametrize(
    ("end", "loss", "kind"),
    [
        ("F.softmax(self.head(x), dim=1)", "nn.CrossEntropyLoss()", "bent-twice"),
        ("self.head(x).softmax(-1)", "F.cross_entropy", "bent-twice"),
        ("torch.exp(F.log_softmax(self.head(x), 1))", "nn.CrossEntropyLoss()", "bent-twice"),
        ("(self.head(x) - self.head(x).logsumexp(1, keepdim=True)).exp()", "F.cross_entropy", "bent-twice"),
        ("F.relu(self.head(x))", "nn.CrossEntropyLoss()", "rectified"),
        ("self.head(x).clamp(min=0)", "nn.CrossEntropyLoss()", "rectified"),
        ("torch.maximum(self.head(x), torch.zeros(10))", "nn.CrossEntropyLoss()", "rectified"),
        ("self.head(x)", "nn.NLLLoss()", "not-logs"),
        ("F.softmax(self.head(x), 1)", "F.nll_loss", "not-logs"),
    ],
)
def test_outputs_that_do_not_fit_their_loss(end: str, loss: str, kind: str) -> None:
    text = pictures(CNN.replace("self.head(self.drop(x))", end), loss=loss)
    assert kinds(text) == [kind]
    assert state(SYMPTOM[kind], text) == "present"


SYMPTOM = {
    "bent-twice": "script-double-softmax",
    "rectified": "script-output-rectified",
    "not-logs": "script-activation-missing-before-loss",
}


def test_what_is_bent_between_answer_and_loss_is_not_judged() -> None:
    text = pictures(CNN.replace("self.head(self.drop(x))", "F.softmax(self.head(x), dim=1)"))
    assert kinds(text.replace("criterion(model(x), y)", "F.nll_loss(torch.log(model(x)), y)")) == []


def test_a_position_that_sees_what_follows() -> None:
    assert kinds(tokens(LAYERS.replace("x, mask=hidden", "x"))) == ["follows"]
    assert kinds(tokens(GPT.replace('a.masked_fill(hidden, float("-inf"))', "a"))) == ["follows"]
    mixed = GPT.replace("z.view(b, t, self.heads, -1).transpose(1, 2)", "z.view(b, self.heads, t, -1)")
    assert "follows" in kinds(tokens(mixed))  # heads cut out of the steps


CLASSES = """
class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(LONG, d)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, batch_first=True), 2)
        self.head = nn.Linear(d, 3)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        return self.head(self.body(x).mean(1))
"""


def _classes(net: str) -> str:
    text = tokens(net).replace("logits.reshape(-1, VOCAB), y.reshape(-1)", "logits, y[:, 0]")
    return text.replace("ids[:, :-1], ids[:, 1:]", "ids, ids")


def test_attention_that_does_not_know_the_order() -> None:
    assert kinds(_classes(CLASSES)) == []
    blind = CLASSES.replace(" + self.pos(torch.arange(ids.size(1)))", "")
    assert kinds(_classes(blind)) == ["orderless"]
    assert state("script-wiring-wrong", _classes(blind)) == "present"
    bag = blind.replace("self.body(x).mean(1)", "x.mean(1)")
    assert kinds(_classes(bag)) == []  # no attention: a bag of words
    read = blind.replace("self.body(x).mean(1)", "self.gru(self.body(x))[0][:, -1]").replace(
        "self.head =", "self.gru = nn.GRU(d, d, batch_first=True)\n        self.head ="
    )
    assert kinds(_classes(read)) == []


ENCODER = """
class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5).softmax(-1)
        return self.out((a @ v).transpose(1, 2).reshape(b, t, d))


class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(LONG, d)
        self.body = Attention(d, 4)
        self.head = nn.Linear(d, 3)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        x = x + self.body(x)
        return self.head(x.mean(1))
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            ".view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)",
            ".view(b, 3, self.heads, t, -1).transpose(0, 1)",
        ),
        ("(a @ v).transpose(1, 2).reshape(b, t, d)", "(a @ v).reshape(b, t, d)"),
        (".permute(2, 0, 3, 1, 4)", ".reshape(3, b, self.heads, t, -1)"),
    ],
)
def test_heads_that_are_cut_out_of_the_steps(right: str, wrong: str) -> None:
    assert kinds(_classes(ENCODER)) == []
    text = _classes(ENCODER.replace(right, wrong))
    assert kinds(text)[:1] in (["unturned"], ["met"], ["met-by-shape"])
    named = ("script-reshape-for-transpose", "script-axis-wrong")
    assert any(state(symptom, text) == "present" for symptom in named)


def test_attention_that_knows_places_is_left_alone() -> None:
    shifted = ENCODER.replace("(d // self.heads) ** 0.5)", "(d // self.heads) ** 0.5 + self.relative)")
    shifted = shifted.replace(
        "self.out =", "self.relative = nn.Parameter(torch.randn(6, 6))\n        self.out ="
    )
    assert kinds(_classes(shifted)) == []


TWO = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 16)
        self.two = nn.Linear(5, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, a, b):
        h = F.relu(self.one(a) + self.two(b))
        return self.head(h)
"""


def _two(net: str) -> str:
    text = pictures(net).replace("for x, y in loader", "for a, b, y in loader")
    held = "torch.load('a.pt'), torch.load('b.pt'), torch.load('y.pt')"
    before = 'datasets.MNIST("data", train=True, transform=transforms.ToTensor())'
    text = text.replace(before, f"torch.utils.data.TensorDataset({held})")
    return text.replace("model(x)", "model(a, b)")


def test_an_input_that_nothing_hears() -> None:
    assert kinds(_two(TWO)) == []
    lost = TWO.replace("return self.head(h)", "h = F.relu(self.one(a))\n        return self.head(h)")
    assert kinds(_two(lost)) == ["deaf"]
    assert kinds(_two(TWO.replace("self.two(b)", "0 * self.two(b)"))) == ["deaf"]
    cut = TWO.replace("return self.head(h)", "return F.relu(self.head(h) - 3)")
    assert "deaf" not in kinds(_two(cut))  # few units are left to hear anything: another matter


def test_lengths_by_which_rows_are_packed_are_heard() -> None:
    packed = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 16, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, a, b):
        x = torch.nn.utils.rnn.pack_padded_sequence(a, b.cpu(), batch_first=True, enforce_sorted=False)
        return self.head(self.gru(x)[1][-1])
"""
    assert known(_two(packed)).deaf == ()
    assert kinds(_two(packed)) == []


@pytest.mark.parametrize(
    "text",
    [
        pictures("class Net(nn.Module):\n    def forward(self, x):\n        return frozen_backbone(x)"),
        pictures("Net = make_net"),
        "import torch\nx = 1\n",
    ],
)
def test_what_cannot_be_worked_out_says_nothing(text: str) -> None:
    assert kinds(text) == []
