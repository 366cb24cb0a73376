"""The edits between two programs that can matter to training, each with its roles, places and code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from ...engine.model import Place
from ..scripts.syntax import Script
from .align import Alignment, align, their_term
from .anew import Totals, parts, written_anew
from .changes import Change, changes
from .edit_terms import (
    changes_in_place,
    chooses,
    constant_fields,
    depends,
    differs_behind_first,
    every_name,
    fields_filled,
    filled_in,
    filled_in_place,
    gives,
    plain_value,
    replaced_names,
    sees,
    steps_schedule,
)
from .edit_words import (
    FITTED,
    LOSSES,
    OF_TRAINERS,
    PURE,
    REWRITING,
    SWITCHES,
    key_of,
    quoted,
    ratio_of,
    setting_of,
    target_words,
    words_of,
    work_in,
)
from .equal import rewritten
from .lines import Line, Program, Unit, program, programs
from .marks import STRUCTURE, lost, marks, puts_mode_back, starts_anew, weighty
from .meaning import Same, same_meaning
from .ranked import only_ranked
from .rewrites import rewritten_lines
from .roles import Roles
from .roles.words import side_named
from .terms import Term

MAX_EDITS = 400


@dataclass(frozen=True)
class Edit:
    """One difference: theirs -> mine.

    `gone` and `new`: the calls, operators, arguments, attributes and constants that only one side has there;
    `within`: "call.argument" around it, innermost first; `roles`: what it belongs to or feeds, nearest first;
    `key`: the setting that a constant gives; `ratio`: mine / theirs of a number; `split`: "train", "eval"
    or ""; `rewritten`: it stands among lines that were written anew, so that what differs is not understood.
    """

    kind: str
    roles: tuple[str, ...]
    gone: frozenset[str]
    new: frozenset[str]
    within: tuple[str, ...]
    key: str
    setting: str
    ratio: float | None
    split: str
    mine: Place | None
    theirs: Place | None
    mine_code: str
    theirs_code: str
    rewritten: bool = False

    @property
    def text(self) -> str:
        """The edit in one line of code: before, after, or both."""
        if self.mine_code and self.theirs_code and self.mine_code != self.theirs_code:
            return f"`{self.theirs_code}` -> `{self.mine_code}`"
        if self.kind in ("moved", "into-loop", "out-of-loop"):
            return f"`{self.mine_code}` stands elsewhere"
        if self.mine_code:
            return f"`{self.mine_code}` is in this script only"
        return f"`{self.theirs_code}` is missing"


@dataclass(frozen=True)
class LeftOut:
    """A line of one side that is no edit by itself: what it does, and the layers of its program."""

    mine: bool
    words: frozenset[str]
    layers: frozenset[str]


def edits(mine: Script, theirs: Script) -> tuple[Edit, ...]:
    """What of `theirs` was changed to make `mine`, in the order of my lines."""
    return _found(mine, theirs)[0]


def left_out(mine: Script, theirs: Script) -> tuple[LeftOut, ...]:
    """Lines of one side alone that make what is used elsewhere: layers, helpers, returned values."""
    return _found(mine, theirs)[1]


@lru_cache(maxsize=16)
def _found(mine: Script, theirs: Script) -> tuple[tuple[Edit, ...], tuple[LeftOut, ...]]:
    finder = _Finder(align(*programs(mine, theirs)))
    return tuple(finder.found()), tuple(finder.idle)


@lru_cache(maxsize=64)
def likeness_of(mine: Script, theirs: Script) -> float:
    """The share of the shorter program's lines that stand in the other one, names aside; 0 to 1."""
    here = Counter(line.term.shape for line in program(mine).lines)
    there = Counter(line.term.shape for line in program(theirs).lines)
    return sum((here & there).values()) / max(1, min(sum(here.values()), sum(there.values())))


