"""The run's training script against the benchmark's: probes on the edits between them.

Each symptom names the edits that show it by patterns (see `matches`); the edits themselves are found in
`script_diff`. A reading is absent only where the two programs are versions of one program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ....engine.model import Place
from ...benchmark.both import both
from ...benchmark.rates import with_the_batch
from ...benchmark.settings import follows_length
from ...by_role.compare import in_effect, same_course, told
from ...by_role.side import Side, Told
from ...registry import NO_SCRIPT, Finding, View, absent, present, probe, unframed, unknown
from ...run import Run
from ...script_diff.edit import Edit, LeftOut
from ...script_diff.edits import edits, left_out, likeness_of
from ...script_diff.marks import STRUCTURE
from ...script_diff.ports import is_port
from ...scripts.project import programs
from ...scripts.syntax import Script
from ..shared.checks import scripts
from .at_the_end import modes_after_training
from .equal_answers import answered_alike
from .equal_counts import counts_alike
from .equal_facts import alike_in_effect
from .equal_scales import scaled_alike
from .equal_worked import worked_out_alike
from .in_force import stands
from .kept import kept
from .light import light
from .moved_modes import modes_in_functions
from .paired import made_before, paired_off, stands_elsewhere, turned
from .topics import Topic, matching, one_of, topics

# Two versions of one script share nearly all lines, a refactored one at least half; two programs in one
# framework share their imports and the bare steps of a loop.
SAME_PROGRAM = 0.3
WRITTEN_ANEW = 0.9  # where less is shared, what training does is held against each other by role as well
MAX_PROGRAMS = 6


@dataclass(frozen=True)
class Comparison:
    """What two runs' scripts differ in. `why` says why there is nothing to compare, `alike` is 0 to 1."""

    edits: tuple[Edit, ...] = ()
    alike: float = 0.0
    mine: str = ""
    theirs: str = ""
    why: str = ""
    cut: bool = False
    on_numbers: bool = False  # the run's program learns numbers: it has no loss on the scores of classes
    left_out: tuple[LeftOut, ...] = ()  # lines of one side that are no edit by themselves
    told: tuple[Told, ...] = ()  # differences by role, where the programs share too few lines
    held: bool = False  # against one another by role
    one_course: bool = False  # the learning rates of both take the same course
    kept: frozenset[Edit] = frozenset()  # what the whole of both programs takes back
    programs: tuple[Script, Script] | None = None  # the two, where there is one on either side

    @property
    def weighty(self) -> tuple[Edit, ...]:
        """Edits that are no seed, path, logging or other harmless setting."""
        return tuple(e for e in self.edits if not light(e))

    @property
    def count(self) -> int:
        """In how many places the scripts differ; several edits of one line, or one edit again, are one."""
        by_line = {(e.mine, e.theirs): (e.kind, e.gone, e.new) for e in self.weighty}
        return len(set(by_line.values()))


def compare(run: Run, benchmark: Run | None) -> Comparison:
    """Compare the scripts of a run with its benchmark's. Bounded: at most `MAX_PROGRAMS` programs."""
    mine = scripts(run)
    theirs = scripts(benchmark) if benchmark is not None else ()
    if not mine or not theirs:
        return Comparison(why=NO_SCRIPT if not mine else "no training script beside the benchmark")
    return _compared(mine, theirs)


