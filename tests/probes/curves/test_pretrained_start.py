"""Runs that are meant to start from trained weights: do they?"""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.run import Event

from .._build import run, series
from .._read import reading

FROM_SCRATCH = np.linspace(6.9, 3.0, 40)
TRAINED = np.linspace(3.1, 2.9, 40)
STEPS = np.arange(10.0, 410.0, 10.0)


@pytest.mark.parametrize(
    ("loss", "begins", "resumed", "state"),
    [
        (FROM_SCRATCH, 0.0, 200.0, State.UNKNOWN),  # its own checkpoint, in the middle of the curve
        (FROM_SCRATCH, 200.0, 200.0, State.PRESENT),  # the log of the second start alone
        (FROM_SCRATCH, 0.0, None, State.PRESENT),  # a checkpoint is named, nothing says where
        (TRAINED, 200.0, 200.0, State.ABSENT),
    ],
)
def test_what_is_resumed_in_the_middle_is_no_start(
    loss: np.ndarray, begins: float, resumed: float | None, state: State
) -> None:
    """A log that holds the run from its first step starts untrained by right."""
    events = [] if resumed is None else [Event("resume", "log.txt", 20, None, resumed)]
    made = run(
        [series("train/loss", loss, STEPS + begins)], {"resume_from": True, "vocab_size": 1000}, events
    )
    assert reading("metrics", "fine-tuning-starts-high", made).state is state


def test_named_weights_are_a_start_also_where_the_run_was_resumed() -> None:
    """The checkpoint that is resumed hides no weights that were to be loaded first."""
    made = run(
        [series("train/loss", FROM_SCRATCH, STEPS)],
        {"pretrained": "gpt2", "resume_from": True, "vocab_size": 1000},
        [Event("resume", "log.txt", 20, 200.0, 200.0)],
    )
    assert reading("metrics", "fine-tuning-starts-high", made).state is State.PRESENT
