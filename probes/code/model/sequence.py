"""Models of sequences in scripts that predict following elements: whether they can see them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...forward.judged import answers_show
from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.learning import differentiated, taken
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.roles import model_calls
from ..shared.sides import either
from ..splits.target_columns import windows_overlap
from ..splits.windows_hold import windows_hold_the_answer
from .attention import future_shown, order_mask_unread
from .causal import next_is_seen, past_hidden_by_hand
from .handed_masks import triangle_unread
from .operators import scores_written_out
from .transformers import layers_behind
from .wiring import held


@probe()
def target_is_input(view: View) -> Finding:
    """The targets of a sequence model are its inputs, not shifted, or attention looks at later positions."""
    return first(
        view,
        either(
            *(_same_window, input_again, told_what_to_say, _sees_later, decoder_unmasked),
            *(
                next_is_seen,
                past_hidden_by_hand,
                windows_overlap,
                windows_hold_the_answer,
                *_ORDER,
                answers_show("follows"),
            ),
        ),
        "the scripts predict no following elements",
    )


_ORDER = (future_shown, order_mask_unread, triangle_unread)
_SHIFTED = re.compile(r"\[\.\.\., 1:\]|\[:, 1:\]|\.roll\(|shift|(?<!argv)\[1:\]|\[:, 1:, :\]")


def _windows(source: Script) -> Iterator[tuple[ast.AST, ast.expr, ast.AST, ast.expr]]:
    """Two names that a function returns together, each a window of the data."""
    for function in source.of(ast.FunctionDef):
        made = {n.targets[0].id: n for n in of(function, ast.Assign) if isinstance(n.targets[0], ast.Name)}
        for out in of(function, ast.Return):
            if isinstance(out.value, ast.Tuple) and len(out.value.elts) == 2:
                pair = [n.id for e in out.value.elts for n in of(e, ast.Name)]
                known = [made[p] for p in pair if p in made]
                if len(known) == 2 and known[0] is not known[1]:
                    yield known[0], known[0].value, known[1], known[1].value
    for node in source.of(ast.Return):
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            yield node, node.value.elts[0], node, node.value.elts[1]


def target_further_on(source: Script) -> Finding | None:
    """`ids[i : i + n]` is answered by `ids[i + 2 : i + 2 + n]`: the token after the next one.

    Of tokens alone (an embedding, classes as answers): a series may be forecast further ahead.
    """
    if not source.named("Embedding") or not re.search(r"cross_?entropy", source.text, re.IGNORECASE):
        return None
    for _, mine, place, theirs in _windows(source):
        ends = []
        for made in (mine, theirs):
            cuts = [n for n in of(made, ast.Subscript) if isinstance(n.slice, ast.Slice)]
            ends.append((unparse(cuts[0].value), cuts[0].slice) if len(cuts) == 1 else ("", None))
        (name, cut), (other, later) = ends
        if name != other or not isinstance(cut, ast.Slice) or not isinstance(later, ast.Slice):
            continue
        start, shifted = cut.lower, later.lower
        if start is None or not (isinstance(shifted, ast.BinOp) and isinstance(shifted.op, ast.Add)):
            continue
        far = shifted.right
        if unparse(shifted.left) == unparse(start) and isinstance(far, ast.Constant):
            if isinstance(far.value, int) and far.value > 1:
                return at(source, place, f"the target lies {far.value} positions on, not one")
    return None


def _sliced(node: ast.expr) -> bool:
    """A window that starts at a position: `d[i:i + n]`."""
    return any(n.lower is not None and isinstance(n.upper, ast.BinOp) for n in of(node, ast.Slice))


def _ends(node: ast.expr) -> str:
    """All of a chunk but one end: "first" of `c[:-1]`, "last" of `c[1:]`, with the name of the chunk."""
    while isinstance(node, ast.Call) and last_name(node.func) in _FORMS:
        inner = receiver(node)
        library = inner is None or unparse(inner) in ("torch", "np", "tf", "mindspore", "ms")
        if library and not node.args:
            return ""
        node = node.args[0] if library or inner is None else inner
    if not isinstance(node, ast.Subscript):
        return ""
    cut = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if isinstance(cut, ast.Slice):
        lower, upper = (unparse(e) if e is not None else "" for e in (cut.lower, cut.upper))
        if (lower, upper) in (("", "-1"), ("1", "")):
            return f"{'first' if upper else 'last'} {unparse(node.value)}"
    return ""


_FORMS = (
    "long",
    "to",
    "clone",
    "contiguous",
    "astype",
    "tensor",
    "as_tensor",
    "from_numpy",
    "int",
    "copy",
    "cast",
)


def _same_window(source: Script) -> Finding | None:
    if not source.named("Embedding"):
        return None
    seen: ast.AST | None = None
    for _, one, there, other in _windows(source):
        ends = [_ends(one), _ends(other)]
        if isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id:
            if "collate" in source.function_name(there) and not _SHIFTED.search(source.code):
                return at(source, there, "the targets are the inputs, not the elements that follow them")
        if all(ends) and source.function_name(there) in ("__getitem__", "get_batch", "collate", "collate_fn"):
            seen = seen or there
            if ends[0] == ends[1] and not _SHIFTED.search(source.code.replace(unparse(one), "")):
                return at(source, there, "the targets are the inputs, not the elements that follow them")
            if ends[0].startswith("last") and ends[1] == ends[0].replace("last", "first", 1):
                return at(
                    source, there, "the targets are the elements before the inputs, not those that follow"
                )
            continue
        if not (_sliced(one) and _sliced(other)):
            continue
        seen = seen or there
        if unparse(one) == unparse(other) and not _SHIFTED.search(source.code):
            return at(source, there, "the targets are the inputs, not the elements that follow them")
    return ok(source, seen, "the targets are the inputs one position later") if seen is not None else None


_SHAPES = ("reshape", "view", "contiguous", "flatten", "long", "to", "clone", "detach", "ravel", "transpose")


def input_again(source: Script) -> Finding | None:
    """`loss(model(src, tgt[:, :-1]), tgt[:, :-1])`: each position is to say what it is given."""
    seen: ast.AST | None = None
    calls = [*model_calls(source), *source.named("apply", "apply_fn")]
    optax = source.named("softmax_cross_entropy_with_integer_labels", "softmax_cross_entropy")
    for loss in (*(c for c, _ in source.losses), *optax):
        scope = source.function_around(loss)
        if len(loss.args) < 2 or not _trains(source, scope):
            continue
        wanted = _cut(source, loss.args[1])
        for call in calls:
            if wanted is None or source.function_around(call) is not scope:
                continue
            given = [g for a in call.args if (g := _cut(source, a)) is not None]
            if any(g.partition("[")[0] == wanted.partition("[")[0] for g in given):
                seen = seen or loss
                if wanted in given:
                    return at(source, loss, "the targets are what the model is given, not what follows")
    return ok(source, seen, "the targets are the inputs one position later") if seen is not None else None


def told_what_to_say(source: Script) -> Finding | None:
    """`loss(model(src, tgt).view(-1, V), tgt.view(-1))`: the decoder is given what it is to say.

    Left aside: networks that shift or cut it themselves, and those of a library.
    """
    calls = [c for c in model_calls(source) if len(c.args) > 1]
    for loss, kind in source.losses:
        if kind not in ("crossentropyloss", "cross_entropy", "nllloss", "nll_loss") or len(loss.args) < 2:
            continue
        wanted = loss.args[1]
        flat = isinstance(wanted, ast.Call) and isinstance(wanted.func, ast.Attribute)
        if not flat or wanted.func.attr not in ("view", "reshape", "flatten"):  # type: ignore[attr-defined]
            continue
        name = _under(source, wanted.func.value)  # type: ignore[attr-defined]
        scope = source.function_around(loss)
        for call in calls:
            if (
                source.function_around(call) is not scope
                or not name.isidentifier()
                or not _trains(source, scope)
            ):
                continue
            places = [i for i, a in enumerate(call.args) if _under(source, a) == name and i > 0]
            if (
                places
                and _hands_on_whole(source, call, places[0])
                and not _stored_between(source, call, loss, name)
            ):
                return at(source, call, "the model is given the very positions that it is to say")
    return None


def _under(source: Script, node: ast.expr) -> str:
    """The name of a value, of a name that is only another one for it (`fed, wanted = tgt, tgt`) that one."""
    given = flow(source).given(node) if isinstance(node, ast.Name) else None
    return (
        given.value.id if given and isinstance(given.value, ast.Name) and not given.places else unparse(node)
    )


def _stored_between(source: Script, call: ast.Call, loss: ast.Call, name: str) -> bool:
    """The name holds another value where the loss is taken: `tgt = tgt[:, 1:]`."""
    scope = source.function_around(call) or source.tree
    stored = (n for n in of(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store))
    return any(call.lineno <= n.lineno <= loss.lineno for n in stored)


def _hands_on_whole(source: Script, call: ast.Call, place: int, depth: int = 2) -> bool:
    """The forward pass of the program's own network looks the argument up in a table, and cuts nothing.

    Also where it hands it on to a method of its own that does.
    """
    mine = flow(source)
    inside = source.function_around(call) in source.forwards
    made = [f for f in mine.called(call) if f in source.forwards or inside]
    if not made and len(source.models) == 1:  # through a wrapper: `model = DistributedDataParallel(net)`
        made = [f for f in source.forwards if f in source.models[0].body]
    if len(made) != 1:
        return False
    names = [a.arg for a in made[0].args.args[1:]]
    if place >= len(names):
        return False
    name = names[place]
    text = unparse(made[0])
    uses = [
        n
        for n in of(made[0], ast.Name)
        if n.id == name and isinstance(n.ctx, ast.Load) and not _asks_size(source.parents.get(n))
    ]
    looked_up = [p for n in uses if isinstance(p := source.parents.get(n), ast.Call) and n in p.args]
    own = [c for c in looked_up if isinstance(c.func, ast.Attribute) and unparse(c.func.value) == "self"]
    plain = len(uses) == len(own) == 1 and not re.search(
        r"roll|shift|(?<!a)range\(|\[:, ?:-1|cat\(\[\w*sos|bos", text
    )
    owner = mine.class_around(made[0])
    tables = {n for n, c in held(owner) if last_name(c.func) == "Embedding"} if owner is not None else set()
    if not plain:
        return False
    if last_name(own[0].func) in tables:
        return True
    at_place = next(i for i, a in enumerate(own[0].args) if unparse(a) == name)
    return depth > 0 and _hands_on_whole(source, own[0], at_place, depth - 1)


def _asks_size(parent: ast.AST | None) -> bool:
    """`tgt.size(1)`, `tgt.shape`, `tgt.device`: nothing of what it holds. Nor `tgt == PAD`, for a mask."""
    return isinstance(parent, ast.Compare) or (
        isinstance(parent, ast.Attribute) and parent.attr in ("size", "shape", "device", "dtype", "dim")
    )


def _trains(source: Script, scope: Function | None) -> bool:
    """Gradients are taken of what a function gives, in itself or where it is called."""
    if scope in differentiated(source):
        return True
    around = {source.function_around(b) for b in taken(source)}
    if scope in around or scope is None:
        return scope in around
    return any(source.function_around(c) in around for c in source.named(scope.name))


def decoder_unmasked(source: Script) -> Finding | None:
    """`self.body(a, b)` of an `nn.Transformer` that is to say the next element, and no `tgt_mask`.

    Not judged where nothing is shifted (`ids[:, :-1]` against `ids[:, 1:]`): queries of their own see all.
    """
    if not _shifts_by_hand(source):
        return None
    seen: ast.AST | None = None
    for call in source.calls:
        if len(call.args) < 2 or not isinstance(call.func, (ast.Attribute, ast.Name)):
            continue
        made = layers_behind(source, call.func)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "encoder":
            continue
        if not made or any(last_name(v.func) not in _DECODERS for v in made):
            continue
        if set(source.classes) & set(_DECODERS) or any(k.arg is None for k in call.keywords):
            continue
        names = {k.arg for k in call.keywords}
        seen = seen or call
        if not names & {"tgt_mask", "tgt_is_causal"} and len(call.args) == 2:
            return at(source, call, "the decoder gets no tgt_mask, so that it sees what it has to predict")
    return ok(source, seen, "the decoder is masked") if seen is not None else None


_DECODERS = ("Transformer", "TransformerDecoder", "TransformerDecoderLayer")


def _cut(source: Script, node: ast.expr) -> str | None:
    """`ids[:, :-1]`, by way of names and of what only changes its form; None of what is not cut."""
    for _ in range(6):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPES:
            node = node.func.value
        elif isinstance(node, ast.Name):
            found = flow(source).whole_given(node)
            if found is None:
                return None
            node = found
        else:
            break
    cut = isinstance(node, ast.Subscript) and any(
        n.upper is not None and unparse(n.upper) == "-1" for n in of(node.slice, ast.Slice)
    )
    later = isinstance(node, ast.Subscript) and any(
        n.lower is not None and unparse(n.lower) == "1" for n in of(node.slice, ast.Slice)
    )
    return unparse(node) if cut or later else None


_MASKS = re.compile(r"causal|tril|triu|attn_mask|masked_fill|square_subsequent|src_mask|look_ahead|mask")


def _sees_later(source: Script) -> Finding | None:
    """A decoder that predicts the next element, and no mask in any of its attention."""
    shifted = [w for w in _windows(source) if _sliced(w[1]) and _sliced(w[3])]
    pairs = [(_ends(w[1]), _ends(w[3])) for w in _windows(source)]
    follows = any(unparse(w[1]) != unparse(w[3]) for w in shifted) or _shifts_by_hand(source)
    follows = follows or any(a.startswith("first") and b == a.replace("first", "last", 1) for a, b in pairs)
    if not follows or not source.named("Embedding", "Embed"):
        return None
    attends = source.named("scaled_dot_product_attention", "MultiheadAttention", "TransformerEncoderLayer")
    attends = attends or tuple(scores_written_out(source))
    of_flax = source.named("MultiHeadDotProductAttention", "SelfAttention")
    if of_flax and not attends and not _ORDERED.search(source.code):
        names = (t for n in source.of(ast.Assign) for t in n.targets)
        if not any("mask" in unparse(t) and unparse(_value_of(source, t)) != "None" for t in names):
            return at(
                source,
                of_flax[0],
                "no attention is masked, so that each position sees what it has to predict",
            )
    if not attends:
        return None
    hidden = any(
        k.arg in ("is_causal", "attn_mask", "mask", "src_mask", "use_causal_mask")
        and not (isinstance(k.value, ast.Constant) and k.value.value in (False, None))
        for c in source.calls
        for k in c.keywords
    )
    if hidden or _MASKS.search(re.sub(r"is_causal=False|attn_mask=None", "", source.code)):
        return ok(source, attends[0], "attention is masked")
    return at(source, attends[0], "no attention is masked, so that each position sees what it has to predict")


_ORDERED = re.compile(r"causal|tril|triu|subsequent|look_ahead|band_part|ConvShift|[<>]=|autoregress")


def _value_of(source: Script, target: ast.expr) -> ast.AST:
    statement = source.statement(target)
    return statement.value if isinstance(statement, ast.Assign) else target


def _shifts_by_hand(source: Script) -> bool:
    """`logits[:, :-1]` against `ids[:, 1:]`, `x, y = ids[:, :-1], ids[:, 1:]`."""
    return re.search(r"\[:, :-1\]|\[\.\.\., :-1", source.code) is not None and "[:, 1:]" in source.code
