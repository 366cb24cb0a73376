"""Values that go astray in a forward pass: thrown away, overwritten, not known to train."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

MODEL = """
import torch
from torch import nn
import torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, n, depth):
        super().__init__()
        self.scale = n ** -0.5
        self.first = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)
        self.more = nn.ModuleList([nn.Linear(n, n) for _ in range(depth)])
        {MADE}
        self.last = nn.Linear(n, 10)
    def forward(self, x):
        x = F.relu(self.first(x))
        {RUN}
        for layer in self.more:
            {LOOP}
        a = (x @ x.transpose(-2, -1) {SCALE}).softmax(dim=-1)
        return self.last(a @ x)
model = Block(8, 3)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, y in loader:
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
"""


def script(
    made: str = "pass", run: str = "x = self.norm(x)", loop: str = "x = layer(x)", scale: str = "* self.scale"
) -> str:
    text = MODEL.replace("{MADE}", made).replace("{RUN}", run)
    return text.replace("{LOOP}", loop).replace("{SCALE}", scale)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (script(), A),
        (script(run="self.norm(x)"), P),
        (script(run="x = self.norm(x); F.gelu(x)"), P),
        (script(run="x = self.norm(x); x.masked_fill(x > 1, 0.0)"), P),
        (script(run="x = self.norm(x); x.masked_fill_(x > 1, 0.0)"), A),
        (script(run="x = self.norm(x); x.data.masked_fill(x > 1, 0.0)"), P),
        (script(run="x = self.norm(x); x.data.clamp_(0.0, 1.0)"), A),
        (script(run="x = self.norm(x); x.clamp(0.0, 1.0)"), P),
        (script(run="x = self.norm(x); x + self.scale"), P),
        (script(run="x = self.norm(x); F.relu(x, inplace=True)"), A),
        (script(made="self.act = nn.ReLU(inplace=True)", run="x = self.norm(x); self.act(x)"), A),
        (script(run="x = self.norm(x); self.log(x)"), A),
        (
            script(
                made="self.cell = nn.Sequential(nn.Linear(n, n), Spiking())",
                run="x = self.norm(x); self.cell(x)",
            ),
            A,
        ),
        (script(loop="h = layer(x)"), P),
        (script(loop="x = x + layer(x)"), A),
        (script(loop="out.append(layer(x))"), A),
        ("x = 1", U),
    ],
)
def test_a_value_of_the_forward_pass_is_lost(text: str, expected: str) -> None:
    assert state("script-wiring-wrong", text) == expected


@pytest.mark.parametrize(
    ("made", "run", "expected"),
    [
        ("self.gain = torch.ones(n, requires_grad=True)", "x = self.norm(x) * self.gain", P),
        ("self.pos = torch.randn(1, 9, n)", "x = self.norm(x) + self.pos[:, :4]", P),
        ("self.pos = torch.randn(1, 9, n) * 0.02", "x = self.norm(x) + self.pos[:, : x.size(1)]", P),
        ("self.pos = nn.Parameter(torch.randn(1, 9, n))", "x = self.norm(x) + self.pos", A),
        ("self.noise = torch.randn(1, 9, n)", "x = self.norm(x) + self.noise", A),
        ("self.steps = torch.arange(n)", "x = self.norm(x) + self.steps", A),
    ],
)
def test_a_tensor_that_should_train_is_no_parameter(made: str, run: str, expected: str) -> None:
    assert state("script-part-not-trained", script(made=made, run=run)) == expected


def test_what_is_handed_to_the_optimizer_by_name_is_left_aside() -> None:
    text = script(made="self.gain = torch.ones(n, requires_grad=True)", run="x = self.norm(x) * self.gain")

    assert (
        state(
            "script-part-not-trained", text.replace("model.parameters()", "[model.gain, *model.parameters()]")
        )
        == A
    )


@pytest.mark.parametrize(("scale", "expected"), [("* self.scale", A), ("", P)])
def test_a_scale_is_worked_out_and_left(scale: str, expected: str) -> None:
    assert state("script-operator-wrong", script(scale=scale)) == expected


def test_a_scale_that_the_caller_gives_takes_the_place_of_the_own() -> None:
    given = script(scale="").replace("def forward(self, x", "def forward(self, x, scale=2.0")
    assert "scale=2.0" in given
    assert state("script-operator-wrong", given) != P


@pytest.mark.parametrize(("mask", "expected"), [(", mask", P), ("", P)])
def test_a_branch_takes_the_place_of_its_stream_with_or_without_a_mask(mask: str, expected: str) -> None:
    block = f"""
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(n), nn.LayerNorm(n)
        self.attn, self.mlp = Attention(n), Mlp(n)
    def forward(self, x, mask):
        x = self.attn(self.norm1(x){mask})
        x = x + self.mlp(self.norm2(x))
        return x
"""
    assert state("script-wiring-wrong", block) == expected
