# ruff: noqa: E501
"""Methods that scripts write out: returns, drawn codes, words to be guessed, positions, windows of text."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
SLIPPED = "script-method-slipped"

LOOPS = """
import numpy as np
import torch
GAMMA, LAM = 0.99, 0.95
def play(env, net, T):
    R, D, V = np.zeros(T), np.zeros(T), np.zeros(T + 1)
    out = np.zeros(T)
    last = 0.0
    for t in range(T - 1, -1, -1):
        delta = R[t] + GAMMA * V[t + 1] * (1 - D[t]) - V[t]
        last = delta + GAMMA * LAM * (1 - D[t]) * last
        out[t] = last
    return out + V[:T]
"""
LISTS = """
import torch
class Agent:
    def finish(self):
        ret, out = 0.0, []
        for r in self.rewards[::-1]:
            ret = r + self.gamma * ret
            out.insert(0, ret)
        return torch.tensor(out)
"""
REVERSED = """
import torch
def returns(rewards, discount=0.98):
    total, found = 0.0, []
    for reward in reversed(rewards):
        total = reward + discount * total
        found.append(total)
    return torch.tensor(list(reversed(found)))
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "fires"),
    [
        (LOOPS, "", "", False),
        (LOOPS, "range(T - 1, -1, -1)", "range(T)", True),
        (LOOPS, "range(T - 1, -1, -1)", "reversed(range(T))", False),
        (LOOPS, "V[t + 1] * (1 - D[t]) - V", "V[t + 1] - V", True),
        (LOOPS, "GAMMA * V[t + 1] * (1 - D[t]) - V[t]", "GAMMA * V[t + 1] * mask[t] - V[t]", False),
        (LISTS, "", "", False),
        (LISTS, "rewards[::-1]:\n", "rewards:\n", False),  # put in front: only the order is another
        (LISTS, "self.rewards[::-1]:\n            ret = r + self.gamma * ret\n            out.insert(0, ret)",
         "self.rewards:\n            ret = r + self.gamma * ret\n            out.append(ret)", True),
        (REVERSED, "", "", False),
        (REVERSED, "in reversed(rewards)", "in rewards", False),  # turned round below: not told
        (
            REVERSED.replace("list(reversed(found))", "found"),
            "in reversed(rewards)",
            "in rewards",
            True,
        ),
    ],
)  # fmt: skip
def test_returns_are_added_up_from_the_end(text: str, old: str, new: str, fires: bool) -> None:
    """What follows a step is summed backwards, and no sum goes over the end of a game."""
    assert old in text
    assert (state(SLIPPED, text.replace(old, new)) == P) is fires


TAPE = """
import tensorflow as tf
class Vae(tf.keras.Model):
    def call(self, x):
        mean, logvar = tf.split(self.enc(x), 2, axis=1)
        noise = tf.random.normal(tf.shape(mean))
        z = mean + tf.exp(0.5 * logvar) * noise
        return self.dec(z), mean, logvar
def loss(model, x):
    out, mean, logvar = model(x)
    pixels = tf.reduce_sum(tf.keras.losses.binary_crossentropy(x, out), axis=(1, 2))
    kl = -0.5 * tf.reduce_sum(1 + logvar - tf.square(mean) - tf.exp(logvar), axis=1)
    return tf.reduce_mean(pixels + kl)
"""
TORCH = """
import torch
def draw(mu, log_var):
    std = torch.exp(0.5 * log_var)
    eps = torch.randn_like(std)
    return mu + eps * std
"""
DEVIATION = """
import torch
def draw(mu, log_std):
    return mu + torch.randn_like(mu) * log_std.exp()
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "fires"),
    [
        (TAPE, "", "", False),
        (TAPE, "tf.exp(0.5 * logvar)", "tf.exp(logvar)", True),
        (TAPE, "tf.exp(0.5 * logvar)", "tf.sqrt(tf.exp(logvar))", False),
        (TAPE, "tf.random.normal(", "tf.random.uniform(", True),
        (TORCH, "", "", False),
        (TORCH, "torch.exp(0.5 * log_var)", "log_var.exp()", True),
        (TORCH, "torch.exp(0.5 * log_var)", "log_var.exp().sqrt()", False),
        (TORCH, "torch.exp(0.5 * log_var)", "log_var.div(2).exp()", False),
        (TORCH, "randn_like", "rand_like", True),
        (DEVIATION, "", "", False),
    ],
)
def test_codes_are_drawn_with_the_deviation(text: str, old: str, new: str, fires: bool) -> None:
    """The root of the variance, times noise of a normal distribution."""
    assert old in text
    assert (state("script-operator-wrong", text.replace(old, new)) == P) is fires


def test_divergence_of_tensorflow() -> None:
    """Turned round and added, it is climbed."""
    assert state("script-loss-wrong", TAPE) != P
    assert state("script-loss-wrong", TAPE.replace("-0.5 * tf", "0.5 * tf")) == P
    assert state("script-loss-wrong", TAPE.replace("-0.5 * tf", "0.5 * tf").replace("+ kl", "- kl")) != P


GUESS = """
import torch
def build(tokenizer, share=0.15):
    def collate(texts):
        batch = tokenizer(texts, return_tensors="pt")
        ids = batch["input_ids"]
        labels = ids.clone()
        chosen = torch.rand(ids.shape) < share
        labels[~chosen] = -100
        ids[chosen & (torch.rand(ids.shape) < 0.8)] = tokenizer.mask_token_id
        batch["labels"] = labels
        return batch
    return collate
