"""Deep models of scripts whose blocks are not normalised."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.nodes import chosen
from .body import repeats
from .wiring import NORM, held, stacked, streams_of


@probe()
def blocks_without_norm(view: View, *, surely: bool = False) -> Finding:
    """A block adds attention to its stream, many such blocks are stacked, and nothing in it normalises.

    Some designs go without on purpose. `surely`: only where the program normalises a stream elsewhere (a last
    norm, other blocks), or makes a stack of at least 4 (practice), so that it is no such design.
    """
    return first(
        view, lambda s: _without_norm(s, surely), "the scripts hold no block with attention on a stream"
    )


_DEEP = 4  # blocks from which a stack hardly trains without normalisation


def _without_norm(source: Script, surely: bool) -> Finding | None:
    seen = None
    for function in source.forwards:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or not streams_of(function):
            continue
        text = unparse(owner)
        if not re.search(r"attn|attention|mixer", text, re.IGNORECASE) or not stacked(source, owner):
            continue
        seen = seen or function
        if NORM.search(text) or re.search(
            r"\brezero|layerscale|fixup|\bln_?\w*\(|skip_init|alpha|gamma", text, re.I
        ):
            continue
        if any(last_name(c.func) in _own_norms(source) for c in of(owner, ast.Call)):
            continue
        if _norm_within_parts(source, owner):
            continue
        if _worked_on(function):
            continue
        if surely and not (_normalises_stream(source) or _depth(source, owner) >= _DEEP):
            return None
        for node in of(function, ast.Assign, ast.AugAssign):
            return at(source, node, "branches are added to the stream and nothing in the block normalises it")
    return ok(source, seen, "blocks with attention normalise their stream") if seen is not None else None


def _worked_on(function: Function) -> bool:
    """The stream itself goes through a layer of its own: `x, trend = self.decompose(x)`."""
    streams = streams_of(function)
    for node in of(function, ast.Assign):
        target, value = node.targets[0], node.value
        first_of = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
        if isinstance(first_of, ast.Name) and first_of.id in streams and isinstance(value, ast.Call):
            if unparse(value.func).startswith("self.") and [unparse(a) for a in value.args] == [first_of.id]:
                return True
    return False


def _own_norms(source: Script) -> set[str]:
    """Modules of the script that divide by a root of mean squares, whatever they are called."""
    return {
        m.name
        for m in source.modules
        if (text := unparse(m)).count("mean(") and re.search(r"rsqrt|sqrt\(|\*\* ?\(?-0\.5", text)
        if re.search(r"pow\(2\)|\*\* 2|square|var\(", text) and not re.search(r"softmax|attn|loss", text)
    }


_OF_QUERIES = re.compile(r"(?i)(?:^|[._])(?:q|k|query|key)_|_(?:q|k|query|key)\s*$")


def _norm_within_parts(source: Script, owner: ast.ClassDef) -> bool:
    """A part of the block normalises what it is given: a `FeedForward` that begins with `nn.LayerNorm(dim)`.

    Not the norms of queries and keys alone.
    """
    names = {last_name(c.func) for c in of(owner, ast.Call)} - {owner.name}
    own = {n: source.classes.get(n) or next(iter(flow(source).functions.get(n, ())), None) for n in names}
    for part in own.values():
        if part is not None:
            made = [c for c in of(part, ast.Call) if re.search(r"(?:Layer|RMS)_?Norm", last_name(c.func))]
            held = [unparse(source.statement(c) or c).split("=")[0] for c in made]
            if not all(map(_OF_QUERIES.search, held)):
                return True
    return False


def _normalises_stream(source: Script) -> bool:
    """Layers are made that normalise the features of a position, as transformers do."""
    return any(re.search(r"LayerNorm|RMSNorm|layer_norm|rms_norm", last_name(c.func)) for c in source.calls)


def _depth(source: Script, owner: ast.ClassDef) -> int:
    return max((repeats(source, c) for c in source.named(owner.name)), default=0)


@probe()
def norm_is_identity(view: View) -> Finding:
    """A layer that is named a norm, and is used where a stream should be normalised, is the identity."""
    return first(view, _identity, "the scripts name no layer a norm")


_NAMED = re.compile(
    r"(?:n|ln|bn|norm|layer_?norm|rms_?norm)\d*(?:_\w+)?$|(?:attn|attention|mlp|ff|ffn|input|final|out)_norm\d*$",
    re.IGNORECASE,
)


def _identity(source: Script) -> Finding | None:
    seen = None
    for owner in source.modules:
        named = [(n, c) for n, c in held(owner) if _NAMED.match(n)]
        if not named:
            continue
        seen = seen or named[0][1]
        blank = [c for _, c in named if last_name(c.func) == "Identity"]
        if blank and len(blank) == len(named) and not chosen(source, blank[0]):
            return at(source, blank[0], "what is named a norm here is the identity")
    return ok(source, seen, "what is named a norm normalises") if seen is not None else None
