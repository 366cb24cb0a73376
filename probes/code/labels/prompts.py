"""Labels of prompts and answers in scripts: the answer hidden, or gaps that are marked in two ways."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal
from .filled import arrays_filled
from .marks import USUAL, ignored_labels, is_label, padded_labels, written_over

_PROMPT = re.compile(
    r"(?i)(?:^|_)(?:prompts?|questions?|instructions?|requests?|contexts?|instr|query)(?:_|$)"
)
_ANSWER = re.compile(
    r"(?i)(?:^|_)(?:answers?|repl(?:y|ies)|responses?|completions?|outputs?|targets?|summary|summaries)(?:_|$)"
)
_TOKEN = re.compile(r"(?i)(?:^|[._])(?:pad|eos)(?:_?(?:token))?(?:_?(?:id|idx|index))?$")


def answer_hidden(source: Script) -> Finding | None:
    """`labels = prompt + [-100] * len(answer)`, `labels[len(prompt):] = -100`: the prompt is learned."""
    seen: ast.AST | None = None
    for node, part, other in _joined(source):
        seen = seen or node
        hidden, kept = _named(part.right), _named(other)
        wrong = _ANSWER.search(hidden) and not _PROMPT.search(hidden) and _PROMPT.search(kept)
        if wrong and not _ANSWER.search(kept):
            return at(source, node, f"`{hidden}` gets no label, and `{kept}` is what is learned")
    for node in source.of(ast.Assign):
        cut = node.targets[0]
        if not isinstance(cut, ast.Subscript) or literal(source, node.value) != USUAL:
            continue
        place = cut.slice.elts[-1] if isinstance(cut.slice, ast.Tuple) and cut.slice.elts else cut.slice
        if not isinstance(place, ast.Slice) or place.step is not None or not is_label(unparse(cut.value)):
            continue
        seen = seen or node
        if place.lower is not None and place.upper is None and _is_length_of_prompt(place.lower):
            return at(source, node, "what follows the prompt gets no label, and the prompt is learned")
    return ok(source, seen, "the prompt gets no label") if seen is not None else None


def _joined(source: Script) -> Iterator[tuple[ast.Assign, ast.BinOp, ast.expr]]:
    """`labels = [-100] * len(x) + y`: the statement, what is repeated, and what stands beside it."""
    for node in source.of(ast.Assign):
        value = node.value
        while isinstance(value, ast.Subscript):
            value = value.value
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        if not (
            isinstance(node.targets[0], (ast.Name, ast.Subscript)) and is_label(unparse(node.targets[0]))
        ):
            continue
        for part, other in ((value.left, value.right), (value.right, value.left)):
            if (
                isinstance(part, ast.BinOp)
                and isinstance(part.op, ast.Mult)
                and isinstance(part.left, ast.List)
            ):
                if len(part.left.elts) == 1 and literal(source, part.left.elts[0]) == USUAL:
                    yield node, part, other


def _named(node: ast.expr) -> str:
    """The data that a length or a list is of: `len(prompt["input_ids"])` -> "prompt"."""
    names = [n.id for n in of(node, ast.Name) if n.id not in ("len", "list", "int")]
    return names[0] if len(set(names)) == 1 else ""


def _is_length_of_prompt(node: ast.expr) -> bool:
    """`len(prompt)`, `prompt_len`, with nothing added to it."""
    if isinstance(node, ast.Call) and last_name(node.func) == "len" and len(node.args) == 1:
        return _PROMPT.search(_named(node.args[0])) is not None
    name = node.id if isinstance(node, ast.Name) else ""
    return _PROMPT.search(name) is not None and re.search(r"(?i)len|^n_|_n$|end|size", name) is not None


def marked_in_two_ways(source: Script) -> Finding | None:
    """`[-100] * len(prompt) + answer`, and the labels of a batch are then padded with the padding token.

    Told where the losses leave out -100 alone, and nothing is put over what was padded.
    """
    marked = [n for n, _, _ in _joined(source)]
    left_out = ignored_labels(source)
    if not marked or left_out is None or left_out - {USUAL}:
        return None
    seen: ast.AST | None = None
    made = [*padded_labels(source), *arrays_filled(source)]
    for node, value in made:
        if value is None:
            continue
        seen = seen or node
        number = literal(source, value)
        token = number is None and _TOKEN.search(unparse(value)) is not None
        if (token or (isinstance(number, int) and number != USUAL)) and not _put_over(source, node):
            return at(source, node, f"prompts get the label {USUAL}, and padding another, which is learned")
    return ok(source, seen, "padding and prompts get the same label") if seen is not None else None


def _put_over(source: Script, node: ast.AST) -> bool:
    call = node if isinstance(node, ast.Call) else getattr(node, "value", None)
    return isinstance(call, ast.Call) and written_over(source, call, {USUAL})
