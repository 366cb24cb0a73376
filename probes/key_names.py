"""Which weights a message about keys of checkpoints names: those of a new head, or of the model's body."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .run import Event

# A new head on a trained body is what fine-tuning does: only these names in a message are no sign of trouble.
_HEAD = re.compile(
    r"^(?:(?:model|module|bert|roberta|distilbert|albert|electra|vit|net|encoder|base_model)\.)?"
    r"(?:classifier|pre_classifier|score|lm_head|qa_outputs|pooler|fc|heads?|cls|class_embed|bbox_embed|box_predictor"
    r"|mask_predictor|roi_heads|decode_head|logits|vocab_\w+|projector|classification_head|v_head|value_head"
    r"|summary|seq_relationship|position_ids|embeddings\.position_ids)(?:\.|$)"
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_NAMES = re.compile(r"[\"']([\w.]+\.[\w.]+)[\"']")
_LAYER = re.compile(r"(?:^|\.)(?:layers?|blocks?|h|resblocks|encoder|decoder|layer\d)\.(\d+)\.")
# What is computed anew and not trained, adapters and cross attention that begin new, and the optimizer's own.
_NO_WEIGHT = re.compile(
    r"inv_freq|masked_bias|attn\.bias$|attention\.bias$|position_ids|relative_position_index|attn_mask|relative_coords_table|freqs_cis|num_batches_tracked"
    r"|_extra_state|lora_|adapter|(?:^|\.)(?:adam_[mv]|moments?[12]?|exp_avg(?:_sq)?)\.|running_(?:mean|var)"
    r"|[kv]_scale|quant|_global\b|rotary|base_layer|^base_model\.model\.|cross_?att|EncDecAtt"
)
# A model may be taken in part: its encoder alone, its language model alone. The rest is then left over.
_LEFT_OVER = re.compile(r"unexpected|not used", re.IGNORECASE)
_PART = re.compile(
    r"^(?:decoder|encoder|\w*(?:text|vision|visual|image|audio|language)\w*|qformer)\.", re.IGNORECASE
)
# What transformers says of a model that it takes from a checkpoint
_OF_A_NAMED_MODEL = re.compile(r"\bSome weights of\b", re.IGNORECASE)
_DETECTS = re.compile(r"\b\w+For\w*(?:Detection|Segmentation)\b")
_DECODER = re.compile(r"(?:^|[._])decoder\.")
# MindSpore counts first, and names them in a line of its own
_COUNTED = re.compile(r"\b(\d{1,6}) parameters in the '?net'? are not loaded", re.IGNORECASE)
_ONE = re.compile(r"[\w\]'\"] is not loaded", re.IGNORECASE)
# PaddleOCR says it of each weight in a line of its own
_ONE_EACH = re.compile(r"\bpretrained params? [\w.]+ not in model", re.IGNORECASE)
MANY = 20  # more than any new head has
_LEAST = 2  # weights of layers: one may be one that was replaced


def only_new(event: Event, beside: Sequence[Event] = ()) -> bool:
    """Whether the message names, or counts, what begins new alone: a head, or adapters."""
    if only_head(event):
        return True
    if _COUNTED.search(event.text):
        names = [one for one in beside if not _COUNTED.search(one.text)]
        return bool(names) and all(_begins_new(one) for one in names)
    return _begins_new(event)


def only_head(event: Event) -> bool:
    """Whether the message names a new head alone."""
    found = _named(event)
    return bool(found) and "[:" not in event.text and all(_HEAD.match(n) for n in found)


def of_body(event: Event, beside: Sequence[Event] = ()) -> bool:
    """Whether the message names weights of several of the model's own layers.

    `beside`: the messages of its kind; one may name what another counts.
    """
    counted = _COUNTED.search(event.text)
    if counted is not None and int(counted[1]) >= MANY:
        return not any(_begins_new(one) for one in beside)
    if _ONE_EACH.search(event.text):
        left = {n for e in beside if _ONE_EACH.search(e.text) for n in _named(e)}
        return len([n for n in left if not (_NO_WEIGHT.search(n) or _HEAD.match(n))]) >= MANY
    named = _named(event)
    if len(named) == 1 and _ONE.search(event.text):  # MindSpore: a line to each
        named = [n for one in beside if _ONE.search(one.text) for n in _named(one)]
    inside = [n for n in named if _LAYER.search(n) and not (_NO_WEIGHT.search(n) or _HEAD.match(n))]
    if _OF_A_NAMED_MODEL.search(event.text):
        if _DETECTS.search(event.text):  # on a trained backbone
            inside = [n for n in inside if not _DECODER.search(n)]
        if not any(int(m[1]) == 0 for n in inside if (m := _LAYER.search(n))):
            return False  # deeper than the checkpoint, or without its last layers
    kinds = {n[m.end() :] for n in inside if (m := _LAYER.search(n))}
    if _LEFT_OVER.search(event.text) and len(kinds) > 1:  # else one bias of each layer, which is no part
        inside = [n for n in inside if not _PART.match(n)]
    return len(set(inside)) >= _LEAST


def _begins_new(event: Event) -> bool:
    """All weights that the message names begin new or are made anew: adapters, tables of positions."""
    found = [n for n in _named(event) if _LAYER.search(n)]
    return bool(found) and all(_NO_WEIGHT.search(n) for n in found)


def _named(event: Event) -> list[str]:
    return _NAMES.findall(event.text) or _DOTTED.findall(event.text.rpartition(":")[2])
