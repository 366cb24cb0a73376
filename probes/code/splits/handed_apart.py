"""What scripts do to one side and not to the other: settings of data sets, lists that belong together."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import HELD_OUT, OF_TRAINING

# what only training is meant to have
_OF_TRAINING = re.compile(
    r"(?i)aug|jitter|flip|crop|shuffle|train|mode|split|transf|drop|nois|mix|prob|^p_|limit|seed|batch|worker|sampl|cache"
    r"|repeat|patch|rot|weight|subset|fold|file|path|root|dir|name|start|end|mask|epoch|neg|rng|smooth|balance|max|num|n_"
)
_FRAMES = re.compile(
    r"(?i)^(?:n_|num_)?(?:frames|history|horizon|context|lags|channels|bands|mels|views|window)$"
)


_TO_LOOK_AT = re.compile(
    r"(?i)(?:^|_)(?:vis|viz|visual\w*|show\w*|display\w*|demo|raw)(?:_|$)"
)  # and not to score


def setting_left_out(source: Script) -> Finding | None:
    """A data set is given a setting for training, and the held-out one takes the default, another value.

    `Bursts(n, n_frames=args.frames)`, then `Bursts(m)` for validation, whose default is one frame.
    """
    for owner in source.classes.values():
        init = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
        if init is None or not any(
            isinstance(f, ast.FunctionDef) and f.name == "__getitem__" for f in owner.body
        ):
            continue
        names = [a.arg for a in init.args.args][1:]
        # A switch (True, False) is often of training alone: several views, pairs, targets of another kind.
        optional = [
            name
            for name, usual in zip(names[::-1], init.args.defaults[::-1], strict=False)
            if not (isinstance(usual, ast.Constant) and isinstance(usual.value, bool))
        ][::-1]
        sides: dict[str, list[ast.Call]] = {"train": [], "held": []}
        for call in source.named(owner.name):
            statement = source.statement(call)
            target = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
            side = "train" if OF_TRAINING.search(target) else "held" if HELD_OUT.search(target) else ""
            if _TO_LOOK_AT.search(target):
                continue
            if side and isinstance(statement, ast.Assign) and statement.value is call:
                sides[side].append(call)
        if not sides["train"] or not sides["held"]:
            continue
        given = [_given(names, c) for c in sides["train"]]
        for call in sides["held"]:
            theirs = _given(names, call)
            for name in optional:
                asked = _FRAMES.match(name) or not _OF_TRAINING.search(name)
                if any(_is_for_training(g[name]) for g in given if g and name in g):
                    continue
                if asked and None not in (theirs, *given) and name not in (theirs or {}):
                    if all(name in (g or {}) for g in given) and not _is_default(init, name, given[0] or {}):
                        return at(
                            source,
                            call,
                            f"{name} is handed to the training set, and here the default is taken",
                        )
    return None


def _is_for_training(value: ast.expr) -> bool:
    """An option that says whose it is: `args.train_scheme`, `cfg["training"]["scheme"]`."""
    called = [
        last_name(n) if isinstance(n, (ast.Name, ast.Attribute)) else n.value
        for n in of(value, ast.Name, ast.Attribute, ast.Constant)
    ]
    return any(isinstance(c, str) and OF_TRAINING.search(c) for c in called)


def _given(names: list[str], call: ast.Call) -> dict[str, ast.expr] | None:
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    found = dict(zip(names, call.args, strict=False))
    found.update({k.arg: k.value for k in call.keywords if k.arg})
    return found


def _is_default(init: ast.FunctionDef, name: str, given: dict[str, ast.expr]) -> bool:
    names = [a.arg for a in init.args.args]
    defaults = dict(zip(names[len(names) - len(init.args.defaults) :], init.args.defaults, strict=True))
    return unparse(defaults[name]) == unparse(given[name])


# -------------------------------------------------------------------------------------- lists side by side


def lists_apart(source: Script) -> Finding | None:
    """Two lists are filled, or made of one source, side by side; then one is shuffled, or filtered, alone.

    `self.images.append(...)`, `self.labels.append(...)`, and `rng.shuffle(self.images)`.
    """
    for owner in source.classes.values():
        functions = [f for f in owner.body if isinstance(f, ast.FunctionDef)]
        items = next((f for f in functions if f.name == "__getitem__"), None)
        if items is None:
            continue
        together = {
            unparse(s.value)
            for s in of(items, ast.Subscript)
            if unparse(s.slice) == (items.args.args[1].arg if len(items.args.args) > 1 else "")
        }
        if len(together) < 2:
            continue
        for function in functions:
            for call in of(function, ast.Call):
                if (
                    last_name(call.func) == "shuffle"
                    and len(call.args) == 1
                    and unparse(call.args[0]) in together
                ):
                    own = unparse(call.args[0])
                    if not _reordered_alike(function, own, together) and not _seeded_alike(
                        function, together
                    ):
                        return at(
                            source, call, f"{own} is put into another order, and what belongs to it is not"
                        )
            if (found := _filtered_alone(source, function, together)) is not None:
                return found
    return None


def _reordered_alike(function: ast.AST, own: str, together: set[str]) -> bool:
    """The others are made after it, or put into order by what was done to it."""
    others = together - {own}
    return any(
        unparse(n.targets[0]) in others and own in unparse(n.value) for n in of(function, ast.Assign)
    ) or any(
        isinstance(n, ast.Assign) and unparse(n.targets[0]) == own and "zip" in unparse(n)
        for n in walk(function)
    )


def _seeded_alike(function: ast.AST, together: set[str]) -> bool:
    """Each list is shuffled, by one state: `rng.set_state(state); rng.shuffle(labels)`."""
    shuffled = {
        unparse(c.args[0]) for c in of(function, ast.Call) if last_name(c.func) == "shuffle" and c.args
    }
    return len(shuffled & together) > 1


def _filtered_alone(source: Script, function: ast.FunctionDef, together: set[str]) -> Finding | None:
    made: dict[str, list[tuple[str, bool, ast.AST]]] = {}
    for node in of(function, ast.Assign):
        name = unparse(node.targets[0])
        if name in together and isinstance(node.value, ast.ListComp) and len(node.value.generators) == 1:
            one = node.value.generators[0]
            made.setdefault(unparse(one.iter), []).append((name, bool(one.ifs), node))
    for lists in made.values():
        filtered = [n for _, f, n in lists if f]
        whole = [n for _, f, n in lists if not f]
        if filtered and whole:
            return at(source, filtered[0], "entries are left out of this list, and not of the one beside it")
    return None