loader = build(tok)
"""
PADDED = """
import torch
def encode(rows, tok):
    enc = tok(rows["text"], padding="max_length", return_tensors="pt")
    enc["labels"] = enc["input_ids"].clone()
    enc["labels"][enc["attention_mask"] == 0] = -100
    return enc
"""
COLLATOR = """
from transformers import DataCollatorForLanguageModeling
collate = DataCollatorForLanguageModeling(tok, mlm=True, mlm_probability=0.15)
"""


@pytest.mark.parametrize(
    ("symptom", "text", "old", "new", "fires"),
    [
        (SLIPPED, GUESS, "", "", False),
        (SLIPPED, GUESS, "ids.clone()", "ids", True),
        (SLIPPED, GUESS, "labels = ids.clone()", "labels = ids\n        labels = labels.clone()", False),
        (SLIPPED, PADDED, "", "", False),
        (SLIPPED, PADDED, ".clone()", "", True),
        (SLIPPED, PADDED, '["input_ids"].clone()', '["input_ids"] * 1', False),
        ("script-figures-impossible", GUESS, "", "", False),
        ("script-figures-impossible", GUESS, "share=0.15", "share=0.85", True),
        ("script-figures-impossible", GUESS, "build(tok)", "build(tok, 0.3)", False),
        ("script-figures-impossible", GUESS, "build(tok)", "build(tok, 0.8)", True),
        ("script-figures-impossible", COLLATOR, "", "", False),
        ("script-figures-impossible", COLLATOR, "0.15", "0.85", True),
        ("script-figures-impossible", COLLATOR, "0.15", "0.3", False),
    ],
)
def test_words_to_be_guessed(symptom: str, text: str, old: str, new: str, fires: bool) -> None:
    """Labels are a copy of the inputs, and most words are left to guess from."""
    assert old in text
    assert (state(symptom, text.replace(old, new)) == P) is fires


PLACES = """
import numpy as np
import torch
def table(width, length):
    where = np.arange(length)[:, None]
    rate = np.exp(np.arange(0, width, 2) * (-np.log(10000.0) / width))
    table = np.zeros((length, width))
    table[:, 0::2] = np.sin(where * rate)
    table[:, 1::2] = np.cos(where * rate)
    return table
"""
WINDOWS = """
import numpy as np
import mindspore as ms
from mindspore import nn, ops
class Net(nn.Cell):
    def __init__(self, words):
        super().__init__()
        self.table = nn.Embedding(words, 64)
        self.cell = nn.LSTM(64, 64)
        self.out = nn.Dense(64, words)
    def construct(self, ids):
        return self.out(self.cell(self.table(ids))[0])
def windows(ids, n, starts):
    for i in range(0, len(starts), 32):
        x = np.stack([ids[s:s + n] for s in starts[i:i + 32]])
        y = np.stack([ids[s + 1:s + n + 1] for s in starts[i:i + 32]])
        yield ms.Tensor(x), ms.Tensor(y)
def forward(x, y):
    logits = net(x)
    return ops.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))
"""
BOXES = """
import torch
def encode(boxes, a):
    return torch.cat([(boxes[:, :2] - a[:, :2]) / a[:, 2:], torch.log(boxes[:, 2:] / a[:, 2:])], 1)
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "fires"),
    [
        (PLACES, "", "", False),
        (PLACES, "1::2", "0::2", True),
        (WINDOWS, "", "", False),
        (WINDOWS, "ids[s + 1:s + n + 1]", "ids[s:s + n]", True),
        (BOXES, "", "", False),
        (BOXES, "torch.log(boxes[:, 2:] / a[:, 2:])", "torch.log(a[:, 2:] / a[:, 2:])", True),
    ],
)
def test_places_windows_and_ratios(text: str, old: str, new: str, fires: bool) -> None:
    """Two waves in columns of their own, the next place as target, a ratio of two things."""
    assert old in text
    assert (state(SLIPPED, text.replace(old, new)) == P) is fires