class _Finder:
    def __init__(self, aligned: Alignment) -> None:
        self.aligned = aligned
        self.mine, self.theirs = Roles(aligned.mine), Roles(aligned.theirs)
        self.back = {
            b: a for table in (aligned.same, aligned.changed, aligned.moved) for a, b in table.items()
        }
        self.my_units = set(aligned.units)
        self.their_units = set(aligned.units.values())
        self.added, self.removed = dict.fromkeys(aligned.added), dict.fromkeys(aligned.removed)
        self.idle: list[LeftOut] = []
        self.totals = Totals(aligned, self.mine, self.theirs)
        self.my_names = every_name(aligned.mine)
        self.their_names = {aligned.attributes.get(n, n) for n in every_name(aligned.theirs)}

    def found(self) -> Iterator[Edit]:
        every = [(line, edit) for line, edit in self._all() if edit is not None]
        plain = all(self._plainly_other(line, edit) for line, edit in every)
        same = Same() if plain else same_meaning(self.aligned)
        left = [(line, edit) for line, edit in every if plain or not self._same(same, line, edit)]
        left = [(line, edit) for line, edit in left if not self._ranked(line, edit)]
        left = self._written_again(left)
        lines, anew = rewritten_lines(self.aligned, left), self._anew(left)
        over = crossing([edit for _, edit in left])
        made = [
            (
                line.node.lineno,
                replace(edit, rewritten=True)
                if not over & (edit.gone | edit.new) and (line in lines or self._drowned(edit, line in anew))
                else edit,
            )
            for line, edit in left
        ]
        seen: set[tuple[object, ...]] = set()
        for _, edit in sorted(made, key=lambda m: m[0])[:MAX_EDITS]:
            key = (edit.kind, edit.mine, edit.theirs, edit.gone, edit.new, edit.within)
            if key not in seen:
                seen.add(key)
                yield edit

    def _ranked(self, line: Line, edit: Edit) -> bool:
        """Whether a sigmoid comes or goes before metrics that ask for the order of scores alone."""
        if edit.gone | edit.new != {"sigmoid()"} or edit.kind not in ("wrapped", "unwrapped"):
            return False
        return all(only_ranked(x) for x in (line, self.aligned.partner(line)) if x is not None)

    def _anew(self, found: list[tuple[Line, Edit]]) -> set[Line]:
        """The lines of parts that were written anew, or of which something was moved."""
        anew = set(written_anew(self.aligned))
        whole = [x for x, e in found if e.kind in ("added", "removed") and self._moved_on(e)]
        for part in parts(self.aligned) if whole else ():
            if any(x in lines for lines in part for x in whole):
                anew.update(*part)
        return anew

    def _moved_on(self, edit: Edit) -> bool:
        """Whether a line is gone, and what it did is done as often as before; or it is new."""
        return not edit.new & STRUCTURE and self.totals.kept(edit.gone, edit.new)

    def _drowned(self, edit: Edit, anew: bool) -> bool:
        """Whether an edit of a part that was written anew is one of many: no setting, no known structure."""
        setting = edit.kind == "constant" and edit.ratio is not None
        if setting or (edit.new | edit.gone) & STRUCTURE:
            return False
        return anew or (edit.kind in REWRITING and self._moved_on(edit))

    def _written_again(self, found: list[tuple[Line, Edit]]) -> list[tuple[Line, Edit]]:
        """A line that is gone and one that is new for it: only what differs between the two is told."""
        gone = [(x, e) for x, e in found if e.kind == "removed"]
        new = [(x, e) for x, e in found if e.kind == "added"]
        if not gone or not new or len(gone) * len(new) > 400:
            return found
        other: dict[int, Edit] = {}
        for line, edit in new:
            for before, old in gone:
                if self.aligned.units.get(line.unit) is not before.unit or edit.roles[:1] != old.roles[:1]:
                    continue
                here, there = work_in(edit.new), work_in(old.gone)
                if here and there and 2 * len(here & there) >= max(len(here), len(there)):
                    other[id(edit)] = replace(edit, new=edit.new - old.gone)
                    other[id(old)] = replace(old, gone=old.gone - edit.new)
        return [(x, other.get(id(e), e)) for x, e in found]

    def _plainly_other(self, line: Line, edit: Edit) -> bool:
        """Another number or another variable in one place: nothing but an edit elsewhere can make up for it.

        A symbolic run on small shapes would not see that `x[:200]` became `x[:24]`.
        """
        if edit.kind == "constant":
            return edit.ratio is not None
        if edit.kind == "index" and any(side_named(w) for w in edit.new | edit.gone if w[:1] != "$"):
            return True  # `counts[phase]` -> `counts["train"]`: what is told of it may be nothing but printed
        if edit.kind == "replaced" and edit.gone | edit.new == {"mean()", "sum()"}:
            return True  # the same of one value, and of a guessed shape there may be one
        known = {t for u in (line.unit, *self.aligned.mine.units[:1]) for x in u.lines for t in x.targets}
        known |= set(line.unit.parameters)
        names = {w.removeprefix("$") for w in (*edit.gone, *edit.new) if ":" not in w and w != "label-value"}
        return edit.kind == "name" and len(names) == 2 and names <= known

    def _same(self, same: Same, line: Line, edit: Edit) -> bool:
        """Whether an edit changes nothing of what is computed; a run of one round sees no second one."""
        if "starts-anew" in edit.gone:
            return False
        if edit.kind.endswith("removed") and line not in self.aligned.changed and edit.mine_code == "":
            return same.holds((), (line,))
        partner = self.aligned.partner(line)
        return same.holds((line,), (partner,) if partner is not None else ())

    def _all(self) -> Iterator[tuple[Line, Edit | None]]:
        aligned = self.aligned
        explained = set()
        for mine, theirs in aligned.changed.items():
            for change, used in self._changes(mine, theirs):
                explained |= used
                if change is not None:
                    yield mine, self._edit(change.kind, mine, theirs, change)
        for line in aligned.added:
            if line in explained or self._stands_in(line, self.theirs, self.their_units):
                continue
            if not self._idle(line, self.mine, self.my_units, self.their_names):
                yield line, self._one(line, self.mine, "added")
            else:
                self._leave_out(line, self.mine)
        for line in aligned.removed:
            if line in explained or self._stands_in(line, self.mine, self.my_units):
                continue
            if not self._idle(line, self.theirs, self.their_units, self.my_names):
                yield line, self._one(line, self.theirs, "removed")
            else:
                self._leave_out(line, self.theirs)
        yield from self._moves()

    def _leave_out(self, line: Line, roles: Roles) -> None:
        words = frozenset(words_of(line.term.part("value"), roles))
        if words and len(self.idle) < MAX_EDITS:
            self.idle.append(LeftOut(roles is self.mine, words, frozenset(roles.layers)))

    # ---------------------------------------------------------------------------------------- changed lines

    def _changes(self, mine: Line, theirs: Line) -> Iterator[tuple[Change | None, set[Line]]]:
        """The changes of a line, names that only one side has replaced by what they hold."""
        before, after = their_term(self.aligned, theirs), mine.term
        if before.key == after.key:
            return
        if mine in self.mine.dead and theirs in self.theirs.dead and not self._counts(mine):
            return
        used: set[Line] = set()
        for _ in range(4):
            names = before.names ^ after.names
            hold_mine = {
                n: x
                for x in self.added
                for n in x.targets
                if n in names and gives(x, n) and sees(x, mine) and not weighty(n, x, after)
            }
            hold_theirs = {
                n: x
                for x in self.removed
                for n in x.targets
                if n in names and gives(x, n) and sees(x, theirs)
            }
            if not hold_mine and not hold_theirs:
                break
            after, first = filled_in(after, hold_mine, lambda x: x.term)
            before, second = filled_in(before, hold_theirs, lambda x: their_term(self.aligned, x))
            used |= first | second
            if not first and not second:
                break
        before, after = self._constants(before, after)
        before, after = rewritten(before), rewritten(after)
        if before.key == after.key:
            yield None, used
            return
        for change in changes(before, after):
            yield change, used

    def _constants(self, before: Term, after: Term) -> tuple[Term, Term]:
        """A name of a constant that only one side has, written out."""
        for _ in range(2):
            only_mine, only_theirs = after.names - before.names, before.names - after.names
            mine = {n: v for n in only_mine if (v := self._constant(self.aligned.mine, n)) is not None}
            theirs = {n: v for n in only_theirs if (v := self._constant(self.aligned.theirs, n)) is not None}
            if not mine and not theirs:
                break
            after, before = replaced_names(after, mine), replaced_names(before, theirs)
        old, new = ({t.key for t in x.walk() if t.kind == "attribute"} for x in (before, after))
        return fields_filled(before, self.theirs_fields, new), fields_filled(after, self.my_fields, old)

    @cached_property
    def my_fields(self) -> Mapping[str, Term]:
        """Constants of my classes of settings."""
        return constant_fields(self.aligned.mine)

    @cached_property
    def theirs_fields(self) -> Mapping[str, Term]:
        """Constants of theirs."""
        return constant_fields(self.aligned.theirs)

    def _constant(self, of: Program, name: str) -> Term | None:
        given = [x for x in of.units[0].lines if name in x.targets and x.term.kind == "assign"]
        value = given[0].term.part("value") if len(given) == 1 else None
        return value if value is not None and value.kind in ("number", "constant", "sequence") else None

    def _counts(self, line: Line) -> bool:
        """Whether what only gets logged matters all the same: what an evaluation measures."""
        return self.mine.split(line) == "eval" or line in self.mine.measured

    # ---------------------------------------------------------------------------------------- one-sided lines

    def _idle(self, line: Line, roles: Roles, units: set[Unit], others: frozenset[str] | set[str]) -> bool:
        """A line that changes nothing by itself: what it makes is unused, or used in lines that changed."""
        term = line.term
        if line in roles.dead:
            shared = any(t in others for t in line.targets)
            if not (shared and roles.split(line) == "eval"):
                return True
        if line.unit not in units and line.unit.name and not self._hook(line.unit, roles, units):
            return True  # a function of one side: where it is called is the edit
        if term.kind == "return":
            value = term.part("value")
            if value is not None and self._gives_nothing(line):
                return not self._hook(line.unit, roles, units)
            if value is None or plain_value(value):
                return True
            return value.kind == "sequence" and not (
                line.around or any(t.label in LOSSES for t in value.walk())
            )
        if term.kind == "do" and self._thrown_away(line, roles):
            return True
        if roles is self.mine and puts_mode_back(line):
            return True
        if term.kind == "assign" and (given := term.part("target")) is not None:
            if (value := term.part("value")) is not None and given.key == value.key:
                return True  # `x = x.to(device)`
        if term.kind == "default":
            return line.targets[0] not in others or line.unit not in units
        if term.kind in ("try", "break", "continue"):
            return term.kind == "try"
        if self._draws(line):
            return True
        if line.targets and term.kind in ("assign", "do"):
            plain = [t.removeprefix("self.") for t in line.targets]
            if term.kind == "do":
                plain += [t.partition(".")[0] for t in line.targets]  # `shuffle(data.targets)` acts on `data`
            if not any(t in others or t in OF_TRAINERS for t in plain) and not changes_in_place(line):
                return not self._in_hook(line, roles, units)
            if self._starts_no_more(line, roles):
                return False
            if term.kind == "assign" and (self._same_start(line) or self._only_kept(line, roles)):
                return True
        if term.kind in ("if", "for", "while", "with"):
            one_sided = self.added if line in self.added else self.removed
            body = self._body(line)
            if not body or any(x in one_sided and not x.head for x in body):
                return True  # told by the lines under it
        if term.kind in ("do", "assign"):
            calls = [t for t in term.walk() if t.kind == "call"]
            if calls and (self._split_off(calls[0], roles) or self._written_out(line, roles)):
                return True
        return False

    def _starts_no_more(self, line: Line, roles: Roles) -> bool:
        """A line that empties what is added up; the other side empties it nowhere but where it is made."""
        if not starts_anew(line, roles):
            return False
        name = line.targets[0].rpartition(".")[2]
        other = self.theirs if roles is self.mine else self.mine
        return not any(
            starts_anew(x, other) or {"clear", "reset"} & {t.label for t in x.term.walk() if t.kind == "call"}
            for x in other.program.lines
            if any(t.label == name for t in x.term.walk() if t.kind in ("name", "attribute"))
        )

    def _draws(self, line: Line) -> bool:
        """`x, y = next(batches)`, where the other side goes through the batches by a loop."""
        value = line.term.part("value")
        if line.term.kind != "assign" or value is None or rewritten(value).label != "next":
            return False
        others = self.removed if line in self.added else self.added
        heads = [*others, *(self.aligned.changed.values() if line in self.added else self.aligned.changed)]
        return any(h.term.kind == "for" and set(line.targets) <= set(h.targets) for h in heads)

    def _written_out(self, line: Line, roles: Roles) -> bool:
        """`self.apply(self._init)`, and the other side has in place what the function does in place."""
        value = line.term.part("value")
        given = (
            {t.label for e, p in value.parts if e != "self" for t in p.walk()} if value is not None else set()
        )
        one_sided = [u for u in roles.program.units if u.last in given and u.lines]
        units = [u for u in one_sided if u not in self.my_units and u not in self.their_units]
        done = {w for u in units for x in u.lines for w in filled_in_place(x.term)}
        others = self.added if roles is self.theirs else self.removed
        return bool(done) and done <= {w for x in others for w in filled_in_place(x.term)}

    def _thrown_away(self, line: Line, roles: Roles) -> bool:
        """`self.norm(x)` in a forward pass, and nothing takes what it gives: what is missing tells it."""
        value = line.term.part("value")
        if value is None or value.kind != "call" or "forward" not in roles.place(line):
            return False
        made = value.part("self")
        if not value.label:  # LayerNormalization()(x)
            return made is not None and made.kind == "call" and made.label[:1].isupper()
        return roles.layers.get(value.label, "")[:1].isupper() or value.label in PURE

    def _stands_in(self, line: Line, others: Roles, units: set[Unit]) -> bool:
        """Whether what a line does is done in a function that only the other side has, and calls."""
        done = Counter((t.kind, t.label) for t in line.term.walk() if t.kind in ("call", "operation"))
        if not done or line.term.kind not in ("assign", "do"):
            return False
        for unit in others.program.units:
            if unit in units or not unit.lines or unit.last.startswith("__") or not others.called(unit.last):
                continue
            held = Counter(
                (t.kind, t.label)
                for x in unit.lines
                for t in x.term.walk()
                if t.kind in ("call", "operation")
            )
            gives = line.term.kind == "do" or any(x.term.kind == "return" for x in unit.lines)
            if not done - held and gives:
                return True
        return False

    def _hook(self, unit: Unit, roles: Roles, units: set[Unit]) -> bool:
        """A method that nobody here calls, of a class that both sides have: a framework calls it."""
        owner = any(u.name == unit.owner for u in units) if unit.owner else False
        return owner and not roles.called(unit.last)

    def _in_hook(self, line: Line, roles: Roles, units: set[Unit]) -> bool:
        """Whether a line of a method of one side alone changes a loss that its framework takes from it."""
        value = line.term.part("value")
        if line.unit in units or value is None or value.kind != "operation":
            return False
        return self._hook(line.unit, roles, units) and "loss" in roles.reach(line)

    def _only_kept(self, line: Line, roles: Roles) -> bool:
        """`self.scaler = scaler`, which nothing reads where it is missing."""
        value, target = line.term.part("value"), line.term.part("target")
        if value is None or value.kind != "name" or target is None or target.kind != "attribute":
            return False
        if target.label in ("requires_grad", "trainable"):
            return False  # the framework reads it
        other = self.theirs if roles is self.mine else self.mine
        return not any(
            t.kind == "attribute" and t.label == target.label
            for x in other.program.lines
            for edge, part in x.term.parts
            if edge != "target"
            for t in part.walk()
        )

    def _gives_nothing(self, line: Line) -> bool:
        """Whether a function that gives something back on one side does not on the other."""
        other = self.aligned.units.get(line.unit) or next(
            (mine for mine, theirs in self.aligned.units.items() if theirs is line.unit), None
        )
        if other is None or not line.unit.name:
            return False
        return not any(x.term.kind == "return" and x.term.part("value") is not None for x in other.lines)

    def _same_start(self, line: Line) -> bool:
        """`correct = 0` in another place or form: what is counted from starts at nothing."""
        value = line.term.part("value")
        plain = (target := line.term.part("target")) is not None and target.kind in ("name", "attribute")
        started = value is not None and value.label in ("0.0", "None", "") and not value.parts
        return plain and started and value is not None and value.kind != "name"

    def _split_off(self, call: Term, roles: Roles) -> bool:
        """A call of a function that the other side has not, made of lines that it has."""
        units = [u for u in roles.program.units if u.last == call.label and u.lines]
        if not units:
            return False
        unit = units[0]
        if unit in self.my_units or unit in self.their_units:
            return False
        known = [
            x for x in unit.lines if x in self.aligned.same or x in self.aligned.changed or x in self.back
        ]
        return 2 * len(known) >= len([x for x in unit.lines if x.term.kind != "return"])

    def _body(self, head: Line) -> list[Line]:
        return [x for x in head.unit.lines if head in x.around]

    def _called(self, head: Line) -> set[str]:
        """What is called under a head; the step of a schedule is told from an optimizer's."""
        calls = [t for x in self._body(head) for t in x.term.walk() if t.kind == "call"]
        return {("scheduler_step" if steps_schedule(t) else t.label) + "()" for t in calls}

    def _one(self, line: Line, roles: Roles, kind: str) -> Edit:
        term = line.term
        if term.kind in ("if", "while"):
            kind = f"condition-{kind}"
        elif term.kind == "decorator":
            kind = f"decorator-{kind}"
        value = rewritten(term.part("value") or term.part("test") or term)
        words = frozenset(words_of(value, roles)) | target_words(term)
        if changes_in_place(line):
            words |= self._made_for(line, roles, kind)
        if term.kind in ("if", "with", "for", "while"):
            within = tuple(sorted(self._called(line)))
        else:
            one_sided = self.added if kind.endswith("added") else self.removed
            heads = [h for h in line.around if h in one_sided]
            within = tuple(sorted({w for h in heads for w in words_of(h.term, roles)}))
        words |= self._marks(line, roles, None, term)
        if self._starts_no_more(line, roles):
            words |= {"starts-anew"}
        if added := kind.endswith("added"):
            words |= marks(line, roles, None, None, term)
        if term.kind == "return" and self._gives_nothing(line):
            words |= {"return"}
        found = self._roles(line, roles)
        place = roles.program.source.place(line.node)
        quote = quoted(line.node)
        return Edit(
            kind,
            tuple(found),
            frozenset() if added else words,
            words if added else frozenset(),
            within,
            key_of(line, within),
            "",
            None,
            roles.split(line),
            place if added else self._beside(line),
            None if added else place,
            quote if added else "",
            "" if added else quote,
        )

    def _made_for(self, line: Line, roles: Roles, kind: str) -> frozenset[str]:
        """What a line that writes into something asks for there, and what was made for it alone, as words."""
        target = line.term.part("target")
        index = target.part("index") if target is not None else None
        found = set(words_of(index, roles))
        one_sided = self.added if kind.endswith("added") else self.removed
        names = line.term.names
        for x in line.unit.lines:
            if x is not line and x in one_sided and names & set(x.targets):
                found |= set(words_of(x.term.part("value"), roles))
        return frozenset(w for w in found if not w.startswith("$"))

    def _marks(self, line: Line, roles: Roles, before: Term | None, after: Term | None) -> frozenset[str]:
        """What only one side has there, in words that are no names: see `rules/porting/edits.yaml`."""
        if after is None:
            return frozenset()
        found = set()
        old = {t.key for t in before.walk()} if before is not None else set()
        for term in after.walk():
            test = term.part("test")
            if test is not None and term.kind in ("choice", "if") and term.key not in old:
                if roles.by_side(test, line.unit):
                    found.add("by-side")
        if any(roles.by_side(h.term, line.unit) for h in line.around if h.term.kind == "if"):
            if before is None:
                found.add("by-side")
        value = after.part("value") or after
        fresh = [t for t in value.walk() if t.key not in old and t.kind in ("name", "key")]
        target = line.term.part("target")
        index = target.part("index") if target is not None and target.kind == "item" else None
        if index is not None and before is None:
            fresh += [t for t in index.walk() if t.kind in ("name", "key")]
        if any(roles.labels_in(t, line) for t in fresh):
            found.add("label-value")
        one_sided = self.added if roles is self.mine else self.removed
        names = {t.label for t in fresh if t.kind == "name"}
        made = [
            x.term for x in line.unit.lines if x is not line and x in one_sided and names & set(x.targets)
        ]
        if any(chooses(t) for term in (after, *made) for t in term.walk() if t.key not in old):
            found.add("chosen")
        tests = [t.part("value") for t in made]
        if any(t is not None and t.label in (">", ">=", "==", "!=", "in", "not in", "not") for t in tests):
            found |= {"chosen" for t in after.walk() if t.kind == "item"}
        if (
            before is None
            and target is not None
            and target.kind == "item"
            and value.kind in ("number", "constant")
        ):
            found.add("fill")
        found |= self._of_layers(line, roles, before, after)
        return frozenset(found)

    def _of_layers(self, line: Line, roles: Roles, before: Term | None, after: Term) -> set[str]:
        """Marks of edits of a model: another layer of its own, the same layer again, scores of a softmax."""
        found = set()
        known = roles.layers
        if before is not None and before.kind == "call":
            of_self = after.part("self") or after.part("of") or after.part("#0")
            mine = of_self is not None and of_self.label == "self"
            if mine and after.kind == "call" and {before.label, after.label} <= known.keys():
                if before.label != after.label:
                    found.add("other-layer")
            elif mine and after.kind == "attribute" and after.label in known and before.label[:1].isupper():
                found.add("same-layer")
        if "forward" in roles.place(line) and roles.scores(line):
            found.add("to-softmax")
        if before is not None and self._in_all_rounds(line, roles, before, after):
            found.add("one-layer-each-round")
        return found

    def _in_all_rounds(self, line: Line, roles: Roles, before: Term, after: Term) -> bool:
        """A layer that is made before a loop and called in it, for one that was made in each round."""
        loops = [h for h in line.around if h.term.kind in ("for", "while")]
        owners = [t.part("self") for t in before.walk() if t.kind == "call"]
        made = {o.label for o in owners if o is not None and o.kind == "call" and o.label[:1].isupper()}
        called = {t.label for t in after.walk() if t.kind == "call" and roles.layers.get(t.label) in made}
        if not loops or not called:
            return False
        return any(set(x.targets) & called and loops[-1] not in x.around for x in line.unit.lines)

    def _beside(self, line: Line) -> Place | None:
        """Where in my program a line of theirs would stand: after the counterpart of the one before it."""
        before = None
        for other in line.unit.lines:
            if other is line:
                break
            before = self.back.get(other, before)
        return self.aligned.mine.source.place(before.node) if before is not None else None

    # ---------------------------------------------------------------------------------------- moved lines

    def _moves(self) -> Iterator[tuple[Line, Edit | None]]:
        aligned = self.aligned
        for mine, theirs in [*aligned.same.items(), *aligned.changed.items(), *aligned.moved.items()]:
            here, there = self._heads(mine), [h for h in theirs.around if h in self.back]
            changed = [h for h in here if aligned.partner(h) not in there]
            left = [h for h in there if self.back[h] not in here]
            if aligned.units.get(mine.unit) is not theirs.unit:
                changed, left = [], []
            if (
                (changed or left)
                and not (mine in self.mine.dead and not self._counts(mine))
                and not mine.head
            ):
                loops = sum(h.term.kind in ("for", "while") for h in mine.around) - sum(
                    h.term.kind in ("for", "while") for h in theirs.around
                )
                kind = "into-loop" if loops > 0 else "out-of-loop" if loops < 0 else "moved"
                by_side = self._by_side(changed, left) | self._of_choice(changed, left)
                yield mine, self._edit(kind, mine, theirs, None, by_side)
            elif mine in aligned.moved and (crossed := self._crossed(mine, theirs)):
                yield mine, self._edit("moved", mine, theirs, None, crossed)
            elif mine in aligned.moved and self._to_another(mine, theirs):
                yield mine, self._edit("moved", mine, theirs, None)

    def _by_side(self, entered: Sequence[Line], left: Sequence[Line]) -> frozenset[str]:
        """Whether a line came under, or away from, a condition that asks which data it deals with."""
        asks = [(self.mine, h) for h in entered] + [(self.theirs, h) for h in left]
        found = any(h.term.kind == "if" and roles.by_side(h.term, h.unit) for roles, h in asks)
        return frozenset({"by-side"} if found else ())

    def _of_choice(self, entered: Sequence[Line], left: Sequence[Line]) -> frozenset[str]:
        """Whether a line came under, or away from, the choice of the best: `if now < best: best = now`."""
        asks = [(self.mine, h) for h in entered] + [(self.theirs, h) for h in left]
        found = any(_is_choice(h, [x for x in h.unit.lines if h in x.around]) for _, h in asks)
        return frozenset({"by-choice"} if found else ())

    def _heads(self, line: Line) -> list[Line]:
        return [h for h in line.around if self.aligned.partner(h) is not None]

    def _to_another(self, mine: Line, theirs: Line) -> bool:
        """Whether a call that switches the model or clears gradients moved to another function of both."""
        if aligned_here := self.aligned.units.get(mine.unit):
            called = {x.label for x in mine.term.walk() if x.kind == "call"}
            kept = theirs.unit in self.their_units and aligned_here is not theirs.unit
            return kept and mine.term.kind == "do" and bool(called & SWITCHES)
        return False

    def _crossed(self, mine: Line, theirs: Line) -> frozenset[str]:
        """What a moved line changed places with, where the order of the two can matter."""
        if self.aligned.units.get(mine.unit) is not theirs.unit or mine in self.mine.dead:
            return frozenset()
        place = {x: i for i, x in enumerate(mine.unit.lines)}
        other = {x: i for i, x in enumerate(theirs.unit.lines)}
        found = set()
        for line in mine.unit.lines:
            partner = self.aligned.partner(line)
            if partner is None or partner not in other or line is mine or line.head:
                continue
            if (place[line] < place[mine]) != (other[partner] < other[theirs]) and depends(line, mine):
                where = "before" if place[mine] < place[line] else "after"
                labels = [t.label for t in line.term.walk() if t.kind == "call"]
                found |= {f"{where} {label}()" for label in labels} or {f"{where} {line.term.kind}"}
        return frozenset(found)

    # ------------------------------------------------------------------------------ putting it together

    def _edit(
        self,
        kind: str,
        mine: Line,
        theirs: Line,
        change: Change | None,
        crossed: frozenset[str] = frozenset(),
    ) -> Edit | None:
        gone: frozenset[str] = frozenset()
        new = crossed
        within: tuple[str, ...] = ()
        ratio = None
        if change is not None:
            here = words_of(change.after, self.mine) if change.after is not None else Counter()
            there = words_of(change.before, self.theirs) if change.before is not None else Counter()
            gone, new = frozenset(there - here), frozenset(here - there)
            if change.kind == "turned":
                gone, new = frozenset(there), frozenset(here)
            new |= self._marks(mine, self.mine, change.before, change.after)
            gone |= self._marks(theirs, self.theirs, change.after, change.before)
            new |= marks(mine, self.mine, theirs, change.before, change.after)
            gone |= lost(change.before, change.after)
            within = tuple(f"{call}.{edge}" for call, edge in change.within)
            ratio = ratio_of(change)
            if ratio == 1.0:
                return None
        else:
            gone = frozenset()
            new = crossed | frozenset(words_of(mine.term.part("value") or mine.term, self.mine))
            new |= marks(mine, self.mine, theirs, None, None)
        found = self._roles(mine, self.mine, change.within if change is not None else ())
        if mine.term.kind in ("if", "while") and kind not in ("moved", "into-loop", "out-of-loop"):
            kind = "condition"
            within = (*within, *sorted(self._called(mine)))
            asked, before = (
                self.mine.by_side(mine.term, mine.unit),
                self.theirs.by_side(theirs.term, theirs.unit),
            )
            new |= {"by-side"} if asked and not before else {"other-side"} if asked and before else set()
            gone |= {"by-side"} if before and not asked else set()
        if theirs.term.kind == mine.term.kind == "return" and differs_behind_first(mine.term, theirs.term):
            found = ["labels", *(r for r in found if r not in ("inputs", "labels"))]
        key = key_of(mine, within)
        handed = any(w.startswith("compile.loss") for w in within)  # a key of it says of which output
        if key and key not in mine.targets and not handed:
            reached = self.mine.reach(mine, [key])
            found = list(dict.fromkeys([*reached, *self.mine.place(mine, reached)]))
        return Edit(
            kind,
            tuple(found),
            gone,
            new,
            within,
            key,
            setting_of(key if change.kind == "constant" and "forward" not in found else "", within)
            if change is not None
            else "",
            ratio,
            "train" if within[:1] and within[0] in FITTED else self.mine.split(mine),
            self.aligned.mine.source.place(mine.node),
            self.aligned.theirs.source.place(theirs.node),
            quoted(mine.node),
            quoted(theirs.node),
        )

    def _roles(self, line: Line, roles: Roles, within: tuple[tuple[str, str], ...] = ()) -> list[str]:
        reached = roles.reach(line, within=within)
        if line.term.kind == "while" and roles.trains_under(line):
            reached = ["length", *reached]
        elif line.term.kind in ("if", "while"):
            inner = [x for x in self._body(line) if not x.head][:4]
            reached += [r for x in inner for r in (*roles.reach(x), *roles.place(x))]
        found = list(dict.fromkeys([*reached, *roles.place(line, reached)]))
        return found or (["evaluation"] if roles.split(line) == "eval" else [])


