"""Slips in schedules that a script writes out itself, or in the settings of those that it takes ready-made.

Each is a fact of the formula or of the numbers: no run is needed to see that the rate is not what was meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_bound, names_in, of, unparse
from ...readers.script import all_arguments, argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, extractor
from ..shared.numbers import known
from ..shared.sides import number
from ..shared.units import STEP, chain, loops_of_step, runs_per
from .torch_lengths import epochs_around, moves_of

_TAKES_FUNCTION = ("LambdaLR", "MultiplicativeLR", "LearningRateScheduler")
_RATE = re.compile(
    r"(?i)(?:^|_)(?:lr|learning_?rates?|rates?|sched\w*|warm_?up\w*|anneal\w*|cosine\w*|decay)(?:_|$)"
)
_CYCLES = re.compile(r"(?i)cycl|restart|period|sgdr|triang|snapshot|swing|wave")
_SEARCHES = re.compile(r"(?i)find|range_test|sweep|search")
_COUNTER = re.compile(r"(?i)^(?:i|it|t|n|e|s|k|step|ep)$|epoch|step|iter|count|progress")
_PI = re.compile(r"(?i)\bpi\b|3\.14|radians|tau\b|deg2rad|1\.57")
RateMaker = Function | ast.Lambda


def makers(source: Script) -> Iterator[RateMaker]:
    """Functions and lambdas of the script that give a rate or set it, each once."""
    handed: set[str] = set()
    seen: set[ast.AST] = set()
    for call in source.named(*_TAKES_FUNCTION):
        for given in all_arguments(call):
            for one in of(given, ast.Lambda):
                seen.add(one)
                yield one
            handed |= {last_name(n) for n in of(given, ast.Name, ast.Attribute)}
    for node in source.of(ast.FunctionDef, ast.AsyncFunctionDef):
        owner = source.parents.get(node)
        named = node.name in handed or _RATE.search(node.name) is not None
        named = named or (isinstance(owner, ast.ClassDef) and "LearningRateSchedule" in _bases(owner))
        sets = any(sets_rate(n) for n in of(node, ast.Assign, ast.AugAssign))
        if (named or sets) and node not in seen:
            yield node


def _bases(owner: ast.ClassDef) -> str:
    """The bases of a class as text."""
    return " ".join(unparse(b) for b in owner.bases)


def sets_rate(node: ast.AST) -> bool:
    """`group["lr"] = ...`, `optimizer.learning_rate = ...`."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if target.slice.value in ("lr", "learning_rate"):
                return True
        if isinstance(target, ast.Attribute) and target.attr in ("lr", "learning_rate"):
            return re.search(r"(?i)opt", unparse(target.value)) is not None
    return False


def formula_slipped(source: Script) -> Finding | None:
    """A formula of the rate that cannot be meant: see the checks below."""
    for maker in makers(source):
        if _SEARCHES.search(getattr(maker, "name", "")):
            continue
        for look in (*_LOOKS, _larger_branch):
            if (found := look(source, maker)) is not None:
                return found
    return _compounded_in_loop(source)


