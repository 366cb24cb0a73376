"""Logarithms, roots and quotients of what is zero for ordinary data."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"

LOSS = """
import torch
from torch import nn
import torch.nn.functional as F
def spread_loss(out, y{MORE}):
    {BODY}
for x, y in loader:
    opt.zero_grad()
    spread_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        ("return torch.log(F.relu(out)).mean()", True),
        ("width = (out - y).abs()\n    return width.log().mean()", True),
        ("return torch.sqrt(((out - y) ** 2).sum(dim=1)).mean()", True),
        ("rare = y == 3\n    return F.mse_loss(out, y) + (out[rare] ** 2).sum() / rare.sum()", True),
        ("return ((out - y).abs() / y).mean()", True),
        ("return torch.log(F.relu(out) + 1e-6).mean()", False),
        ("width = (out - y).abs().clamp(min=1e-6)\n    return width.log().mean()", False),
        ("return torch.sqrt(((out - y) ** 2).sum(dim=1) + 1e-8).mean()", False),
        ("rare = y == 3\n    return (out[rare] ** 2).sum() / rare.sum().clamp(min=1)", False),
        ("y = y.clamp(min=0.1)\n    return ((out - y).abs() / y).mean()", False),
        ("kept = y != -100\n    return (out[kept] ** 2).sum() / kept.sum()", False),
        ("return torch.log(out.exp().sum(1)).mean()", False),
        ("share = (y == 0).sum() / (y == 1).sum()\n    return share * F.mse_loss(out, y)", False),
        (
            "with torch.no_grad():\n        show(((out - y).abs() / y).mean())\n    return F.l1_loss(out, y)",
            False,
        ),
    ],
)
def test_what_reaches_zero_has_a_floor(body: str, fires: bool) -> None:
    text = LOSS.replace("{BODY}", body).replace("{MORE}", "")

    assert (state("script-zero-without-floor", text) == P) == fires


@pytest.mark.parametrize(
    ("more", "body", "fires"),
    [
        (", eps=0.0", "return 1 - (2 * (out * y).sum() + eps) / (out.sum() + y.sum() + eps)", True),
        (", eps=0", "return -torch.log(out + eps).mean()", True),
        (", smooth=0.0", "return (out * y).sum() / (out.sum() + smooth)", True),
        (", eps=1.0", "return 1 - (2 * (out * y).sum() + eps) / (out.sum() + y.sum() + eps)", False),
        (", eps=1e-6", "return -torch.log(out + eps).mean()", False),
        (", smooth=0.0", "return (out * y + smooth).sum()", False),
    ],
)
def test_an_epsilon_of_zero_is_none(more: str, body: str, fires: bool) -> None:
    text = LOSS.replace("{BODY}", body).replace("{MORE}", more)

    assert (state("script-zero-without-floor", text) == P) == fires


SOUND = """
import torch
import torchaudio
from torch.utils.data import Dataset
class Calls(Dataset):
    def __init__(self, files):
        self.files = files
        self.mel = torchaudio.transforms.{WHICH}(16000)
    def __getitem__(self, i):
        wave, _ = torchaudio.load(self.files[i])
        return {MADE}, i
"""


@pytest.mark.parametrize(
    ("which", "made", "fires"),
    [
        ("MelSpectrogram", "torch.log(self.mel(wave))", True),
        ("Spectrogram", "self.mel(wave).log()", True),
        ("MelSpectrogram", "torch.log10(self.mel(wave).squeeze(0))", True),
        ("MelSpectrogram", "torch.log(self.mel(wave) + 1e-6)", False),
        ("MelSpectrogram", "torch.log(self.mel(wave).clamp(min=1e-5))", False),
        ("MFCC", "torch.log(self.mel(wave))", False),
    ],
)
def test_silence_has_no_energy(which: str, made: str, fires: bool) -> None:
    text = SOUND.replace("{WHICH}", which).replace("{MADE}", made)

    assert (state("script-zero-without-floor", text) == P) == fires
