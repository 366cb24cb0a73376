"""A run that is meant to start from trained weights, and starts like an untrained one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...engine.model import Place
from .. import key_names
from ..registry import Finding, View, absent, place, place_of, present, unknown
from ..run import Event, Run
from . import situation
from .judging import probe
from .situation import classes


def _resumed_inside(run: Run) -> bool:
    """Whether the training loss begins before the steps at which the run was resumed."""
    series = run.series["train/loss"]
    at = [e.step if e.step is not None else e.value for e in run.events_of("resume")]
    known = [step for step in at if step is not None]
    return bool(known) and len(series) > 0 and float(series.steps[0]) < min(known)


FEW_WORDS = (
    30_000  # the least vocabulary of models that are tuned: BERT has 30,522, Llama 32,000, GPT-2 50,257
)
_OF_TEXTS = frozenset(
    ("sequence_len", "max_seq_length", "cutoff_len", "sample_packing", "chat_template", "block_size")
)


def _language_model(run: Run) -> str | None:
    """The setting that names a pretrained language model, where others are those of texts; or None."""
    last = {s.key.rpartition(".")[2]: s for s in run.raw_settings}
    named = next(
        (k for k in sorted(situation.NAMES_MODEL & last.keys()) if isinstance(last[k].value, str)), None
    )
    return named if named is not None and _OF_TEXTS & last.keys() else None


_OF_A_LANGUAGE_MODEL = re.compile(r"(?i)\b\w+(?:ForCausalLM|LMHeadModel)\b.*\blm_head\.")


def _head_drawn_anew(run: Run) -> Event | None:
    """The line that says that a model of language got a new output layer, for all else was in a checkpoint.

    Older releases of transformers say so of layers that are tied to the embedding, too: the loss then tells.
    """
    for event in run.events_of("weights-newly-initialized"):
        if key_names.only_head(event) and _OF_A_LANGUAGE_MODEL.search(event.text):
            return event
    return None


@probe("train/loss")
def pretrained_starts_untrained(view: View, tolerance: float = 0.1) -> Finding:
    """Trained weights are configured, and the first loss of the language model is that of a uniform guess.

    What a curve goes on from in its middle, a checkpoint of its own, is none that it starts from.
    """
    run = view.run
    keys = ("pretrained", "adapter") if _resumed_inside(run) else ("pretrained", "resume_from", "adapter")
    meant = next((k for k in keys if situation.switched_on(run, k)), None)
    tuned = next((s for s in run.raw_settings if s.key.rpartition(".")[2] == "run_mode"), None)
    language = _language_model(run) if meant is None else None
    anew = _head_drawn_anew(run) if meant is None and language is None else None
    if language is not None:
        meant = language
    elif anew is None and meant is None and (tuned is None or str(tuned.value).lower() != "finetune"):
        known = "pretrained" in run.settings
        words = "no trained weights are configured"
        return absent(words) if known else unknown(f"{words}, as far as is known")
    number = classes(run)
    series = run.series["train/loss"]
    count = number.count if number is not None and number.setting.key == "vocab_size" else 0
    count = count or (FEW_WORDS if language or anew else 0)
    if not count or not len(series) or not np.isfinite(series.values[0]):
        return unknown(
            "only a language model of known vocabulary and first loss can be told: heads are always new"
        )
    level = situation.chance_loss(run, count)
    first = float(series.values[0])
    reason = "only lm_head is said to be new" if anew else f"{meant or 'run_mode = finetune'} is set"
    words = f"{reason}, the first train/loss is {first:.4g}, a guess among {count} words gives {level:.4g}"
    seen: dict[str, Any] = {"value": round(first, 4), "threshold": round((1 - tolerance) * level, 4)}
    told = (
        place_of(run.settings[meant])
        if meant is not None and meant in run.settings
        else Place(first_told.file, first_told.line)
        if (first_told := anew or tuned)
        else None
    )
    where = (place(series, 0), *((told,) if told else ()))
    if first >= (1 - tolerance) * level:
        return present(words, step=float(series.steps[0]), where=where, series=("train/loss",), **seen)
    return absent(words, series=("train/loss",), **seen)


@probe("train/loss")
def head_untrained(view: View, tolerance: float = 0.1) -> Finding:
    """The log names the output layer of a language model as new, and the first loss is that of a guess."""
    if _head_drawn_anew(view.run) is None:
        return unknown("no log says that the output layer of a language model is new")
    return pretrained_starts_untrained(view, tolerance=tolerance)
