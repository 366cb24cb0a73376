"""Losses over pairs of a batch, what lies over pictures in TensorFlow, and numbers of words in Keras."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
SLIPPED = "script-method-slipped"
OLD = """
import torch
import torch.nn.functional as F
tau = opt.get("tau", 0.2)
class TwoViews:
    def __call__(self, im):
        return self.t(im), self.t(im)
class Encoder(torch.nn.Module):
    def forward(self, x):
        return F.normalize(self.proj(self.body(x)), dim=1)
def nt_xent(a, b):
    n = a.size(0)
    z = torch.cat([a, b], 0)
    sim = torch.mm(z, z.t()) / tau
    sim.fill_diagonal_(-1e9)
    pos = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)]).cuda()
    return F.cross_entropy(sim, pos)
"""
LOSS = """
import torch
from torch import nn
class PairLoss(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature
        self.ce = nn.CrossEntropyLoss()
    def forward(self, z1, z2):
        z = nn.functional.normalize(torch.cat([z1, z2]), dim=-1)
        logits = z @ z.T / self.temperature
        logits = logits.masked_fill(torch.eye(len(z)).bool(), float("-inf"))
        labels = torch.arange(len(z)).roll(len(z1))
        return nn.functional.cross_entropy(logits, labels)
"""
TOWERS = """
import torch
import torch.nn.functional as F
def loss(q, k):
    logits = q @ k.T / 0.07
    return F.cross_entropy(logits, torch.arange(len(q)))
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "fires"),
    [
        (OLD, "", "", False),
        (OLD, "    sim.fill_diagonal_(-1e9)\n", "", True),
        (
            OLD,
            "[torch.arange(n, 2 * n), torch.arange(0, n)]",
            "[torch.arange(0, n), torch.arange(n, 2 * n)]",
            True,
        ),
        (
            OLD,
            "torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])",
            "torch.arange(2 * n).roll(n)",
            False,
        ),
        (OLD, "return self.t(im), self.t(im)", "v = self.t(im)\n        return v, v", True),
        (OLD, "z.t()) / tau", "z.t()) * tau", True),
        (OLD, "dim=1)", "dim=0)", True),
        (LOSS, "", "", False),
        (
            LOSS,
            '        logits = logits.masked_fill(torch.eye(len(z)).bool(), float("-inf"))\n',
            "",
            True,
        ),
        (LOSS, "torch.arange(len(z)).roll(len(z1))", "torch.arange(len(z))", True),
        (TOWERS, "", "", False),
    ],
)
def test_pairs_and_strangers(text: str, old: str, new: str, fires: bool) -> None:
    assert (state(SLIPPED, text.replace(old, new) if old else text) == P) is fires


def test_an_autoencoder_gives_its_picture_twice() -> None:
    text = """
import torch
class PairData(torch.utils.data.Dataset):
    def __getitem__(self, i):
        x = self.t(self.rows[i])
        return x, x
"""
    assert state(SLIPPED, text) != P


ROOFS = """
import tensorflow as tf
def augment(x, y):
    both = tf.concat([x, y], axis=-1)
    both = tf.image.random_flip_left_right(both)
    both = tf.image.random_crop(both, (224, 224, 4))
    x, y = both[..., :3], both[..., 3:]
    return tf.image.random_brightness(x, 0.1), y
"""
MASKS = """
import tensorflow as tf
def change(image, mask):
    if tf.random.uniform(()) > 0.5:
        image, mask = tf.image.flip_left_right(image), tf.image.flip_left_right(mask)
    image = tf.image.random_brightness(image, 0.1)
    return image, mask
"""
KINDS = """
import tensorflow as tf
def change(x, y):
    x = tf.image.random_flip_left_right(x)
    return x, tf.one_hot(y, 10)
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "fires"),
    [
        (ROOFS, "", "", False),
        (
            ROOFS,
            "    both = tf.concat([x, y], axis=-1)\n    both = tf.image.random_flip_left_right(both)\n",
            "    x = tf.image.random_flip_left_right(x)\n    both = tf.concat([x, y], axis=-1)\n",
            True,
        ),
        (
            ROOFS,
            "    both = tf.image.random_crop(both, (224, 224, 4))\n    x, y = both[..., :3], both[..., 3:]\n",
            "    x = tf.image.random_crop(both[..., :3], (224, 224, 3))\n"
            "    y = tf.image.random_crop(both[..., 3:], (224, 224, 1))\n",
            True,
        ),
        (MASKS, "", "", False),
        (
            MASKS,
            "image, mask = tf.image.flip_left_right(image), tf.image.flip_left_right(mask)\n",
            "pass\n    image = tf.image.random_flip_up_down(image)\n",
            True,
        ),
        (KINDS, "", "", False),
    ],
)
def test_what_lies_over_a_picture_is_turned_with_it(text: str, old: str, new: str, fires: bool) -> None:
    assert (state("script-sample-torn-apart", text.replace(old, new) if old else text) == P) is fires


JOKES = """
import tensorflow as tf
from tensorflow.keras.preprocessing.text import Tokenizer
WORDS = 12000
tokenizer = Tokenizer(num_words=WORDS, oov_token="<unk>")
tokenizer.fit_on_texts(texts[:cut])
def encode(part):
    return tf.keras.utils.pad_sequences(tokenizer.texts_to_sequences(part), maxlen=80)
x_train = encode(texts[:cut])
x_test = encode(texts[cut:])
model = tf.keras.Sequential([tf.keras.layers.Embedding(WORDS, 64), tf.keras.layers.Dense(5)])
model.fit(x_train, y_train)
"""
VECTOR = """
from tensorflow import keras
vectorize = keras.layers.TextVectorization(max_tokens=8000, output_sequence_length=60)
vectorize.adapt(train_texts)
model = keras.Sequential([vectorize, keras.layers.Embedding(8000, 32), keras.layers.Dense(1)])
model.fit(train_texts, train_labels)
"""
APART = "script-words-numbered-apart"


@pytest.mark.parametrize(
    ("text", "old", "new", "symptom"),
    [
        (JOKES, "", "", None),
        (JOKES, "Embedding(WORDS,", "Embedding(10000,", APART),
        (JOKES, "Embedding(WORDS,", "Embedding(WORDS + 1,", None),
        (JOKES, "num_words=WORDS, ", "", APART),
        (
            JOKES,
            "x_test = encode",
            "tokenizer = Tokenizer(num_words=WORDS)\ntokenizer.fit_on_texts(texts[cut:])\nx_test = encode",
            APART,
        ),
        (JOKES, "fit_on_texts(texts[:cut])", 'fit_on_texts(" ".join(texts[:cut]))', SLIPPED),
        (VECTOR, "", "", None),
        (VECTOR, "Embedding(8000,", "Embedding(4000,", APART),
        (VECTOR, "Embedding(8000,", "Embedding(len(vectorize.get_vocabulary()),", None),
    ],
)
def test_numbers_of_words_in_keras(text: str, old: str, new: str, symptom: str | None) -> None:
    text = text.replace(old, new) if old else text
    for each in (APART, SLIPPED):
        assert (state(each, text) == P) is (each == symptom)
