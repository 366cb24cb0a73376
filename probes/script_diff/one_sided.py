"""Lines that only one of two programs has: which of them change nothing by themselves."""

from __future__ import annotations

from collections import Counter

from .edit_terms import (
    changes_in_place,
    filled_in_place,
    plain_value,
)
from .edit_words import (
    LOSSES,
    OF_TRAINERS,
    PURE,
)
from .equal import rewritten
from .lines import Line, Unit
from .marks import puts_mode_back, starts_anew
from .roles import Roles
from .sides import Sides, body_of
from .terms import Term
from .vocabulary import word_set


def idle(sides: Sides, line: Line, roles: Roles, units: set[Unit], others: frozenset[str] | set[str]) -> bool:
    """A line that changes nothing by itself: what it makes is unused, or used in lines that changed."""
    term = line.term
    if line in roles.dead:
        shared = any(t in others for t in line.targets)
        if not (shared and roles.split(line) == "eval"):
            return True
    if line.unit not in units and line.unit.name and not _hook(line.unit, roles, units):
        return True  # a function of one side: where it is called is the edit
    if term.kind == "return":
        value = term.part("value")
        if value is not None and gives_nothing(sides, line):
            return not _hook(line.unit, roles, units)
        if value is None or plain_value(value):
            return True
        return value.kind == "sequence" and not (line.around or any(t.label in LOSSES for t in value.walk()))
    if term.kind == "do" and (_thrown_away(line, roles) or _writes_results(term)):
        return True
    if roles is sides.mine and puts_mode_back(line):
        return True
    if term.kind == "assign" and (given := term.part("target")) is not None:
        if (value := term.part("value")) is not None and given.key == value.key:
            return True  # `x = x.to(device)`
    if term.kind == "default":
        partner = _partner(sides, line.unit)
        if partner is not None and line.targets[0] not in partner.parameters:
            return True  # where it was used tells what is there now
        return line.targets[0] not in others or line.unit not in units
    if term.kind in ("try", "break", "continue"):
        return term.kind == "try"
    if _draws(sides, line):
        return True
    if line.targets and term.kind in ("assign", "do"):
        plain = [t.removeprefix("self.") for t in line.targets]
        if term.kind == "do":
            owners = {t.partition(".")[0] for t in line.targets}  # `shuffle(data.targets)` acts on `data`
            plain += owners - {"self", "cls"}
        if not any(t in others or t in OF_TRAINERS for t in plain) and not changes_in_place(line):
            return not _in_hook(line, roles, units)
        if starts_no_more(sides, line, roles):
            return False
        if term.kind == "assign" and (_same_start(line) or _only_kept(sides, line, roles)):
            return True
    if term.kind in ("if", "for", "while", "with"):
        one_sided = sides.added if line in sides.added else sides.removed
        body = body_of(line)
        if not body or any(x in one_sided and not x.head for x in body):
            return True  # told by the lines under it
    if term.kind in ("do", "assign"):
        calls = [t for t in term.walk() if t.kind == "call"]
        if calls and (_split_off(sides, calls[0], roles) or _written_out(sides, line, roles)):
            return True
    return False


def _partner(sides: Sides, unit: Unit) -> Unit | None:
    """The unit that a unit of either side is held against."""
    return sides.aligned.units.get(unit) or next(
        (mine for mine, theirs in sides.aligned.units.items() if theirs is unit), None
    )


def starts_no_more(sides: Sides, line: Line, roles: Roles) -> bool:
    """A line that empties what is added up; the other side empties it nowhere but where it is made."""
    if not starts_anew(line, roles):
        return False
    name = line.targets[0].rpartition(".")[2]
    other = sides.theirs if roles is sides.mine else sides.mine
    return not any(
        starts_anew(x, other) or {"clear", "reset"} & {t.label for t in x.term.walk() if t.kind == "call"}
        for x in other.program.lines
        if any(t.label == name for t in x.term.walk() if t.kind in ("name", "attribute"))
    )


def _draws(sides: Sides, line: Line) -> bool:
    """`x, y = next(batches)`, where the other side goes through the batches by a loop."""
    value = line.term.part("value")
    if line.term.kind != "assign" or value is None or rewritten(value).label != "next":
        return False
    others = sides.removed if line in sides.added else sides.added
    heads = [*others, *(sides.aligned.changed.values() if line in sides.added else sides.aligned.changed)]
    return any(h.term.kind == "for" and set(line.targets) <= set(h.targets) for h in heads)


