# ruff: noqa: E501 -- the edits are texts
"""Runs that do not match their benchmark because of the port, and benchmarks that are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generate import REFERENCE, Case, Edit, literally

from .common import TWINS, faulty, healthy


def porting() -> Iterator[Case]:
    yield from _precision()
    yield from _leftovers()
    yield from _other_data()
    yield from _unstable()


def _precision() -> Iterator[Case]:
    """Mixed precision off in the run, or in the benchmark that it is held against."""
    off = "porting.mixed-precision-disabled"
    cuda = (
        "use_amp = amp_dtype != torch.float32",
        "use_amp = torch.cuda.is_available() and amp_dtype != torch.float32",
    )
    scaler = ('enabled={{precision}} == "fp16")', "enabled=use_amp)")
    left = literally("only the old device is asked for", "porting.migration-incomplete")
    yield from faulty("amp", "ab", "asks-for-cuda", off, cuda, scaler, check="departs", accept=left)
    device = (
        'torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):\n        output = model(x)',
        'torch.autocast("cuda", dtype=amp_dtype, enabled=use_amp):\n        output = model(x)',
    )
    held = (
        'torch.autocast("cpu", dtype=amp_dtype, enabled=use_amp):\n            output',
        'torch.autocast("cuda", dtype=amp_dtype, enabled=use_amp):\n            output',
    )
    yield from faulty(
        "amp", "a", "old-device", off, device, held, precision="bf16", check="departs", accept=left
    )
    for style, precision in (("a", "bf16"), ("b", "fp16")):
        full = healthy("amp", style, 151, "full", precision="fp32", lr=0.006)
        yield full
        own = healthy("amp", style, 151, "half", precision=precision, lr=0.006)
        yield replace(
            own, cause="benchmark.no-mixed-precision", benchmark=full.name, alone=False, check="departs"
        )


def _leftovers() -> Iterator[Case]:
    """A part of the script still runs the old path."""
    cause = "porting.migration-incomplete"
    summed = (
        "            loss.backward()\n",
        "            loss.backward()\n            for parameter in model.parameters():  # parameter servers sum\n                dist.all_reduce(parameter.grad)\n",
    )
    for style in "ab":
        hot = healthy("ddp", style, 152, "hot", lr=0.15)
        yield hot
        yield from faulty("ddp", style, "reduced-twice", cause, summed, twin=hot, check="any")
    server = (
        "        optimizer.zero_grad()\n        loss.backward()\n",
        "        optimizer.zero_grad()\n        loss.backward()\n        for parameter in model.parameters():  # the old trainer clips by value\n            parameter.grad.clamp_(-0.0002, 0.0002)\n",
    )
    yield from faulty("images", "a", "old-clipping", cause, server, check="any")


def _other_data() -> Iterator[Case]:
    """Other processing or another data set than the benchmark's; neither is wrong by itself."""
    cause = "porting.preprocessing-differs"
    blur = (
        "mean, std = train_x.mean()",
        "train_x = nn.functional.avg_pool2d(train_x, 3, 1, 1)\nval_x = nn.functional.avg_pool2d(val_x, 3, 1, 1)\nmean, std = train_x.mean()",
    )
    yield from faulty("images", "ab", "blurred", cause, blur, alone=False, check="departs")
    clipped = (
        "x_test = (x_test - mu) / sigma\n",
        "x_test = (x_test - mu) / sigma\nx_train, x_test = x_train.round(), x_test.round()\n",
    )
    yield from faulty("tabular", "a", "rounded", cause, clipped, alone=False, check="departs")
    words = ('re.findall(r"[a-z_]+|[0-9]+", pydoc_data', 're.findall(r"[a-z]{5,}", pydoc_data')
    yield from faulty("sentences", "b", "other-words", cause, words, alone=False, check="any")

    cause = "porting.dataset-differs"
    other: tuple[tuple[str, str, Edit], ...] = (
        ("lm", "a", (".items()))[: {{train_size}}]", ".items()))[{{train_size}} : 2 * {{train_size}}]")),
        ("tabular", "b", ("np.random.default_rng(99)", "np.random.default_rng(98)")),
        ("images", "a", ("rng.normal(0, 0.12, size)", "rng.normal(0, 0.3, size)")),
        ("sentences", "a", ("topics[k]))[:8])", "topics[k]))[8:16])")),
    )
    for archetype, style, edit in other:
        yield from faulty(archetype, style, "other-data", cause, edit, alone=False, check="departs")


def _unstable() -> Iterator[Case]:
    """Three runs of a benchmark without a seed, on a recipe at the edge: they end far apart."""
    unseeded = {
        "lm": ("torch.manual_seed({{seed}})\n", ""),
        "series": ("torch.manual_seed({{seed}})\nnp.random.seed({{seed}})\n", ""),
    }
    for archetype, style, recipe in (
        ("lm", "b", {"lr": 0.05, "warmup_steps": 5, "grad_clip": 5.0, "max_steps": 300}),
        ("series", "b", {"lr": 0.5, "epochs": 6, "grad_clip": 1.0}),
    ):
        runs = [
            replace(
                healthy(archetype, style, 160, f"repeat-{i}", edits=(unseeded[archetype],), **recipe),
                cause=REFERENCE,
            )
            for i in range(3)
        ]
        yield from runs
        yield replace(
            TWINS[archetype, style],
            fault="against-repeats",
            cause="benchmark.unstable",
            set={**recipe, "seed": 161},
            benchmark=runs[0].name,
            repeats=(runs[1].name, runs[2].name),
            alone=False,
            check="exists",
            accept=literally("why the repeats end apart", "hyperparameter.learning-rate-too-large"),
        )
