"""Places of a text that a fine-tuned model has no answer to give for: prompts, special tokens, templates."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal

_LABELS = re.compile(r"(?i)(?:^|[._\['])labels?(?:_ids)?(?:$|['\]])")
_TOKEN = re.compile(r"(?i)(?:pad|eos|unk)_token_id$")
_OWN_LOSS = re.compile(r"ignore_index|loss_mask|loss_weights")
# the token is replaced afterwards, by the script or by the collator that makes labels itself
_REPLACED = re.compile(r"(?:pad|eos|unk)_token_id[^\n]{0,40}[=,]\s*-100|DataCollatorForLanguageModeling\(")


def prompt_counts(source: Script) -> Finding | None:
    """`labels[:n] = [tokenizer.pad_token_id] * n` of a prompt, `0 if word_id is None else label`.

    Models of transformers leave out -100 alone; a loss of the script's own may leave out anything.
    """
    if source.loose or "transformers" not in source.text or _OWN_LOSS.search(source.code):
        return None
    for node in source.of(ast.Assign):
        part, value = node.targets[0], node.value
        if not isinstance(part, ast.Subscript) or not isinstance(part.slice, ast.Slice):
            continue
        if part.slice.lower is not None or not _LABELS.search(unparse(part.value)):
            continue
        if (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Mult)
            and isinstance(value.left, ast.List)
        ):
            value = value.left.elts[0] if value.left.elts else value
        if _counts(source, value) and not (_TOKEN.search(unparse(value)) and _REPLACED.search(source.code)):
            return at(
                source, value, "the prompt gets a token as its label, and the model leaves out -100 alone"
            )
    for choice in source.of(ast.IfExp):
        test = choice.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_none(test.comparators[0]):
            continue
        function = source.function_around(choice) or source.tree
        if "word" not in unparse(test.left) or not re.search(r"(?i)label", unparse(function)):
            continue
        special, word = choice.body, choice.orelse
        if not isinstance(test.ops[0], ast.Is):
            special, word = word, special
        if isinstance(word, ast.Constant):
            continue  # a mask
        if _counts(source, special):
            return at(
                source, special, "special tokens get a class for a label, and the model leaves out -100 alone"
            )
    return None


def _counts(source: Script, value: ast.expr) -> bool:
    """A class or a token: no negative number."""
    number = literal(source, value)
    if isinstance(number, int) and not isinstance(number, bool):
        return number >= 0
    return _TOKEN.search(unparse(value)) is not None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def template_not_in_text(source: Script) -> Finding | None:
    """`DataCollatorForCompletionOnlyLM("### Response:")` of texts that the script writes with other words.

    Then no answer is found, and every position is left out. Told only where the script itself writes the
    texts, and its own template begins as the one that is asked for.
    """
    for call in source.named("DataCollatorForCompletionOnlyLM"):
        asked = argument(call, "response_template", position=0)
        told = literal(source, asked) if asked is not None else None
        if not isinstance(told, str) or source.loose or not told.strip():
            continue
        own = {id(v) for v in flow(source).values(asked, 4)} if asked is not None else set()
        texts = [n for n in source.of(ast.Constant) if isinstance(n.value, str) and id(n) not in own]
        texts = [n for n in texts if _is_text(source, n)]
        sign = re.match(r"\W+", told.strip())
        if source.named("apply_chat_template"):
            continue
        written = [str(n.value) for n in texts if sign is not None and sign[0].strip() in str(n.value)]
        if not written or sign is None or not sign[0].strip():
            continue
        if any(told.strip() in t for t in written):
            return ok(source, call, "the template stands in the texts")
        if any(t.rstrip().endswith(sign[0].strip()) for t in written):
            continue  # `f"### {role}:"`
        why = f"no text of the script holds {told.strip()!r}: no answer is learnt from"
        return at(source, asked or call, why)
    return None


def _is_text(source: Script, node: ast.Constant) -> bool:
    """What samples are made of: with a place for a value, or several lines; no name of a token."""
    return isinstance(source.parents.get(node), ast.JoinedStr) or bool(re.search(r"[{\n]", str(node.value)))


def adapters_for_inference(source: Script) -> Finding | None:
    """`LoraConfig(inference_mode=True)` of adapters that are trained then: peft freezes them."""
    for call in source.calls:
        flag = argument(call, "inference_mode")
        if not last_name(call.func).endswith("Config") or not isinstance(flag, ast.Constant):
            continue
        if flag.value is True and "peft" in source.text and source.named("train", "fit", "backward"):
            wrapped = [argument(c, "peft_config", position=1) for c in source.named("get_peft_model")]
            if any(call in flow(source).values(w, 4) for w in wrapped if w is not None):
                return at(source, flag, "adapters that are made for inference have no gradients")
    return None
