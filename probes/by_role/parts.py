"""What runs through a model: sums, activations, unit lengths, cuts of the gradient, the axis of time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..readers._tree import of, unparse, walk
from ..readers.script import argument, keyword, last_name
from .side import Side, Told

_LIBRARY_NETS = (
    r"(?i)^(?:from_pretrained|create_model|applications|timm|mindcv|monai|AutoModel\w*|hub|get_model|transformers"
    r"|Transformer\w*|MultiheadAttention|MultiHeadAttention|\w*(?:resnet|densenet|efficientnet|mobilenet)\w*)$"
)


def _forwards(side: Side) -> list[ast.AST]:
    """Bodies of the models' own forward methods."""
    owned = [f for f in side.source.forwards if side.source.class_around(f) in side.source.modules]
    return [f for f in owned if side.runs(f)]


# ------------------------------------------------------------------------------------------- additions


def _skip(side: Side) -> ast.AST | None:
    """`x + self.branch(x)`, `x = x + f(x)`, `x += f(x)` in a forward method."""
    for forward in _forwards(side):
        for node in of(forward, ast.BinOp, ast.AugAssign):
            if not isinstance(node.op, ast.Add):
                continue
            pairs = (
                [(node.left, node.right), (node.right, node.left)]
                if isinstance(node, ast.BinOp)
                else [(node.target, node.value)]
            )
            for stream, branch in pairs:
                if not isinstance(stream, ast.Name) or not isinstance(branch, ast.Call):
                    continue
                given = {n.id for a in branch.args for n in walk(a) if isinstance(n, ast.Name)}
                if stream.id in given:
                    return node
        if isinstance(forward, ast.FunctionDef) and (found := _added_to_input(forward)) is not None:
            return found
    return None


def _added_to_input(forward: ast.FunctionDef) -> ast.AST | None:
    """`h = self.norm(x); h = self.up(h); return x + h`, with an `x` that stays what the method was given."""
    made: set[str] = set()
    streams = {a.arg for a in forward.args.args[1:]}
    for node in of(forward, ast.Assign):
        names = {n.id for n in walk(node.value) if isinstance(n, ast.Name)}
        targets = {t.id for t in node.targets if isinstance(t, ast.Name)}
        streams -= targets
        if names & (streams | made) and any(isinstance(n, ast.Call) for n in walk(node.value)):
            made |= targets
    for last in of(forward, ast.Return):
        value = last.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            ends = {n.id for n in (value.left, value.right) if isinstance(n, ast.Name)}
            if ends & streams and ends & made:
                return value
    return None


_ADDS = r"(?i)^(?:add|iadd|cat|concat\w*|stack|skip\w*|shortcut\w*|resid\w*|identity|einops)$"


def skip_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """A block of the benchmark adds what it computes to its input, and nothing is added in a model here."""
    there = _skip(theirs)
    if there is None or mine.source.loose or mine.framework != theirs.framework or not _forwards(mine):
        return
    sums = [
        n
        for f in (*_forwards(mine), *mine.source.modules)
        for n in of(f, ast.BinOp, ast.AugAssign)
        if isinstance(n.op, ast.Add)
    ]
    if any(not _of_numbers(n) for n in sums) or mine.mentions(_LIBRARY_NETS):
        return
    inside = {last_name(n) for m in mine.source.modules for n in of(m, ast.Name, ast.Attribute)}
    if any(re.search(_ADDS, word) for word in inside):
        return
    text = "a block of the benchmark adds what it computes to its input; here no block does"
    yield Told("skip", text, None, theirs.place(there))


def _of_numbers(node: ast.BinOp | ast.AugAssign) -> bool:
    """`width + 1`: no tensors."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    return any(isinstance(s, ast.Constant) for s in sides)


# ----------------------------------------------------------------------------------------- activations

_HIDDEN = r"(?i)^(?:leaky_?|p|r)?re_?lu6?_?$|^[csg]e_?lu$|^si_?lu$|^swish$|^mish$|^elu$"
_ANY = (
    r"(?i)relu|gelu|selu|celu|silu|swish|mish|elu$|glu$|tanh|sigmoid|softplus|softsign|activation|(?:^|_)act(?:$|_|\d)"
    r"|nonlin|clamp|clip$|maximum|softmax|^exp$|^sin$|^where$"
)
_RECURRENT = r"^(?:LSTM|GRU|RNN|LSTMCell|GRUCell)$"


def activations_gone(mine: Side, theirs: Side) -> Iterator[Told]:
    """Layers of the benchmark have an activation between them, and nothing of the kind is named here."""
    made = theirs.matching(_HIDDEN)
    if not made or mine.source.loose or mine.framework != theirs.framework:
        return
    inside = [c for c in made if _in_a_model(theirs, c)]
    layers = mine.matching(r"^(?:Linear|Dense|Conv\dd|Conv\dD)$")
    if not inside or len(layers) < 2 or mine.mentions(_ANY) or mine.mentions(_LIBRARY_NETS):
        return
    name = last_name(inside[0].func)
    text = f"an activation ({name}) stands between the layers of the benchmark, and none here"
    yield Told("activation", text, mine.place(layers[0]), theirs.place(inside[0]))


def _in_a_model(side: Side, node: ast.AST) -> bool:
    return any(p in side.source.modules for p in side.source.above(node))


# ---------------------------------------------------------------------------------------- unit lengths

_BY_HAND = (
    r"^(?:norm|vector_norm|rsqrt|sqrt|cosine_similarity|CosineSimilarity|l2_normalize|normalize|L2Normalize)$"
)


def _unit(side: Side) -> ast.Call | None:
    """Where vectors are brought to unit length: `F.normalize(x, dim=1)`, `l2_normalize`."""
    for call in side.calls("normalize", "l2_normalize", "L2Normalize", "UnitNormalization"):
        told = {k.arg for k in call.keywords}
        if told <= {"p", "dim", "eps", "axis", "input"} and len(call.args) <= 3 and _in_a_model(side, call):
            return call
    return None


def unit_length_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Vectors have unit length in the benchmark, and nothing measures a length here; or along the batch."""
    there = _unit(theirs)
    if there is None or mine.source.loose or mine.mentions(_LIBRARY_NETS):
        return
    known = [c for c in mine.matching(_BY_HAND) if not _of_self(c)]
    powers = [n for n in mine.source.of(ast.BinOp) if isinstance(n.op, ast.Pow)]
    if not known and not powers and not mine.mentions(r"(?i)l2|unit_?norm|cosine_?sim|normali[sz]e"):
        text = "vectors are brought to unit length in the benchmark, and here they keep the length they have"
        yield Told("scores-scale", text, None, theirs.place(there))
        return
    along = [c for c in known if _axis(mine, c) == 0 and _in_a_model(mine, c)]
    if along and len(along) == len([c for c in known if _in_a_model(mine, c)]) and _axis(theirs, there) != 0:
        text = "lengths are taken along the batch here, along the features of each sample in the benchmark"
        yield Told("axis", text, mine.place(along[0]), theirs.place(there))


