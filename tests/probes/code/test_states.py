"""States and steps of recurrent layers: which one is read out, by the layers and directions there are."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.code.model.states import padded_end, state_misread
from traindoctor.probes.scripts.syntax import Script

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.rnn = nn.{RNN}
        self.head = nn.Linear(16, 2)
    def forward(self, x):
{BODY}
net = Net()
"""
GRU1 = "GRU(8, 16, batch_first=True)"
GRU2 = "GRU(8, 16, num_layers=2, batch_first=True)"
BOTH1 = "GRU(8, 16, batch_first=True, bidirectional=True)"
BOTH2 = "LSTM(8, 16, 2, bidirectional=True)"
ASKED = "GRU(8, 16, depth, batch_first=True)"
STATE = "_, h = self.rnn(x)\n"
CELL = "_, (h, _) = self.rnn(x)\n"


def net(rnn: str, body: str) -> Script:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = NET.replace("{RNN}", rnn).replace("{BODY}", lines)
    return Script("train.py", text, ast.parse(text))


@pytest.mark.parametrize(
    ("rnn", "body"),
    [
        (BOTH1, STATE + "return self.head(torch.cat([h[-1], h[-1]], dim=1))"),
        (BOTH1, "h = self.rnn(x)[1]\nreturn self.head(torch.cat((h[0, :, :], h[0, :, :]), 1))"),
        (BOTH2, CELL + "return self.head(torch.cat([h[0], h[1]], dim=-1))"),
        (BOTH2, CELL + "return self.head(torch.cat([h[-1], h[-3]], dim=-1))"),
        (BOTH2, CELL + "return self.head(torch.cat([h[:2], h[2:]], dim=2)[-1])"),
        (GRU2, STATE + "return self.head(h[0])"),
        (ASKED, STATE + "z = h[0]\nreturn self.head(z)"),
        (GRU2, STATE + "return self.head(h.view(x.size(0), -1))"),
        (BOTH2, CELL + "return self.head(h[-2:].reshape(len(x), -1))"),
        (GRU1, "out, _ = self.rnn(x)\nreturn self.head(out[:, 0])"),
        (GRU1, "return self.head(self.rnn(x)[0][:, 0, :])"),
    ],
)
def test_another_state_than_meant(rnn: str, body: str) -> None:
    assert state_misread(net(rnn, body)) is not None


@pytest.mark.parametrize(
    ("rnn", "body"),
    [
        (BOTH1, STATE + "return self.head(torch.cat([h[0], h[1]], dim=1))"),
        (BOTH2, CELL + "return self.head(torch.cat([h[-2], h[-1]], dim=1))"),
        (BOTH2, CELL + "return self.head(torch.cat([h[2], h[3]], dim=1))"),
        (BOTH2, CELL + "return self.head(torch.cat([h[0::2], h[1::2]], dim=2)[-1])"),
        (GRU1, STATE + "return self.head(h[0])"),
        (GRU2, STATE + "return self.head(h[-1])"),
        (GRU2, STATE + "return self.head(h[0] + h[1])"),
        (GRU1, STATE + "return self.head(h.view(x.size(0), -1))"),
        (GRU2, STATE + "h = h.transpose(0, 1)\nreturn self.head(h.reshape(x.size(0), -1))"),
        (GRU2, STATE + "return self.head(h.view(2, -1, 16)[-1])"),
        (BOTH1, "out, _ = self.rnn(x)\nreturn self.head(torch.cat([out[:, -1, :16], out[:, 0, 16:]], 1))"),
        (GRU1, "out, _ = self.rnn(x.flip(1))\nout = out.flip(1)\nreturn self.head(out[:, 0])"),
    ],
)
def test_the_state_that_is_meant(rnn: str, body: str) -> None:
    assert state_misread(net(rnn, body)) is None


def test_how_many_layers_is_not_known() -> None:
    source = net(ASKED, STATE + "return self.head(h[0])")
    text = source.text.replace("net = Net()", "net = Net(args.depth)")
    assert state_misread(Script("train.py", text, ast.parse(text))) is None


def test_the_end_of_what_was_padded() -> None:
    padded = "out, n = nn.utils.rnn.pad_packed_sequence(self.rnn(x)[0], batch_first=True)\n"
    assert padded_end(net(GRU1, padded + "return self.head(out[:, -1])")) is not None
    assert padded_end(net(GRU1, padded + "return self.head(out[:, -1, :])")) is not None
    assert padded_end(net(GRU1, padded + "return self.head(out[range(len(n)), n - 1])")) is None
    assert padded_end(net(GRU1, "out, _ = self.rnn(x)\nreturn self.head(out[:, -1])")) is None
