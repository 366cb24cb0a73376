"""Denoising diffusion that a script writes out: the schedule of the noise, its shares, the order of steps.

Looked for only where betas are multiplied up (`cumprod`) or where a script has both betas and alphas.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import factors
from ..shared.sides import number

_NOISE = re.compile(r"(?i)^(?:\w*_)?(?:noise|noises|eps|epsilon|eta|gauss\w*)(?:_\w+)?$")
_BARS = re.compile(r"(?i)alpha|bar|cumprod")
_DRAWS = ("randn", "randn_like", "normal", "standard_normal", "StandardNormal", "normal_like")
LOSSES = re.compile(r"(?i)^(?:mse_loss|l1_loss|smooth_l1_loss|huber_loss|mean_squared_error|MSE)$")


def diffuses(source: Script) -> bool:
    """The program has betas and alphas, and multiplies them up."""
    return (
        "beta" in source.code
        and "alpha" in source.code
        and re.search(r"cumprod|cumsum", source.code) is not None
    )


def multiplied_up_wrongly(source: Script) -> Finding | None:
    """`cumprod(betas)`, or `cumsum(alphas)`: what is left of the picture is the product of the alphas."""
    if not diffuses(source):
        return None
    seen = None
    for call in source.named("cumprod", "cumsum", "CumProd"):
        whole = (
            call.func.value
            if isinstance(call.func, ast.Attribute) and re.search(r"alpha|beta", unparse(call.func.value))
            else argument(call, position=0)
        )
        if whole is None:
            continue
        name = last_name(whole)
        seen = seen or call
        if re.fullmatch(r"(?i)(?:\w*_)?betas?", name) and "cumprod" in last_name(call.func).lower():
            if not re.search(r"\b1(?:\.0?)? - ", unparse(flow(source).whole_given(whole) or whole)):
                return at(
                    source,
                    call,
                    "the betas are multiplied up, not the alphas: nearly zero from the second step on",
                )
        if (
            re.fullmatch(r"(?i)(?:\w*_)?alphas?", name)
            and last_name(call.func) == "cumsum"
            and "cumprod" not in source.code
        ):
            return at(source, call, "the alphas are summed up, not multiplied: shares above one")
    return ok(source, seen, "the alphas are multiplied up") if seen is not None else None


def is_bar(source: Script, node: ast.expr) -> bool:
    """The share of the picture, by its name or by the table that it is taken from."""
    told = flow(source).whole_given(node) or node
    return _BARS.search(f"{unparse(node)} {unparse(told)}") is not None


def rooted(node: ast.expr) -> ast.expr | None:
    """What a root is taken of: `a.sqrt()`, `torch.sqrt(a)`, `a ** 0.5`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "sqrt":
        if node.args:
            return node.args[0]
        return receiver(node)
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Pow)
        and unparse(node.right) in ("0.5", "1 / 2")
    ):
        return node.left
    return None


def rest_of(node: ast.expr) -> ast.expr | None:
    """`1 - a` -> a."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and unparse(node.left) in ("1", "1.0"):
        return node.right
    return None


def mixed(source: Script) -> Iterator[tuple[ast.BinOp, ast.expr, ast.expr]]:
    """Sums of a share of a picture and a share of noise: the sum, and the factors of the two."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        parts = [factors(node.left), factors(node.right)]
        if any(len(p) != 2 for p in parts):
            continue
        noise = [[f for f in p if _is_noise(f)] for p in parts]
        if sorted(len(n) for n in noise) != [0, 1]:
            continue
        at_noise = 0 if noise[0] else 1
        of_noise = [f for f in parts[at_noise] if f is not noise[at_noise][0]]
        of_picture = [
            f for f in parts[1 - at_noise] if re.search(r"sqrt|\*\* 0\.5", unparse(f)) or is_bar(source, f)
        ]
        if len(of_picture) == 1:
            yield node, of_picture[0], of_noise[0]


