"""Numbers of words and classes in scripts that do not fit the table they look up, or share a number."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import behind, literal
from .flat_positions import filled_by_hand

_SPECIAL = re.compile(r"(?i)['\"][<\[]?_*(?:pad|unk|oov|blank|s|bos|eos|cls|sep)_*[>\]]?['\"]")
_WORDS = re.compile(r"(?i)vocab|stoi|token_?to|word_?to|(?:word|token|char|letter)s?2(?:id|idx|index|i)")
_DEPTH = 5


@dataclass(frozen=True)
class Numbered:
    """A dict that gives numbers to words: where it is made, and the first number given out."""

    node: ast.DictComp
    start: int


def _numbered(source: Script, node: ast.expr) -> Numbered | None:
    """`{w: i + 2 for i, w in enumerate(words)}` behind a name, and its first number."""
    found = [n for v in flow(source).values(node, _DEPTH) if (n := _dict(source, v)) is not None]
    return found[0] if len(found) == 1 == len(flow(source).values(node, _DEPTH)) else None


def _dict(source: Script, node: ast.expr) -> Numbered | None:
    if not isinstance(node, ast.DictComp) or len(node.generators) != 1 or node.generators[0].ifs:
        return None
    loop = node.generators[0]
    if not isinstance(loop.iter, ast.Call) or last_name(loop.iter.func) != "enumerate":
        return None
    if not isinstance(loop.target, ast.Tuple) or len(loop.target.elts) != 2 or not loop.iter.args:
        return None
    count, value = unparse(loop.target.elts[0]), node.value
    given = argument(loop.iter, "start", position=1)
    start = 0 if given is None else literal(source, given)
    more: object = 0
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        sides = [value.left, value.right]
        other = [s for s in sides if unparse(s) != count]
        if len(other) != 1:
            return None
        more, value = literal(source, other[0]), sides[0] if other[0] is sides[1] else sides[1]
    if unparse(value) != count or not isinstance(start, int) or not isinstance(more, int):
        return None
    return Numbered(node, start + more)


def _grows(source: Script, made: Numbered, name: str) -> bool:
    """Something is put into the dict besides: its length tells more than what was numbered."""
    holder = source.statement(made.node)
    names = {name}
    if isinstance(holder, ast.Assign):
        names |= {unparse(t) for t in holder.targets}
    stored = {unparse(n.value) for n in source.of(ast.Subscript) if isinstance(n.ctx, ast.Store)}
    changed = {source.owner(c) for c in source.named("update", "setdefault", "pop", "insert")}
    return bool(names & (stored | changed)) or _has_specials(source, made)


def _has_specials(source: Script, made: Numbered) -> bool:
    """Marks like "<pad>" stand among what is numbered, or anywhere in the function that numbers."""
    scope = source.function_around(made.node) or source.tree
    over = made.node.generators[0].iter
    texts = [unparse(e) for a in getattr(over, "args", []) for e in (a, *flow(source).values(a, 4))]
    return _SPECIAL.search(" ".join([*texts, unparse(scope)])) is not None


def table_too_small(source: Script) -> Finding | None:
    """`Embedding(len(vocab), dim)` whose numbers begin at 2: the last words have no row."""
    seen: ast.Call | None = None
    for call in source.named("Embedding"):
        given = argument(call, "input_dim", "num_embeddings", "vocab_size", position=0)
        for end in behind(source, given, 3) if given is not None else ():
            known = _length(source, end)
            if known is None:
                continue
            made, more = known
            seen = seen or call
            if made.start > more:
                why = f"numbers begin at {made.start}, so that the table lacks {made.start - more} rows"
                return at(source, end, why)
    return ok(source, seen, "the table has a row for each number") if seen is not None else None


def fewer_rows_than_words(source: Script) -> Finding | None:
    """`Embedding(len(vocab) - 1, dim)` beside ids that `vocab[word]` looks up: the last word has no row."""
    for call in source.named("Embedding"):
        given = keyword(call, "num_embeddings") or keyword(call, "input_dim") or keyword(call, "vocab_size")
        given = given or argument(call, position=0)
        for end in behind(source, given, 3) if given is not None else ():
            if not isinstance(end, ast.BinOp) or not isinstance(end.op, ast.Sub):
                continue
            counted, less = end.left, literal(source, end.right)
            if not isinstance(counted, ast.Call) or last_name(counted.func) != "len" or not counted.args:
                continue
            name = last_name(counted.args[0])
            if type(less) is not int or less < 1 or not _WORDS.search(name):
                continue
            looked_up = [n for n in source.of(ast.Subscript) if last_name(n.value) == name]
            looked_up = [n for n in looked_up if not isinstance(n.slice, (ast.Constant, ast.Slice))]
            if not looked_up and flow(source).made(counted.args[0]) is not None:
                return at(source, end, f"the table has {less} rows fewer than `{name}` has words")
            lowered = any(isinstance(source.parents.get(n), ast.BinOp) for n in looked_up)
            if looked_up and not lowered:
                return at(source, end, f"the table has {less} rows fewer than `{name}` has words")
    return None


def _length(source: Script, node: ast.expr) -> tuple[Numbered, int] | None:
    """`len(vocab) + 2`: the vocabulary, and what is added."""
    more: object = 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [node.left, node.right]
        lengths = [s for s in sides if isinstance(s, ast.Call) and last_name(s.func) == "len"]
        others = [s for s in sides if s not in lengths]
        if len(lengths) != 1 or len(others) != 1:
            return None
        node, more = lengths[0], literal(source, others[0])
    if not isinstance(node, ast.Call) or last_name(node.func) != "len" or len(node.args) != 1:
        return None
    made = _numbered(source, node.args[0])
    if made is None or not isinstance(more, int) or _grows(source, made, unparse(node.args[0])):
        return None
    return made, more


def unknown_is_a_word(source: Script) -> Finding | None:
    """`vocab.get(word, UNK)` with UNK = 1, and words that are numbered from 0: two share a number."""
    seen: ast.AST | None = None
    for call in source.named("get"):
        if len(call.args) != 2 or not isinstance(call.func, ast.Attribute):
            continue
        number = literal(source, call.args[1])
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            continue
        holder = call.func.value
        ends = [e for e in behind(source, holder, 6) if isinstance(e, ast.DictComp)]
        made = [m for e in ends if (m := _dict(source, e)) is not None]
        if not made or len(made) != len(ends) or any(_grows(source, m, unparse(holder)) for m in made):
            continue
        if not re.search(r"(?i)vocab|word|token|char|stoi|2id|to_id|2idx|index", unparse(holder)):
            continue
        if isinstance(call.args[1], ast.Constant) and not names_in(call.args[1]) and number == 0:
            continue  # `counts.get(word, 0)`: no number of an unknown word
        if re.search(r"(?i)blank|pad", last_name(call.args[1])):
            continue  # it is to be read as nothing
        seen = seen or call
        if all(m.start <= number for m in made):
            return at(source, made[0].node, f"the unknown word is {number}, and a word of the list is, too")
    return ok(source, seen, "the unknown word has a number of its own") if seen is not None else None


_FILL = re.compile(r"(?i)^_*pad(?:ding)?(?:_?(?:id|idx|index|token))?$")


def padding_is_a_word(source: Script) -> Finding | None:
    """`row + [PAD] * n` with PAD = 0, and the words of the row are numbered from 0: two share a number."""
    seen: ast.AST | None = None
    for node, value in filled_by_hand(source):
        number = literal(source, value)
        if type(number) is not int or number < 0 or not _FILL.match(last_name(value)):
            continue
        for end in (node.left, *flow(source).values(node.left, 3), *_within(source, node.left)):
            for inner in of(end, ast.Subscript):
                made = _numbered(source, inner.value)
                if made is None or _grows(source, made, unparse(inner.value)):
                    continue
                seen = seen or made.node
                if made.start <= number:
                    return at(source, made.node, f"padding is {number}, and a word of the list is, too")
    return ok(source, seen, "padding has a number of its own") if seen is not None else None


def _within(source: Script, row: ast.expr) -> list[ast.expr]:
    """`[s + ... for s in rows]`: what `rows` is made of."""
    for part in source.above(row):
        for loop in getattr(part, "generators", ()):
            if unparse(loop.target) == unparse(row):
                return list(flow(source).values(loop.iter, 3))
    return []


def classes_from_padding(source: Script) -> Finding | None:
    """`{t: i for i, t in enumerate(tags)}` beside a loss that leaves out `tags == 0`: a class is lost.

    Also `padded_batch(..., padding_values=(0, 1))`, and the loss leaves out 0.
    """
    from .left_positions import label_masks

    values = {
        v
        for _, test in label_masks(source)
        if isinstance(v := literal(source, test.comparators[0]), int)
        if isinstance(test.ops[0], (ast.NotEq, ast.Eq))
    }
    if len(values) != 1 or source.loose:
        return None
    left_out = values.pop()
    for call in source.named("padded_batch"):
        given = keyword(call, "padding_values")
        last = given.elts[-1] if isinstance(given, ast.Tuple) and len(given.elts) == 2 else None
        number = literal(source, last) if last is not None else None
        if isinstance(number, int) and not isinstance(number, bool) and number != left_out:
            return at(
                source, last or call, f"labels are padded with {number}, and the loss leaves out {left_out}"
            )
    padded = source.named("padded_batch", "pad_sequences", "pad_sequence", "pad")
    for node in source.of(ast.DictComp) if padded and left_out == 0 else ():
        made = _dict(source, node)
        if made is None or made.start != 0 or _has_specials(source, made):
            continue
        scope, holder = source.function_around(node), source.statement(node)
        target = unparse(holder.targets[0]) if isinstance(holder, ast.Assign) else ""
        told = f"{target} {scope.name if scope is not None else ''} {unparse(node.key)}"
        over = unparse(node.generators[0].iter)
        if re.search(r"(?i)(?:^|_|\b)(?:tags?|labels?)(?:_|\b)", told) and not re.search(
            r"(?i)pad|none|\+", over
        ):
            return at(source, node, "the first class is 0, and the loss takes 0 for padding")
    return None