def _of_self(call: ast.Call) -> bool:
    """`self.norm(x)`: a layer of that name."""
    return isinstance(call.func, ast.Attribute) and last_name(call.func.value) == "self"


def _axis(side: Side, call: ast.Call) -> float | None:
    return side.number(argument(call, "dim", "axis"))


# ----------------------------------------------------------------------------------- cuts of the gradient

_FROM_ELSEWHERE = re.compile(
    r"(?i)target|teacher|ema|moment|fake|prev|hidden|state|memory|quant|mask|weight|old|key|stop|mean|std|"
    r"noise|code|carry|past|cache|reward|value|advant|action|log_?p"
)


def _cuts(side: Side) -> list[ast.Call]:
    """`detach()` of what a loss of training is given."""
    found = []
    for node in side.source.of(ast.Assign):
        name = last_name(node.targets[0])
        if not re.search(r"(?i)(?:^|_)loss$", name) or not isinstance(node.value, ast.Call):
            continue
        for given in node.value.args:
            held = (
                given.func.value
                if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute)
                else None
            )
            if (
                isinstance(given, ast.Call)
                and last_name(given.func) == "detach"
                and isinstance(held, ast.Name)
            ):
                if not _FROM_ELSEWHERE.search(held.id):
                    found.append(given)
            elif isinstance(given, ast.Call) and last_name(given.func) == "stop_gradient" and given.args:
                if not _FROM_ELSEWHERE.search(unparse(given.args[0])):
                    found.append(given)
    return found


def cuts_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """The loss is given what is cut off from the model here, and the benchmark cuts nothing of the kind."""
    cuts = _cuts(mine)
    if not cuts or theirs.source.loose or theirs.mentions("(?i)^stop_?gradient$"):
        return
    inside = [c for c in theirs.calls("detach") if not _for_logs(theirs, c)]
    if inside:
        return
    text = f"no gradient goes back through `{unparse(cuts[0])}`; the benchmark cuts nothing there"
    yield Told("gradient-cut", text, mine.place(cuts[0]), None)


def _for_logs(side: Side, call: ast.Call) -> bool:
    """`loss.detach()`, `out.detach().cpu()`."""
    held = call.func.value if isinstance(call.func, ast.Attribute) else call
    parent = side.source.parents.get(call)
    read = isinstance(parent, ast.Attribute) and parent.attr in ("cpu", "item", "numpy", "tolist", "argmax")
    return read or bool(re.search("(?i)loss|logit|pred|out", unparse(held)))


# ------------------------------------------------------------------------------------- the axis of time


def time_first(mine: Side, theirs: Side) -> Iterator[Told]:
    """Recurrent layers take the batch first in the benchmark, time first here, and nothing turns it."""
    here, there = mine.matching(_RECURRENT), theirs.matching(_RECURRENT)
    if not here or not there or mine.source.loose or {mine.framework, theirs.framework} != {"torch"}:
        return
    asked = [mine.value(argument(c, "batch_first")) for c in here]
    before = [theirs.value(argument(c, "batch_first")) for c in there]
    silent = [c for c in here if keyword(c, "batch_first") is None and len(c.args) < 5]
    if not all(v is True for v in before) or any(asked) or len(silent) < len(here):
        return
    if any(k.arg is None for c in here for k in c.keywords) or _turned(mine):
        return
    text = "the recurrent layer takes the batch first in the benchmark; here it takes time first"
    yield Told("batch-first", text, mine.place(here[0]), theirs.place(there[0]))


def _turned(side: Side) -> bool:
    """Whether something may bring time before the batch."""
    if side.mentions(r"^pack_(?:padded_)?sequence$|^pad_packed_sequence$|^rearrange$|^T$|^mT$|^t$|^einsum$"):
        return True
    if side.mentions(r"^(?:swapaxes|swapdims|movedim|moveaxis)$|TBPTT|time_major|seq_first"):
        return True
    for call in side.calls("transpose", "permute"):
        first = [side.number(a) for a in call.args if not isinstance(a, ast.Constant) or a.value is not None]
        numbers = first[-2:] if last_name(call.func) == "transpose" else first
        turns = 0 in numbers if last_name(call.func) == "transpose" else 0 not in numbers[:1]
        if turns or None in numbers:
            return True
    if any(side.value(argument(c, "batch_first")) is not True for c in side.calls("pad_sequence")):
        return True
    return any(side.number(argument(c, "dim", position=1)) not in (None, 0, -1) for c in side.calls("stack"))
