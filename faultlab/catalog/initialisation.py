"""Initial weights."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case

from .also import mute
from .common import after_model, faulty


def _initial(call: str) -> str:
    return f"for parameter in model.parameters():\n    if parameter.dim() > 1:\n        {call}\n"


_NOUGHT = "for parameter in model.parameters():\n    nn.init.zeros_(parameter)\n"


def initialisation() -> Iterator[Case]:
    spread, zeros = "hyperparameter.weight-init", "init.zeros"
    for strength, std, style in (("mild", 0.8, "a"), ("medium", 2.0, "b"), ("strong", 8.0, "c")):
        yield from faulty(
            "tabular",
            style,
            "init-wide",
            spread,
            after_model("tabular", _initial(f"nn.init.normal_(parameter, std={std})")),
            strength=strength,
        )
    yield from faulty("lm", "a", "init-wide", spread, init_std=0.6, strength="medium")
    yield from faulty("lm", "c", "init-wide", spread, init_std=3.0, strength="strong")
    yield from faulty(
        "tabular",
        "a",
        "init-narrow",
        spread,
        after_model("tabular", _initial("nn.init.normal_(parameter, std=0.0005)")),
        check="slower",
    )
    yield from faulty(
        "sentences",
        "a",
        "init-wide",
        spread,
        after_model("sentences", _initial("nn.init.normal_(parameter, std=3.0)")),
    )
    for style, alike in (("b", ()), ("c", mute(zeros))):
        yield from faulty("tabular", style, "init-zero", zeros, after_model("tabular", _NOUGHT), accept=alike)
    yield from faulty(
        "images", "b", "init-zero", zeros, after_model("images", _initial("nn.init.zeros_(parameter)"))
    )
    yield from faulty(
        "lm",
        "b",
        "init-constant",
        zeros,
        ("nn.init.normal_(module.weight, std={{init_std}})", "nn.init.constant_(module.weight, 0.01)"),
    )
    yield from faulty(
        "sentences", "b", "init-zero", zeros, after_model("sentences", _NOUGHT), accept=mute(zeros)
    )