@lru_cache(maxsize=8)
def _compared(mine: tuple[Script, ...], theirs: tuple[Script, ...]) -> Comparison:
    found: dict[Edit, None] = {}
    by_role: tuple[Told, ...] = ()
    idle: list[LeftOut] = []
    best = (-1.0, "", "")
    cut = len(mine) > MAX_PROGRAMS
    course = False
    back: frozenset[Edit] = frozenset()
    if any(is_port(a, b) for a in mine[:MAX_PROGRAMS] for b in theirs[:MAX_PROGRAMS]):
        pairs = [(a, b) for a in mine[:MAX_PROGRAMS] for b in theirs[:MAX_PROGRAMS] if is_port(a, b)]
        return Comparison(
            why="the scripts are written for two frameworks: their lines are no versions of each other",
            told=(*told(*pairs[0]), *in_effect(*pairs[0])) if len(pairs) == 1 else (),
            held=len(pairs) == 1,
        )
    for source in mine[:MAX_PROGRAMS]:
        other = max(theirs[:MAX_PROGRAMS], key=lambda t: (likeness_of(source, t), t.path == source.path))
        alike = likeness_of(source, other)
        if alike > best[0]:
            best = (alike, source.path, other.path)
            by_role = told(source, other) if alike < WRITTEN_ANEW else ()
            by_role += in_effect(source, other)
        if alike >= SAME_PROGRAM:
            these = edits(source, other)
            found.update(dict.fromkeys(these))
            back |= kept(these, Side(source), Side(other)) | counts_alike(these, source, other)
            back |= modes_after_training(these, source)
            back |= frozenset(worked_out_alike(these, source, other))
            back |= frozenset(modes_in_functions(these, Side(source), Side(other)))
            back |= frozenset(scaled_alike(these, Side(source), Side(other)))
            idle += left_out(source, other)
            course = course or same_course(source, other)
    why = ""
    if best[0] < SAME_PROGRAM:
        why = f"the two scripts share {best[0]:.0%} of their statements: too few to tell edits line by line"
    numbers = not any(_CLASSES.search(s.code) for s in mine) and any(_NUMBERS.search(s.code) for s in mine)
    return Comparison(
        tuple(found),
        best[0],
        best[1],
        best[2],
        why,
        cut,
        numbers,
        tuple(idle),
        by_role,
        best[0] < WRITTEN_ANEW,
        course,
        back,
        (mine[0], theirs[0]) if len(mine) == len(theirs) == 1 else None,
    )


_CLASSES = re.compile(
    r"(?i)cross_?entropy|bce|nll_?loss|from_logits|ctc_?loss|hinge|ForSequenceCl|ForTokenCl|focal"
)
_NUMBERS = re.compile(
    r"(?i)mse|mean_squared|l1_?loss|smooth_l1|huber|mean_absolute|\bmae\b|charbonnier|log_?cosh|rmse"
)


@lru_cache(maxsize=16)
def sorted_out(found: Comparison) -> Mapping[str, tuple[Edit, ...]]:
    """The weighty edits by kind: each line's edits go to the first kind that one of them matches.

    What no kind matches stands under "".
    """
    kinds: dict[str, tuple[Edit, ...]] = {}
    weighty = _cut_elsewhere(found.weighty)
    paired = paired_off(weighty)
    left = [e for e in weighty if not _vague(e) and e not in paired]
    written_anew = [e for e in left if stands_elsewhere(e, weighty) or made_before(e, found.left_out)]
    paired += [e for e in weighty if e in found.kept and e not in paired]
    left = [e for e in left if e not in found.kept]
    unclear = [e for e in weighty if e.rewritten and not _known_anew(e, weighty)] + paired + written_anew
    left = [e for e in left if e not in written_anew]
    vague = [e for e in weighty if e not in left]
    for topic in topics():
        if topic.unless_numbers and found.on_numbers:
            continue
        mine = [e for e in left if matching(e, topic.patterns)]
        mine = [e for e in mine if e not in unclear]
        if topic.name in _OF_FUNCTIONS:
            functions = [e for e in vague if "own()" in _called(e, topic) and matching(e, topic.patterns)]
            mine += [e for e in functions if e not in unclear]
        if mine and topic.sides:
            one = {e.split for e in mine} - {""}
            alone = len(one) == 1 and not any(e.split == "" for e in mine)
            if alone != (topic.sides != "both") or (alone and one != {topic.sides}):
                continue
        if mine and found.one_course and topic.name in _OF_COURSE:
            unclear += [e for e in mine if e.kind not in ("moved", "into-loop", "out-of-loop")]
            mine = [e for e in mine if e not in unclear]
        if mine and found.programs is not None and _nothing_changes(topic.name, mine, *found.programs):
            unclear += mine
            left = [e for e in left if e not in mine]
            mine = []
        if mine:
            lines = {(e.mine, e.theirs) for e in mine if e.kind not in _APART and e.setting == ""}
            kinds[topic.name] = tuple(mine)
            left = [e for e in left if e not in mine and (e.mine, e.theirs) not in lines]
    for kind, part in _PARTS:
        if kind in kinds:
            mine = [e for e in kinds.get(part, ()) if e.kind in ("removed", "condition-added")]
            kinds[kind] += tuple(mine)
            kinds[part] = tuple(e for e in kinds.get(part, ()) if e not in mine)
    told = {e for mine in kinds.values() for e in mine}
    lines = {(e.mine, e.theirs) for e in told if e.kind not in _APART and e.setting == ""}
    rest = [e for e in (*left, *vague) if e not in told and (e.mine, e.theirs) not in lines]
    kinds[""] = tuple(e for e in rest if e not in unclear)
    kinds[UNCLEAR] = tuple(e for e in rest if e in unclear)
    return kinds