def _compounded_in_loop(source: Script) -> Finding | None:
    """`group["lr"] *= 0.95 ** epoch` in the loop over epochs: each round takes the whole power off once more.

    Left aside: what runs under a condition, and rates that the loop also sets anew.
    """
    for node in source.of(ast.AugAssign):
        power = node.value
        if not (isinstance(node.op, ast.Mult) and isinstance(power, ast.BinOp) and sets_rate(node)):
            continue
        share = number(source, power.left)
        if not isinstance(power.op, ast.Pow) or share is None or not 0 < share < 1:
            continue
        for loop in source.above(node):
            if isinstance(loop, (ast.If, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                break
            if isinstance(loop, ast.For) and unparse(loop.target) == unparse(power.right):
                if not any(sets_rate(n) for n in of(loop, ast.Assign)):
                    return at(
                        source, node, "each round multiplies the rate in force with the whole power again"
                    )
    return None


def _without_pi(source: Script, maker: RateMaker) -> Finding | None:
    """`0.5 * (1 + cos(done / total))`: the angle ends at one and not at pi, so that little is taken off."""
    for node in of(maker, ast.BinOp):
        if not isinstance(node.op, ast.Add):
            continue
        ones = [n for n in (node.left, node.right) if isinstance(n, ast.Constant) and n.value == 1]
        turns = [c for c in (node.left, node.right) if isinstance(c, ast.Call) and last_name(c.func) == "cos"]
        if not ones or not turns or not turns[0].args:
            continue
        angle = [turns[0].args[0]]
        for _ in range(3):
            angle += [g.value for n in angle for m in of(n, ast.Name) for g in flow(source).all_given(m)]
        if any(_PI.search(unparse(a)) for a in angle):
            continue
        if any(of(a, ast.Div) for a in angle):
            return at(source, node, "the angle of this cosine ends at one, not at pi: the rate hardly falls")
    return None


def _compounded(source: Script, maker: RateMaker) -> Finding | None:
    """`group["lr"] = group["lr"] * 0.1 ** (epoch // 30)` in each epoch: the factor is applied anew to itself.

    Left aside: what runs under a condition, and factors of no count.
    """
    present = _present_rates(source, maker)
    for node in of(maker, ast.BinOp):
        if not isinstance(node.op, ast.Pow) or not isinstance(node.right, ast.BinOp):
            continue
        power, share = node.right, number(source, node.left)
        counted = isinstance(power.op, ast.FloorDiv) and _counter_in(maker, power.left)
        if not counted or (share is not None and not 0 < share < 1):
            continue
        product = node
        while isinstance(parent := source.parents.get(product), ast.BinOp) and isinstance(
            parent.op, ast.Mult
        ):
            product = parent
        statement = source.statement(node)
        again = isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Mult)
        again = again and statement is not None and sets_rate(statement)
        read = {unparse(n) for n in of(product, ast.expr)} & present
        if isinstance(statement, ast.Assign) and read and sets_rate(statement):
            again = again or unparse(statement.targets[0]) in read or "param_groups" in " ".join(read)
        elif read and isinstance(statement, (ast.Assign, ast.Return)):
            again = True
        if again and not any(
            isinstance(p, ast.If) for p in source.above(node) if p in set(of(maker, ast.If))
        ):
            return at(source, node, "each round multiplies the rate in force with the whole decay again")
    return None


def _present_rates(source: Script, maker: RateMaker) -> set[str]:
    """Expressions that are the rate in force: of a group, or what Keras hands to its schedule."""
    found = {
        unparse(n)
        for n in of(maker, ast.Subscript)
        if isinstance(n.slice, ast.Constant) and n.slice.value == "lr" and _is_group(n.value)
    }
    handed = {
        last_name(n)
        for c in source.named("LearningRateScheduler")
        for a in all_arguments(c)
        for n in (a, *of(a, ast.Lambda))
        if isinstance(n, (ast.Name, ast.Attribute))
    }
    names = [a.arg for a in maker.args.args if a.arg != "self"]
    if len(names) == 2 and getattr(maker, "name", "") in handed:
        found.add(names[1])
    return found


def _is_group(node: ast.expr) -> bool:
    return re.search(r"(?i)group|^g$|^pg$|^p$", unparse(node)) is not None


def _counter_in(maker: RateMaker, node: ast.expr) -> bool:
    own = {a.arg for a in maker.args.args}
    return any(n in own or _COUNTER.search(n) for n in names_in(node))


def _remainder(source: Script, maker: RateMaker) -> Finding | None:
    """`0.1 ** (epoch % 30)`: the rate falls with each round and jumps back after thirty."""
    if _CYCLES.search(unparse(maker)):
        return None
    for node in of(maker, ast.BinOp):
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.BinOp):
            share = number(source, node.left)
            named = share is None and re.search(r"(?i)gamma|decay|factor|drop", unparse(node.left))
            falls = bool(named) or (share is not None and 0 < share < 1)
            if isinstance(node.right.op, ast.Mod) and falls and _counter_in(maker, node.right.left):
                return at(source, node, "the exponent is a remainder: the rate falls and jumps back")
    return None


