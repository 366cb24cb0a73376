# ruff: noqa: E501 -- the edits are texts
"""Number formats and the loss scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generate import REFERENCE, Case, literally, unseen

from .common import faulty, healthy


def precision() -> Iterator[Case]:
    span = "numerics.half-precision-range"
    cubed = ("hidden = F.relu(self.up(self.norm2(h)))", "hidden = F.relu(self.up(self.norm2(h))) ** 3")
    wide = (
        "        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)\n",
        "        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)\n        nn.init.normal_(self.up.weight, std=1.9)\n        nn.init.normal_(self.down.weight, std=1e-4)\n",
    )
    for style, strength, std in (("a", "mild", "1.6"), ("b", "medium", "1.9"), ("c", "strong", "2.6")):
        edits = (cubed, (wide[0], wide[1].replace("1.9", std)))
        sound = healthy("amp", style, 130, f"bf16-{std}", edits=edits, precision="bf16")
        yield sound
        yield from faulty(
            "amp",
            style,
            "range",
            span,
            twin=sound,
            precision="fp16",
            strength=strength,
            accept=unseen(
                "skipped steps and a falling scale while the loss stays finite",
                "hyperparameter.loss-scale",
                benchmark=False,
                script=None,
            )
            if strength == "mild"
            else (),
            check="any",
        )
    scale = "hyperparameter.loss-scale"
    fixed = (
        "growth_interval={{growth_interval}}, enabled",
        "backoff_factor=1.0 - 1e-9, growth_interval={{growth_interval}}, enabled",
    )
    yield from faulty("amp", "ac", "scale-fixed-large", scale, fixed, init_scale=2.0**30, check="any")
    yield from faulty("amp", "b", "scale-tiny", scale, init_scale=2.0**-14, check="any")
    yield from faulty("amp", "ab", "scale-eager", scale, growth_interval=1, check="any")
    bare = ("porting.loss-scale-missing", span)
    yield from faulty(
        "amp",
        "bc",
        "no-scaler",
        bare[0],
        ('enabled={{precision}} == "fp16")', "enabled=False)"),
        ("y.flatten())\n    optimizer", "y.flatten()) / 4096\n    optimizer"),
        check="any",
        grad_norm=True,
        accept=literally("gradients below 6e-8 leave the range of fp16", span),
    )
    pure = ("model = GPT()\n", "model = GPT().bfloat16()\n")
    for style in "bc":
        low = healthy("lm", style, 142, "low-rate", lr=0.0001, min_lr=0.00001)
        yield replace(low, cause=REFERENCE)
        yield from faulty(
            "lm",
            style,
            "pure-bf16",
            "numerics.update-lost",
            pure,
            twin=low,
            check="any",
            accept=unseen(
                "slow training, and no log names the format of the weights",
                "hyperparameter.learning-rate-too-small",
                benchmark=False,
            ),
        )
