"""Two sides of one pipeline put side by side: where one of them is processed otherwise."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass

from .chains import Step, inside, statistics, steps_of
from .evaluate import Evaluator
from .items import sample
from .values import Term

_FEATURES = re.compile(r"(?i)mel|spectr|mfcc|stft|fbank|chroma|cqt")
_FIGURES = frozenset(
    (
        "n_mels",
        "n_fft",
        "hop_length",
        "win_length",
        "sample_rate",
        "sr",
        "n_mfcc",
        "hop",
        "f_min",
        "f_max",
        "power",
    )
)
_DISTURBS = re.compile(
    r"(?i)aug|noise|jitter|mix|smooth|distort|perturb|corrupt|degrad|random|drop|mask|disturb|warp|cutout|blur"
)
_TOKENS = re.compile(r"(?i)token|encode|hash|crc|md5|digest")
_LABEL = re.compile(r"(?i)(?:^|_)(?:y|ys|labels?|targets?|answers?|gt|classes|tags?)(?:_|$)")


OTHER_DATA = "other data"  # held-out data are changed so that they are meant to be of another kind


@dataclass(frozen=True)
class Apart:
    """One difference: where on either side, what it is, and whether it is one of labels."""

    kind: str  # "one side", "figures", "statistics", "numbering", "parameters", `OTHER_DATA`
    train: ast.AST | None
    held: ast.AST | None
    label: bool
    what: str
    whole: bool = False  # numbers are shifted by whole ones, or looked up
    one_loss: bool = False  # both sides meet the same loss, as `fit(x, y, validation_data=(a, b))` has it


def apart(run: Evaluator, train: Term, held: Term, label: bool = False) -> Apart | None:
    """The first difference that cannot be meant, of two values. Raises OutOfSteps."""
    return _compare(run, train, held, label, 8)


def samples_apart(run: Evaluator, train: Term, held: Term, label: bool = False) -> Apart | None:
    """The same of samples of two data sets, loaders or arrays."""
    if train.key == held.key:
        return None
    return _compare(run, sample(run, train), sample(run, held), label, 8)


def _compare(run: Evaluator, train: Term, held: Term, label: bool, depth: int) -> Apart | None:
    run.tick()
    if depth == 0 or train.key == held.key:
        return None
    if train.head == "phi" and held.head == "phi" and train.value == held.value:
        pairs = zip(train.args, held.args, strict=True)
        found = [_compare(run, a, b, label, depth - 1) for a, b in pairs]
        return found[0] if all(found) else None
    if train.head == "tuple" or held.head == "tuple":
        return _tuples(run, train, held, label, depth)
    if train.head == held.head == "dict":
        for name in train.value:
            if name in held.value:
                told = label or _LABEL.search(str(name)) is not None
                if (one := _compare(run, train.value[name], held.value[name], told, depth - 1)) is not None:
                    return one
        return None
    if train.head == held.head == "obj" and train.value.owner is held.value.owner:
        for name in sorted(set(train.value.attrs) & set(held.value.attrs)):
            told = label or _LABEL.search(name) is not None
            parts = (train.value.attrs[name], held.value.attrs[name])
            if all(map(_tells_rows, parts)):
                continue
            if (one := _compare(run, *parts, told, depth - 1)) is not None:
                return one
        return None
    mine, source = steps_of(run, train)
    theirs, other = steps_of(run, held)
    ends = None
    if source.head in ("tuple", "dict", "obj"):
        if source.head == other.head:
            ends = _compare(run, source, other, label, depth - 1)
    if source.head == other.head == "count" and ends is None:
        place = Step("lookup", "enumerate", source.node)
        ends = _tables(source.args[0], other.args[0], place, label)
    return ends or _steps(run, mine, theirs, label)


_WHOLE = ("call:int", "call:round", "call:floor", "call:ceil", "call:min", "call:max")


def _tells_rows(term: Term) -> bool:
    """A number made of lengths and other whole numbers: where a part begins, or how many samples it has."""
    if term.head in _WHOLE:
        return all(a.plain or _tells_rows(a) for a in term.args)
    if term.head.startswith("op:"):
        return all(map(_tells_rows, term.args))
    return (term.head == "const" and type(term.value) is int) or (term.plain and term.head != "const")


def _tuples(run: Evaluator, train: Term, held: Term, label: bool, depth: int) -> Apart | None:
    if train.head != held.head:
        first = [t.args[0] if t.head == "tuple" and t.args else t for t in (train, held)]
        return _compare(run, first[0], first[1], label, depth - 1) if train.args and held.args else None
    size = len(train.args)
    if len(held.args) != size:
        if not size or not held.args:
            return None
        return _compare(run, train.args[0], held.args[0], label, depth - 1)
    for i, (a, b) in enumerate(zip(train.args, held.args, strict=True)):
        told = label or (i == size - 1 and size > 1)
        if (one := _compare(run, a, b, told, depth - 1)) is not None:
            return one
    return None


def _steps(run: Evaluator, mine: list[Step], theirs: list[Step], label: bool) -> Apart | None:
    match = difflib.SequenceMatcher(None, [s.tells for s in mine], [s.tells for s in theirs], autojunk=False)
    only: tuple[list[Step], list[Step]] = ([], [])
    meant: Apart | None = None
    for tag, a, b, c, d in match.get_opcodes():
        if tag == "equal":
            for one, other in zip(mine[a:b], theirs[c:d], strict=True):
                found = _step(one, other, label)
                if found is not None and found.kind != OTHER_DATA:
                    return found
                meant = meant or found
        else:
            only[0].extend(mine[a:b])
            only[1].extend(theirs[c:d])
    if any(s.kind in ("unknown", "read", "phi") for s in (*only[0], *only[1])):
        return meant
    if _same_operations(only[0], only[1]):
        return meant
    left = [s for s in only[0] if not _for_training(run, s)]
    for side, steps in ((True, left), (False, only[1])):
        for step in steps:
            if step.kind == "text" and not _reaches_tokens(step, mine if side else theirs):
                continue
            if step.kind == "counts":
                continue
            if step.kind == "turn" and not side and step.name != "transpose":
                continue
            if step.figures is not None and not side and _another_camera(None, step):
                meant = meant or Apart(OTHER_DATA, None, step.node, label, "held-out data")
                continue
            beside = (only[1] if side else left)[:1]
            there = beside[0].node if beside else None
            nodes = (step.node, there) if side else (there, step.node)
            whole = step.kind == "lookup" or _shifts(step)
            return Apart(
                "one side", nodes[0], nodes[1], label, "training" if side else "held-out data", whole
            )
    return meant


def _same_operations(mine: list[Step], theirs: list[Step]) -> bool:
    """`(x - mean) / std` and `x / std - mean / std`: sums and quotients in another order may be equal."""
    told = [sorted(s.name for s in steps) for steps in (mine, theirs)]
    return told[0] == told[1] and all(n.startswith("op ") for n in told[0])


def _reaches_tokens(step: Step, steps: list[Step]) -> bool:
    """A text that is made longer is cut into tokens or hashed then, and is not the name of a file."""
    later = [s for s in steps[steps.index(step) + 1 :] if s.kind in ("unknown", "read", "phi")]
    return any(_TOKENS.search(s.name) for s in later) and all(
        _TOKENS.search(s.name) or s.name.startswith("op ") for s in later
    )


def _for_training(run: Evaluator, step: Step) -> bool:
    """What stands in a function that augments is for training alone."""
    names = [run.source.function_name(step.node)]
    return any(_DISTURBS.search(n) for n in names)


def _step(one: Step, other: Step, label: bool) -> Apart | None:
    """Two steps of one kind: by other figures, by a table or by statistics of their own?"""
    if one.figures is not None and other.figures is not None:
        if one.figures.like(other.figures):
            return None
        kind, whole = ("figures", _shifts(one) and _shifts(other))
        if _another_camera(one, other):
            kind, whole = OTHER_DATA, False
        return Apart(kind, _own(one, other), _own(other, one), label, "", whole)
    if one.kind == "counts" and one.rest[0].key != other.rest[0].key:
        if not one.rest[0].sampled and not other.rest[0].sampled:
            return Apart("numbering", one.node, other.node, label, one.name)
    for a, b in zip(one.rest, other.rest, strict=False):
        if (found := _tables(a, b, one, label)) is not None:
            return found
    if _FEATURES.search(one.name):
        for name in sorted(set(one.kw) & set(other.kw) & _FIGURES):
            a, b = one.kw[name], other.kw[name]
            if a.head == b.head == "const" and a.value != b.value:
                return Apart("parameters", one.node, other.node, label, name)
    return None


def _shifts(step: Step) -> bool:
    """Whole numbers are added, and nothing else."""
    told = step.figures
    return told is not None and set(told.a) == {1.0} and all(b == int(b) for b in told.b)


def _own(one: Step, other: Step) -> ast.AST:
    """Where one side does what the other one does not."""
    theirs = {n for n, _ in other.one_by_one}
    return next((n for n, _ in one.one_by_one if n not in theirs), one.node)


def _another_camera(train: Step | None, held: Step) -> bool:
    """Held-out data are changed by figures that no range or unit has: they are meant to be other data."""
    mine = [f for _, f in train.one_by_one] if train is not None else []
    extra = [f for _, f in held.one_by_one]
    for one in mine:
        same = next((f for f in extra if f.like(one)), None)
        if same is None:
            return False
        extra.remove(same)
    if not extra:
        return False
    made = extra[0]
    for more in extra[1:]:
        made = made.and_then(more)
    return not made.usual


def _tables(a: Term, b: Term, one: Step, label: bool) -> Apart | None:
    """What a step goes by, on either side: learned of other data, put in another order?"""
    learns, counts = statistics()
    waiting = [(a, b)]
    for _ in range(200):
        if not waiting:
            break
        mine, theirs = waiting.pop()
        if mine.key == theirs.key:
            continue
        if mine.head == theirs.head == "phi" and mine.value == theirs.value:
            # `if mean is None: mean = rows.mean()`: one way may be the same for both
            found = [_tables(*pair, one, label) for pair in zip(mine.args, theirs.args, strict=False)]
            if found and all(found):
                return found[0]
            continue
        if mine.head == theirs.head:
            if mine.head.startswith("call:") and mine.name in (learns | counts):
                parts = (
                    (mine.args[-1:], theirs.args[-1:])
                    if mine.name in ("fit", "adapt")
                    else (
                        mine.args[:1],
                        theirs.args[:1],
                    )
                )
                if parts[0] and parts[1] and parts[0][0].key != parts[1][0].key:
                    if not _of_each(mine) and not parts[0][0].sampled and not parts[1][0].sampled:
                        kind = "statistics" if mine.name in learns and one.kind != "lookup" else "numbering"
                        return Apart(kind, one.node, theirs.node, label, mine.name)
            if mine.head == "dict":
                waiting += [(mine.value[k], theirs.value[k]) for k in mine.value if k in theirs.value]
            waiting += list(zip(mine.args, theirs.args, strict=False))
        elif one.kind == "lookup":
            orders = [any(t.head == "call:sorted" for t in inside(t_)) for t_ in (mine, theirs)]
            if orders[0] != orders[1]:
                return Apart("numbering", one.node, theirs.node, label, "sorted")
    return None


def _of_each(term: Term) -> bool:
    """`x.mean((1, 2), keepdim=True)`: figures of each sample alone, none of the set."""
    axes = term.kw.get("dim") or term.kw.get("axis") or (term.args[1] if len(term.args) > 1 else None)
    if axes is None or not term.kw.keys() & {"keepdim", "keepdims"}:
        return False
    written = axes.args if axes.head == "tuple" else (axes,)
    return all(a.is_number and a.value != 0 for a in written)