def _never_reached(source: Script, maker: RateMaker) -> Finding | None:
    """`if epoch < 25: return a` above `if epoch < 18: return b`: the second is never reached."""
    if isinstance(maker, ast.Lambda):
        return None
    for block in _blocks(maker):
        bounds: list[tuple[str, bool, float]] = []
        for node in block:
            if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
                bounds = bounds if isinstance(node, ast.Expr) else []
                continue
            test = node.test
            limit = number(source, test.comparators[0]) if len(test.ops) == 1 else None
            if limit is None or not isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                bounds = []
                continue
            below = isinstance(test.ops[0], (ast.Lt, ast.LtE))
            text = unparse(test.left)
            for other, way, first in bounds:
                if other == text and way == below and (limit < first if below else limit > first):
                    sign = "below" if below else "above"
                    return at(
                        source,
                        node,
                        f"the condition above takes all that is {sign} {limit:g}: this is never reached",
                    )
            leaves = isinstance(node.body[-1], (ast.Return, ast.Raise)) or _joined(node)
            if leaves:
                bounds.append((text, below, limit))
    return None


def _joined(node: ast.If) -> bool:
    return len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)


def _blocks(maker: Function) -> Iterator[list[ast.stmt]]:
    """Statements that stand together, and the conditions of one `if ... elif ...`."""
    yield maker.body
    for node in of(maker, ast.For, ast.With, ast.If):
        yield node.body
    for node in of(maker, ast.If):
        links: list[ast.stmt] = [node]
        while isinstance(last := links[-1], ast.If) and len(last.orelse) == 1:
            links.append(last.orelse[0])
        if len(links) > 1:
            yield links


def _floored(source: Script, maker: RateMaker) -> Finding | None:
    """`if step < warm: return peak * ((step + 1) // warm)`: zero until the warm-up is over."""
    for node in of(maker, ast.BinOp):
        factor = isinstance(source.parents.get(node), ast.Return) and bool(source.named("LambdaLR"))
        if not isinstance(node.op, ast.FloorDiv):
            continue
        if not factor and not isinstance(source.parents.get(node), ast.BinOp):
            continue
        inner: ast.AST = node
        for parent in source.above(node):
            if isinstance(parent, (ast.If, ast.IfExp)) and isinstance(parent.test, ast.Compare):
                taken = inner in parent.body if isinstance(parent, ast.If) else inner is parent.body
                test = parent.test
                if taken and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Lt, ast.LtE)):
                    same = unparse(test.comparators[0]) == unparse(node.right)
                    counts = names_in(test.left) & names_in(node.left) and not isinstance(node.left, ast.Call)
                    scaled = any(isinstance(n.op, ast.Mult) for n in of(node.left, ast.BinOp))
                    above = source.parents.get(node)
                    scales = factor or (isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult))
                    if same and counts and scales and not scaled:
                        return at(source, node, "whole numbers are divided: zero until the warm-up is over")
            if parent is maker:
                break
            inner = parent
    return None


def _floored_least(source: Script, maker: RateMaker) -> Finding | None:
    """`min((step + 1) // warm, ...)`: zero until the warm-up is over, and its full height then."""
    for node in of(maker, ast.BinOp):
        least = source.parents.get(node)
        if not isinstance(node.op, ast.FloorDiv) or not isinstance(least, ast.Call) or len(least.args) != 2:
            continue
        counts = any(_COUNTER.search(n) for n in names_in(node.left)) and not isinstance(node.left, ast.Call)
        if last_name(least.func) in ("min", "minimum") and counts and "warm" in unparse(node.right).lower():
            return at(source, node, "whole numbers are divided: zero until the warm-up is over")
    return None


