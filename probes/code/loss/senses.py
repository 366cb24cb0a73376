"""Whether what training minimises falls as the model gets better: signs of losses that are written out.

A squared or absolute difference falls, a logarithm of a probability rises, a share of overlap rises.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow, returns
from ...scripts.minimised import losses, objectives
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation

_DEPTH = 14
_MOST = 2000  # expressions that are gone through for one objective
# what climbs a measure on purpose
CLIMBS = re.compile(
    r"(?i)adv|attack|gan\b|gan_|disc|domain|fool|confus|unlearn|ascen|maximi|perturb|elbo|bound|mll|entropy_loss"
    r"|forget|invert|critic|\bgen|_gen|generator|policy|actor|alpha|\bpi_|likelihood|reward|ppo|surr|contrast|margin"
)
_KEEPS = frozenset(
    [
        "mean",
        "sum",
        "reduce_mean",
        "reduce_sum",
        "reduce_max",
        "squeeze",
        "expand_dims",
        "cast",
        "to",
        "float",
        "scale",
        "scale_loss",
        "reshape",
        "gather",
        "gather_elements",
        "gather_d",
        "gather_nd",
        "take_along_axis",
        "batch_gather",
        "get_scaled_loss",
        "convert_to_tensor",
        "average",
        "masked_select",
        "boolean_mask",
        "compute_average_loss",
        "get_loss",
        "mean_loss",
        "maximum",
        "clip_by_value",
        "nan_to_num",
    ]
)
_ERRORS = ("square", "squared_difference", "abs", "norm", "absolute", "pow")
_CHANCE = re.compile(r"(?i)prob|softmax|sigmoid|pred|p_t\b|^p$|likelihood|picked|y_hat|out")
LIBRARIES = re.compile(
    r"^(?:tf|torch|F|np|K|ops|keras\.ops|tf\.\w+|keras\.backend|mint|mindspore|ms|jnp|ms\.ops)(?:\.\w+)*$"
)


# how much of a signal is left beside the noise
_RATIOS = re.compile(
    r"(?i)^(?:calc_|compute_|cal_)?(?:(?:si|sa|scale_invariant|scale_aware)_?)?(?:p?snr|sdr"
    r"|signal_(?:noise|distortion)_ratio|signal_to_(?:noise|distortion)_ratio)$"
)
_ATTACKED = re.compile(r"(?i)(?:^|[_ ])adv(?:ers\w*)?(?:[_ ]|$)|perturb|attack|poison")


def of_attack(source: Script, objective: ast.expr) -> bool:
    """The losses of the function are of what an attack made: `loss = -cross_entropy(logits_adv, y)`."""
    function = source.function_around(objective)
    mine = [c for c, _ in losses(source) if source.function_around(c) is function]
    words = [" ".join(n.id for a in c.args for n in of(a, ast.Name)) for c in mine]
    return function is not None and bool(words) and all(_ATTACKED.search(w) for w in words)


@dataclass(frozen=True)
class Sense:
    """A term of the objective: whether it falls as the model gets better, is an overlap, and where."""

    falls: bool
    share: bool
    where: ast.expr


def turned_round(source: Script) -> Finding | None:
    """Every known term of what is minimised rises as the model gets better; or an overlap is added."""
    taken = objectives(source)
    several = len({call for call, _ in taken}) > 1
    for call, objective in taken:
        function, owner = source.function_around(objective), source.class_around(objective)
        named = " ".join(getattr(n, "name", "") for n in (function, owner)) + " " + unparse(objective)
        if CLIMBS.search(named) or is_evaluation(source, call) or of_attack(source, objective):
            continue
        found = list(senses(source, objective))
        if any(CLIMBS.search(source.line(s.where)) for s in found):
            continue
        shares = [s for s in found if s.share and not s.falls]
        if shares:
            where = shares[0].where
            return at(
                source, where, "this overlap grows as the model gets better, and training makes it small"
            )
        if found and not several and not any(s.falls for s in found):
            where = found[0].where
            return at(source, where, "this grows as the model gets better, and training makes it small")
    return None


def senses(source: Script, objective: ast.expr) -> Iterator[Sense]:
    """The terms of an objective whose sense is known, each once."""
    yield from dict.fromkeys(_Senses(source).of(objective, _DEPTH))


class _Senses:
    def __init__(self, source: Script) -> None:
        self.source = source
        self.mine: Flow = flow(source)
        self.standard = {c for c, _ in losses(source)}
        self.left = _MOST

    def of(self, node: ast.expr, depth: int) -> list[Sense]:
        self.left -= 1
        if depth == 0 or self.left < 0:
            return []
        if isinstance(node, ast.UnaryOp):
            return _turned(self.of(node.operand, depth - 1), node) if isinstance(node.op, ast.USub) else []
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.IfExp):
            return [*self.of(node.body, depth - 1), *self.of(node.orelse, depth - 1)]
        if isinstance(node, ast.Subscript):
            return self.of(node.value, depth - 1)
        return self._followed(node, depth)

    def _followed(self, node: ast.expr, depth: int) -> list[Sense]:
        return [s for v in self.mine.values(node, 1) if v is not node for s in self.of(v, depth - 1)]

    def _operation(self, node: ast.BinOp, depth: int) -> list[Sense]:
        left, right = node.left, node.right
        if isinstance(node.op, ast.Pow):
            return [Sense(True, False, node)] if self._differs(left) else []
        if isinstance(node.op, ast.Div) and self._overlap(node):
            return [Sense(False, True, node)]
        mine, other = self.of(left, depth - 1), self.of(right, depth - 1)
        if isinstance(node.op, ast.Add):
            return [*mine, *other]
        if isinstance(node.op, ast.Sub):
            return [*mine, *_turned(other, node)]
        if isinstance(node.op, ast.Mult):
            if mine and other:
                return []
            factor = right if mine else left
            return _turned(mine or other, node) if _negative(factor) else (mine or other)
        if isinstance(node.op, ast.Div):
            return _turned(mine, node) if _negative(right) else mine
        return []

    def _call(self, node: ast.Call, depth: int) -> list[Sense]:
        name = last_name(node.func)
        if node in self.standard:
            return [Sense(True, False, node)]
        operand = _operand(node)
        if name in ("negative", "neg") and operand is not None:
            return _turned(self.of(operand, depth - 1), node)
        if name in ("multiply", "mul", "add", "subtract", "add_n", "divide", "div") and len(node.args) == 2:
            kinds = {"multiply": ast.Mult(), "mul": ast.Mult(), "add": ast.Add(), "subtract": ast.Sub()}
            made = ast.BinOp(node.args[0], kinds.get(name, ast.Div()), node.args[1])
            return [
                Sense(s.falls, s.share, node if s.where is made else s.where)
                for s in self._operation(ast.copy_location(made, node), depth)
            ]
        if name in _ERRORS and operand is not None:
            differs = name == "squared_difference" or self._differs(operand)
            return [Sense(True, False, node)] if differs else []
        if name in ("log_softmax", "log_sigmoid", "logsigmoid") or (
            name == "log" and self._is_chance(operand)
        ):
            return [Sense(False, False, node)]
        if _RATIOS.search(name) and not any(
            _gives_loss(r, name) for g in self.mine.called(node) for r in returns(g)
        ):
            return [Sense(False, False, node)]
        if name in ("sqrt", *_KEEPS) and operand is not None:
            return self.of(operand, depth - 1)
        return self._followed(node, depth) if self.mine.called(node) else []

    def _differs(self, node: ast.expr) -> bool:
        """It is a difference of two things that vary, maybe by way of a name."""
        for end in (node, *self.mine.values(node, 2)):
            if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Sub):
                if not any(isinstance(p, ast.Constant) for p in (end.left, end.right)):
                    return True
        return False

    def _is_chance(self, node: ast.expr | None) -> bool:
        """A probability, by its name or its making."""
        if node is None:
            return False
        for end in (node, *self.mine.values(node, 3)):
            if isinstance(end, (ast.Name, ast.Attribute)) and _CHANCE.search(last_name(end)):
                return True
            if any(last_name(c.func) in ("softmax", "sigmoid", "Softmax") for c in of(end, ast.Call)):
                return True
        return False

    def _overlap(self, node: ast.BinOp) -> bool:
        """`2 * sum(p * t) / (sum(p) + sum(t))`: a product above, and the sum of its two parts below."""
        above = self._spread(node.left, frozenset(), 3)
        if not any(last_name(c.func) in ("sum", "reduce_sum") for e in above for c in of(e, ast.Call)):
            return False
        for product in (n for e in above for n in of(e, ast.BinOp)):
            if not isinstance(product.op, ast.Mult):
                continue
            one, other = (names_in(p) - _MODULES for p in (product.left, product.right))
            if not one or not other or one & other:
                continue
            for total in (
                n for e in self._spread(node.right, frozenset(one | other), 3) for n in of(e, ast.BinOp)
            ):
                if isinstance(total.op, ast.Add):
                    left, right = names_in(total.left), names_in(total.right)
                    if (one & left and other & right) or (one & right and other & left):
                        return True
        return False

    def _spread(self, node: ast.expr, but: frozenset[str], depth: int) -> list[ast.expr]:
        """An expression and what the names in it stand for, those left alone that are in `but`."""
        found = [node]
        for name in of(node, ast.Name):
            given = self.mine.given(name) if name.id not in but else None
            if depth and given is not None and not given.places:
                found += self._spread(given.value, but, depth - 1)
        return found


_MODULES = frozenset(
    ("tf", "K", "keras", "ops", "torch", "np", "F", "ms", "mindspore", "self", "mint", "jnp")
)


def _gives_loss(node: ast.expr, name: str) -> bool:
    """`return -snr.mean()`, `-10 * log10(ratio)`; of an error `-10 * log10(mse)` is the measure itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        if _negative(node.left) or _negative(node.right):
            return "psnr" not in name.lower()
        return _gives_loss(node.left, name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
        return _gives_loss(node.func.value, name)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _operand(call: ast.Call) -> ast.expr | None:
    """What an operation is of: its first argument, or what the method is called on."""
    if isinstance(call.func, ast.Attribute) and not LIBRARIES.match(unparse(call.func.value)):
        owner = unparse(call.func.value)
        if not (owner == "self" or re.search(r"(?i)optim|scaler|strategy|manager", owner)):
            return call.func.value
    return argument(call, position=0)


def _turned(found: list[Sense], where: ast.expr) -> list[Sense]:
    return [Sense(not s.falls, s.share, where if s.falls else s.where) for s in found]


def _negative(node: ast.expr) -> bool:
    """A factor with a minus before it: `-1.0`, `-weights`, `-1 / n`."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and node.value < 0
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and not _negative(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return _negative(node.left) != _negative(node.right)
    return False
