"""Terms of the loss in scripts: one that is taken off where it should be added."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, probe
from ...scripts.flow import MAX_DEPTH, flow, losses, objectives, returns
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_negative
from ..shared.sides import either
from ..tensorflow.slips import penalty_taken_off
from .adversarial import critic_with_generator, penalty_of_all
from .policy import entropy_punished, mean_over_actions, surrogate_wrong

_SQUARES = ("mseloss", "mse_loss", "l1loss", "l1_loss", "smoothl1loss", "huberloss", "smooth_l1_loss")
# what is called a loss and is climbed on purpose: entropy, an opponent, what something is held against
_CLIMBED = re.compile(
    r"(?i)(?:^|_)(?:ent\w*|adv\w*|dom\w*|dis\w*|d|g|gan|fake|real|base\w*|old|prev\w*|ref\w*|last|conf\w*|ind\w*|mi|"
    r"div\w*|bonus|nov\w*|expl\w*|min|max|best|init\w*|start|chosen|reject\w*|pos\w*|neg\w*|forget\w*|unlearn\w*|orth\w*|"
    r"contrast\w*|anchor|excess|irreducible|ood|attack\w*|target\w*|t|teacher|student|oracle|upper|lower|clean|robust)(?:_|$)"
)
NAMED = re.compile(r"(?i)(?:^|_)loss(?:$|_|\d)|(?:[a-z\d])loss$")


@probe()
def term_taken_off(view: View) -> Finding:
    """A term that is a loss by its computation or its name is subtracted from others that are added up.

    `loss = policy_loss - 0.5 * value_loss`. False positive: a term that is climbed on purpose and is named
    like any other; those of entropies, opponents, references and the like are left aside by their names.
    """
    return first(
        view,
        either(
            _taken_off,
            penalty_taken_off,
            surrogate_wrong,
            entropy_punished,
            critic_with_generator,
            penalty_of_all,
            mean_over_actions,
        ),
        "no sum of losses in the scripts",
    )


def _taken_off(source: Script) -> Finding | None:
    mine = flow(source)
    # of two objectives over one graph each may climb what the other descends
    handed = [v for call, v in objectives(source) if keyword(call, "retain_graph") is None]
    handed += [v for f in source.loss_methods for v in returns(f)]
    seen: ast.AST | None = None
    waiting = [(v, MAX_DEPTH) for v in handed]
    known: set[ast.expr] = set()
    while waiting:
        node, depth = waiting.pop()
        if node in known or depth == 0:
            continue
        known.add(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            both = _is_loss(source, node.left) and _is_loss(source, node.right)
            if both or _of_two_losses(source, node):
                seen = seen or node
                if isinstance(node.op, ast.Sub) and not _CLIMBED.search(_about(node.right)):
                    if not _of_references(source, node) and not _handed_out(source, node.right):
                        return at(
                            source,
                            node,
                            f"`{unparse(node.right)}` is a loss and is subtracted: it is climbed",
                        )
            waiting += [(node.left, depth - 1), (node.right, depth - 1)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            waiting += [
                (p, depth - 1)
                for p in (node.left, node.right)
                if not is_negative(p) and not is_negative(node.left)
            ]
        elif isinstance(node, ast.Call) and last_name(node.func) in (
            "mean",
            "sum",
            "scale",
            "squeeze",
            "float",
        ):
            inner = node.args[0] if node.args else receiver(node)
            waiting += [(inner, depth - 1)] if inner is not None else []
        else:
            waiting += [(v, depth - 1) for v in mine.values(node, 3) if v is not node]
    return ok(source, seen, "the terms of the loss are added up") if seen is not None else None


def _names(node: ast.expr) -> list[str]:
    return [last_name(n) for n in of(node, ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Load)]


def _about(node: ast.expr) -> str:
    """The names of a term, as one text: `0.5 * self.value_loss(x)` -> "value_loss x"."""
    return "_".join(_names(node))


def _is_loss(source: Script, node: ast.expr) -> bool:
    """A standard loss of differences, or something that is called a loss."""
    standard = {c for c, kind in losses(source) if kind in _SQUARES}
    if any(n in standard for n in walk(node)):
        return True
    return any(NAMED.search(name) for name in _names(node))


def _of_two_losses(source: Script, node: ast.BinOp) -> bool:
    """`hard = self.hard_loss(y, out)` beside `soft = divergence(...)`: two losses give them."""
    left, right = _given_by(source, node.left), _given_by(source, node.right)
    return bool(left) and bool(right) and not left & right


def _given_by(source: Script, node: ast.expr) -> set[str]:
    """The losses that gave the values of an expression: objects of a library's classes, or by their names."""
    mine, found = flow(source), set[str]()
    for name in of(node, ast.Name):
        made = mine.whole_given(name)
        if not isinstance(made, ast.Call):
            continue
        held = mine.values(made.func, 3)
        classes = [last_name(v.func) for v in held if isinstance(v, ast.Call)]
        if any(re.search(r"(?:Loss|[Ee]ntropy|Divergence)$", c) for c in classes) or NAMED.search(
            last_name(made.func)
        ):
            found.add(unparse(made.func))
    return found


def _handed_out(source: Script, node: ast.expr) -> bool:
    """A term that comes out of a model beside its answer (`out, m_loss = net(x)`): its sign is not known."""
    names = set(_names(node))
    return any(
        isinstance(target, ast.Tuple) and names & {last_name(name) for name in target.elts}
        for line in source.of(ast.Assign)
        for target in line.targets
    )


def _of_references(source: Script, node: ast.BinOp) -> bool:
    """`loss - loss.detach()`, `a_loss - b_loss` handed to a function: a difference that is meant as one."""
    outer = source.parents.get(node)
    if isinstance(outer, ast.Call) and node in outer.args and last_name(outer.func) not in ("mean", "sum"):
        return True
    return "detach" in unparse(node) or "stop_gradient" in unparse(node) or "abs" in unparse(outer or node)
