"""The ids of tokens and the table of a pretrained model: tokens that are added, words numbered anew."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok

_GROWS = (
    "resize_token_embeddings",
    "_resize_token_embeddings",
    "resize_embeddings",
    "smart_tokenizer_and_embedding_resize",
)


def _adds(source: Script) -> list[ast.Call]:
    """Calls that surely add tokens: `add_tokens([...])`, or special tokens beyond the padding."""
    found = list(source.named("add_tokens"))
    for call in source.named("add_special_tokens"):
        given = call.args[0] if call.args else keyword(call, "special_tokens_dict")
        keys = (
            [k.value for k in given.keys if isinstance(k, ast.Constant)]
            if isinstance(given, ast.Dict)
            else []
        )
        if "additional_special_tokens" in keys:
            found.append(call)
    return [
        c for c in found if isinstance(c.func, ast.Attribute) and re.search(r"(?i)tok", unparse(c.func.value))
    ]


def table_not_grown(source: Script) -> Finding | None:
    """Tokens are added for a pretrained model, and its table is not resized, or before they are added."""
    adds = _adds(source)
    models = _models(source)
    if not adds or not models or source.loose:
        return None
    grown = list(source.named(*_GROWS))
    if not grown:
        if re.search(r"vocab_size\s*=|\bnn\.Embedding\(|resize|modules_to_save", source.code):
            return None  # a table of its own
        return at(
            source,
            adds[0],
            "tokens are added, and the table of the model is not resized: their ids have no row",
        )
    for call in grown:
        given = call.args[0] if call.args else keyword(call, "new_num_tokens")
        if (
            isinstance(given, ast.Attribute)
            and given.attr == "vocab_size"
            and re.search(r"(?i)tok", unparse(given.value))
        ):
            return at(source, call, "vocab_size leaves out the added tokens: len(tokenizer) counts them")
    scope = source.function_around(adds[0])
    same = [g for g in grown if source.function_around(g) is scope]
    if len(same) == len(grown) and len(adds) == 1 and all(g.lineno < adds[0].lineno for g in same):
        return at(source, same[-1], "the table is resized before the tokens are added")
    return ok(source, grown[0], "the table is resized for the added tokens")


def _models(source: Script) -> list[ast.Call]:
    """Models with pretrained weights."""
    return [
        c
        for c in source.named("from_pretrained")
        if re.search(r"Model|For[A-Z]|LMHead", unparse(c.func))
        and not re.search(r"(?i)tokeni[sz]er|processor|config", unparse(c.func))
    ]


_OF_WORDS = re.compile(
    r"(?i)vocab|(?:word|token|tok|piece)s?_?(?:2|to)_?(?:id|ix|idx|index)|\bstoi\b|token_ids"
)


def numbered_for_pretrained(source: Script) -> Finding | None:
    """`{w: i for i, w in enumerate(sorted(set(words)))}` numbers words of a pretrained model.

    Left aside: programs with a tokenizer, with a table that is resized or replaced, or with a size of it that
    is asked for.
    """
    models = _models(source)
    other = r"(?i)tokeni[sz]er|vocab_size\s*=|resize|modules_to_save|inputs_embeds|ignore_mismatched_sizes"
    if not models or source.loose or re.search(other, source.code) or source.named("Embedding"):
        return None
    for node in source.of(ast.DictComp):
        each = node.generators[0]
        if len(node.generators) != 1 or not isinstance(each.iter, ast.Call) or not each.iter.args:
            continue
        if last_name(each.iter.func) != "enumerate" or not _of_what_occurs(source, each.iter.args[0]):
            continue
        statement = source.statement(node)
        given = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        if _OF_WORDS.search(given or source.function_name(node)):
            return at(
                source, node, "words are numbered anew, and the model's weights were trained with other ids"
            )
    return None


def _of_what_occurs(source: Script, listed: ast.expr) -> bool:
    """Words as they occur in data: a set, or what a counter holds."""
    ways = [listed, *(v for n in of(listed, ast.Name) for v in flow(source).values(n, 3))]
    return any(
        isinstance(n, ast.SetComp)
        or (isinstance(n, ast.Call) and last_name(n.func) in ("set", "Counter", "most_common"))
        for w in ways
        for n in of(w, ast.SetComp, ast.Call)
    )


_TABLE_TRAINED = re.compile(
    r"embed_tokens|lm_head|\bwte\b|word_embeddings|modules_to_save|trainable_token|get_(?:in|out)put_embeddings"
)
_FOR_PADDING = re.compile(r"(?i)pad")


@probe()
def new_tokens_untrained(view: View) -> Finding:
    """Tokens that are added get rows in the table of a pretrained model, and no training reaches these."""
    return first(view, _new_rows_frozen, "the scripts add no tokens to a model that adapters tune")


def _new_rows_frozen(source: Script) -> Finding | None:
    """Tokens are added and the table is resized, and adapters leave that table as it is: new rows stay noise.

    `modules_to_save`, `trainable_token_indices`, adapters on the table itself, or anything else that touches
    it by name is taken for a way to train it; tokens for padding alone need no training.
    """
    adds = [c for c in _adds(source) if not _only_padding(c)]
    wrapped = source.named("get_peft_model") or [
        c for c in source.calls if keyword(c, "peft_config") is not None
    ]
    configs = source.named("LoraConfig")
    if source.loose or not adds or not wrapped or not configs or not _models(source):
        return None
    if not source.named(*_GROWS) or not source.named("train", "backward"):
        return None
    if _TABLE_TRAINED.search(source.code):
        return ok(source, configs[0], "the table of the tokens is trained, or filled, by name")
    return at(
        source,
        configs[0],
        "tokens are added, and the adapters leave the table frozen: the new rows stay as they were drawn"
        " (modules_to_save, trainable_token_indices)",
    )


def _only_padding(call: ast.Call) -> bool:
    texts = [n.value for a in call.args for n in of(a, ast.Constant) if isinstance(n.value, str)]
    return bool(texts) and all(_FOR_PADDING.search(t) for t in texts)
