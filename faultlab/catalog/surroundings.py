"""Faults of the machine and of installed packages: outside of the script, which is the healthy one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generate import Case, literally

from .common import faulty, healthy


def surroundings() -> Iterator[Case]:
    """Silent corruption is simulated: preload/ flips single bits in one process, outside of the script."""
    cause = "hardware.silent-data-corruption"
    yield from (
        replace(c, preload="flip_activation")
        for c in faulty("ddp", "ab", "bits-flip", cause, check="departs")
    )
    drifted = literally("the replicas are no longer equal", "state.replica-desync")
    yield from (
        replace(c, preload="flip_weight")
        for c in faulty("ddp", "a", "weights-flip", cause, check="departs", accept=drifted)
    )
    yield from (
        replace(c, preload="flip_activation")
        for c in faulty("images", "a", "bits-flip", cause, alone=False, check="departs")
    )

    # transformers 4.46.3 does not divide the gradient of a model that takes no num_items_in_batch by the
    # accumulated steps (huggingface/transformers issue 35203); the loss that it logs is right. Made with it.
    gather = (
        "warmup_steps={{warmup_steps}}, lr",
        "gradient_accumulation_steps={{accumulate}}, warmup_steps={{warmup_steps}}, lr",
    )
    for style in "ab":
        sound = replace(
            healthy("hf", style, 171, "accumulates", edits=(gather,), batch_size=8, accumulate=4), freeze=True
        )
        yield sound
        for case in faulty(
            "hf",
            style,
            "old-trainer",
            "environment.known-bug",
            twin=sound,
            check="departs",
            accept=literally(
                "what the defect does: the accumulated gradient is not divided", "state.gradient-accumulation"
            ),
        ):
            yield replace(
                case,
                freeze=True,
                packages=("transformers==4.46.3", "tokenizers==0.20.3", "huggingface_hub==0.36.2"),
            )