def _written_out(sides: Sides, line: Line, roles: Roles) -> bool:
    """`self.apply(self._init)`, and the other side has in place what the function does in place."""
    value = line.term.part("value")
    given = {t.label for e, p in value.parts if e != "self" for t in p.walk()} if value is not None else set()
    one_sided = [u for u in roles.program.units if u.last in given and u.lines]
    units = [u for u in one_sided if u not in sides.my_units and u not in sides.their_units]
    done = {w for u in units for x in u.lines for w in filled_in_place(x.term)}
    others = sides.added if roles is sides.theirs else sides.removed
    return bool(done) and done <= {w for x in others for w in filled_in_place(x.term)}


_WRITERS = word_set("to_csv to_json to_parquet to_excel to_html to_markdown savetxt write_text")


def _writes_results(term: Term) -> bool:
    """`table.to_csv("results.csv")`: a file for whoever reads it."""
    value = term.part("value")
    return value is not None and value.kind == "call" and value.label in _WRITERS


def _thrown_away(line: Line, roles: Roles) -> bool:
    """`self.norm(x)` in a forward pass, and nothing takes what it gives: what is missing tells it."""
    value = line.term.part("value")
    if value is None or value.kind != "call" or "forward" not in roles.place(line):
        return False
    made = value.part("self")
    if not value.label:  # LayerNormalization()(x)
        return made is not None and made.kind == "call" and made.label[:1].isupper()
    return roles.layers.get(value.label, "")[:1].isupper() or value.label in PURE


def stands_in(line: Line, others: Roles, units: set[Unit]) -> bool:
    """Whether what a line does is done in a function that only the other side has, and calls."""
    done = Counter((t.kind, t.label) for t in line.term.walk() if t.kind in ("call", "operation"))
    if not done or line.term.kind not in ("assign", "do"):
        return False
    for unit in others.program.units:
        made = unit.last == "__init__" and others.called(unit.owner.rpartition(".")[2])
        called = made or (not unit.last.startswith("__") and others.called(unit.last))
        if unit in units or not unit.lines or not called:
            continue
        held = Counter(
            (t.kind, t.label) for x in unit.lines for t in x.term.walk() if t.kind in ("call", "operation")
        )
        gives = line.term.kind == "do" or made or any(x.term.kind == "return" for x in unit.lines)
        if not done - held and gives:
            return True
    return False


def _hook(unit: Unit, roles: Roles, units: set[Unit]) -> bool:
    """A method that nobody here calls, of a class that both sides have: a framework calls it."""
    owner = any(u.name == unit.owner for u in units) if unit.owner else False
    return owner and not roles.called(unit.last)


def _in_hook(line: Line, roles: Roles, units: set[Unit]) -> bool:
    """Whether a line of a method of one side alone changes a loss that its framework takes from it."""
    value = line.term.part("value")
    if line.unit in units or value is None or value.kind != "operation":
        return False
    return _hook(line.unit, roles, units) and "loss" in roles.reach(line)


def _only_kept(sides: Sides, line: Line, roles: Roles) -> bool:
    """`self.scaler = scaler`, which nothing reads where it is missing."""
    value, target = line.term.part("value"), line.term.part("target")
    if value is None or value.kind != "name" or target is None or target.kind != "attribute":
        return False
    if target.label in ("requires_grad", "trainable"):
        return False  # the framework reads it
    other = sides.theirs if roles is sides.mine else sides.mine
    return not any(
        t.kind == "attribute" and t.label == target.label
        for x in other.program.lines
        for edge, part in x.term.parts
        if edge != "target"
        for t in part.walk()
    )


def gives_nothing(sides: Sides, line: Line) -> bool:
    """Whether a function that gives something back on one side does not on the other."""
    other = _partner(sides, line.unit)
    if other is None or not line.unit.name:
        return False
    return not any(x.term.kind == "return" and x.term.part("value") is not None for x in other.lines)


def _same_start(line: Line) -> bool:
    """`correct = 0` in another place or form: what is counted from starts at nothing."""
    value = line.term.part("value")
    plain = (target := line.term.part("target")) is not None and target.kind in ("name", "attribute")
    started = value is not None and value.label in ("0.0", "None", "") and not value.parts
    return plain and started and value is not None and value.kind != "name"


def _split_off(sides: Sides, call: Term, roles: Roles) -> bool:
    """A call of a function that the other side has not, made of lines that it has."""
    units = [u for u in roles.program.units if u.last == call.label and u.lines]
    if not units:
        return False
    unit = units[0]
    if unit in sides.my_units or unit in sides.their_units:
        return False
    known = [
        x for x in unit.lines if x in sides.aligned.same or x in sides.aligned.changed or x in sides.back
    ]
    return 2 * len(known) >= len([x for x in unit.lines if x.term.kind != "return"])
