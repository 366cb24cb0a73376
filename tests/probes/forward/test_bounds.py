"""A stranger's network may be endless or enormous: what it takes is bounded."""

from __future__ import annotations

import time

import pytest

from ._train import kinds, pictures

BAD = [
    "while True:\n            x = x + 1",
    "x = x.repeat(10**6, 10**6, 10, 10)",
    "x = torch.zeros(10**6, 10**6)",
    "x = torch.ones(10**5, 10**4) @ x",
    "x = [x] * 10**12",
    "for _ in range(10**12):\n            x = x * 2",
    "return self.forward(x)",
    "x = x.view(3, -1)[:, None] + x.view(3, -1, 1, 1, 1) * torch.ones(1000, 1000, 1000)",
    "x = F.one_hot(torch.tensor([10**12]))",
    "x = torch.eye(10**8)",
    "x = torch.arange(10**15)",
    "x = x.expand(10**9, 10**9, 1, 28, 28)",
    "x = 10 ** 10 ** 10",
    "x = torch.einsum('abcd,efgh->abcdefgh', x, x)",
    "x = F.interpolate(x, scale_factor=10**6)",
    "x = F.pad(x, (10**9, 10**9))",
    "x = x.repeat_interleave(10**9)",
    "x = torch.cat([x] * 1000).unbind(0)",
]


@pytest.mark.parametrize("step", BAD)
def test_what_is_too_long_is_left(step: str) -> None:
    net = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.c = nn.Conv2d(1, 4, 3)\n\n    def forward(self, x):\n        {step}\n        return self.c(x)"  # noqa: E501
    start = time.process_time()
    assert kinds(pictures(net)) == []
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "layer",
    [
        "nn.Linear(10**9, 10**9)",
        "nn.Conv2d(10**6, 10**6, 99)",
        "nn.Embedding(10**10, 512)",
        "nn.LSTM(10**5, 10**5, num_layers=10**6)",
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8), 10**9)",
        "nn.Sequential(*[nn.Linear(4, 4) for _ in range(10**9)])",
        "nn.Linear(-1, 3)",
        "nn.LayerNorm((10**6, 10**6))",
    ],
)
def test_layers_of_any_size(layer: str) -> None:
    net = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.c = {layer}\n\n    def forward(self, x):\n        return self.c(x)"  # noqa: E501
    start = time.process_time()
    assert kinds(pictures(net)) == []
    assert time.process_time() - start < 20
