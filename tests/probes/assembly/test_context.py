"""Facts of a run as a whole that rules depend on."""

import pytest

from traindoctor.engine.model import Scalar
from traindoctor.probes.assembly.context import context_of

from .._build import configured, series


@pytest.mark.parametrize(
    ("settings", "formats", "expected"),
    [
        ({"model": "meta-llama/Llama-2-7b-ms"}, (), "tokens"),
        ({"model": "bert-base-chinese"}, (), "tokens"),
        ({"model": "qwen2.5-vl-3b-instruct"}, (), None),
        ({"model": "vit-base-patch16"}, (), None),
        ({"model": "resnet50"}, (), None),
        ({"vocab_size": 32000}, (), "tokens"),
        ({}, ("text-nanogpt",), "tokens"),
        ({}, ("text-key-value",), None),
    ],
)
def test_what_goes_in_are_tokens(
    settings: dict[str, Scalar], formats: tuple[str, ...], expected: str | None
) -> None:
    """A model of text reads whole numbers; one that sees as well may not, nor one that is not known."""
    curves = {"train/loss": series("train/loss", [2.0, 1.0])}

    assert context_of(curves, configured(settings), {}, {}, (), formats).get("inputs") == expected


@pytest.mark.parametrize(
    ("settings", "metric", "expected"),
    [
        ({"vocab_size": 71, "num_classes": 4}, "accuracy", "classification"),  # of whole texts
        ({"vocab_size": 71}, "accuracy", "language-model"),
        ({"vocab_size": 71, "num_classes": 71}, "accuracy", "language-model"),
        ({"vocab_size": 71, "num_classes": 4}, "perplexity", "language-model"),
        ({"vocab_size": 71, "num_classes": 4}, "rouge1", "language-model"),
    ],
)
def test_texts_with_labels_are_classified(settings: dict[str, Scalar], metric: str, expected: str) -> None:
    """A classifier of texts has a vocabulary as well as labels, and scores the labels."""
    named = {n: series(n, [2.0, 1.0]) for n in ("train/loss", f"eval/{metric}")}
    context = context_of(named, configured(settings), {}, {}, (), ())
    assert (context["task"], context["inputs"]) == (expected, "tokens")