def _swings(source: Script, maker: RateMaker) -> Finding | None:
    """`0.5 * (1 + cos(pi * epoch))` of a whole count: the rate is full and zero by turns."""
    counted = {
        a.arg for a in maker.args.args if re.search(r"(?i)^(?:\w+_)?(?:epoch|step|it|iter(?:ation)?)$", a.arg)
    }
    for call in of(maker, ast.Call):
        angle = call.args[0] if last_name(call.func) == "cos" and call.args else None
        if isinstance(angle, ast.BinOp) and isinstance(angle.op, ast.Mult):
            sides = (angle.left, angle.right)
            whole = [
                s for s in sides if isinstance(s, ast.Name) and s.id in counted and s.id not in _stored(maker)
            ]
            if whole and any(last_name(s) == "pi" for s in sides):
                return at(
                    source,
                    call,
                    "the angle is a whole number of half turns: the rate is full and zero by turns",
                )
    return None


def _stored(maker: RateMaker) -> set[str]:
    return names_bound(maker)


_LOOKS = (_without_pi, _compounded, _remainder, _never_reached, _floored, _floored_least, _swings)


def _larger_branch(source: Script, maker: RateMaker) -> Finding | None:
    """`maximum(rsqrt(step), step * warm ** -1.5)`: the smaller of both makes the warm-up."""
    for call in of(maker, ast.Call):
        if last_name(call.func) not in ("max", "maximum") or len(call.args) != 2:
            continue
        texts = [unparse(a) for a in call.args]
        falls = [re.search(r"rsqrt|\*\* ?\(?-0?\.5|1(?:\.0)? / .*sqrt", t) is not None for t in texts]
        rises = [re.search(r"\*\* ?\(?-1\.5|\*\* ?-1\.5", t) is not None for t in texts]
        if (falls[0] and rises[1]) or (falls[1] and rises[0]):
            return at(source, call, "the larger of rise and fall is taken: the rate rises without end")
    return None


# ------------------------------------------------------------------ settings of ready-made ones

_MULTIPLIES = {"StepLR": 2, "MultiStepLR": 2, "ExponentialLR": 1}
_LATE = 0.9  # of a cycle: what has not begun to fall by then is no decay


def settings_slipped(source: Script) -> Finding | None:
    """A factor above one, a cycle that is all rise, a warm-up downwards, an end above the beginning."""
    for look in (_growing, _all_rise, _warmed_down, _ends_above, _milestones_beyond, _milestones_of_epochs):
        if (found := look(source)) is not None:
            return found
    return None


def _searched(source: Script, call: ast.Call) -> bool:
    around = source.function_around(call)
    return _SEARCHES.search(around.name if around is not None else "") is not None


def _growing(source: Script) -> Finding | None:
    if "pytorch" not in source.frameworks:
        return None
    for call in source.named(*_MULTIPLIES):
        if last_name(call.func) in source.classes or _searched(source, call):
            continue
        share = known(source, argument(call, "gamma", position=_MULTIPLIES[last_name(call.func)]))
        if share is not None and share > 1:
            return at(source, call, f"the rate is multiplied with {share:g}: it grows where it should fall")
    return None


def _all_rise(source: Script) -> Finding | None:
    for call in source.named("OneCycleLR"):
        share = known(source, argument(call, "pct_start", position=5))
        if share is not None and share >= _LATE:
            return at(source, call, f"the rise takes {share:g} of the cycle: the rate never falls")
    return None


def _warmed_down(source: Script) -> Finding | None:
    """Keras' warm-up goes from the first rate to the target: a target below it is no peak."""
    for call in source.named("CosineDecay"):
        first, target = argument(call, "initial_learning_rate", position=0), keyword(call, "warmup_target")
        low, high = known(source, first), known(source, target)
        if (
            low is not None
            and high is not None
            and 0 < high < low
            and keyword(call, "warmup_steps") is not None
        ):
            return at(source, call, "the target of the warm-up lies below the rate that it begins with")
    return None


_FLOORS = {
    "PolynomialDecay": ((0, "initial_learning_rate"), (2, "end_learning_rate")),
    "PolynomialDecayLR": ((0, "learning_rate"), (1, "end_learning_rate")),
}


