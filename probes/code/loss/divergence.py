"""Divergences in scripts: what `kl_div` takes, that of two Gaussians written out, samples without slope."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script, moved
from ..shared.checks import at
from ..shared.nodes import is_negative, is_true, signed_terms

_SOFT = ("softmax", "Softmax", "sigmoid", "Sigmoid")
_LOGS = ("log_softmax", "LogSoftmax", "logsigmoid", "LogSigmoid", "log")
_OTHERS = re.compile(r"(?i)rec|mse|bce|nll|(?:^|_)(?:ce|loss)(?:_|$)|[a-z]loss$")
_IS_KL = re.compile(r"(?i)(?:^|_)(?:kl|kld|kldiv|latent|prior)(?:_|$)|^kl")
_LIBRARIES = ("torch", "F", "np", "tf", "tf.math", "ops", "mint", "K", "keras.ops", "jnp")
_REDUCES = ("sum", "mean", "reduce_sum", "reduce_mean")
_LOSSES = re.compile(r"(?i)cross_?entropy|\bmse|squared_?error|square\(|l1_loss|\bbce|log_prob")
_DRAWS = re.compile(r"(?i)sample|generat|decode|act|rollout|explore")


# ------------------------------------------------------------------------------------ kl_div's arguments


def divergence_of_wrong_kind(source: Script) -> Finding | None:
    """`F.kl_div(input, target)` takes the logarithm of the one and, by default, not of the other."""
    if "pytorch" not in source.frameworks:
        return None
    for call, made in _calls(source):
        if len(call.args) < 2:
            continue
        log_target = keyword(made, "log_target")
        first, second = (_ends(source, a) for a in call.args[:2])
        if first and all(e in _SOFT for e in first):
            return at(source, call, "kl_div takes logarithms first, and gets probabilities")
        if second and all(e in _LOGS for e in second) and log_target is None:
            return at(source, call, "kl_div takes probabilities second, and gets logarithms")
        if second and all(e in _SOFT for e in second) and is_true(log_target):
            return at(source, call, "log_target=True says logarithms, and the target are probabilities")
    return None


def _calls(source: Script) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Calls of the divergence, with the call that holds its settings."""
    for call in source.named("kl_div"):
        if source.owner(call).split(".")[-1] in ("F", "functional"):
            yield call, call
    built = {kind for kind in source.criteria if source.criteria[kind] == "kldivloss"}
    for call in source.calls:
        if isinstance(call.func, ast.Call) and last_name(call.func.func) == "KLDivLoss":
            yield call, call.func
        elif unparse(call.func) in built:
            for node in source.of(ast.Assign):
                value = moved(node.value)
                if isinstance(value, ast.Call) and unparse(call.func) in map(unparse, node.targets):
                    yield call, value
                    break


def _ends(source: Script, node: ast.expr) -> list[str]:
    """The names of the calls that a value ends in, shapes and copies looked through; "" of others."""
    found = []
    for end in flow(source).values(node, 5):
        while isinstance(end, ast.Call) and isinstance(end.func, ast.Attribute):
            if end.func.attr not in ("detach", "float", "view", "reshape", "to", "contiguous", "clone"):
                break
            end = end.func.value
        found.append(last_name(end.func) if isinstance(end, ast.Call) else "")
    return found


# ------------------------------------------------------------------------------------------- of two Gaussians


@dataclass
class Gaussian:
    """`one + log + mean + var` of `1 + logvar - mu**2 - exp(logvar)`, by their factors."""

    node: ast.expr
    one: float = 0.0
    log: float = 0.0
    mean: float = 0.0
    var: float = 0.0
    unsquared: bool = False  # the mean stands there as it is
    logarithm: bool = False  # the logarithm of the variance stands squared where the variance belongs

    @property
    def sign(self) -> int:
        """1: it is the divergence; -1: the divergence turned round; 0: its terms do not fit together."""
        if self.mean > 0 and self.var > 0 and self.log < 0 and self.one < 0:
            return 1
        return -1 if self.mean < 0 and self.var < 0 and self.log > 0 and self.one > 0 else 0


