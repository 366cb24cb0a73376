"""Settings that stand in scripts are read without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.files import walk
from traindoctor.probes.readers import script

TEXT = """\
import argparse
import torch
from torch.utils.data import DataLoader
LR = 1e-3
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
args = parser.parse_args()
config = {"wd": 0.1}
loader = DataLoader(train_set, batch_size=args.batch_size)
val_loader = DataLoader(val_set, batch_size=512, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), 2 * LR, weight_decay=config["wd"], betas=(0.9, 0.95))
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(3, 10):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""


def read(tmp_path: Path, text: str) -> dict[str, tuple[object, int | None, int]]:
    (tmp_path / "train.py").write_text(text)
    (file,) = walk(tmp_path)[0]
    assert script.sniff(file)
    return {s.key: (s.value, s.line, s.trust) for s in script.read(file).settings}


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("learning_rate", 0.002, 11),
        ("weight_decay", 0.1, 11),
        ("adam_beta2", 0.95, 11),
        ("optimizer", "adamw", 11),
        ("label_smoothing", 0.1, 12),
        ("max_grad_norm", 1.0, 14),
        ("shuffle", False, 9),
        ("epochs", 7, 13),
        ("batch_size", 64, 9),
    ],
)
def test_literals_are_followed(tmp_path: Path, key: str, value: object, line: int) -> None:
    """Names, argparse defaults and dict entries are followed to their values, with the line of the call."""
    found = read(tmp_path, TEXT)[key]

    assert found[:2] == (pytest.approx(value) if isinstance(value, float) else value, line)


def test_defaults_of_the_command_line_are_trusted_less(tmp_path: Path) -> None:
    """What --batch-size may have overridden weighs less than a literal."""
    found = read(tmp_path, TEXT)

    assert found["batch_size"][2] < found["learning_rate"][2]


def test_the_evaluation_loader_does_not_count(tmp_path: Path) -> None:
    """Shuffling and batch size are the training loader's."""
    assert read(tmp_path, TEXT)["batch_size"][0] == 64


def test_a_script_without_a_framework_gives_nothing(tmp_path: Path) -> None:
    """Any other Python file is nobody's settings."""
    assert read(tmp_path, "LR = 3\n") == {}


@pytest.mark.parametrize("text", ["def (:\n", "print 'python 2'\n", "x = (" * 5000])
def test_broken_source_is_one_sentence(tmp_path: Path, text: str) -> None:
    """A syntax error, another Python version and absurd nesting raise ValueError."""
    with pytest.raises(ValueError, match="Python"):
        read(tmp_path, "import torch\n" + text)


def test_nothing_is_executed(tmp_path: Path) -> None:
    """Reading a script runs none of it."""
    read(tmp_path, f"import torch\nopen({str(tmp_path / 'ran')!r}, 'w')\n")

    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "precision"),
    [
        ('output_dir="out", learning_rate=5e-5', "fp32"),
        ('output_dir="out", fp16=True', None),
        ('output_dir="out", bf16=use_bf16', None),
        ('output_dir="out", **options', None),
    ],
)
def test_a_trainer_without_a_word_of_half_precision_is_in_fp32(
    tmp_path: Path, arguments: str, precision: str | None
) -> None:
    """TrainingArguments default to full precision; what is passed on unseen says nothing."""
    found = read(
        tmp_path, f"from transformers import TrainingArguments\nargs = TrainingArguments({arguments})\n"
    )

    assert found.get("precision", (None,))[0] == precision or (precision is None and "fp32" not in str(found))
