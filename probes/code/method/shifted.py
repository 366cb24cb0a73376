"""Sequences that are one place off in scripts: targets of a decoder, labels of models that shift themselves.

And decoders that are handed the right words where they are scored.
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.sides import literal
from .sequence_targets import next_cuts

_SHAPED = ("reshape", "view", "flatten", "contiguous", "ravel", "long", "to")
_ENTROPIES = ("crossentropyloss", "cross_entropy", "nllloss", "nll_loss")
_TARGET = re.compile(r"(?i)^(?:\w+_)?(?:trg|tgt|targets?|labels?|gold|captions?|y)(?:_\w+)?$")
_SHIFTS = re.compile(r"^(?:AutoModelForCausalLM|GPT2LMHeadModel|LlamaForCausalLM|\w+ForCausalLM)$")
_TEACHER = re.compile(
    r"(?i)^(?:\w+_)?teacher_?(?:forc\w*)?(?:_?(?:ratio|rate|prob\w*|p))?$|^tf_?(?:ratio|rate|prob)$"
)


def _cut(node: ast.expr) -> tuple[str, str]:
    """`trg[:, 1:].reshape(-1)` -> ("trg", "1:"); ("", "") where nothing is cut off along the second axis."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED:
        node = node.func.value
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        first, *rest = (unparse(e) for e in node.slice.elts)
        if first in (":", "...") and (len(rest) == 1 or rest[1:] == [":"]):
            return unparse(node.value), rest[0]
    return "", ""


def targets_are_inputs(source: Script) -> Finding | None:
    """`cross_entropy(logits, trg[:, :-1])`: what the decoder was fed last is its target, not what comes next.

    Only where the answers are not cut themselves, and the model is fed the targets from their start.
    """
    for call, kind in losses(source):
        if kind not in _ENTROPIES or len(call.args) < 2:
            continue
        name, cut = _cut(call.args[1])
        if cut != ":-1" or not _TARGET.match(name) or _cut(call.args[0])[1] or source.loose:
            continue
        if _fed_from_start(source):
            return at(source, call.args[1], "the targets are what the decoder was fed, not what comes next")
    return None


def _fed_from_start(source: Script) -> bool:
    """`token = trg[:, 0]`, `for t in range(1, n)`: the first answer is that to the first token."""
    for function in source.passes:
        text = unparse(function)
        if re.search(r"\w+\[:, 0\]", text) and re.search(r"range\(1, ", text):
            return True
    return False


def shifted_twice(source: Script) -> Finding | None:
    """`{"input_ids": ids[:-1], "labels": ids[1:]}` for a model that shifts its labels by itself."""
    if source.named("compute_loss") or not any(
        _SHIFTS.match(last_name(c.func.value))
        for c in source.named("from_pretrained", "from_config")
        if isinstance(c.func, ast.Attribute)
    ):
        return None
    if any("compute_loss" in {f.name for f in of(o, ast.FunctionDef)} for o in source.classes.values()):
        return None
    for node in source.of(ast.Dict):
        items = {
            k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)
        }
        ids, labels = items.get("input_ids"), items.get("labels")
        if ids is None or labels is None:
            continue
        if re.search(r"\[(?:\.\.\., |:, )?:-1\]$", unparse(ids)) and re.search(
            r"\[(?:\.\.\., |:, )?1:\]$", unparse(labels)
        ):
            why = "the model shifts its labels by itself, and these are shifted already"
            return at(source, labels, why)
    return None


def shifted_in_both(source: Script) -> Finding | None:
    """Targets are cut one place further than the inputs, and the loss shifts them again.

    `x, y = ids[i:i + n], ids[i + 1:i + n + 1]` and `cross_entropy(logits[:, :-1], y[:, 1:])`.
    """
    if source.loose:
        return None
    further = {c.node for _, c in next_cuts(source)}
    for call, kind in losses(source) if further else ():
        if kind not in _ENTROPIES or len(call.args) < 2:
            continue
        answers, (name, cut) = _cut(call.args[0])[1], _cut(call.args[1])
        if cut != "1:" or not answers.startswith(":-1") or is_evaluation(source, call):
            continue
        wanted = call.args[1]
        while isinstance(wanted, (ast.Call, ast.Attribute, ast.Subscript)) and unparse(wanted) != name:
            wanted = wanted.func if isinstance(wanted, ast.Call) else wanted.value
        if isinstance(wanted, ast.Name) and _cut_further(source, wanted, further):
            return at(
                source, call, "the targets are shifted twice: where they are cut, and again in the loss"
            )
    return None


def _cut_further(source: Script, node: ast.expr, further: set[ast.Assign], left: int = 3) -> bool:
    """Each way back from a name leads to a window that was cut one place further."""
    mine = flow(source)
    if any(g.statement in further for g in mine.all_given(node)):
        return True
    for end in mine.values(node, 6) if left else [node]:
        inner = end
        while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            if inner.func.attr not in (*_SHAPED, "cuda", "clone"):
                break
            inner = inner.func.value
        if (
            not isinstance(inner, ast.Name)
            or inner is node
            or not _cut_further(source, inner, further, left - 1)
        ):
            return False
    return left > 0


def asked_with_answers(source: Script) -> Finding | None:
    """`model(src, trg, teacher=1.0)` where answers are scored: the decoder is handed the right words.

    Only where what is scored are the chosen words: a perplexity is told so.
    """
    mine = flow(source)
    for call in source.calls:
        function = source.function_around(call)
        if function is None or not is_evaluation(source, call):
            continue
        if not re.search(r"argmax|topk|\.max\(|bleu|\bwer\b|exact", unparse(function)):
            continue
        for run in mine.called(call):
            share = _share_of_teacher(source, call, run)
            if run in source.forwards and share is not None and share > 0:
                return at(source, call, "the decoder is handed the right words while its own are scored")
    return None


def _share_of_teacher(source: Script, call: ast.Call, run: ast.AST) -> float | None:
    """How often the right word is handed over, as the call says it or by default."""
    arguments = getattr(run, "args", None)
    names = [a.arg for a in arguments.args] if isinstance(arguments, ast.arguments) else []
    word = next((n for n in names if _TEACHER.match(n)), None)
    if (
        word is None
        or not isinstance(arguments, ast.arguments)
        or any(isinstance(a, ast.Starred) for a in call.args)
    ):
        return None
    place = names.index(word) - (1 if names[:1] == ["self"] else 0)
    given = argument(call, word, position=place)
    if given is None and len(arguments.defaults) >= len(names) - names.index(word):
        given = arguments.defaults[names.index(word) - len(names)]
    value = literal(source, given) if given is not None else None
    return float(value) if isinstance(value, (int, float)) else None
