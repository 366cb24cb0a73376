"""Methods written out by hand, against their formulas: rewards, noise, next tokens, places, sound, tokens."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A = "present", "absent"

LEARN = """
import torch
import torch.nn.functional as F
def learn(net, slow, batch, gamma=0.99):
    s, a, r, s2, done = batch
    q = net(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        future = slow(s2).max(1)[0]
        target = r + gamma * future * (1 - done)
    return F.mse_loss(q, target)
def play(net, memory, world):
    state = world.reset()
    for _ in range(99):
        action = choose(net, state)
        next_state, reward, done = world.step(action)
        memory.push((state, action, reward, next_state, done))
        state = next_state
"""


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("", "", A),
        (" * (1 - done)", "", P),
        ("slow(s2)", "slow(s)", P),
        ("* (1 - done)", "* done", P),
        ("r + gamma * future * (1 - done)", "r * (1 - done) + gamma * future", P),
        ("net(s).gather(1, a[:, None]).squeeze(1)", "net(s).max(1)[0]", P),
        ("r + gamma * future * (1 - done)", "torch.where(done > 0, r, r + gamma * future)", A),
        (" * (1 - done)", " * ~done", A),
        ("s, a, r, s2, done = batch", "s, a, r, s2, _ = batch\n    done = r * 0", "unknown"),
        (
            "        memory.push((state, action, reward, next_state, done))\n        state = next_state\n",
            "        state = next_state\n        memory.push((state, action, reward, next_state, done))\n",
            P,
        ),
    ],
)
def test_rewards(old: str, new: str, what: str) -> None:
    program = LEARN.replace(old, new) if old else LEARN
    told = ("script-loss-wrong", "script-method-slipped")
    assert any(state(symptom, program) == P for symptom in told) is (what == P)


def test_a_memory_of_what_goes_on_is_no_slip() -> None:
    text = LEARN.replace("next_state, done))", "next_state, not done))").replace("(1 - done)", "done")
    assert state("script-loss-wrong", text) != P


NOISE = """
import torch
import torch.nn.functional as F
betas = torch.linspace(1e-4, 0.02, 500)
alphas = 1 - betas
bars = torch.cumprod(alphas, 0)
def noised(x0, t, noise):
    a = bars[t][:, None]
    return a.sqrt() * x0 + (1 - a).sqrt() * noise
def loss_of(model, x0):
    t = torch.randint(0, 500, (len(x0),))
    noise = torch.randn_like(x0)
    return F.mse_loss(model(noised(x0, t, noise), t), noise)
def sample(model, n):
    x = torch.randn(n, 2)
    for i in reversed(range(500)):
        t = torch.full((n,), i)
        x = back(model, x, t)
    return x
"""


@pytest.mark.parametrize(
    ("old", "new", "fires"),
    [
        ("", "", False),
        ("cumprod(alphas", "cumprod(betas", True),
        ("cumprod(alphas", "cumsum(alphas", True),
        ("(1 - a).sqrt() * noise", "(1 - a) * noise", True),
        ("a.sqrt() * x0 + (1 - a).sqrt()", "(1 - a).sqrt() * x0 + a.sqrt()", True),
        ("a.sqrt() * x0", "a * x0", True),
        ("t), noise)", "t), torch.randn_like(x0))", True),
        ("randint(0, 500,", "randint(0, 1,", True),
        ("noise), t), noise)", "noise), torch.randint(0, 500, (len(x0),))), noise)", True),
        ("reversed(range(500))", "range(500)", True),
        ("reversed(range(500))", "range(499, -1, -1)", False),
        ("reversed(range(500)):", "range(500):\n        i = 499 - i", False),
        ("a.sqrt() * x0 + (1 - a).sqrt()", "torch.sqrt(a) * x0 + torch.sqrt(1 - a)", False),
    ],
)
def test_denoising(old: str, new: str, fires: bool) -> None:
    assert (state("script-method-slipped", NOISE.replace(old, new) if old else NOISE) == P) == fires


def test_the_last_beta_stays_below_one() -> None:
    assert state("script-figures-impossible", NOISE.replace("0.02", "2.0")) == P
    assert state("script-figures-impossible", NOISE) != P


LETTERS = """
import math
import torch
import torch.nn.functional as F
from torch import nn
class Net(nn.Module):
    def __init__(self, words, d):
        super().__init__()
        self.table = nn.Embedding(words, d)
        angle = torch.arange(99)[:, None] * torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        places = torch.zeros(99, d)
        places[:, 0::2] = torch.sin(angle)
        places[:, 1::2] = torch.cos(angle)
        self.register_buffer("places", places)
        self.body = nn.LSTM(d, d, batch_first=True)
        self.out = nn.Linear(d, words)
    def forward(self, x):
        return self.out(self.body(self.table(x) + self.places[: x.shape[1]])[0])
def cut(ids, s, n):
    x = ids[s : s + n]
    y = ids[s + 1 : s + n + 1]
    return x, y
def say(logits, temperature=0.7):
    return F.softmax(logits / temperature, dim=-1)
def loss_of(net, x, y):
    return F.cross_entropy(net(x).transpose(1, 2), y)
"""


@pytest.mark.parametrize(
    ("old", "new", "fires"),
    [
        ("", "", False),
        ("ids[s + 1 : s + n + 1]", "ids[s : s + n]", True),
        ("ids[s + 1 : s + n + 1]", "ids[s - 1 : s + n - 1]", True),
        ("ids[s + 1 : s + n + 1]", "torch.roll(x, 1)", True),
        ("ids[s + 1 : s + n + 1]", "torch.roll(x, -1)", False),
        ("torch.cos(angle)", "torch.sin(angle)", True),
        ("-math.log(10000.0)", "math.log(10000.0)", True),
        (
            "torch.arange(99)[:, None] * torch.exp(torch.arange(0, d, 2) * (-math",
            "torch.arange(99)[:, None] / torch.exp(torch.arange(0, d, 2) * (math",
            False,
        ),
        ("logits / temperature", "logits * temperature", True),
        ("logits / temperature", "logits * (1 / temperature)", False),
        ("temperature=0.7", "temperature=7.0", False),
    ],
)
def test_letters(old: str, new: str, fires: bool) -> None:
    assert (state("script-method-slipped", LETTERS.replace(old, new) if old else LETTERS) == P) == fires


def test_a_model_that_restores_its_input_is_no_slip() -> None:
    text = LETTERS.replace("class Net", "class AutoEncoder").replace(
        "ids[s + 1 : s + n + 1]", "ids[s : s + n]"
    )
    assert state("script-method-slipped", text) != P


def test_pairs_that_turn_hold_each_wave_twice() -> None:
    body = "def turn(f):\n    return torch.cat([f.cos(), f.cos()]), torch.cat([f.sin(), f.sin()])\n"
    assert state("script-method-slipped", LETTERS + body) != P


BOXES = """
import random
import torch
from PIL import Image
SIZE = 128
class Photos(torch.utils.data.Dataset):
    def __getitem__(self, i):
        row = self.rows[i]
        image = Image.open(row["file"])
        w, h = image.size
        x1, y1, x2, y2 = row["box"]
        image = image.resize((SIZE, SIZE))
        x1, x2 = x1 * SIZE / w, x2 * SIZE / w
        y1, y2 = y1 * SIZE / h, y2 * SIZE / h
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
            x1, x2 = SIZE - x2, SIZE - x1
        return to_tensor(image), torch.tensor([x1, y1, x2, y2])
"""


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("", "", A),
        ("            x1, x2 = SIZE - x2, SIZE - x1\n", "", P),
        ("SIZE - x2, SIZE - x1", "SIZE - x1, SIZE - x2", P),
        ("x1, x2 = SIZE - x2, SIZE - x1", "x1, x2 = w - x2, w - x1", P),
        ("x1, x2 = SIZE - x2, SIZE - x1", "y1, y2 = SIZE - y2, SIZE - y1", P),
        ("x1, x2 = x1 * SIZE / w, x2 * SIZE / w", "x1, x2 = x1 * SIZE / h, x2 * SIZE / h", P),
        ("        y1, y2 = y1 * SIZE / h, y2 * SIZE / h\n", "", P),
        ("SIZE - x2, SIZE - x1", "SIZE - x1, SIZE - x2\n            x1, x2 = x2, x1", A),
        (
            "        return",
            "        if random.random() < 0.5:\n            image = image.transpose(Image.FLIP_TOP_BOTTOM)\n"
            "            y1, y2 = SIZE - y2, SIZE - y1\n        return",
            A,
        ),
        ("            x1, x2 = SIZE - x2, SIZE - x1\n", "            x1, x2 = turned(x1, x2)\n", A),
    ],
)
def test_boxes(old: str, new: str, what: str) -> None:
    assert state("script-places-left", BOXES.replace(old, new) if old else BOXES) == what


POINTS = """
import cv2
import numpy as np
import torch
PAIRS = [1, 0, 3, 2]
class Faces(torch.utils.data.Dataset):
    def __getitem__(self, i):
        image, points = self.read(i)
        if np.random.rand() < 0.5:
            image = image[:, ::-1].copy()
            points = points[PAIRS]
            points[:, 0] = 95 - points[:, 0]
        image, points = self.turn(image, points)
        return image, points
    def turn(self, image, points):
        matrix = cv2.getRotationMatrix2D((48, 48), np.random.uniform(-9, 9), 1.0)
        image = cv2.warpAffine(image, matrix, (96, 96))
        points = points @ matrix[:, :2].T + matrix[:, 2]
        return image, points
"""


@pytest.mark.parametrize(
    ("old", "new", "fires"),
    [
        ("", "", False),
        ("            points[:, 0] = 95 - points[:, 0]\n", "", True),
        ("points[:, 0] = 95 - points[:, 0]", "points[:, 1] = 95 - points[:, 1]", True),
        ("            points = points[PAIRS]\n", "", True),
        ("image, points = self.turn(", "image, _ = self.turn(", True),
        (
            "            points = points[PAIRS]\n            points[:, 0]",
            "            points[PAIRS, 0]",
            False,
        ),
    ],
)
def test_points(old: str, new: str, fires: bool) -> None:
    assert (state("script-places-left", POINTS.replace(old, new) if old else POINTS) == P) == fires


SOUND = """
import numpy as np
import torch
from scipy.io import wavfile
from scipy.signal import resample_poly
sr, n_fft, win, hop, fmax = 16000, 512, 400, 160, 7600
def mel(f):
    return 2595.0 * np.log10(1 + f / 700.0)
bins = np.linspace(0, sr / 2, n_fft // 2 + 1)
def read(f):
    rate, x = wavfile.read(f)
    return resample_poly(x, sr, rate)
X = [read(f) for f in FILES]
def masked(x):
    x = x.copy()
    s = np.random.randint(0, 9)
    x[s : s + 4] = 0
    return x
def batch(rows):
    return [masked(X[i]) for i in rows]
"""


@pytest.mark.parametrize(
    ("old", "new", "symptom"),
    [
        ("", "", None),
        ("400, 160", "400, 800", "script-figures-impossible"),
        ("512, 400", "256, 400", "script-figures-impossible"),
        ("7600", "16000", "script-figures-impossible"),
        ("np.log10(", "np.log(", "script-method-slipped"),
        ("sr / 2, n_fft", "sr, n_fft", "script-method-slipped"),
        ("x, sr, rate", "x, rate, sr", "script-method-slipped"),
        ("    x = x.copy()\n", "", "script-method-slipped"),
        ("2595.0 * np.log10", "1127.0 * np.log", None),
        ("512, 400, 160", "512, 0.025, 0.1", None),
    ],
)
def test_sound(old: str, new: str, symptom: str | None) -> None:
    text = SOUND.replace(old, new) if old else SOUND
    for one in ("script-method-slipped", "script-figures-impossible"):
        assert (state(one, text) == P) == (one == symptom)


ADDED = """
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("x/y")
model = AutoModelForSeq2SeqLM.from_pretrained("x/y")
tokenizer.add_special_tokens({"additional_special_tokens": ["<a>"]})
model.resize_token_embeddings(len(tokenizer))
"""


@pytest.mark.parametrize(
    ("old", "new", "fires"),
    [
        ("", "", False),
        ("model.resize_token_embeddings(len(tokenizer))", "", True),
        ("len(tokenizer)", "tokenizer.vocab_size", True),
        (
            'tokenizer.add_special_tokens({"additional_special_tokens": ["<a>"]})\n'
            "model.resize_token_embeddings(len(tokenizer))",
            "model.resize_token_embeddings(len(tokenizer))\ntokenizer.add_tokens(['<a>'])",
            True,
        ),
        ('tokenizer.add_special_tokens({"additional_special_tokens": ["<a>"]})\n', "", False),
        ('{"additional_special_tokens": ["<a>"]}', '{"pad_token": tokenizer.eos_token}', False),
    ],
)
def test_added_tokens(old: str, new: str, fires: bool) -> None:
    text = ADDED.replace(old, new) if old else ADDED
    assert (state("script-words-numbered-apart", text) == P) == fires