_BOUNDS = frozenset({"sigmoid()", "softmax()", "log_softmax()", "Sigmoid()", "Softmax()", "LogSoftmax()"})


def crossing(found: Sequence[Edit]) -> frozenset[str]:
    """What came into the model and left the evaluation, or the other way, where the loss stayed as it was.

    The evaluation is the same then; the loss is taken of what the sigmoid gives, or no longer.
    """
    model = [e for e in found if {"output", "forward", "model"} & set(e.roles) and e.split != "eval"]
    judged = [e for e in found if e.split == "eval" and e not in model]
    if any(w.startswith("loss") for e in found if e not in model and e.split != "eval" for w in e.roles):
        return frozenset()
    entered = {w for e in model for w in e.new} & {w for e in judged for w in e.gone}
    left = {w for e in model for w in e.gone} & {w for e in judged for w in e.new}
    return _BOUNDS & (entered | left)


def _is_choice(head: Line, body: Sequence[Line]) -> bool:
    """Whether a condition compares two figures, and one of the two becomes the other under it."""
    test = head.term.part("test")
    if head.term.kind != "if" or test is None:
        return False
    for one in test.walk():
        if one.kind == "operation" and one.label in ("<", "<=", ">", ">="):
            sides = {t.label for t in one.walk() if t.kind in ("name", "attribute")}
            for line in body:
                given = {t.rpartition(".")[2] for t in line.targets}
                if line.term.kind == "assign" and given & sides and line.term.names & sides - given:
                    return True
    return False


__all__ = ["Edit", "edits", "likeness_of"]
