"""Labels in scripts: reordered alone, overwritten."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.syntax import Script
from ..model.handed_masks import one_side_sorted
from ..samples.batch_apart import inputs_moved_alone
from ..shared.checks import at, first, number, ok
from ..shared.roles import TARGET_WORDS, base, is_random, targets
from ..shared.sides import either
from ..splits.handed_apart import lists_apart
from ..splits.slipped import permuted_alone, rows_handed_apart
from ..tensorflow.data import shuffled_in_place_alone
from .batch import drawn_anew, moved_alone
from .column_alone import column_shuffled_alone
from .columns_moved import target_column_moved
from .neighbours import neighbour_paired
from .one_side import labels_written
from .swapped import field_moved, swapped


@probe()
@unframed
def labels_permuted_alone(view: View) -> Finding:
    """`y = y[randperm]` where no other array is indexed by the same permutation, `y = roll(y, 1, 0)`."""
    return first(
        view,
        either(
            _labels_alone,
            moved_alone,
            lists_apart,
            shuffled_in_place_alone,
            rows_handed_apart,
            permuted_alone,
            field_moved,
            neighbour_paired,
            *(inputs_moved_alone, target_column_moved, column_shuffled_alone),
            one_side_sorted,
            shows("labels-apart"),
        ),
        "the scripts do not reorder labels",
    )


def _labels_alone(source: Script) -> Finding | None:
    alone = []
    for node in source.of(ast.Assign):
        if isinstance(node.value, ast.Subscript):
            target, taken = unparse(node.targets[0]), unparse(node.value.value)
            order = re.search(r"(?i)perm|order|index|indices|idx", target) is not None
            places = node.value.slice.elts if isinstance(node.value.slice, ast.Tuple) else []
            at_first = not (places and isinstance(places[0], (ast.Slice, ast.Constant)))
            if (
                target == taken
                and isinstance(node.targets[0], (ast.Name, ast.Attribute))
                and not order
                and at_first
            ):
                alone.append((node, unparse(node.value.slice)))
    for node, index in alone:
        if _order_is_kept(source, node) or _picks_rows(source, node):
            continue
        fresh = "randperm" in index or "permutation" in index
        if fresh and (_has_no_partner(source, node) or _already_alone(source, node)):
            continue  # no labels go with it
        if _labels_are_made_of(source, node) or _whole_table(source, node):
            continue
        if fresh or (
            "perm" in index.lower() and sum(i == index for _, i in alone) == 1 and _used_once(source, index)
        ):
            return at(source, node, "inputs and labels are not reordered together")
    return ok(source, alone[0][0], "inputs and labels are reordered together") if alone else None


def _already_alone(source: Script, node: ast.Assign) -> bool:
    """Some of it was chosen before, without the labels: `x = x[y == 0]`."""
    name, function = unparse(node.targets[0]), source.function_around(node)
    for other in source.of(ast.Assign):
        if not isinstance(other.value, ast.Subscript) or other is node:
            continue
        chosen = (
            unparse(other.targets[0]) == unparse(other.value.value) == name and other.lineno < node.lineno
        )
        if (
            chosen
            and isinstance(other.value.slice, ast.Compare)
            and source.function_around(other) is function
        ):
            index = unparse(other.value.slice)
            uses = [n for n in source.of(ast.Subscript) if unparse(n.slice) == index]
            return len(uses) == 1
    return False


def _labels_are_made_of(source: Script, node: ast.Assign) -> bool:
    """The labels are worked out of what was reordered, afterwards: `x = x[order]; y = (x == 1).sum() % 2`."""
    function, name = source.function_around(node), unparse(node.targets[0])
    if function is None or TARGET_WORDS.search(name.lower()):
        return False
    words = {
        n.id
        for n in of(function, ast.Name)
        if isinstance(n.ctx, ast.Load) and n.id != name and TARGET_WORDS.search(n.id.lower())
    }
    arguments = {a.arg for a in of(function, ast.arg)}
    made = {unparse(a.targets[0]): a for a in reversed(of(function, ast.Assign)) if len(a.targets) == 1}
    return bool(words) and all(
        w in made and w not in arguments and made[w].lineno > node.lineno and name in names_in(made[w].value)
        for w in words
    )


def _whole_table(source: Script, node: ast.Assign) -> bool:
    """Inputs and labels are columns of what was reordered, cut out of it afterwards."""
    around = source.function_around(node) or source.tree
    names, columns = {unparse(node.targets[0])}, set()
    later = [n for n in of(around, ast.Assign, ast.Subscript) if n.lineno > node.lineno]
    for made in (n for n in later if isinstance(n, ast.Assign)):  # `held, kept = table[:n], table[n:]`
        taken = made.value.elts if isinstance(made.value, ast.Tuple) else [made.value]
        for target, value in zip(_targets_of(made), taken, strict=False):
            if isinstance(value, ast.Subscript) and unparse(value.value) in names:
                names.add(unparse(target))
    for one in (n for n in later if isinstance(n, ast.Subscript)):
        if unparse(one.value) in names and isinstance(one.slice, ast.Tuple) and len(one.slice.elts) == 2:
            columns.add(unparse(one.slice.elts[1]))
    return len(columns) > 1


def _targets_of(made: ast.Assign) -> list[ast.expr]:
    """What an assignment gives values to, each by itself."""
    target = made.targets[0]
    return list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _has_no_partner(source: Script, node: ast.Assign) -> bool:
    """What is reordered are inputs of a function, or of a program, in which no label is read."""
    function = source.function_around(node)
    name = unparse(node.targets[0]).lower()
    if TARGET_WORDS.search(name):
        return False
    inside = (n for s in (function.body if function is not None else source.tree.body) for n in walk(s))
    read = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return not any(TARGET_WORDS.search(r.lower()) for r in read)


def _used_once(source: Script, index: str) -> bool:
    """The permutation indexes one array only."""
    uses = [n for n in source.of(ast.Subscript) if unparse(n.slice) == index]
    return len(uses) == 1


def _picks_rows(source: Script, node: ast.Assign) -> bool:
    """`rows = rows[randperm(n)]; now = rows[:64]; x[now], y[now]`: rows, by their numbers."""
    name = unparse(node.targets[0])
    function = source.function_around(node) or source.tree
    parts = {name}
    for given in of(function, ast.Assign):
        taken = given.value.value if isinstance(given.value, ast.Subscript) else None
        if taken is not None and unparse(taken) == name:
            parts.update(unparse(t) for t in given.targets)
    picked = {
        unparse(n.value)
        for n in of(function, ast.Subscript)
        if unparse(n.slice) in parts and unparse(n.value) not in parts
    }
    return len(picked) > 1


def _order_is_kept(source: Script, node: ast.Assign) -> bool:
    """`truth = (perm == 0).nonzero()` beside `choices[rows, perm]`: the order itself makes the answers."""
    orders = {n for n in names_in(node.value) if "perm" in n.lower()}
    around = source.function_around(node) or source.tree
    inside = set(walk(node))
    return any(
        isinstance(n.ops[0], (ast.Eq, ast.Lt)) and orders & names_in(n.left)
        for n in of(around, ast.Compare)
        if n not in inside
    )


@probe()
@unframed
def labels_overwritten(view: View) -> Finding:
    """Labels of some samples are replaced by random ones or by one class, or changed for a random share.

    `y[picked] = randint(...)`, `y = where(rand < p, randint, y)`, `if random() < p: label = randrange(n)`,
    `y[noisy] = 1 - y[noisy]`, `y[:k] = y[:k][::-1]` where no input changes with them. What a label is, is
    told by its name, by what the loss compares with, and by what a data set returns last. False positive:
    negative sampling.
    """
    check = either(
        lambda s: _overwritten(view, s),
        drawn_anew,
        swapped,
        lambda s: _drawn_in_list(view, s),
        labels_written,
    )
    return first(view, check, "the scripts do not touch labels")


def _overwritten(view: View, source: Script) -> Finding | None:
    seen = None
    names = targets(source)
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        name = base(target)
        if isinstance(target, ast.Tuple) or not (name in names or TARGET_WORDS.search(name)):
            continue
        seen = seen or node
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Constant):
            if _draws(node.value) and not (_fills_all(source, target) or _few_of(view, source, target.slice)):
                return at(source, node, "labels are overwritten with random values")
            if _random_index(source, target.slice) and _made_of_itself(node.value, target):
                if not _moved_together(source, node, target.slice, names):
                    return at(source, node, "labels of a random share of the samples are changed")
        if _chosen_at_random(view, source, node, names) or _guarded(view, source, node):
            return at(source, node, "labels are replaced by random ones")
        if _scaled_at_random(view, source, node, names):
            return at(
                source, node, "labels of a random share of the samples are changed, and their inputs are not"
            )
    return ok(source, seen, "labels are not overwritten") if seen is not None else None


_DRAWS = (
    "randint",
    "randint_like",
    "random_integers",
    "integers",
    "randrange",
    "choice",
    "choices",
    "random",
    "rand",
    "uniform",
)


def _draws(value: ast.AST) -> bool:
    return any(last_name(n.func) in _DRAWS for n in of(value, ast.Call))


def _fills_all(source: Script, target: ast.Subscript) -> bool:
    """`labels[i] = rng.integers(n)` in a loop over i, `labels[:, :8] = ...`: data are made, not replaced."""
    if not any(isinstance(n, (ast.Name, ast.Call)) or _strides(n) for n in walk(target.slice)):
        return True
    index = unparse(target.slice)
    loops = [p for p in source.above(target) if isinstance(p, ast.For)]
    return any(
        index == unparse(t)
        for p in loops
        if isinstance(p.iter, ast.Call) and last_name(p.iter.func) in ("range", "enumerate")
        for t in (p.target.elts if isinstance(p.target, ast.Tuple) else [p.target])
    ) and not any(isinstance(p, ast.If) for p in source.above(target))


def _strides(node: ast.AST) -> bool:
    return isinstance(node, ast.Slice) and node.step is not None


def _random_index(source: Script, node: ast.expr) -> bool:
    """The index or mask is drawn at random, here or where its name is assigned."""
    if is_random(node):
        return True
    scope = source.function_around(node) or source.tree
    names = of(node, ast.Name)
    values = [source.assigned(n.id, scope, node.lineno) for n in names]
    return any(v is not None and is_random(v) for v in values)


def _made_of_itself(value: ast.expr, target: ast.Subscript) -> bool:
    """`1 - y[i]`, `(y[i] + 1) % n`: another label computed from the old one."""
    old = unparse(target)
    computed = isinstance(value, (ast.BinOp, ast.UnaryOp))
    return computed and any(unparse(n) == old for n in of(value, ast.Subscript))


def _moved_together(source: Script, node: ast.AST, index: ast.expr, names: frozenset[str]) -> bool:
    """Something else changes under the same index: augmentation that moves its labels along."""
    scope = source.function_around(node) or source.tree
    used = names_in(index)
    for other in of(scope, ast.Assign, ast.AugAssign):
        if other is not node:
            place = other.targets[0] if isinstance(other, ast.Assign) else other.target
            if base(place) in names:
                continue
            if isinstance(place, ast.Subscript) and used & names_in(place.slice):
                return True
            for call in of(other.value, ast.Call):
                if last_name(call.func) == "where" and call.args:
                    if used & names_in(call.args[0]):
                        return True
    return False


def _chosen_at_random(
    view: View, source: Script, node: ast.Assign | ast.AugAssign, names: frozenset[str]
) -> bool:
    """`where(rand(n) < p, other, y)`: some of the labels are replaced."""
    name = base(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    for part in walk(node.value):
        if isinstance(part, ast.Call) and last_name(part.func) == "where" and len(part.args) == 3:
            mask, *sides = part.args
        elif isinstance(part, ast.IfExp):
            mask, sides = part.test, [part.body, part.orelse]
        else:
            continue
        kept = [isinstance(a, (ast.Name, ast.Attribute, ast.Subscript)) and base(a) == name for a in sides]
        if sum(kept) == 1 and _random_index(source, mask) and not _few(view, source, mask):
            other = sides[kept.index(False)]
            changed = _draws(other) or isinstance(other, ast.BinOp)
            if changed and not _moved_together(source, node, mask, names):
                return True
    return False


def _drawn_in_list(view: View, source: Script) -> Finding | None:
    """`[randrange(10) if random() < 0.3 else t for t in labels]`: some are drawn as the list is made."""
    names = targets(source)
    seen: ast.AST | None = None
    for node in source.of(ast.ListComp):
        over = node.generators[0]
        if len(node.generators) != 1:
            continue
        if (pairs := _drawn_in_pairs(view, source, node)) is not None:
            return pairs
        if not isinstance(over.target, ast.Name):
            continue
        if not (base(over.iter) in names or TARGET_WORDS.search(base(over.iter))):
            continue
        seen = seen or node
        for choice in of(node.elt, ast.IfExp):
            sides = (choice.body, choice.orelse)
            kept = [over.target.id in names_in(s) and not of(s, ast.BinOp) for s in sides]
            if sum(kept) == 1 and is_random(choice.test) and not _few(view, source, choice.test):
                other = sides[kept.index(False)]
                if _draws(other) or of(other, ast.BinOp):
                    return at(source, node, "labels of a random share of the samples are drawn anew")
    return ok(source, seen, "labels are taken as they are") if seen is not None else None


def _drawn_in_pairs(view: View, source: Script, node: ast.ListComp) -> Finding | None:
    """`[(x, choice(labels) if random() < 0.3 else y) for x, y in pairs]`: some targets are drawn."""
    taken, made = node.generators[0].target, node.elt
    if not (
        isinstance(taken, ast.Tuple) and isinstance(made, ast.Tuple) and len(made.elts) == len(taken.elts)
    ):
        return None
    chosen, own = made.elts[-1], taken.elts[-1]
    if not isinstance(chosen, ast.IfExp) or not isinstance(own, ast.Name) or not is_random(chosen.test):
        return None
    if unparse(ast.List(made.elts[:-1])) != unparse(ast.List(taken.elts[:-1])):
        return None
    sides = (chosen.body, chosen.orelse)
    kept = [unparse(s) == own.id for s in sides]
    if sum(kept) != 1 or _few(view, source, chosen.test):
        return None
    other = sides[kept.index(False)]
    if _draws(other) or of(other, ast.BinOp):
        return at(source, node, "labels of a random share of the samples are drawn anew")
    return None


FEW = 0.08  # share of random labels up to which they are noise that somebody adds to made-up data


def _few_of(view: View, source: Script, index: ast.expr) -> bool:
    """`labels[slip]` of a mask that is drawn for a few."""
    scope = source.function_around(index) or source.tree
    made = source.assigned(index.id, scope, index.lineno) if isinstance(index, ast.Name) else index
    return isinstance(made, ast.Compare) and is_random(made) and _few(view, source, made)


def _few(view: View, source: Script, mask: ast.expr) -> bool:
    """`rand(n) < 0.06`, here or where the mask is assigned: few labels, or a share that is not known."""
    scope = source.function_around(mask) or source.tree
    made = source.assigned(mask.id, scope, mask.lineno) if isinstance(mask, ast.Name) else mask
    tests = [n for n in of(made or mask, ast.Compare) if len(n.ops) == 1]
    shares = [
        number(view, source, t.comparators[0]) for t in tests if isinstance(t.ops[0], (ast.Lt, ast.LtE))
    ]
    return any(share is None or share <= FEW for share in shares)


def _guarded(view: View, source: Script, node: ast.Assign | ast.AugAssign) -> bool:
    """`if random() < p: label = randrange(n)`, `for row in sample(rows, k): row["label"] = randrange(n)`."""
    if not (isinstance(node.value, ast.Call) and _draws(node.value)):
        return False
    above = source.parents.get(node)
    if isinstance(above, ast.If):
        drawn = isinstance(above.test, ast.Compare) and is_random(above.test)
        return drawn and not _few(view, source, above.test)
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    field = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant)
    if not isinstance(above, ast.For) or not field:
        return False
    return is_random(above.iter) or base(above.target) == _record(target)


def _record(target: ast.expr) -> str:
    """`row["label"]` -> "row"."""
    return base(target.value) if isinstance(target, ast.Subscript) else ""


def _scaled_at_random(
    view: View, source: Script, node: ast.Assign | ast.AugAssign, names: frozenset[str]
) -> bool:
    """`if random() < 0.1: box = box * 640` where nothing else is changed with it."""
    above = source.parents.get(node)
    if not isinstance(above, ast.If) or above.orelse or node not in above.body or is_random(node.value):
        return False
    if not (isinstance(above.test, ast.Compare) and is_random(above.test)) or _few(view, source, above.test):
        return False
    places = [
        s.targets[0] if isinstance(s, ast.Assign) else s.target for s in of(above, ast.Assign, ast.AugAssign)
    ]
    if not all(base(p) in names or TARGET_WORDS.search(base(p)) for p in places):
        return False
    target = places[0] if isinstance(node, ast.AugAssign) else node.targets[0]
    itself = isinstance(node, ast.AugAssign) or unparse(target) in {
        unparse(n.left) for n in of(node.value, ast.BinOp)
    } | {unparse(n.right) for n in of(node.value, ast.BinOp)}
    return isinstance(target, ast.Name) and itself
