"""The token that ends an answer, and a collator that leaves it out with the padding."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import argument
from ...registry import Finding, View, probe
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok

# families whose tokenizers come without a token for padding, so that `if pad_token is None` holds
_WITHOUT_PADDING = re.compile(
    r"(?i)['\"/](?:distil)?gpt-?(?:2|neo|j)|llama-?2|llama-7b|mistral-7b|falcon-\d|pythia-\d|bloke/"
)
_ENDED = re.compile(r"\+\s*\[?\s*[\w.]*eos_token|\+\s*EOS\w*\b|\{[\w.]*(?:eos_token|EOS_TOKEN)\}")
# labels of the script's own, or rows of one length without padding
_OTHERWISE = re.compile(r"(?i)labels|group_texts|block_size|packing\s*=\s*True|pad_token['\"]\s*:")


@probe()
def end_token_hidden(view: View) -> Finding:
    """The end token is written behind each answer, is the padding too, and the collator leaves padding out.

    `DataCollatorForLanguageModeling(tokenizer, mlm=False)` makes labels of its own: -100 wherever the padding
    token stands. With `pad_token = eos_token` no text has an end to learn.
    """
    return first(view, _end_hidden, "the scripts make no labels by a collator for language models")


def _end_hidden(source: Script) -> Finding | None:
    collators = [
        c
        for c in source.named("DataCollatorForLanguageModeling")
        if isinstance(flag := argument(c, "mlm", position=1), ast.Constant) and flag.value is False
    ]
    if not collators or source.loose or not source.named("train"):
        return None
    pads = [
        (node, target)
        for node in source.of(ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and target.attr in ("pad_token", "pad_token_id")
    ]
    if not pads:
        return None
    if not all(_is_end(node.value) for node, _ in pads):
        return ok(source, pads[0][0], "padding has a token of its own")
    if _OTHERWISE.search(source.code) or not _ENDED.search(source.code):
        return None
    node = pads[-1][0]
    if isinstance(source.parents.get(node), ast.If) and not _WITHOUT_PADDING.search(source.text):
        return None
    return at(
        source,
        node,
        "the end token is the padding as well, and the collator leaves all of that token out of the loss:"
        " no answer has an end to learn",
    )


def _is_end(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute) and re.search(r"eos_token(?:_id)?$", unparse(value)) is not None
