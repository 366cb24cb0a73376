"""What a model is given where it is used: served behind a URL, or converted with its own input processing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...engine.model import Place
from .. import settings as names
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run, Setting
from ..settings import last_part

_TEMPLATES = frozenset({"template", "chat_template", "template_type", "prompt_template", "conv_template"})
_NONE = frozenset({"", "none", "null", "default", "empty", "base", "plain", "raw", "default-generation"})
_RAW = re.compile(
    r"/v1/completions\b|(?<!chat\.)\bcompletions\.create\("
    r"|^(?:from vllm import|import vllm)[\s\S]*?\bgenerate\(",
    re.MULTILINE,
)
_CHATS = re.compile(r"/chat/completions|chat\.completions|\bllm\.chat\(")
_CHAT = re.compile(
    r"/chat/completions|chat\.completions|apply_chat_template|\.chat\(|<\|im_start|\[INST\]|<\|user\|>"
    r"|<start_of_turn>|Human:|### ?(?:Instruction|Human)|template|prompt_token_ids",
    re.IGNORECASE,
)


@probe()
def template_left_out(view: View) -> Finding:
    """Trained with a template for chats, and a script asks for completions of the bare text."""
    used = [s for s in view.run.raw_settings if last_part(s.key) in _TEMPLATES and isinstance(s.value, str)]
    used = [s for s in used if str(s.value).strip().lower() not in _NONE]
    asking = [(f, t) for f, t in view.run.scripts.items() if _RAW.search(t) or _CHATS.search(t)]
    if not used or not asking:
        return unknown("no template for chats is set, or no script asks the trained model")
    told = f"{used[0].key} = {used[0].value}"
    if any(re.search(r"apply_chat_template", text) for text in view.run.scripts.values()):
        return absent(f"{told}, and a script writes its questions in the template of the tokenizer")
    for file, text in asking:
        raw = _RAW.search(text)
        if raw is not None and _CHAT.search(text) is None:
            where = (Place(used[0].file, used[0].line), Place(file, text.count("\n", 0, raw.start()) + 1))
            return present(
                f"training wraps each text ({told}), and {file} asks with the bare text", where=where
            )
    return absent(f"training wraps each text ({told}), and so does what asks the model", where=())


_MEANS, _SCALES = ("mean_chn_", "var_reci_chn_")
_LEVELS = 255.0
_OFF = 4.0  # grey levels: more than rounding makes
_NORMALISES = re.compile(r"\bNormalize\s*\(")
_TRAINED_MEAN = re.compile(r"\bmean\s*=\s*(\[[^\[\]\n]{3,120}\]|\([^()\n]{3,120}\))")


def _channels(run: Run, stem: str) -> list[tuple[float, Setting]]:
    """Numbers of the channels of AIPP, in their order."""
    found = [
        (n, s)
        for s in run.raw_settings
        if last_part(s.key).startswith(stem) and (n := names.number(s.value)) is not None
    ]
    return sorted(found, key=lambda f: f[1].key)


def _means(run: Run) -> Iterator[list[float]]:
    """Means that scripts subtract in training, in grey levels."""
    for text in run.scripts.values():
        if not _NORMALISES.search(text):
            continue
        for written in _TRAINED_MEAN.findall(text):
            try:
                values = [_value(node) for node in ast.parse(written, mode="eval").body.elts]
            except (SyntaxError, ValueError, AttributeError):
                continue
            yield [v * _LEVELS if max(values) <= 2 else v for v in values]


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        left, right = _value(node.left), _value(node.right)
        return left * right if isinstance(node.op, ast.Mult) else left / (right or 1.0)
    raise ValueError("no number")


@probe()
def converted_inputs_unlike(view: View) -> Finding:
    """AIPP, which processes the inputs of a converted model, subtracts other means than training does.

    Means may be told in grey levels or in shares, and the channels the other way round.
    """
    there = [v for v, _ in _channels(view.run, _MEANS)]
    least = [v for v, _ in _channels(view.run, "min_chn_")]
    trained = list(_means(view.run))
    if len(there or least) < 3 or not trained:
        return unknown("no AIPP configuration lies beside a training script that normalises")
    at = (_channels(view.run, _MEANS) or _channels(view.run, "min_chn_"))[0][1]
    where = (Place(at.file, at.line),)
    there = [a or b for a, b in zip(there or least, least or there, strict=False)]  # AIPP subtracts both
    for mean in trained:
        if len(mean) == len(there) and any(
            all(abs(a - b) <= _OFF for a, b in zip(there, order, strict=True)) for order in (mean, mean[::-1])
        ):
            return absent(
                "AIPP subtracts the means that training subtracts", where=(Place(at.file, at.line),)
            )
    mine, theirs = (", ".join(f"{v:.4g}" for v in side) for side in (trained[0], there))
    return present(f"training subtracts a mean of {mine}, the converted model {theirs}", where=where)
