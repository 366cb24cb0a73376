"""Augmentation written by hand that leaves nothing of a sample: drowned in noise, masked, cut to a corner."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.numbers import known
from ..shared.one_side import chance, classifies, training_loops
from ..shared.roles import INPUT_WORDS, TARGET_WORDS, base
from ..shared.sides import side

# what is spoiled is there to be made whole again, to be told from what is whole, or to be borne
_MEANT = re.compile(
    r"(?i)autoencod|\bmae\b|reconstruct|denois|diffus|score_?match|\bgan\b|discriminator|contrast|simclr|nt_?xent"
    r"|byol|moco|self_?sup|inpaint|mask_?(?:token|ratio|ed_?model)|robust|adversar|attack|randomi[sz]ed_?smooth"
    r"|super_?res|snr|distill|corrupt"
)
_DISTURBS = re.compile(
    r"(?i)aug|noise|noisy|transform|jitter|perturb|distort|collate|preproc|__call__|__getitem__"
)
MOST_HIDDEN = 0.75  # of the pixels, one by one: where networks learn to fill pictures up, this much is hidden
LEAST_CUT = 0.08  # of the area, which is the least that random crops are scaled from
_NORMAL = ("randn_like", "randn", "standard_normal")
_NORMAL_OF = ("normal", "gauss", "normalvariate", "normal_")


def ruined(source: Script, most: float) -> Finding | None:
    """`model(x + 10 * randn_like(x))`, `x * (rand_like(x) > 0.95)`, `interpolate(x[:, :, :4, :4], size=16)`.

    Of inputs on their way into a network that learns classes: in a loop that trains, in what it calls, in a
    data set or a transform. False positive: how much a network bears is what is asked.
    """
    if not classifies(source) or _MEANT.search(source.code):
        return None
    for node in source.of(ast.BinOp, ast.AugAssign, ast.Call, ast.Assign):
        found = _noise(source, node, most) or _hidden(source, node) or _cut(source, node)
        if found is not None and not is_evaluation(source, node) and not _whole_kept(source, node):
            return at(source, node, found)
    return _cut_in_list(source)


@lru_cache(maxsize=16)
def _batch_names(source: Script) -> frozenset[str]:
    return frozenset(n for _, names in training_loops(source) for n in names)


def _is_input(source: Script, node: ast.expr) -> bool:
    """Inputs of a batch in training, training data by their name, or what a function that disturbs gets."""
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return False
    text, word = unparse(node), base(node)
    if TARGET_WORDS.search(word) or side(text) is False or source.class_around(node) in source.modules:
        return False
    function = source.function_around(node)
    loops = [loop for loop, names in training_loops(source) if word in map(str.lower, names)]
    if any(loop in source.above(node) for loop in loops):
        return True
    if side(text) is True and INPUT_WORDS.search(word):
        return _scaled_before(source, node, text)
    lambdas = [p for p in source.above(node) if isinstance(p, ast.Lambda)]
    if lambdas and any(a.arg == text for a in lambdas[0].args.args):
        return bool(source.named("Compose", "Lambda", "map"))
    if function is None:
        return False
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    return _DISTURBS.search(function.name) is not None and (
        text in names or INPUT_WORDS.search(word) is not None or function.name == "__getitem__"
    )


def _whole_kept(source: Script, node: ast.AST) -> bool:
    """`noisy = x + 5 * noise`, and `x` is read again below: it is told from the other, or is the target."""
    statement = source.statement(node)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    used = {n.id for n in of(statement.value, ast.Name) if INPUT_WORDS.search(n.id.lower())}
    scope = source.function_around(node) or source.tree
    return statement.targets[0].id not in used and any(
        n.id in used and isinstance(n.ctx, ast.Load) and n.lineno > statement.lineno
        for n in of(scope, ast.Name)
    )


def _scaled_before(source: Script, node: ast.expr, text: str) -> bool:
    """They were brought to a spread of about one: noise of ten grey levels is little."""
    scope = source.function_around(node) or source.tree
    line = node.lineno
    for made in of(scope, ast.Assign, ast.AugAssign):
        targets = made.targets if isinstance(made, ast.Assign) else [made.target]
        told = [unparse(e) for t in targets for e in (*getattr(t, "elts", ()), t)]
        if text in told and made.lineno < line:
            divided = isinstance(made, ast.AugAssign) and isinstance(made.op, ast.Div)
            if divided or any(isinstance(o.op, ast.Div) for o in of(made.value, ast.BinOp)):
                return True
            if any(
                last_name(c.func) in ("fit_transform", "transform", "normalize", "scale")
                for c in of(made.value, ast.Call)
            ):
                return True
    return False


# --------------------------------------------------------------------------------------------------- noise


def _noise(source: Script, node: ast.AST, most: float) -> str | None:
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        pairs = [(node.left, node.right), (node.right, node.left)]
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.Call) and last_name(node.func) in ("add", "add_") and node.args:
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Call):
            pairs = [(node.func.value, node.args[0])]
    for held, drawn in pairs:
        spread = spread_of(source, drawn)
        if spread is not None and spread > most and _is_input(source, held):
            return f"noise of {spread:.3g} deviations is added to the inputs"
    return None


def spread_of(source: Script, node: ast.expr, depth: int = 5) -> float | None:
    """The deviation of what is drawn, None where nothing is or where it is not told."""
    node = _bare(node)
    if depth == 0:
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            inner = spread_of(source, one, depth - 1)
            if inner is not None:
                by = known(source, other)
                if by is None or (isinstance(node.op, ast.Div) and not by):
                    return None
                return inner * abs(by) if isinstance(node.op, ast.Mult) else inner / abs(by)
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        inner, shift = spread_of(source, node.left, depth - 1), known(source, node.right)
        return inner if shift is not None else None
    if isinstance(node, ast.Call):
        return _of_draw(source, node)
    if isinstance(node, ast.Name):
        ways = [v for v in flow(source).values(node, 1) if v is not node]
        return spread_of(source, ways[0], depth - 1) if len(ways) == 1 else None
    return None


def _bare(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in (
            "to",
            "astype",
            "float",
            "cuda",
            "type_as",
            "half",
            "view",
            "reshape",
            "numpy",
        ):
            break
        node = node.func.value
    return node


def _of_draw(source: Script, call: ast.Call) -> float | None:
    name = last_name(call.func)
    if name in _NORMAL:
        return 1.0
    if name in ("rand", "rand_like", "random", "random_sample") and name != "random":
        return 1 / math.sqrt(12)
    if name in _NORMAL_OF:
        size = keyword(call, "scale") or keyword(call, "std") or keyword(call, "stddev")
        if size is None and len(call.args) > 1:
            size = call.args[1]
        return known(source, size) if size is not None else (1.0 if not call.args else None)
    if name == "uniform" and len(call.args) > 1:
        low, high = known(source, call.args[0]), known(source, call.args[1])
        return abs(high - low) / math.sqrt(12) if low is not None and high is not None else None
    return None


# --------------------------------------------------------------------------------------------------- masks


def _hidden(source: Script, node: ast.AST) -> str | None:
    """The share of the pixels that is hidden, each drawn by itself."""
    for held, share in _masks(source, node):
        if share > MOST_HIDDEN and _is_input(source, held):
            return f"{share:.0%} of each sample is hidden"
    return None


def _masks(source: Script, node: ast.AST) -> Iterator[tuple[ast.expr, float]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for held, mask in ((node.left, node.right), (node.right, node.left)):
            if (kept := chance(source, mask)) is not None:
                yield held, 1 - kept
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
        if (kept := chance(source, node.value)) is not None:
            yield node.target, 1 - kept
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        if (
            known(source, node.value) is not None
            and (lost := chance(source, node.targets[0].slice)) is not None
        ):
            yield node.targets[0].value, lost
    elif isinstance(node, ast.Call):
        name, args = last_name(node.func), node.args
        if name == "where" and len(args) == 3 and (kept := chance(source, args[0])) is not None:
            if known(source, args[2]) is not None or _zeros(args[2]):
                yield args[1], 1 - kept
            elif known(source, args[1]) is not None or _zeros(args[1]):
                yield args[2], kept
        elif (
            name in ("masked_fill", "masked_fill_")
            and len(args) == 2
            and isinstance(node.func, ast.Attribute)
        ):
            if (lost := chance(source, args[0])) is not None:
                yield node.func.value, lost
        elif re.fullmatch(r"(?:feature_)?dropout[123]?d?|Dropout[123]?d?", name) and args:
            share = known(source, keyword(node, "p") or (args[1] if len(args) > 1 else None))
            if share is not None:
                yield args[0], share
        elif isinstance(node.func, ast.Call) and last_name(node.func.func).startswith("Dropout") and args:
            share = known(source, argument(node.func, "p", position=0))
            if share is not None:
                yield args[0], share


def _zeros(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in ("zeros_like", "zeros", "tensor")


# --------------------------------------------------------------------------------------------------- crops


def _cut(source: Script, node: ast.AST) -> str | None:
    """`pad(x[:, :, 6:10, 6:10], (6, 6, 6, 6))`, `interpolate(x[..., :4, :4], size=16)`: what is left."""
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    method = isinstance(node.func, ast.Attribute) and not node.args
    held = node.func.value if method and isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
    if name not in ("pad", "interpolate", "upsample", "resize") or held is None:
        return None
    for way in (held, *(flow(source).values(held, 1) if isinstance(held, ast.Name) else [])):
        sizes = _window(source, way)
        if sizes is None or not isinstance(way, ast.Subscript) or not _is_input(source, way.value):
            continue
        whole = _padded(source, node, sizes) if name == "pad" else _enlarged(source, node, sizes)
        if whole is not None and sizes[0] * sizes[1] <= LEAST_CUT * whole:
            return f"{sizes[0] * sizes[1] / whole:.0%} of each picture is all that is left"
    return None


def _window(source: Script, node: ast.expr) -> tuple[float, float] | None:
    """Height and width of what is taken: `x[:, :, 6:10, i:i + 4]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    pairs = [p for p in node.slice.elts if isinstance(p, ast.Slice)]
    sizes = [s for p in pairs if (s := _length(source, p)) is not None]
    return (sizes[0], sizes[1]) if len(sizes) == 2 else None


def _length(source: Script, part: ast.Slice) -> float | None:
    if part.upper is None or part.step is not None:
        return None
    upper = part.upper
    if part.lower is not None and isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add):
        if unparse(upper.left) == unparse(part.lower):
            return known(source, upper.right)
    low, high = known(source, part.lower) if part.lower is not None else 0.0, known(source, upper)
    if low is None or high is None:
        return None
    return high - low if high > low >= 0 else None


def _padded(source: Script, call: ast.Call, sizes: tuple[float, float]) -> float | None:
    wide = argument(call, "pad", "pad_width", position=1)
    elts = wide.elts if isinstance(wide, (ast.Tuple, ast.List)) else []
    if len(elts) == 4 and all(known(source, e) is not None for e in elts):
        left, right, top, bottom = (known(source, e) or 0.0 for e in elts)
        return (sizes[1] + left + right) * (sizes[0] + top + bottom)
    inner = [e for e in elts if isinstance(e, (ast.Tuple, ast.List)) and len(e.elts) == 2]
    if len(inner) >= 2 and len(inner) == len(elts):
        grown = [sum(known(source, v) or 0.0 for v in e.elts) for e in inner]
        told = [g for g in grown if g > 0]
        if len(told) == 2:
            return (sizes[0] + told[0]) * (sizes[1] + told[1])
    return None


def _enlarged(source: Script, call: ast.Call, sizes: tuple[float, float]) -> float | None:
    factor = keyword(call, "scale_factor")
    if factor is not None:
        by = known(source, factor)
        return sizes[0] * sizes[1] * by * by if by is not None else None
    size = argument(call, "size", "dsize", position=1)
    return _area(source, size)


def _area(source: Script, size: ast.expr | None) -> float | None:
    if isinstance(size, (ast.Tuple, ast.List)):
        sides = [known(source, e) for e in size.elts[-2:]]
        return sides[0] * sides[1] if len(sides) == 2 and sides[0] and sides[1] else None
    side_ = known(source, size)
    return side_ * side_ if side_ else None


def _cut_in_list(source: Script) -> Finding | None:
    """`Compose([RandomCrop(4), Resize(32)])`, `Compose([CenterCrop(4), Pad(14)])`."""
    for compose in source.named("Compose", "Sequential"):
        steps = (
            compose.args[0].elts if compose.args and isinstance(compose.args[0], ast.List) else compose.args
        )
        kept: float | None = None
        for step in steps:
            if not isinstance(step, ast.Call):
                continue
            name, first = last_name(step.func), step.args[0] if step.args else keyword(step, "size")
            if name in ("RandomCrop", "CenterCrop"):
                kept = _area(source, first)
            elif kept is not None and name in ("Resize", "Pad"):
                by = known(source, first if first is not None else keyword(step, "padding"))
                whole = _area(source, first) if name == "Resize" else None
                if name == "Pad" and by is not None:
                    whole = (math.sqrt(kept) + 2 * by) ** 2
                if whole is not None and kept <= LEAST_CUT * whole:
                    return at(source, step, f"{kept / whole:.0%} of each picture is all that is left")
    return None