_OF_COURSE = ("warmup", "schedule-length")  # no difference where both rates take the same course
# what is left out with another thing is no edit of its own: without a scaler there is none to update
_PARTS = (("scaler-left-out", "scaler-update"), ("update-left-out", "scaler-update"))
UNCLEAR = "rewritten"  # edits that differ, it is not understood in what: no evidence for a cause


def _nothing_changes(kind: str, edits: Sequence[Edit], mine: Script, theirs: Script) -> bool:
    """Whether both programs do the same with or without these edits, as a rehearsal or answers show."""
    return alike_in_effect(kind, edits, mine, theirs) or answered_alike(kind, edits, mine, theirs)


def _cut_elsewhere(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Parts of training and evaluation that are cut out of one thing, both with the same change: a split."""
    found = list(edits)
    for a in edits:
        for b in edits:
            same = (a.kind, a.gone, a.new) == (b.kind, b.gone, b.new) and a.gone | a.new
            if (a.split, b.split) == ("train", "eval") and a.new == b.new:
                if _dealt_otherwise(a) and _dealt_otherwise(b):  # by a test and its opposite
                    found = [e for e in found if e is not b]
                    continue
            mine, theirs = ({*_CUT.findall(x)} & {*_CUT.findall(y)} for x, y in _codes(a, b))
            if same and (a.split, b.split) == ("train", "eval") and mine and theirs:
                one = replace(a, roles=("split", *a.roles), new=a.new | {"slice"}, split="")
                whole = _two_ends(a.mine_code, b.mine_code)
                found = [one if e is a else e for e in found if e is not b and not (whole and e is a)]
    return tuple(found)


def _codes(a: Edit, b: Edit) -> tuple[tuple[str, str], tuple[str, str]]:
    return (a.mine_code, b.mine_code), (a.theirs_code, b.theirs_code)


def _two_ends(one: str, other: str) -> bool:
    """`rows[:n - k]` beside `rows[n - k:]`: two parts that meet, whichever of them is held out."""
    for a, b in ((one, other), (other, one)):
        before, after = re.search(r"(\w+)\[:([^:\[\]]+)\]$", a), re.search(r"(\w+)\[([^:\[\]]+):\]$", b)
        if before is not None and after is not None and before.groups() == after.groups():
            return True
    return False


_CUT = re.compile(r"(\w+)\[[^\[\]]*:")  # names that a slice is taken of


def _called(edit: Edit, topic: Topic) -> frozenset[str]:
    if topic.name == "loss-arguments":  # only one more step between a target and the loss is no rewriting
        return edit.new if edit.kind == "wrapped" and edit.roles[:1] == ("loss.target",) else frozenset()
    return edit.gone if topic.name in ("average-left-out", "wrapper-bypassed") else edit.new


# kinds that a call of the script's own function is enough for
_OF_FUNCTIONS = (
    "average-left-out",
    "wrapper-bypassed",
    "hand-written-operator",
    "zero-init",
    "fused-operator",
    "optimizer-made-elsewhere",
    "statistics-fitted",
    "loss-arguments",
)


_READS_WEIGHTS = {"$:load", "$:load_model"}


def _known_anew(edit: Edit, every: Sequence[Edit]) -> bool:
    """Whether it is told what an edit does, although its line is written anew."""
    return _dealt_otherwise(edit) or _other_model(edit) or any(turned(edit, other) for other in every)


def _other_model(edit: Edit) -> bool:
    """A model of a library for another one of it: that is told whatever else of the line differs."""
    return any(t.name == "other-model" and matching(edit, t.patterns) for t in topics())


def _dealt_otherwise(edit: Edit) -> bool:
    """A part of the data that a condition chose, and now chance or its place in the table does.

    However the lines around are written anew, the parts are no longer what they were.
    """
    by_chance = edit.gone & _COMPARED and "sample()" in edit.new and not edit.new & _COMPARED
    by_place = {"chosen"} <= edit.gone and edit.gone & {"in", "not in"} and "slice" in edit.new
    return edit.kind == "expression" and bool(by_chance or (by_place and "chosen" not in edit.new))


_COMPARED = frozenset({">", ">=", "<", "<=", "in", "not in"})


def _vague(edit: Edit) -> bool:
    """What cannot be told from a rewriting: a call of the script's own function, other names unpacked."""
    if edit.new & STRUCTURE or (edit.within[:1] and edit.within[0].endswith(_TOLD)):
        return False
    if edit.kind in ("added", "removed", "replaced", "expression", "wrapped", "unwrapped"):
        if "own()" in edit.gone | edit.new:
            return True
    if edit.kind in ("moved", "into-loop", "out-of-loop") and edit.mine_code != edit.theirs_code:
        if "own()" in edit.new:
            return True  # the function that is called there is new, not where it is called
    if _READS_WEIGHTS & (edit.gone | edit.new):
        return False
    return edit.within[:1] in (("assign.target",), ("for.target",)) and edit.kind in ("name", "expression")


_TOLD = (
    ".ignore_index",
    "in.left",
    "load_param_into_net.#0",
)  # places that say by themselves what their value is for
_APART = ("constant", "argument-added", "argument-removed")  # a line may hold several that are not one edit


_OF_LOSS = re.compile(r"(?i)loss|entropy|grad|error|cost|objective|log\(")


@probe("benchmark")
@unframed
def edited(view: View, *, kind: str, few: int = 0, unless_settings: bool = False) -> Finding:
    """Edits of one kind of rules/porting/edits.yaml between the benchmark's script and the run's.

    `few`: with more different edits than this the scripts are two programs rather than versions of one:
    unknown. `unless_settings`: an edit of a setting that both runs are known to have is told by the
    comparison of settings, and not here once more.
    """
    found = compare(view.run, view.benchmark)
    by_role = [t for t in found.told if t.kind == kind and _in_force(view, t)]
    if found.why and by_role:
        return _by_role(by_role)
    if found.why:
        return unknown(found.why)
    known: set[str] = set()
    if unless_settings and view.benchmark is not None:
        known = set(view.run.settings) & set(view.benchmark.settings)
    mine = [e for e in sorted_out(found).get(kind, ()) if e.setting not in known and not _idle(view, e)]
    if mine and (said := _follows(view, kind)):
        return absent(f"{found.mine} differs from the benchmark's script: {mine[0].text}; {said}")
    if kind.startswith("loss") and not programs(view.run.scripts):
        # all of a program without a framework feeds what it calls a loss
        mine = [e for e in mine if _OF_LOSS.search(e.text)]
    if not mine and by_role:
        return _by_role(by_role)
    if not mine:
        if found.cut:
            return unknown("the programs are larger than what is compared")
        return absent(f"{found.mine} and the benchmark's {found.theirs} do not differ there")
    if few and found.count > few:
        if by_role:
            return _by_role(by_role)
        return unknown(f"the scripts differ in {found.count} places: too many to name one", value=found.count)
    more = f" (and {len(mine) - 1} more)" if len(mine) > 1 else ""
    first = mine[0]
    return present(
        f"{found.mine} differs from the benchmark's script: {first.text}{more}",
        value=len(mine),
        where=tuple(p for p in (first.mine, _beside(first.theirs)) if p is not None),
    )


def _follows(view: View, kind: str) -> str:
    """In words, that what was edited follows another edit: the rate the batch, the drops the run's length."""
    if kind in ("rate-lowered", "rate-raised"):
        return with_the_batch(view)
    drops = both(view, "lr_milestones") if kind == "schedule-length" else None
    return "as much longer or shorter as the run" if drops and follows_length(view, drops) else ""


def _in_force(view: View, differ: Told) -> bool:
    """Whether both places of a difference are in force, and what is left out was known to be."""
    if view.benchmark is None:
        return True
    there = stands(differ.theirs, scripts(view.benchmark), view.benchmark)
    here = stands(differ.mine, scripts(view.run), view.run)
    return "off" not in (here, there) and (differ.mine is not None or there == "on")


def _idle(view: View, edit: Edit) -> bool:
    """A line of one side alone, in a branch that the settings of that side do not take."""
    if view.benchmark is None:
        return False
    if edit.mine is None:
        return stands(edit.theirs, scripts(view.benchmark), view.benchmark) == "off"
    return edit.theirs is None and stands(edit.mine, scripts(view.run), view.run) == "off"


def _by_role(differ: Sequence[Told]) -> Finding:
    first = differ[0]
    places = tuple(p for p in (first.mine, _beside(first.theirs)) if p is not None)
    return present(f"against the benchmark's script: {first.text}", value=len(differ), where=places)


@probe("benchmark")
def unsorted(view: View, *, roles: Sequence[str], few: int) -> Finding:
    """Edits of one part of training that are of no known kind; of many edits, all of that part.

    `roles`: what the edited lines belong to or feed, with wildcards. `few` as in `edited`.
    """
    found = compare(view.run, view.benchmark)
    if found.why:
        return unknown(found.why)
    kinds = sorted_out(found)
    unclear = kinds.get(UNCLEAR, ())
    sort = [e for e in found.weighty if e not in unclear] if found.count > few else kinds.get("", ())
    mine = [e for e in sort if any(one_of(_part(e), r) for r in roles)]
    if not mine:
        return absent(
            f"{found.mine} and the benchmark's {found.theirs} agree there, or differ in a known way"
        )
    more = f" (and {len(mine) - 1} more)" if len(mine) > 1 else ""
    return present(
        f"{found.mine} differs from the benchmark's script: {mine[0].text}{more}",
        value=len(mine),
        where=tuple(p for p in (mine[0].mine, _beside(mine[0].theirs)) if p is not None),
    )


def _part(edit: Edit) -> tuple[str, ...]:
    """The roles that say which part of training an edit is in: where it stands only if it feeds nothing."""
    near = edit.roles[:3]
    if not near and any(w.startswith("Compose.") for w in edit.within):
        return ("inputs",)  # a step of a pipeline, wherever that goes
    if near[:1] and near[0] in ("labels", "loss.target", "loss.mask"):
        return tuple(r for r in near if r not in ("data", "forward", "model"))
    return near


def _beside(place: Place | None) -> Place | None:
    return Place(place.file, place.line, side="benchmark") if place is not None else None
