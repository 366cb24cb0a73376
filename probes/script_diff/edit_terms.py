"""What the search for edits asks of lines and terms: names written out, what depends on what."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .changes import Change
from .lines import Line, Program, Unit
from .marks import OPTIMIZERS
from .terms import Term
from .vocabulary import DEFAULTS, word_set


def every_name(of: Program) -> frozenset[str]:
    """Names, attributes, keys and parameters of a program, without `self.`."""
    found = set()
    for line in of.lines:
        found |= {t.removeprefix("self.") for t in line.targets}
        found |= {t.label for t in line.term.walk() if t.kind in ("name", "attribute", "key")}
    return frozenset(found | {p for u in of.units for p in u.parameters})


def differs_behind_first(mine: Term, theirs: Term) -> bool:
    """Whether two samples `return x, y` have the same inputs, and something else beside them."""
    here, there = mine.part("value"), theirs.part("value")
    if here is None or there is None or here.kind != "sequence" or there.kind != "sequence":
        return False
    pairs = list(zip(here.parts, there.parts, strict=False))
    same = len(here.parts) == len(there.parts) > 1 and pairs[0][0][1].key == pairs[0][1][1].key
    return same and any(a.key != b.key for (_, a), (_, b) in pairs[1:])


def filled_in_place(term: Term) -> set[str]:
    """Functions that write into what they are given: `zeros_(w)` and `w.zero_()` are one."""
    calls = {t.label for t in term.walk() if t.kind == "call" and t.label.endswith("_")}
    return {c.strip("_").removesuffix("s") for c in calls}


def chooses(term: Term) -> bool:
    """Whether a condition says which of many are taken: `[i for i, y in enumerate(labels) if y < 5]`."""
    if term.kind == "comprehension":
        return any(edge.startswith("if") for edge, _ in term.parts)
    return term.kind == "call" and term.label in ("nonzero", "flatnonzero", "argwhere", "isin")


def gives(line: Line, name: str) -> bool:
    """Whether a line assigns a value to a plain name."""
    target = line.term.part("target")
    return (
        line.term.kind == "assign" and target is not None and target.kind == "name" and target.label == name
    )


def sees(line: Line, user: Line) -> bool:
    """Whether names of a line are known where another stands: in its unit, or everywhere."""
    return line.unit is user.unit or line.unit.name == ""


def filled_in(term: Term, held: Mapping[str, Line], of: object) -> tuple[Term, set[Line]]:
    """The term with names replaced by what the lines give them."""
    used = {line for name, line in held.items() if name in names_read(term)}
    values = {n: of(x).part("value") for n, x in held.items()}  # type: ignore[operator]
    return replaced_names(term, {n: v for n, v in values.items() if v is not None}), used


def constant_fields(of: Program) -> dict[str, Term]:
    """Fields of classes that hold settings: attribute -> the one constant that it ever has."""
    found: dict[str, Term] = {}
    spoiled: set[str] = set()
    classes: set[str] = set()
    for line in of.lines:
        value = line.term.part("value")
        if isinstance(line.unit.node, ast.ClassDef) and len(line.targets) == 1 and not line.around:
            if value is not None and value.kind in ("number", "constant"):
                classes.add(line.unit.last)
                spoiled |= {line.targets[0]} & found.keys()
                found[line.targets[0]] = value
    for line in of.lines if found else ():
        target = line.term.part("target")
        owner = target.part("of") if target is not None and target.kind == "attribute" else None
        if target is not None and owner is not None and owner.label != "self":
            spoiled.add(target.label)
        for term in line.term.walk():
            if term.kind == "call" and (term.label in classes or term.label in ("replace", "setattr")):
                if any(edge.startswith(("#", "**")) for edge, _ in term.parts):
                    return {}  # given by their places
                spoiled |= {edge for edge, _ in term.parts}
    return {name: value for name, value in found.items() if name not in spoiled}


def fields_filled(term: Term, fields: Mapping[str, Term], others: set[int]) -> Term:
    """The term with fields that only one side reads written out: `cfg.epochs` -> 4."""
    if not fields:
        return term
    if term.kind == "attribute" and term.label in fields and term.key not in others:
        of = term.part("of")
        held = of is not None and of.kind in ("name", "attribute") and of.label not in ("self", "cls")
        held = held or (of is not None and of.kind == "call" and of.label[:1].isupper() and not of.parts)
        return fields[term.label] if held else term
    parts = tuple((e, p if e == "target" else fields_filled(p, fields, others)) for e, p in term.parts)
    return Term(term.kind, term.label, parts, term.node)


def off_unless_asked(program: Program, line: Line, change: Change) -> bool:
    """Whether an argument that only one side gives is a flag that is off, as it is where it is not given."""
    value = change.after or change.before
    if value is None or value.kind not in ("name", "attribute") or not change.within:
        return False
    call, edge = change.within[0]
    if {**DEFAULTS["*"], **DEFAULTS.get(call, {})}.get(edge, "False") != "False":
        return False
    name = value.label
    options = [x for x in program.lines if name in x.targets and x.term.kind == "do"]
    asked = [x.term.part("value") for x in options]
    if asked and all(t is not None and _flag_off(t) for t in asked):
        return True
    if value.kind != "name" or options:
        return False
    default = default_of(program, line.unit, name)
    return default is not None and default.label in ("False", "None")


def default_of(program: Program, unit: Unit, name: str) -> Term | None:
    """What a parameter is where no call of its function says it; None where one may."""
    given = [x.term.part("value") for x in unit.lines if x.term.kind == "default" and x.targets == (name,)]
    if name not in unit.parameters or len(given) != 1:
        return None
    at = unit.parameters.index(name) - (unit.parameters[0] in ("self", "cls"))
    names = (unit.last, unit.owner.rpartition(".")[2])
    for term in (t for x in program.lines for t in x.term.walk() if t.kind == "call" and t.label in names):
        edges = [e for e, _ in term.parts if e != "self"]
        if name in edges or len([e for e in edges if e.startswith("#")]) > at:
            return None
    return given[0]


def _flag_off(option: Term) -> bool:
    """`add_argument("--amp", action="store_true")`, or with the default False."""
    action, default = option.part("action"), option.part("default")
    if option.label not in ("add_argument", "add_option", "option"):
        return False
    if default is not None:
        return default.label == "False"
    return action is not None and action.label == "'store_true'"


def names_read(term: Term) -> frozenset[str]:
    """The plain names that a term reads, not those that it sets."""
    target = term.part("target")
    return (
        frozenset(n for e, p in term.parts if e != "target" for n in p.names)
        if target is not None
        else term.names
    )


def replaced_names(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with plain names replaced by values, but not where it sets them."""
    if not values or not (term.names & values.keys()):
        return term
    if term.kind == "name" and term.label in values:
        return values[term.label]
    parts = tuple((e, p if e == "target" else replaced_names(p, values)) for e, p in term.parts)
    return Term(term.kind, term.label, parts, term.node)