def _ends_above(source: Script) -> Finding | None:
    for name, (start, end) in _FLOORS.items():
        for call in source.named(name):
            first, last = (
                known(source, argument(call, word, position=place)) for place, word in (start, end)
            )
            if first is not None and last is not None and 0 < first < last:
                return at(source, call, "this decay ends above the rate that it begins with")
    return None


def _milestones_beyond(source: Script) -> Finding | None:
    """`MultiStepLR(milestones=[100, 150])`, moved once in each of 40 epochs."""
    for call in source.named("MultiStepLR"):
        given = argument(call, "milestones", position=1)
        marks = _numbers_of(source, given) if given is not None else []
        steps = moves_of(source, call)
        if not marks or not steps or any(len(chain(source, s)) > 1 for s in steps):
            continue
        epochs = epochs_around(source, steps[0])
        if epochs is not None and min(marks) > epochs:
            return at(
                source, call, f"the rate falls for the first time after {min(marks):g} of {epochs:g} epochs"
            )
    return None


LONE = 3  # a single fall before this many batches may be the end of a first, larger rate


def _milestones_of_epochs(source: Script) -> Finding | None:
    """`MultiStepLR(milestones=[81, 122])`, 186 epochs, moved with every batch: all falls lie in one."""
    for call in source.named("MultiStepLR"):
        given = argument(call, "milestones", position=1)
        marks = _numbers_of(source, given) if given is not None else []
        steps = moves_of(source, call)
        if (
            not marks
            or (len(marks) == 1 and marks[0] < LONE)
            or len(steps) != 1
            or runs_per(source, steps[0]) != STEP
        ):
            continue
        loops = [loop for loop in chain(source, steps[0]) if isinstance(loop, ast.For)]
        last = loops[-1].iter if len(loops) == 2 else None
        rounds = last.args[-1] if isinstance(last, ast.Call) and unparse(last.func) == "range" else None
        epochs = _whole_number(source, rounds) if rounds is not None else None
        if epochs is not None and "epoch" in unparse(loops[-1]).lower() and max(marks) <= epochs:
            return at(
                source, call, f"moved with each batch, the rate falls after {marks[0]:g} batches, not epochs"
            )
    return None


def _whole_number(source: Script, node: ast.expr) -> float | None:
    """`args.epochs + 1` -> 187."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        one, other = known(source, node.left), known(source, node.right)
        return one + other if one is not None and other is not None else None
    return known(source, node)


def _numbers_of(source: Script, node: ast.expr) -> list[float]:
    """The numbers of a list that is written out, also as the default of a setting."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("list", "tuple", "sorted") and node.args:
        node = node.args[0]
    for end in (node, *flow(source).values(node, 5), *_defaults(source, node)):
        if isinstance(end, (ast.List, ast.Tuple)):
            found = [known(source, e) for e in end.elts]
            return [f for f in found if f is not None] if None not in found else []
    told, value, _ = extractor(source).value(node)
    marks = (
        [v for v in value if isinstance(v, (int, float))] if told and isinstance(value, (list, tuple)) else []
    )
    return [float(v) for v in marks]


def _defaults(source: Script, node: ast.expr) -> Iterator[ast.expr]:
    """`milestones: list = field(default_factory=lambda: [20, 30])` of a class of settings."""
    if not isinstance(node, ast.Attribute):
        return
    for owner in source.classes.values():
        for line in owner.body:
            if (
                isinstance(line, ast.AnnAssign)
                and unparse(line.target) == node.attr
                and line.value is not None
            ):
                made = line.value
                if isinstance(made, ast.Call) and (factory := keyword(made, "default_factory")) is not None:
                    made = factory.body if isinstance(factory, ast.Lambda) else factory
                yield made
            elif isinstance(line, ast.Assign) and unparse(line.targets[0]) == node.attr:
                yield line.value


# --------------------------------------------------------------------------------- rates that reach no update


