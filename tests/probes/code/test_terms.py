"""Terms of the loss in scripts, and losses for classes that get numbers."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss.objective import class_loss_on_numbers, loss_arguments_swapped
from traindoctor.probes.code.loss.terms import term_taken_off

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

STEP = """
policy_loss = -(advantage * ratio).mean()
value_loss = F.mse_loss(values, returns)
loss = {}
loss.backward({})
"""
TERMS = [
    (ABSENT, STEP.format("policy_loss + 0.5 * value_loss - 0.01 * entropy", "")),
    (PRESENT, STEP.format("policy_loss - 0.5 * value_loss - 0.01 * entropy", "")),
    (PRESENT, STEP.format("(policy_loss - 0.5 * F.mse_loss(values, returns)) / steps", "")),
    (ABSENT, STEP.format("policy_loss - 0.01 * entropy_loss + value_loss", "")),
    (UNKNOWN, STEP.format("task_loss - 0.1 * series_loss", "retain_graph=True")),  # one of two opponents
    (UNKNOWN, STEP.format("value_loss", "")),
    (
        ABSENT,
        "out, mask_loss = net(x)\n" + STEP.format("value_loss - 0.1 * mask_loss", ""),
    ),  # an entropy, perhaps
    (
        PRESENT,
        "class M(LightningModule):\n    def training_step(self, b, i):\n        return ctc_loss - att_loss",
    ),
]


@pytest.mark.parametrize(("state", "text"), TERMS)
def test_terms(state: State, text: str) -> None:
    """A loss that is subtracted; entropies, opponents and sums are left alone."""
    found = finding(term_taken_off, text)

    assert found.state is state, found.why


NUMBERS = "value_loss = F.{}({}, {})\nvalue_loss.backward()"
FITTED = [
    (PRESENT, NUMBERS.format("cross_entropy", "values", "batch.returns")),
    (ABSENT, NUMBERS.format("mse_loss", "values", "batch.returns")),
    (UNKNOWN, NUMBERS.format("cross_entropy", "value_logits", "returns")),  # split into bins
    (UNKNOWN, NUMBERS.format("cross_entropy", "out", "y")),
]


@pytest.mark.parametrize(("state", "text"), FITTED)
def test_class_loss_on_numbers(state: State, text: str) -> None:
    """Returns and values are fitted by a loss for numbers, or by one for classes."""
    found = finding(class_loss_on_numbers, text)

    assert found.state is state, found.why


GAN = """
criterion = nn.BCELoss()
real = torch.full((8,), 1.0).to(device)
loss = criterion({}, {})
"""


@pytest.mark.parametrize(
    ("state", "given"),
    [
        (PRESENT, ("real", "D(x)")),
        (ABSENT, ("D(x)", "real")),
        (PRESENT, ("torch.zeros_like(fake)", "fake")),
        (ABSENT, ("fake", "torch.zeros_like(fake)")),
    ],
)
def test_constant_answers(state: State, given: tuple[str, str]) -> None:
    """A tensor of one number is an answer, never a prediction."""
    found = finding(loss_arguments_swapped, GAN.format(*given))

    assert found.state is state, found.why
