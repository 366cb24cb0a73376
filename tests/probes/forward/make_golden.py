"""Write golden_layers.json: what PyTorch's own layers make of drawn numbers (run where PyTorch is installed).

The weights are those that `Maker` draws, so that a test needs the outcome alone: its shape, its sum and six
of its numbers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from traindoctor.probes.forward import convolutions, recurrent  # noqa: F401
from traindoctor.probes.forward.layers import Maker
from traindoctor.probes.forward.tensors import Room

CASES: list[tuple[str, tuple[int, ...], list[Any], dict[str, Any]]] = [
    ("Linear", (3, 5, 6), [6, 7], {}),
    ("Linear", (3, 6), [6, 7], {"bias": False}),
    *(("Conv2d", (3, 4, 9, 11), [4, 6, 3], k) for k in (
        {}, {"stride": 2}, {"padding": 1}, {"stride": 2, "padding": 2, "dilation": 2}, {"groups": 2},
        {"padding": "same"}, {"bias": False, "padding": [1, 0]}, {"padding": 1, "padding_mode": "reflect"},
    )),
    ("Conv2d", (3, 4, 9, 11), [4, 6, [1, 3]], {"stride": [2, 1]}),
    ("Conv1d", (3, 4, 20), [4, 6, 5], {"stride": 2, "padding": 2}),
    ("Conv1d", (3, 4, 20), [4, 8, 3], {"groups": 4}),
    ("Conv3d", (2, 2, 5, 6, 7), [2, 3, 3], {"padding": 1}),
    *(("ConvTranspose2d", (3, 4, 5, 6), [4, 5, 4], k) for k in (
        {}, {"stride": 2, "padding": 1}, {"stride": 2, "padding": 1, "output_padding": 1},
    )),
    ("ConvTranspose1d", (3, 4, 20), [4, 5, 4], {"stride": 3, "bias": False}),
    ("MaxPool2d", (3, 4, 9, 11), [3], {"stride": 2, "padding": 1}),
    ("AvgPool2d", (3, 4, 9, 11), [2], {}),
    ("AdaptiveAvgPool2d", (3, 4, 9, 11), [[3, 4]], {}),
    ("AdaptiveMaxPool1d", (3, 4, 20), [3], {}),
    ("LayerNorm", (3, 5, 6), [[5, 6]], {}),
    ("GroupNorm", (3, 4, 9, 11), [2, 4], {}),
    ("RMSNorm", (3, 5, 6), [6], {}),
    ("PixelShuffle", (2, 8, 3, 4), [2], {}),
    ("Softmax", (3, 5, 6), [], {"dim": 1}),
    ("LogSoftmax", (3, 5, 6), [-1], {}),
    ("GLU", (3, 5, 6), [], {}),
    ("Flatten", (3, 4, 9), [], {}),
    ("Unflatten", (3, 5, 6), [2, [2, 3]], {}),
    ("LeakyReLU", (3, 5), [0.2], {}),
    *((name, (3, 5), [], {}) for name in (
        "SiLU", "Mish", "ELU", "SELU", "Hardswish", "Hardsigmoid", "Softplus", "Tanh", "LogSigmoid",
    )),
    ("ReflectionPad2d", (3, 4, 9, 11), [2], {}),
    ("ZeroPad2d", (3, 4, 9, 11), [[1, 2, 0, 3]], {}),
    ("Upsample", (3, 4, 5, 6), [], {"scale_factor": 2}),
]  # fmt: skip


def main() -> None:
    """Write the file."""
    rows = []
    for name, shape, given, named in CASES:
        maker = Maker(Room())
        weights = maker.make(name, given, named).weights
        plain = [tuple(g) if isinstance(g, list) else g for g in given]
        layer = getattr(torch.nn, name)(*plain, **named).double().eval()
        with torch.no_grad():
            for part, weight in weights.items():
                getattr(layer, part).copy_(torch.tensor(weight.a))
            out = layer(torch.tensor(np.random.default_rng(1).normal(size=shape))).numpy()
        flat = out.reshape(-1)
        few = flat[:: max(len(flat) // 6, 1)][:6]
        rows.append([name, shape, given, named, list(out.shape), float(flat.sum()), few.tolist()])
    text = ",\n".join(json.dumps(r) for r in rows)
    (Path(__file__).parent / "golden_layers.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