def gaussian_divergence_wrong(source: Script) -> Finding | None:
    """The divergence of a Gaussian from the standard one has a term, or all of it, with the wrong sign."""
    for found in _gaussians(source):
        if found.unsquared:
            return at(source, found.node, "the mean stands unsquared in the Gaussians' divergence")
        if found.logarithm:
            return at(source, found.node, "the squared logarithm stands for the variance in this divergence")
        if found.sign == 0:
            return at(source, found.node, "a term of the Gaussians' divergence has the wrong sign")
        whole, sign = _with_factors(source, found)
        statement = source.statement(whole)
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        if statement.value is not whole or not _IS_KL.search(name):
            continue
        for called, caller, line in _handed_to(source, statement, name):
            for node in of(caller, ast.BinOp):
                if node.lineno > line and _sign_in_sum(source, node, called) == -sign:
                    return at(source, whole, _climbed(called, sign))
        function = source.function_around(statement)
        stored = [n for n in of(function or source.tree, ast.Name) if isinstance(n.ctx, ast.Store)]
        if sum(n.id == name for n in stored) > 1:
            continue  # `kl = -kl` below
        for node in of(function or source.tree, ast.BinOp):
            if node.lineno > statement.lineno and _sign_in_sum(source, node, name) == -sign:
                return at(source, whole if sign < 0 else node, _climbed(name, sign))
    return None


def mean_beside_sum(source: Script) -> Finding | None:
    """`bce + kld`: the divergence is a sum over the batch and all codes, the reconstruction a mean over all.

    A factor on either of them says that somebody has weighed them.
    """
    for found in _gaussians(source):
        whole, sign = _with_factors(source, found)
        statement = source.statement(whole)
        function = source.function_around(whole)
        if (
            sign <= 0
            or not isinstance(statement, ast.Assign)
            or statement.value is not whole
            or function is None
        ):
            continue
        if _reduced(whole) != "sum" or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        for node in of(function, ast.BinOp):
            if not isinstance(node.op, ast.Add) or node.lineno <= statement.lineno:
                continue
            sides = [unparse(node.left), unparse(node.right)]
            if name not in sides:
                continue
            other = node.right if sides[0] == name else node.left
            for made in (other, *flow(source).values(other, 2)):
                if isinstance(made, ast.Call) and last_name(made.func) in _PLAIN_LOSSES and _is_mean(made):
                    return at(
                        source,
                        node,
                        "the reconstruction is a mean over all its numbers, the divergence a sum",
                    )
    return None


_PLAIN_LOSSES = ("binary_cross_entropy", "mse_loss", "binary_cross_entropy_with_logits", "l1_loss")


def _is_mean(call: ast.Call) -> bool:
    told = keyword(call, "reduction")
    known = isinstance(told, ast.Constant) and told.value == "mean"
    return (
        (told is None or known)
        and not any(k.arg != "reduction" for k in call.keywords)
        and len(call.args) == 2
    )


def _reduced(whole: ast.expr) -> str:
    """How the term is put together: "sum" over everything, "mean", "" of what is not told."""
    calls = [c for c in of(whole, ast.Call) if last_name(c.func) in _REDUCES]
    if len(calls) != 1 or any(k.arg in ("dim", "axis") for k in calls[0].keywords):
        return ""
    call = calls[0]
    library = isinstance(call.func, ast.Attribute) and unparse(call.func.value) in _LIBRARIES
    if len(call.args) > (1 if library else 0) or any(isinstance(n.op, ast.Div) for n in of(whole, ast.BinOp)):
        return ""
    return "sum" if "sum" in last_name(call.func) else "mean"


def _climbed(name: str, sign: int) -> str:
    way = "a divergence, and is subtracted" if sign > 0 else "a divergence turned round, and is added"
    return f"`{name}` is {way}: it is climbed"