_ORDERED = word_set(
    "zero_grad backward step clip_grad_norm_ clip_grad_value_ unscale_ update set_epoch train eval "
    "manual_seed seed load_state_dict apply freeze to prepare DistributedDataParallel all_reduce"
)


def depends(a: Line, b: Line) -> bool:
    """Whether the order of two lines can matter."""
    gives_a, gives_b = set(a.targets), set(b.targets)
    if gives_a & (b.term.names | gives_b) or gives_b & a.term.names:
        return True
    calls_a = {t.label for t in a.term.walk() if t.kind == "call"} & _ORDERED
    calls_b = {t.label for t in b.term.walk() if t.kind == "call"} & _ORDERED
    modes = {"train", "eval"}
    if calls_a & modes and calls_b & modes:
        return True
    if _runs_under(a, b) or _runs_under(b, a):
        return True
    if (remakes_layers(a) and of_parameters(b)) or (remakes_layers(b) and of_parameters(a)):
        return True
    return bool(calls_a - modes and calls_b - modes)


def _runs_under(switch: Line, line: Line) -> bool:
    """Whether a line calls the model that another line puts into a mode."""
    value = switch.term.part("value")
    owner = (
        value.part("self") if value is not None and value.label in ("train", "eval", "set_train") else None
    )
    if owner is None or switch.term.kind != "do" or owner.kind not in ("name", "attribute"):
        return False
    return any(t.kind == "call" and t.label == owner.label for t in line.term.walk())


def remakes_layers(line: Line) -> bool:
    """A line that puts another layer into a model: `setattr(a, name, Layer())`, `net.fc = Linear(8, 2)`."""
    value, target = line.term.part("value"), line.term.part("target")
    if value is None or value.kind != "call":
        return False
    if value.label in ("setattr", "add_module", "register_module"):
        return True
    return target is not None and target.kind == "attribute" and value.label[:1].isupper()


_TAKE_OVER = (
    word_set("parameters named_parameters DistributedDataParallel requires_grad_ freeze") | OPTIMIZERS
)


def of_parameters(line: Line) -> bool:
    """A line that is about the parameters that a model has then: one under a loop over `parameters()`."""
    terms = [line.term, *(h.term for h in line.around if h.term.kind == "for")]
    return any(t.label in _TAKE_OVER for one in terms for t in one.walk())


def plain_value(value: Term) -> bool:
    """A name or a constant, or several of them: nothing is done to what is given back."""
    if value.kind == "sequence":
        return all(plain_value(p) for _, p in value.parts)
    return value.kind in ("name", "constant")


def steps_schedule(call: Term) -> bool:
    """`scheduler.step()`, by the name of what steps."""
    owner = call.part("self") if call.label == "step" else None
    names = [t.label.lower() for t in owner.walk()] if owner is not None else []
    return any(w in n for n in names for w in ("sched", "lr_s", "warmup", "plateau"))


def changes_in_place(line: Line) -> bool:
    """A line that changes something that was there: `x[...] = `, `x.add_()`, `self.net.fc = `."""
    target = line.term.part("target")
    if target is None:
        return False
    of = target.part("of")
    mine = of is not None and of.kind == "name" and of.label in ("self", "cls")
    return target.kind == "item" or (target.kind == "attribute" and not mine)
