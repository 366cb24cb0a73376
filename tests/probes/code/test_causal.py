"""Masks of order: the past hidden, the future seen, no mask; windows that are not shifted."""

from __future__ import annotations

import pytest

from .._scripts import state

TURNED, SEES = "script-argument-inverted", "script-training-sees-evaluation"
ATTENTION = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d, ctx=64):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        {MADE}
    def attend(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        att = q @ k.transpose(-2, -1) / d ** 0.5
        {HIDE}
        return att.softmax(-1) @ v
    def forward(self, x):
        return x + self.attend(x)
"""
KERAS = """
import tensorflow as tf
class Attend(tf.keras.layers.Layer):
    def call(self, q, k, v):
        n = tf.shape(q)[1]
        look = tf.linalg.band_part(tf.ones((n, n)), -1, 0)
        scores = tf.matmul(q, k, transpose_b=True) / 8.0
        scores += {HIDE} * -1e9
        return tf.matmul(tf.nn.softmax(scores, -1), v)
"""
CELL = """
import mindspore as ms
from mindspore import nn, ops
class Attend(nn.Cell):
    def construct(self, q, k, v):
        n = q.shape[1]
        hidden = ops.{SIDE}(ops.ones((n, n), ms.float32), {K})
        scores = ops.bmm(q, k.swapaxes(1, 2)) / 8.0
        scores = ops.masked_fill(scores, hidden.astype(ms.bool_), -1e9)
        return ops.bmm(ops.softmax(scores, -1), v)
"""
SELF = "self.register_buffer('seen', torch.tril(torch.ones(ctx, ctx)))"
LOCAL = "seen = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()\n        "


def _torch(hide: str, made: str = "pass") -> str:
    return ATTENTION.replace("{MADE}", made).replace("{HIDE}", hide)


@pytest.mark.parametrize(
    ("right", "wrong", "made"),
    [
        ("att = att.masked_fill({}, float('-inf'))", ("~seen", "seen"), ""),
        ("att = torch.where({}, att, -1e9)", ("seen", "~seen"), ""),
        ("att = att.masked_fill(self.seen[:t, :t] == {}, float('-inf'))", ("0", "1"), SELF),
        ("att = att + (1 - {}) * -1e4", ("seen.float()", "(~seen).float()"), ""),
    ],
)
def test_the_past_is_hidden(right: str, wrong: tuple[str, str], made: str) -> None:
    lines = [("" if made else LOCAL) + right.replace("{}", w) for w in wrong]
    assert state(SEES, _torch(lines[0], made or "pass")) == "absent"
    assert state(SEES, _torch(lines[1], made or "pass")) == "present"


@pytest.mark.parametrize(("hide", "wanted"), [("(1 - look)", "absent"), ("look", "present")])
def test_the_past_is_hidden_in_keras(hide: str, wanted: str) -> None:
    assert state(SEES, KERAS.replace("{HIDE}", hide)) == wanted


@pytest.mark.parametrize(
    ("side", "k", "sees"), [("triu", "1", False), ("tril", "0", True), ("triu", "2", True)]
)
def test_masks_of_a_cell(side: str, k: str, sees: bool) -> None:
    code = CELL.replace("{SIDE}", side).replace("{K}", k)
    assert (state(SEES, code) == "present") is sees


@pytest.mark.parametrize(
    ("made", "found"), [("tril()", False), ("tril(1)", True), ("tril(diagonal=2)", True)]
)
def test_the_next_is_seen(made: str, found: bool) -> None:
    code = _torch(LOCAL.replace("tril()", made) + "att = att.masked_fill(~seen, float('-inf'))")
    assert (state(SEES, code) == "present") is found


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        ("torch.triu(torch.ones(n, n), 1).bool()", False),
        ("torch.triu(torch.full((n, n), float('-inf')), diagonal=1)", False),
        ("torch.tril(torch.ones(n, n)).bool()", True),
        ("torch.tril(torch.full((n, n), float('-inf')))", True),
        ("nn.Transformer.generate_square_subsequent_mask(n)", False),
    ],
)
def test_masks_of_a_layer(mask: str, found: bool) -> None:
    code = f"""
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
    def forward(self, x):
        n = x.size(1)
        return self.attn(x, x, x, attn_mask={mask})[0]
"""
    assert (state(TURNED, code) == "present") is found


def test_a_triangle_of_pairs_is_no_mask_of_attention() -> None:
    code = """
import torch
def near(sim):
    twice = torch.ones_like(sim).tril().bool()
    return sim.masked_fill(twice, float("-inf")).max()
"""
    assert state(TURNED, code) != "present"


WINDOWS = """
import torch
from torch import nn
embed = nn.Embedding(9, 4)
class Chunks(torch.utils.data.Dataset):
    def __getitem__(self, i):
        chunk = self.data[i * self.n : i * self.n + self.n + 1]
        return {OUT}
"""


@pytest.mark.parametrize(
    ("out", "wanted"),
    [
        ("chunk[:-1], chunk[1:]", "absent"),
        ("chunk[:-1].long(), torch.tensor(chunk[1:])", "absent"),
        ("chunk[:-1], chunk[:-1]", "present"),
        ("chunk[1:], chunk[:-1]", "present"),
        ("torch.tensor(chunk[1:]), torch.tensor(chunk[:-1])", "present"),
    ],
)
def test_windows_of_a_chunk(out: str, wanted: str) -> None:
    assert state(SEES, WINDOWS.replace("{OUT}", out)) == wanted


def test_no_mask_in_attention_by_hand() -> None:
    model = _torch("pass").replace("att.softmax", "torch.softmax") + WINDOWS.replace(
        "{OUT}", "chunk[:-1], chunk[1:]"
    )
    model = model.replace("torch.softmax(-1)", "torch.softmax(att, -1)")
    assert state(SEES, model) == "present"
    hidden = "seen = torch.ones(t, t).tril() == 0\n        att = att.masked_fill(seen, -1e9)"
    assert (
        state(SEES, model.replace("        pass\n        return", f"        {hidden}\n        return"))
        == "absent"
    )