def _unreduced(node: ast.expr) -> ast.expr:
    """`kl` of `kl.mean()`, `jnp.mean(kl)`."""
    while isinstance(node, ast.Call) and last_name(node.func) in _REDUCES:
        library = isinstance(node.func, ast.Attribute) and unparse(node.func.value) in _LIBRARIES
        if isinstance(node.func, ast.Attribute) and not library:
            node = node.func.value
        elif node.args:
            node = node.args[0]
        else:
            break
    return node


def _handed_to(source: Script, statement: ast.Assign, name: str) -> Iterator[tuple[str, ast.AST, int]]:
    """What callers call a value that a function gives back, alone or in a tuple: (name, scope, line)."""
    function = source.function_around(statement)
    if function is None:
        return
    ends = returns(function)
    if len(ends) != 1:
        return
    parts = ends[0].elts if isinstance(ends[0], ast.Tuple) else [ends[0]]
    parts = [_unreduced(p) for p in parts]
    places = [i for i, p in enumerate(parts) if isinstance(p, ast.Name) and p.id == name]
    for call in flow(source).calls_of(function):
        above = source.parents.get(call)
        if not places or not isinstance(above, ast.Assign) or len(above.targets) != 1:
            continue
        target = above.targets[0]
        taken = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(taken) == len(parts) and isinstance(one := taken[places[0]], ast.Name):
            yield one.id, source.function_around(above) or source.tree, above.lineno


def _gaussians(source: Script) -> Iterator[Gaussian]:
    for node in source.of(ast.BinOp):
        above = source.parents.get(node)
        if not isinstance(node.op, (ast.Add, ast.Sub)) or (
            isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Add, ast.Sub))
        ):
            continue
        found = Gaussian(node)
        logs: set[str] = set()
        exps: set[str] = set()
        # one and a mean alone, as in `std = mean + 1`, are no divergence
        told = _read(found, node, 1.0, logs, exps)
        if told and logs and found.mean and found.one and (logs == exps or (found.logarithm and not exps)):
            yield found


