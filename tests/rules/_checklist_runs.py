"""Small run directories for the checklists, where no recorded run has what an item needs.

Formats are those that people have: a text log, a YAML configuration, `sha256sum` and `pip freeze` output,
one list of samples per rank, CSV and batches as .npy.
"""

from __future__ import annotations

import hashlib
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

MODEL = """model:
  num_layers: 4
  hidden_size: 256
  num_heads: 4
  vocab_size: 1000
  init_std: 0.02
  num_experts: 8
  experts_per_token: 2
optimizer:
  name: adamw
  lr: 0.0003
  weight_decay: 0.1
  adam_epsilon: 1.0e-8
  adam_beta1: 0.9
  adam_beta2: 0.95
global_batch_size: 64
max_steps: 1200
max_grad_norm: 1.0
seed: 42
lr_scheduler: cosine
warmup_steps: 100
zero_stage: 2
pretrained: base-4l
"""
PACKAGES = "torch==2.4.1\ndeepspeed==0.18.4\ntransformers==4.48.2\nnumpy==1.26.4\nsix==1.16.0\n"


def log(folder: Path, *, scale: float = 1.0, norm: float = 1.0, seed: int = 0, steps: int = 1200) -> None:
    """A loss that falls from 4.1 (trained weights to start from) to 2.9; `scale`, `norm` move the curves."""
    noise, chance = random.Random(1), random.Random(seed + 2)  # noqa: S311 - noise, no secret
    lines = []
    for step in range(1, steps + 1):
        level = (
            2.9 + 1.2 * math.exp(-step / 250) + noise.gauss(0, 0.03) + (chance.gauss(0, 0.02) if seed else 0)
        )
        rate = 3e-4 * min(1.0, step / 100) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
        size = (0.8 + 0.6 * math.exp(-step / 250) + noise.gauss(0, 0.02)) * norm
        lines.append(f"step {step} loss {level * scale:.5f} lr {rate:.6g} grad_norm {size:.5f}\n")
    (folder / "train.log").write_text("".join(lines), encoding="utf-8")


def language_model(folder: Path, settings: str = MODEL, packages: str = PACKAGES, **curve: float) -> Path:
    """A language model's run: log, configuration, list of packages."""
    folder.mkdir(parents=True)
    log(folder, **curve)  # type: ignore[arg-type]
    (folder / "config.yaml").write_text(settings, encoding="utf-8")
    (folder / "requirements.txt").write_text(packages, encoding="utf-8")
    return folder


def checksums(
    folder: Path, changed: frozenset[int] = frozenset(), missing: frozenset[int] = frozenset()
) -> Path:
    """The output of `sha256sum` over twenty files, two of them other files or not there."""
    rows = [
        f"{hashlib.sha256(f'{n}{n in changed}'.encode()).hexdigest()}  data/part-{n:03}.bin\n"
        for n in range(20)
        if n not in missing
    ]
    (folder / "sha256sums.txt").write_text("".join(rows), encoding="utf-8")
    return folder


def shards(folder: Path, overlap: int = 0) -> Path:
    """What each of four ranks read: a quarter each, `overlap` samples of the neighbour's beside."""
    for rank in range(4):
        mine = range(rank * 250 - (overlap if rank else 0), rank * 250 + 250)
        (folder / f"shard_rank{rank}.txt").write_text("".join(f"{n}\n" for n in mine), encoding="utf-8")
    return folder


def tokens(folder: Path, size: int) -> Path:
    """The tokenizer's configuration beside the model's."""
    text = f'{{"tokenizer_class": "LlamaTokenizer", "vocab_size": {size}, "model_max_length": 512}}\n'
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    return folder


def batches(folder: Path, *, missing: bool = False, large: bool = False, ignored: bool = False) -> Path:
    """Batches as the model receives them, inputs and labels as .npy."""
    generator = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for n in range(4):
        inputs = generator.normal(0.0, 1.0, (64, 20)).astype(np.float32)
        labels = np.asarray([i % 4 for i in range(64)], dtype=np.int64)
        if missing and n == 2:
            inputs[3, 5] = np.nan
        if large:
            inputs = inputs * 40 + 120
        if ignored and n == 1:
            labels[:] = -100
        np.save(folder / f"batch{n}_inputs.npy", inputs)
        np.save(folder / f"batch{n}_labels.npy", labels)
    return folder


def accepted(root: Path) -> None:
    """A port that the acceptance test takes, with data that are whole and split without overlap."""
    for name, scale, norm in (("run", 1.002, 1.02), ("benchmark", 1.0, 1.0)):
        tokens(shards(checksums(language_model(root / name, scale=scale, norm=norm))), 1000)


def refused(root: Path) -> None:
    """A port with other experts, another epsilon, a broken copy of the data and a defective library."""
    settings = MODEL.replace("num_experts: 8", "num_experts: 4").replace("1.0e-8", "1.0e-5")
    settings = settings.replace("pretrained: base-4l", "pretrained: null").replace(
        "init_std: 0.02", "init_std: 0.2"
    )
    packages = PACKAGES.replace("0.18.4", "0.17.6")
    mine = language_model(root / "run", settings, packages, scale=1.03, norm=1.3)
    tokens(shards(checksums(mine, frozenset({3, 7}), frozenset({11})), overlap=40), 1200)
    tokens(shards(checksums(language_model(root / "benchmark"))), 1000)


def steady(root: Path) -> None:
    """Three benchmark runs that agree, and a run like them."""
    for name, seed in (("run", 1), ("benchmark", 2), ("second", 3), ("third", 4)):
        language_model(root / name, seed=seed)


def scattered(root: Path) -> None:
    """Three benchmark runs of one recipe that end far apart, and a run above them all."""
    for name, scale in (("run", 1.35), ("benchmark", 1.0), ("second", 1.12), ("third", 1.2)):
        language_model(root / name, scale=scale, seed=round(100 * scale))


def above(root: Path) -> None:
    """Three benchmark runs that agree, and a run above them all."""
    language_model(root / "run", scale=1.15, seed=1)
    for name, seed in (("benchmark", 2), ("second", 3), ("third", 4)):
        language_model(root / name, seed=seed)


def other_model(root: Path) -> None:
    """A run with half the layers of its benchmark."""
    language_model(root / "run", MODEL.replace("num_layers: 4", "num_layers: 2"), scale=1.05)
    language_model(root / "benchmark")


def clipped_scaled(root: Path) -> None:
    """A recorded fp16 run whose script no longer unscales gradients before it clips them."""
    recorded = Path(__file__).resolve().parents[2] / "faultlab" / "runs" / "amp-28c4e"
    shutil.copytree(recorded, root / "run")
    script = root / "run" / "train.py"
    lines = script.read_text(encoding="utf-8").splitlines(keepends=True)
    script.write_text("".join(x for x in lines if "unscale_" not in x), encoding="utf-8")


def sound_batches(root: Path) -> None:
    """Batches of sound samples beside a run whose configuration counts its classes."""
    language_model(root / "run", MODEL + "class_counts: [510, 480, 505, 505]\n")
    batches(root / "data")


def odd_batches(root: Path) -> None:
    """Batches with a NaN, on a large scale, one of them without a label; one class has few samples."""
    language_model(root / "run", MODEL + "class_counts: [1900, 40, 35, 25]\n")
    batches(root / "data", missing=True, large=True, ignored=True)


BUILT: dict[str, Callable[[Path], None]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        accepted,
        refused,
        steady,
        scattered,
        above,
        other_model,
        clipped_scaled,
        sound_batches,
        odd_batches,
    )
}