def rate_reaches_nothing(source: Script) -> Finding | None:
    """The new rate is put where no optimizer of PyTorch looks, or is set for no epoch of the training."""
    if "pytorch" not in source.frameworks:
        return None
    return _into_defaults(source) or _set_once(source)


def _into_defaults(source: Script) -> Finding | None:
    """`optimizer.defaults["lr"] = rate`, `optimizer.lr = rate`: the groups keep their own."""
    made = {
        last_name(t)
        for c in source.optimizer_calls
        if isinstance(p := source.parents.get(c), ast.Assign) and last_name(c.func) not in source.classes
        for t in p.targets
    }
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            held = target.value
            if target.slice.value == "lr" and isinstance(held, ast.Attribute) and held.attr == "defaults":
                return at(source, node, "`defaults` is read when groups are made: their rate stays as it is")
            grouped = re.search(r"param_groups", unparse(held)) or _of_groups(source, held)
            if grouped and target.slice.value == "learning_rate":
                return at(source, node, "the groups of PyTorch hold their rate as `lr`: nobody reads this")
        elif isinstance(target, ast.Attribute) and target.attr in ("lr", "learning_rate"):
            read = [
                n for n in source.of(ast.Attribute) if n.attr == target.attr and isinstance(n.ctx, ast.Load)
            ]
            owner = last_name(target.value)
            if (
                owner in made
                and re.search(r"(?i)opt", owner)
                and not any(unparse(n) == unparse(target) for n in read if n is not target)
            ):
                return at(source, node, "an optimizer of PyTorch reads its groups' `lr`: nobody reads this")
    return None


def _of_groups(source: Script, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and any(
        isinstance(p, ast.For) and "param_groups" in unparse(p.iter) and node.id in names_in(p.target)
        for p in source.above(node)
    )


def _set_once(source: Script) -> Finding | None:
    """`adjust(epoch)` stands behind the loop over epochs, or is asked for the same epoch in each."""
    loops = loops_of_step(source)
    if not loops or not source.trains_by_hand:
        return None
    outer = loops[-1]
    counters = {n for p in loops if isinstance(p, ast.For) for n in names_in(p.target)}
    for function in source.of(ast.FunctionDef):
        counts = [a.arg for a in function.args.args if _COUNTER.search(a.arg)]
        if (
            not counts
            or not any(sets_rate(n) for n in of(function, ast.Assign))
            or function in source.above(outer)
        ):
            continue
        if any(function is p for loop in loops for p in source.above(loop)) or len(counts) != 1:
            continue
        calls = [c for c in flow(source).calls_of(function) if function not in source.above(c)]
        if len(calls) != 1 or any(isinstance(p, ast.If) for p in source.above(calls[0])):
            continue
        call = calls[0]
        place = [a.arg for a in function.args.args if a.arg != "self"].index(counts[0])
        given = argument(call, counts[0], position=place)
        around = chain(source, call)
        if given is None or not _uses_count(function, counts[0]):
            continue
        if outer not in around:
            behind = source.function_around(call) is source.function_around(outer)
            if behind and call.lineno > (outer.end_lineno or 0) and names_in(given) & counters:
                return at(source, call, "the rate is set behind the loop over epochs, when training is over")
        elif isinstance(given, ast.Constant) or _stands(source, given, outer):
            return at(source, call, f"the rate is asked for `{unparse(given)}` in every round of training")
    return None


def _uses_count(function: Function, name: str) -> bool:
    """The count goes into a formula or a comparison."""
    return any(name in names_in(n) for n in of(function, ast.BinOp, ast.Compare))


def _stands(source: Script, given: ast.expr, loop: ast.AST) -> bool:
    """A plain name that stands for a number of the script: a length, and no count that something raises."""
    if not isinstance(given, (ast.Name, ast.Attribute)):
        return False
    stored = [
        n
        for n in source.of(ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Store) and last_name(n) == last_name(given)
    ]
    if any(loop in source.above(n) or isinstance(source.parents.get(n), ast.AugAssign) for n in stored):
        return False
    value = number(source, given)
    return value is not None and value > 1
