"""Constants of the model that weights were made with, and no checkpoint carries: `config.json` tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...engine.model import Place
from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Setting
from ..settings import last_part
from .model import loads_its_own, names_weights, source_of

# Nothing of these stands in the shapes of weights: with another value they load, and compute something else.
_BASE = re.compile(r"^(?:rope_theta|rotary_(?:emb_)?base|rope_base|rotary_theta|theta)$")
_EPSILON = re.compile(r"^(?:rms_norm_eps|layer_norm_eps(?:ilon)?|layernorm_epsilon|norm_eps(?:ilon)?)$")
_LENGTH = re.compile(r"^(?:seq_length|seq_len|max_seq_len(?:gth)?|cutoff_len|max_length)$")
# Blocks of another part of the model, with norms and positions of their own.
_OTHER_PART = re.compile(
    r"(?i)vision|visual|vit\b|audio|speech|image|projector|encoder|draft|teacher|reward|critic|dit\b|vae"
)
FAR = 3.0  # times: no rounding and no other way to write a value


def _number(setting: Setting) -> float | None:
    return names.number(setting.value) if not isinstance(setting.value, tuple) else None


def _homes(told: Iterable[Setting]) -> set[str]:
    """The files that describe a model as Hugging Face keeps it."""
    return {
        s.file
        for s in told
        if s.file.rpartition("/")[2] == "config.json" and last_part(s.key) == "model_type"
    }


@probe()
def other_constants(view: View) -> Finding:
    """The base of rotary positions, or the epsilon of norms, is not that of the loaded model's config.json.

    Longer texts than the model was made for are often trained with another base, on purpose.
    """
    told = view.run.raw_settings
    homes = _homes(told)
    if len(homes) != 1:
        return unknown("no config.json of one model lies there")
    theirs = {last_part(s.key): s for s in told if s.file in homes and not _OTHER_PART.search(s.key)}
    mine = [
        s
        for s in told
        if s.file not in homes and not s.file.endswith("config.json") and not _OTHER_PART.search(s.key)
    ]
    if not any(names_weights(s) for s in mine):
        return unknown("nothing says that weights are loaded")
    trained = (
        names.number(theirs["max_position_embeddings"].value) if "max_position_embeddings" in theirs else None
    )
    lengths = [n for s in mine if _LENGTH.match(last_part(s.key)) and (n := _number(s)) is not None]
    equal = ""
    for pattern, what in ((_BASE, "base of the rotary positions"), (_EPSILON, "epsilon of the norms")):
        given = next((s for name, s in theirs.items() if pattern.match(name)), None)
        used = next((s for s in mine if pattern.match(last_part(s.key))), None)
        if given is None or used is None:
            continue
        a, b = _number(used), _number(given)
        if a is None or b is None or a <= 0 or b <= 0:
            continue
        if pattern is _BASE and trained is not None and any(n > trained for n in lengths):
            continue
        words = f"the {what} is {a:g} ({used.key}), in {given.file} {b:g}"
        if max(a, b) > FAR * min(a, b):
            return present(
                words,
                value=a,
                threshold=b,
                where=(Place(used.file, used.line), Place(given.file, given.line)),
            )
        equal = equal or words
    return absent(equal) if equal else unknown("no constant of the model is recorded on both sides")


_UNTIED = "untie_embeddings_and_output_weights"  # Megatron-LM: a flag, and without it they are one matrix
_MEGATRON = "tensor_model_parallel_size"


@probe()
def other_tying(view: View) -> Finding:
    """Embeddings and output layer are one matrix here and not in the loaded model, or the reverse."""
    told = view.run.raw_settings
    given = [s for s in told if s.file.endswith("config.json") and last_part(s.key) == "tie_word_embeddings"]
    kinds = _homes(told)
    if len(kinds) != 1 or len(given) != 1 or not isinstance(given[0].value, bool):
        return unknown("no config.json of one model tells whether its embeddings are tied")
    mine = [s for s in told if s.file not in kinds]
    if not any(names_weights(s) or last_part(s.key) == "load" for s in mine):
        return unknown("nothing says that weights are loaded")
    flag = next((s for s in mine if last_part(s.key) == _UNTIED and isinstance(s.value, bool)), None)
    own = flag or next((s for s in mine if last_part(s.key) == _MEGATRON), None)
    if own is None:
        return unknown("nothing of the training tells whether embeddings are tied")
    tied = flag is None or flag.value is False
    here, there = ("is" if one else "is not" for one in (tied, given[0].value))
    words = f"the output layer {here} the embedding here ({own.file}), and in {given[0].file} it {there}"
    where = (Place(own.file, own.line), Place(given[0].file, given[0].line))
    return (absent if tied == given[0].value else present)(words, where=where)


@probe()
def own_checkpoint_as_new(view: View) -> Finding:
    """A run loads from the place where it saves, and settings say that a new training begins.

    Megatron's `--finetune` takes the weights alone and counts from 0; so does MindFormers without
    `resume_training`, of a checkpoint that its own `output_dir` holds.
    """
    own, found = loads_its_own(view.run), source_of(view.run)
    if own is None or found is None:
        return unknown("nothing tells both where checkpoints are saved and what training begins with")
    new, source, _ = found
    where = (Place(new.file, new.line), Place(source.file, source.line))
    if not own:
        return absent("what is loaded is not the run's own, or is gone on from", where=where)
    words = f"{source.key} = {source.value}, where the run itself saves"
    words += f", and {new.key} = {str(new.value).lower()}: only the weights come back"
    return present(words, where=where)