def _is_noise(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return last_name(node.func) in _DRAWS
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    return _NOISE.match(last_name(node)) is not None


def shares_wrong(source: Script) -> Finding | None:
    """`a.sqrt() * x + (1 - a) * noise`, or `(1 - a).sqrt() * x + a.sqrt() * noise`.

    The shares are the roots of `a` and of `1 - a`, so that the spread stays one.
    """
    if not diffuses(source):
        return None
    seen = None
    for node, picture, noise in mixed(source):
        one, other = rooted(picture), rooted(noise)
        seen = seen or node
        if one is not None and other is not None:
            left = rest_of(one)
            if left is not None and unparse(left) == unparse(other) and is_bar(source, other):
                return at(
                    source, node, "the picture gets the share of the noise, and the noise that of the picture"
                )
            continue
        bare = rest_of(noise)
        if one is not None and bare is not None and unparse(bare) == unparse(one):
            return at(source, node, "the noise is weighted by 1 - a, where its root keeps the spread")
        if other is not None and rooted(picture) is None:
            left = rest_of(other)
            if left is not None and unparse(left) == unparse(picture) and is_bar(source, picture):
                return at(source, node, "the picture is weighted by a, where its root keeps the spread")
        text_p, text_n = unparse(picture), unparse(noise)
        if "one_minus" in text_p and "one_minus" not in text_n and re.search(r"sqrt_alpha", text_n):
            return at(
                source, node, "the picture gets the share of the noise, and the noise that of the picture"
            )
    return (
        ok(source, seen, "the shares of picture and noise are roots that belong together")
        if seen is not None
        else None
    )


def target_is_fresh_noise(source: Script) -> Finding | None:
    """`mse_loss(model(x_t, t), randn_like(x0))`: the target is drawn anew, not the noise that was added."""
    if not diffuses(source):
        return None
    for call in source.calls:
        if LOSSES.match(last_name(call.func)) or re.search(r"(?i)mse|loss|criterion", last_name(call.func)):
            for one in map(bare, call.args[:2]):
                if isinstance(one, ast.Call) and last_name(one.func) in _DRAWS:
                    return at(
                        source,
                        call,
                        "the target of the loss is noise that was drawn for it, not the noise in the input",
                    )
                if isinstance(one, ast.Name) and _never_added(source, call, one):
                    return at(source, call, f"{one.id} is the target of the loss, and was added to nothing")
    return None


def bare(node: ast.expr) -> ast.expr:
    """`noise.float()` -> `noise`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        if node.func.attr not in ("float", "detach", "contiguous", "double"):
            break
        node = node.func.value
    return node


def _never_added(source: Script, loss: ast.Call, name: ast.Name) -> bool:
    """What was drawn under the name is read for the loss alone."""
    given = flow(source).all_given(name)
    if len(given) != 1 or not isinstance(given[0].value, ast.Call) or given[0].places:
        return False
    if last_name(given[0].value.func) not in _DRAWS:
        return False
    inside = source.function_around(loss)
    scope = inside or source.tree
    reads = [n for n in of(scope, ast.Name) if n.id == name.id and isinstance(n.ctx, ast.Load)]
    if inside is None:
        reads = [n for n in reads if source.function_around(n) is None]  # parameters of functions are others
    return reads == [name] and not re.search(r"\blocals\(|\bdel\b", unparse(scope))


def step_drawn_twice(source: Script) -> Finding | None:
    """The model is told a step that is drawn for it, not that of its noise; or the step is always 0."""
    if not diffuses(source):
        return None
    for call in source.calls:
        drawn = [a for a in call.args if isinstance(a, ast.Call) and last_name(a.func) == "randint"]
        if not drawn or last_name(call.func) in ("to", "long", "full", "at", "extract", "gather"):
            continue
        scope = source.function_around(call)
        others = [
            c
            for c in (of(scope, ast.Call) if scope is not None else ())
            if last_name(c.func) == "randint" and c not in drawn
        ]
        if others:
            return at(source, call, "the model is told a step that is drawn anew, not the one of its noise")
    for call in source.named("randint"):
        low, high = (call.args[0], call.args[1]) if len(call.args) > 1 else (None, None)
        if (
            high is None
            or isinstance(high, ast.Tuple)
            or number(source, low) != 0
            or number(source, high) != 1
        ):
            continue
        holder = source.statement(call)
        if isinstance(holder, ast.Assign) and re.fullmatch(
            r"(?i)t|ts|step|steps|time_?steps?|times?", unparse(holder.targets[0])
        ):
            return at(source, call, "the end of randint is left out: every step drawn is 0")
    return None


def sampled_forwards(source: Script) -> Finding | None:
    """`for i in range(T): x = step(x, i)` from noise: the chain is walked from its last step down to 0."""
    if not diffuses(source):
        return None
    for loop in source.of(ast.For):
        over = loop.iter
        while isinstance(over, ast.Call) and last_name(over.func) in ("tqdm", "trange", "list") and over.args:
            if last_name(over.func) == "trange":
                break
            over = over.args[0]
        if (
            not isinstance(over, ast.Call)
            or last_name(over.func) not in ("range", "trange")
            or len(over.args) != 1
        ):
            continue
        scope = source.function_around(loop)
        if scope is None or not isinstance(loop.target, ast.Name) or of(loop, ast.Yield):
            continue
        if re.search(r"backward|\.step\(\)|zero_grad|GradientTape", unparse(scope)):
            continue
        count = loop.target.id
        text = " ".join(unparse(s) for s in loop.body)
        if re.search(rf"- {count}\b|\[::-1\]|~{count}\b|flip|revers", text) or re.search(
            r"ddim_?inver|encode", scope.name
        ):
            continue
        if any(
            unparse(n.slice) == count and not _SCHEDULE.search(last_name(n.value))
            for n in of(loop, ast.Subscript)
        ):
            continue  # a list of steps, whose order is not known
        for node in of(loop, ast.Assign):
            name = node.targets[0]
            if not isinstance(name, ast.Name) or not isinstance(node.value, (ast.Call, ast.BinOp)):
                continue
            stepped = isinstance(node.value, ast.Call)
            given = (
                [unparse(a) for a in all_arguments(node.value)]
                if isinstance(node.value, ast.Call)
                else names_in(node.value)
            )
            if not stepped and not _undoes(node.value):
                continue
            before = [
                a.value
                for a in of(scope, ast.Assign)
                if unparse(a.targets[0]) == name.id and a.lineno < loop.lineno
            ]
            from_noise = (
                bool(before) and isinstance(before[-1], ast.Call) and last_name(before[-1].func) in _DRAWS
            )
            of_step = names_in(node.value) & ({count} | _made_of(loop, count))
            if name.id in given and from_noise and of_step:
                return at(source, loop, "from noise the chain is walked from step 0 upwards, not down to it")
    return None


_SCHEDULE = re.compile(r"(?i)alpha|beta|bar|sigma|var|sqrt")


def _undoes(node: ast.expr) -> bool:
    """`(x - share * noise) / root`: noise is taken off, where a walk into noise adds it."""
    return any(
        isinstance(b.op, ast.Sub) and isinstance(b.right, ast.BinOp) and not isinstance(b.left, ast.Constant)
        for b in of(node, ast.BinOp)
    )


def _made_of(loop: ast.For, count: str) -> set[str]:
    return {unparse(a.targets[0]) for a in of(loop, ast.Assign) if count in names_in(a.value)}


def last_beta_above_one(source: Script) -> Finding | None:
    """`betas = linspace(1e-4, 2.0, T)`: a share of noise above one leaves roots of negative numbers."""
    if not diffuses(source):
        return None
    for call in source.named("linspace"):
        holder = source.statement(call)
        if (
            not isinstance(holder, ast.Assign)
            or not re.search(r"(?i)beta", unparse(holder.targets[0]))
            or len(call.args) < 2
        ):
            continue
        end = number(source, call.args[1])
        if end is None and isinstance(call.args[1], ast.Name):
            end = _default(source, call.args[1])
        if end is not None and end >= 1 and holder.value is call:
            return at(source, call, f"the last beta is {end:g}: a share of noise stays below one")
    return None


def _default(source: Script, node: ast.Name) -> float | None:
    """The default of a parameter of the function around, where no caller hands over another."""
    scope = source.function_around(node)
    if scope is None or flow(source).arguments(node):
        return None
    names = [a.arg for a in scope.args.args]
    if node.id not in names:
        return None
    place = names.index(node.id) - (len(names) - len(scope.args.defaults))
    return number(source, scope.args.defaults[place]) if place >= 0 else None