def _read(found: Gaussian, node: ast.expr, by: float, logs: set[str], exps: set[str]) -> bool:
    """Put the terms of a sum into `found`; False where one of them is another."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        turned = -by if isinstance(node.op, ast.Sub) else by
        return _read(found, node.left, by, logs, exps) and _read(found, node.right, turned, logs, exps)
    if is_negative(node):
        return _read(found, node.operand, -by, logs, exps)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        found.one += by * node.value
        return True
    if isinstance(node, ast.Name) and re.fullmatch(
        r"(?i)mu|mean|(?:z_?)?(?:mu|mean)s?|(?:mu|mean)_?z", node.id
    ):
        found.mean, found.unsquared = found.mean + by, True
        return True
    if isinstance(node, (ast.Name, ast.Attribute)) and re.search(r"(?i)log|lv", unparse(node)):
        found.log += by
        logs.add(unparse(node))
        return True
    squared = _squared(node)
    if squared is not None:
        if re.search(r"(?i)log_?(?:var|sigma|std)|^lv$", unparse(squared)) and "exp" not in unparse(squared):
            found.logarithm = True
            return True
        found.mean += by
        return re.search(r"(?i)mu|mean|loc|^m$|^m_", unparse(squared)) is not None
    if isinstance(node, ast.Call) and last_name(node.func) == "exp":
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        if inner is not None:
            found.var += by
            exps.add(unparse(inner))
            return True
    return False


def _squared(node: ast.expr) -> ast.expr | None:
    """`m.pow(2)`, `m ** 2`, `m.square()`, `torch.square(m)`, `m * m`."""
    if isinstance(node, ast.BinOp):
        two = isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant) and node.right.value == 2
        same = isinstance(node.op, ast.Mult) and unparse(node.left) == unparse(node.right)
        return node.left if two or same else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        library = unparse(node.func.value) in _LIBRARIES
        if node.func.attr == "square":
            return node.args[0] if library and node.args else node.func.value
        two = bool(node.args) and isinstance(node.args[-1], ast.Constant) and node.args[-1].value == 2
        if node.func.attr == "pow" and two:
            return node.args[0] if library and len(node.args) == 2 else node.func.value
    return None


def _with_factors(source: Script, found: Gaussian) -> tuple[ast.expr, int]:
    """The whole of the term, sums and constant factors around it, and its sign."""
    node, sign = found.node, found.sign
    while True:
        above = source.parents.get(node)
        if isinstance(above, ast.Attribute) or (
            isinstance(above, ast.Call) and last_name(above.func) in _REDUCES
        ):
            node = above
        elif is_negative(above):
            node, sign = above, -sign
        elif isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Mult, ast.Div)):
            other = above.left if above.right is node else above.right
            negative = is_negative(other)
            node, sign = above, -sign if negative else sign
        else:
            return node, sign


def _sign_in_sum(source: Script, node: ast.BinOp, name: str) -> int:
    """1: a name is added to other losses in this sum; -1: it is taken off them; 0: neither, or not told."""
    above = source.parents.get(node)
    if not isinstance(node.op, (ast.Add, ast.Sub)) or isinstance(above, (ast.BinOp, ast.UnaryOp)):
        return 0
    terms = list(signed_terms(node, 1))
    mine = [s for s, t in terms if _is_factor(t, name)]
    others = [s for s, t in terms if not _is_factor(t, name) and _is_loss(source, t)]
    if len(mine) != 1 or not others or -1 in others:
        return 0
    while isinstance(above, ast.Tuple) or (isinstance(above, ast.Call) and last_name(above.func) in _REDUCES):
        above = source.parents.get(above)
    if isinstance(above, ast.Assign):
        called = unparse(above.targets[0])
    else:
        called = source.function_name(above) if isinstance(above, ast.Return) else ""
    return mine[0] if re.search(r"(?i)loss|criterion|objective|total|cost", called) else 0


def _is_loss(source: Script, node: ast.expr) -> bool:
    """A term by the name of a loss, or a name that is given one."""
    if any(_OTHERS.search(n) for n in names_in(node)):
        return True
    ends = flow(source).values(node, 2) if isinstance(node, ast.Name) else []
    return any(_LOSSES.search(unparse(e)) for e in ends)


def _is_factor(node: ast.expr, name: str) -> bool:
    """The name alone, or times a weight."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_factor(node.left, name) or _is_factor(node.right, name)
    return isinstance(node, ast.Name) and node.id == name


# ---------------------------------------------------------------------------------- samples with a slope


def _takes_key(call: ast.Call) -> bool:
    """`jax.random.normal(key, mean.shape)`: noise of spread one, which is scaled and moved by hand."""
    return unparse(call.func).startswith(("jax.random.", "jrandom.", "jr.")) or ".shape" in unparse(
        call.args[1]
    )


def drawn_without_slope(source: Script) -> Finding | None:
    """The code of a variational model is drawn by `Normal(mu, std).sample()`, which hands no gradient on."""
    divergences = any(True for _ in _gaussians(source)) or bool(source.named("kl_divergence"))
    if not divergences or source.named("log_prob", "rsample"):
        return None
    for function in source.passes:
        if _DRAWS.search(function.name.replace("resample", "")) and function not in source.forwards:
            continue
        for call in of(function, ast.Call):
            name = last_name(call.func)
            owner = receiver(call)
            if name == "sample" and isinstance(owner, ast.expr):
                made = [v for v in flow(source).values(owner, 3) if isinstance(v, ast.Call)]
                drawn = bool(made) and all(last_name(v.func) == "Normal" for v in made)
            else:
                plain = any(isinstance(a, ast.Constant) for a in call.args)
                drawn = name == "normal" and len(call.args) == 2 and not plain and not call.keywords
                drawn = drawn and not _takes_key(call)
            guarded = any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call))
            if drawn and not guarded:
                return at(source, call, "a sample that is drawn so hands no gradient on to mean and spread")
    return None