ACTOR = """
import torch
import torch.nn.functional as F
def update(actor, critic, o, a, p, adv, ret, opt):
    dist = torch.distributions.Categorical(logits=actor(o))
    ratio = (dist.log_prob(a) - p).exp()
    low = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
    loss = -low.mean() + 0.5 * F.mse_loss(critic(o), ret) - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_entropy_is_rewarded() -> None:
    """Taken off a loss of which the gain is taken off; elsewhere a small entropy may be meant."""
    assert state("script-loss-wrong", ACTOR) != P
    assert state("script-loss-wrong", ACTOR.replace("- 0.01 *", "+ 0.01 *")) == P
    assert state("script-loss-wrong", ACTOR.replace("- 0.01 *", "+ -0.01 *")) != P


SCALED = """
import torch
from torchvision.io import read_image
from torchvision.ops import box_iou
SIDE = 512
def read(item, anchors):
    x = read_image(item["file"]).float() / 255
    h, w = x.shape[1:]
    boxes = torch.tensor(item["boxes"]) * torch.tensor([SIDE / w, SIDE / h, SIDE / w, SIDE / h])
    return x, box_iou(anchors, boxes)
"""
GREY = """
import tensorflow as tf
def load(path):
    image = tf.io.decode_png(tf.io.read_file(path))
    image = tf.image.resize(tf.image.convert_image_dtype(image, tf.float32), (64, 64))
    return image
"""


def test_boxes_and_pixels() -> None:
    """x goes with the width; pixels of a float are divided already, unless they were floats before."""
    turned = SCALED.replace(
        "[SIDE / w, SIDE / h, SIDE / w, SIDE / h]", "[SIDE / h, SIDE / w, SIDE / h, SIDE / w]"
    )
    assert state("script-places-left", SCALED) != P
    assert state("script-places-left", turned) == P
    assert state("script-places-left", turned.replace('item["boxes"]', 'item["yxyx"]')) != P
    again = GREY.replace("return image", "return image / 255.0")
    assert state("script-range-mismatch", GREY) != P
    assert state("script-range-mismatch", again) == P
    floats = again.replace(
        "tf.io.decode_png(tf.io.read_file(path))", "tf.cast(tf.io.decode_png(path), tf.float32)"
    )
    assert state("script-range-mismatch", floats) != P


BLOCKS = """
import math
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = nn.Dense(width, width), nn.Dense(width, width), nn.Dense(width, width)
    def construct(self, x, future):
        scores = ops.matmul(self.q(x), self.k(x).swapaxes(1, 2)) / math.sqrt(64)
        scores = ops.masked_fill(scores, future, -1e9)
        return ops.matmul(ops.softmax(scores, axis=-1), self.v(x))
class Net(nn.Cell):
    def __init__(self, words, length):
        super().__init__()
        self.table = nn.Embedding(words, 64)
        self.blocks = nn.CellList([Block(64) for _ in range(3)])
        self.future = Tensor(np.triu(np.ones((length, length)), 1).astype(bool))
    def construct(self, ids):
        x = self.table(ids)
        for block in self.blocks:
            x = block(x, self.future[:ids.shape[1], :ids.shape[1]])
        return x
def main(path, vocab):
    ids = [vocab[w] for w in open(path).read().split()]
    return Net(len(vocab), 128), ids
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new", "fires"),
    [
        ("script-training-sees-evaluation", "", "", False),
        ("script-training-sees-evaluation", "np.triu(np.ones((length, length)), 1)", "np.tril(np.ones((length, length)), -1)", True),
        ("script-training-sees-evaluation", "np.triu(np.ones((length, length)), 1)", "(1 - np.tril(np.ones((length, length))))", False),
        ("script-words-numbered-apart", "", "", False),
        ("script-words-numbered-apart", "Net(len(vocab),", "Net(len(vocab) - 1,", True),
        ("script-words-numbered-apart", "Net(len(vocab),", "Net(len(vocab) + 1,", False),
    ],
)  # fmt: skip
def test_blocks_of_a_list_and_rows_of_a_table(symptom: str, old: str, new: str, fires: bool) -> None:
    """A mask is followed to the blocks that get it; a table has a row for each word."""
    assert old in BLOCKS
    assert (state(symptom, BLOCKS.replace(old, new)) == P) is fires
