"""Dropout of recurrent and attention layers: without effect, and given what is left of it."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.calls import arguments
from traindoctor.probes.code.model import recurrent
from traindoctor.probes.registry import View

from .._build import run

NET = """
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self, layers={layers}, dropout=0.2, keep_prob=0.8):
            super().__init__()
            self.rnn = {made}
    model = Net({given})
"""


def state(module: object, name: str, made: str, layers: str = "1", given: str = "") -> str:
    text = textwrap.dedent(NET).format(made=made, layers=layers, given=given)
    return str(getattr(module, name)(View(run(scripts={"net.py": text}))).state.value)


@pytest.mark.parametrize(
    ("made", "layers", "given", "expected"),
    [
        ("nn.LSTM(8, 8, dropout=0.2)", "1", "", "present"),
        ("nn.LSTM(8, 8, 1, dropout=0.2)", "1", "", "present"),
        ("nn.GRU(8, 8, num_layers=layers, dropout=dropout)", "1", "", "present"),
        ("nn.GRU(8, 8, num_layers=layers, dropout=dropout)", "3", "1", "present"),
        ("nn.GRU(8, 8, num_layers=layers, dropout=dropout)", "3", "", "absent"),
        ("nn.GRU(8, 8, num_layers=layers, dropout=dropout)", "1", "layers=2", "absent"),
        ("nn.LSTM(8, 8, 2, dropout=0.2)", "1", "", "absent"),
        ("nn.LSTM(8, 8, dropout=0.0)", "1", "", "absent"),
        ("nn.LSTM(8, 8, num_layers=cfg.layers, dropout=0.2)", "1", "", "unknown"),
        ("nn.LSTM(8, 8)", "1", "", "unknown"),
    ],
)
def test_dropout_of_one_layer(made: str, layers: str, given: str, expected: str) -> None:
    assert state(recurrent, "dropout_between_no_layers", made, layers, given) == expected


def test_keras_layers_drop_their_inputs() -> None:
    text = "import tensorflow as tf\nlayer = tf.keras.layers.LSTM(8, dropout=0.2)\n"
    assert recurrent.dropout_between_no_layers(View(run(scripts={"a.py": text}))).state.value == "unknown"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("nn.LSTM(8, 8, 2, dropout=1 - dropout)", "present"),
        ("nn.LSTM(8, 8, 2, dropout=keep_prob)", "present"),
        ("nn.TransformerEncoderLayer(8, 2, dropout=1.0 - dropout)", "present"),
        ("nn.LSTM(8, 8, 2, dropout=dropout)", "absent"),
        ("nn.LSTM(8, 8, 2, dropout=1 - keep_prob)", "absent"),
        ("nn.LSTM(8, 8, 2)", "unknown"),
    ],
)
def test_layers_that_are_given_what_is_left(made: str, expected: str) -> None:
    assert state(arguments, "argument_inverted", made) == expected
