"""The run's training script against the benchmark's: probes on the edits between them.

Each symptom names the edits that show it by patterns (see `matches`); the edits themselves are found in
`script_diff`. A reading is absent only where the two programs are versions of one program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files

from ....engine.model import Place
from ...by_role.compare import same_course, told
from ...by_role.side import Side, Told
from ...registry import Finding, View, absent, present, probe, unknown
from ...run import Run
from ...script_diff.edits import Edit, LeftOut, edits, left_out, likeness_of
from ...script_diff.marks import STRUCTURE
from ...script_diff.ports import is_port
from ...scripts.syntax import Script
from ...settings import is_harmless
from ..shared.checks import MISSING, scripts
from ..shared.roles import split_of
from .equal_edits import making_up
from .kept import kept

# Two versions of one script share nearly all lines, a refactored one at least half; two programs in one
# framework share their imports and the bare steps of a loop.
SAME_PROGRAM = 0.3
WRITTEN_ANEW = 0.9  # where less is shared, what training does is held against each other by role as well
MAX_PROGRAMS = 6

Pattern = Mapping[str, object]


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
        return Comparison(why=MISSING if not mine else "no training script beside the benchmark")
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
            told=told(*pairs[0]) if len(pairs) == 1 else (),
            held=len(pairs) == 1,
        )
    for source in mine[:MAX_PROGRAMS]:
        other = max(theirs[:MAX_PROGRAMS], key=lambda t: (likeness_of(source, t), t.path == source.path))
        alike = likeness_of(source, other)
        if alike > best[0]:
            best = (alike, source.path, other.path)
            by_role = told(source, other) if alike < WRITTEN_ANEW else ()
        if alike >= SAME_PROGRAM:
            these = edits(source, other)
            found.update(dict.fromkeys(these))
            back |= kept(these, Side(source), Side(other))
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
    )


_CLASSES = re.compile(
    r"(?i)cross_?entropy|bce|nll_?loss|from_logits|ctc_?loss|hinge|ForSequenceCl|ForTokenCl|focal"
)
_NUMBERS = re.compile(
    r"(?i)mse|mean_squared|l1_?loss|smooth_l1|huber|mean_absolute|\bmae\b|charbonnier|log_?cosh|rmse"
)


def light(edit: Edit) -> bool:
    """A seed, a path, an interval of logging: what changes nothing that one run in ten would not change."""
    if edit.split == "eval" and any(w.endswith(".batch_size") for w in edit.within[:2]):
        return True  # evaluation does not depend on how many samples it takes at a time
    if edit.kind == "constant" and edit.ratio is not None and _OF_EVALUATION.match(edit.key):
        return True
    if edit.kind in ("replaced", "name", "constant") and edit.gone and edit.new:
        if {_act(w) for w in edit.gone | edit.new} <= _SMOOTH and "output" not in edit.roles[:1]:
            return True
    if edit.within and is_loud(edit.within[0].rpartition(".")[2]):
        return True
    if edit.kind in ("added", "wrapped", "replaced") and "compile()" in edit.new and _only_faster(edit):
        return True
    if edit.kind == "added" and edit.new & _SEEDS and not any("rank" in w for w in edit.new):
        return True
    if edit.kind.startswith("argument-") and edit.within and edit.within[0].endswith(_DEVICES):
        return True
    if edit.kind == "name" and all(_DEVICE.match(w) for w in edit.gone | edit.new):
        return True
    if edit.kind == "constant" and edit.within and edit.within[0].endswith(".name"):
        return not edit.within[0].startswith(("load", "get_", "create_", "from_"))  # what a layer is called
    if edit.roles[:1] == ("seed",) or "seed" in edit.key.lower() or edit.setting == "seed":
        return True
    if edit.within and not edit.within[0][0].isalnum():
        return False  # a number that is counted or compared with is no setting of that name
    if edit.kind == "constant" and (_chooses(edit) or _sides(edit.gone) != _sides(edit.new)):
        return False
    argument = edit.within[0].rpartition(".")[2] if edit.within else ""
    named = (
        argument.isidentifier() and edit.within[0] != "assign.value"
    )  # `out = tokenizer(text, max_length=8)`
    name = argument if named else edit.key
    return bool(name) and edit.kind == "constant" and is_harmless(name)


_OF_EVALUATION = re.compile(r"(?i)^(?:val|valid|eval|test|dev|infer)\w*_(?:bs|batch|batch_?size)$")
# activations of one family: which of them it is changes no result that a second seed would not change
_SMOOTH = frozenset({"relu", "gelu", "silu", "swish", "mish"})


def _act(word: str) -> str:
    return word.strip("'$:").removesuffix("()").lower()


def _only_faster(edit: Edit) -> bool:
    """`model = torch.compile(model)`: the same operations; Keras' `compile` has a loss and an optimizer."""
    told = {w.partition(".")[2] for w in edit.new if w.startswith("compile.")}
    done = {w for w in edit.new if w.endswith("()")} - {"compile()", "to()", "own()"}
    return told <= {"mode", "backend", "dynamic", "fullgraph", "model"} and not done and not _core(edit.gone)


_DEVICES = (".device", ".accelerator", ".fabric")
_DEVICE = re.compile(r"\$(?::Accelerator|:device|(?:\w*_)?(?:device|dev|accelerator|fabric))$")


def _chooses(edit: Edit) -> bool:
    """What a state is kept or training is stopped by: `EarlyStopping(monitor="loss")`."""
    if {"'step'", "'epoch'"} & (edit.gone | edit.new) and edit.within[:1] == ("mapping.interval",):
        return True
    return any(fnmatchcase(w, pattern) for w in edit.within[:1] for pattern in _CHOOSERS)


_CHOOSERS = ("*Checkpoint.m*", "EarlyStopping.m*", "*.metric_for_best_model", "ReduceLROnPlateau.m*")


def _sides(words: frozenset[str]) -> set[str | None]:
    """The parts of the data that are named: {"'train.csv'"} -> {"train"}."""
    return {split_of(w.strip("'")) for w in words}


_SEEDS = {
    "manual_seed()",
    "seed()",
    "set_seed()",
    "seed_everything()",
    "set_random_seed()",
    "manual_seed_all()",
}
_LOUD = (
    "log*",
    "save_*",
    "*_dir",
    "eval_steps",
    "*_num_workers",
    "num_proc",
    "num_workers",
    "report_to",
    "run_name",
)


def is_loud(argument: str) -> bool:
    """An argument that says what is logged, saved or read at once."""
    return any(fnmatchcase(argument, pattern) for pattern in _LOUD)


@dataclass(frozen=True)
class Topic:
    """A kind of edit: its name, the patterns of which one has to match, and which data it has to deal with.

    `sides`: "eval" or "train": only edits of that data; "both": not of one of them alone.
    None is told of lines that were written anew: equal ways to write them look different.
    `unless_numbers`: not told of programs whose loss is on numbers, not on the scores of classes.
    """

    name: str
    patterns: tuple[Pattern, ...]
    sides: str = ""
    unless_numbers: bool = False


@lru_cache(maxsize=1)
def topics() -> tuple[Topic, ...]:
    """The kinds of edits of rules/porting/edits.yaml, the most specific first."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "edits.yaml").read_text(encoding="utf-8")
    loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return tuple(
        Topic(
            name,
            tuple(row["patterns"]),
            row.get("sides", ""),
            bool(row.get("unless_numbers")),
        )
        for name, row in loaded["edits"].items()
    )


@lru_cache(maxsize=16)
def sorted_out(found: Comparison) -> Mapping[str, tuple[Edit, ...]]:
    """The weighty edits by kind: each line's edits go to the first kind that one of them matches.

    What no kind matches stands under "".
    """
    kinds: dict[str, tuple[Edit, ...]] = {}
    weighty = _cut_elsewhere(found.weighty)
    paired = _paired(weighty)
    left = [e for e in weighty if not _vague(e) and e not in paired]
    written_anew = [e for e in left if _elsewhere(e, weighty) or _made_before(e, found.left_out)]
    paired += [e for e in weighty if e in found.kept and e not in paired]
    left = [e for e in left if e not in found.kept]
    unclear = [e for e in weighty if e.rewritten] + paired + written_anew
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


def _cut_elsewhere(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Parts of training and evaluation that are cut out of one thing, both with the same change: a split."""
    found = list(edits)
    for a in edits:
        for b in edits:
            same = (a.kind, a.gone, a.new) == (b.kind, b.gone, b.new) and a.gone | a.new
            mine, theirs = ({*_CUT.findall(x)} & {*_CUT.findall(y)} for x, y in _codes(a, b))
            if same and (a.split, b.split) == ("train", "eval") and mine and theirs:
                one = replace(a, roles=("split", *a.roles), new=a.new | {"slice"}, split="")
                found = [one if e is a else e for e in found if e is not b]
    return tuple(found)


def _codes(a: Edit, b: Edit) -> tuple[tuple[str, str], tuple[str, str]]:
    return (a.mine_code, b.mine_code), (a.theirs_code, b.theirs_code)


_CUT = re.compile(r"(\w+)\[[^\[\]]*:")  # names that a slice is taken of


def _paired(edits: Sequence[Edit]) -> list[Edit]:
    """An activation that moved between the last layer and a loss that is told of it: `from_logits`."""
    told = [e for e in edits if e.within and e.within[0].endswith(".from_logits")]
    moved = [
        e
        for e in edits
        if (e.within and e.within[0].endswith(".activation") and (e.gone | e.new) & _OUTPUTS)
        or (told and e.kind in _LAYER_EDITS and (e.gone | e.new) & _OUTPUT_CALLS and "loss" not in e.roles)
    ]
    moved = [e for e in moved if any(_hands_over(t, e) for t in told)]
    both = [*told, *moved] if moved else []
    both += [*_batches_by_hand(edits), *_drawn_again(edits)]
    return [
        *both,
        *_averaged_by_hand(edits),
        *_attention(edits),
        *_rescheduled(edits),
        *_taken_apart(edits),
        *making_up(edits),
    ]


_LAYER_EDITS = ("wrapped", "unwrapped", "added", "removed", "argument-added", "argument-removed")
_OUTPUT_CALLS = frozenset({"softmax()", "sigmoid()", "Softmax()", "Sigmoid()"})


def _hands_over(told: Edit, moved: Edit) -> bool:
    """Whether the loss no longer takes scores where the model got an activation, or the other way round."""
    activated = bool(moved.new & (_OUTPUTS | _OUTPUT_CALLS))
    scores = "True" in told.new  # the loss now takes scores
    return activated != scores


def _batches_by_hand(edits: Sequence[Edit]) -> list[Edit]:
    """Both names that a loader gave are items of arrays now: `x, y` -> `inputs[rows], labels[rows]`."""
    lines: dict[tuple[Place | None, Place | None], list[Edit]] = {}
    for e in edits:
        if e.kind == "name" and e.split != "eval":
            lines.setdefault((e.mine, e.theirs), []).append(e)
    found: list[Edit] = []
    for mine in lines.values():
        roles = {r for e in mine for r in e.roles[:1]}
        items = all(e.mine_code.count("[") >= 2 > e.theirs_code.count("[") for e in mine)
        if roles & {"loss.target", "labels"} and roles & {"inputs", "loss.prediction"} and items:
            found += mine
    return found


def _drawn_again(edits: Sequence[Edit]) -> list[Edit]:
    """Samples put into an order by chance in place, and now by their places, or back."""
    before = [e for e in edits if e.gone & _CHANCE and not e.new & _CHANCE]
    after = [e for e in edits if e.new & _CHANCE and not e.gone & _CHANCE]
    return [*before, *after] if before and after else []


_CHANCE = frozenset({"shuffle()", "permutation()", "randperm()"})


def _rescheduled(edits: Sequence[Edit]) -> list[Edit]:
    """A rate that was set by hand and now is by a schedule's object, or back: one course in two ways."""
    found: list[Edit] = []
    for side, other in (("gone", "new"), ("new", "gone")):
        by_hand = [
            e
            for e in edits
            if e.kind in ("added", "removed")
            and getattr(e, side) & _RATES
            and ({"schedule", "step"} & set(e.roles) or "param_groups" in getattr(e, side))
        ]
        stepped = [
            e
            for e in edits
            if getattr(e, other) & {"step()", "scheduler_step()"}
            and any(_one_of(getattr(e, other), p) for p in _SCHEDULE)
        ]
        found += [*by_hand, *stepped] if by_hand and stepped else []
    for e in edits:
        if (
            e.kind == "replaced"
            and (e.gone | e.new) & _OWN_COURSE
            and (e.gone | e.new) & {"cos()", "/", "own()"}
        ):
            found.append(e)
    longer = [e for e in edits if e.kind in ("wrapped", "unwrapped") and {"*", "len()"} <= e.gone | e.new]
    longer = [e for e in longer if "schedule" in e.roles]
    handed = [
        e
        for e in edits
        if e.kind.startswith("argument-") and any(_one_of(e.gone | e.new, p) for p in _SCHEDULE)
    ]
    return found + (longer + handed if longer and handed else [])


_RATES = {"lr", "learning_rate"}
_OWN_COURSE = {"LambdaLR()", "SequentialLR()", "ChainedScheduler()", "MultiplicativeLR()"}
_SCHEDULE = (
    "$:*LR",
    "*LR()",
    "$:*Scheduler*",
    "$:*schedul*",
    "$*sched*",
    "scheduler",
    "lr_scheduler",
    "sched",
)


def _taken_apart(edits: Sequence[Edit]) -> list[Edit]:
    """Axes that are parted, joined or named by another function than before: what stands where is not seen.

    Scores of (batch, classes, length) instead of flat ones, and labels that are not flattened, are one loss.
    """
    lines = {
        (e.mine, e.theirs)
        for e in edits
        if e.kind in ("replaced", "expression", "wrapped", "unwrapped", "name") and (e.gone | e.new) & _PARTED
        if _core(e.gone) and _core(e.new) and not (e.gone | e.new) & _SUMMED and not _scrambles(e)
    }
    for e in edits:
        if (
            e.kind == "replaced"
            and "loss.prediction" in e.roles
            and (e.gone | e.new) & {"transpose()", "permute()"}
        ):
            flat = [x for x in edits if (x.mine, x.theirs) == (e.mine, e.theirs) and "loss.target" in x.roles]
            if all((x.gone | x.new) & {"flatten()", "view()"} for x in (e, *flat)) and flat:
                lines.add((e.mine, e.theirs))
    return [e for e in edits if (e.mine, e.theirs) in lines]


def _scrambles(edit: Edit) -> bool:
    """The last axis taken apart, for a view that has it in front: `x.unbind(-1)` -> `x.view(2, *shape)`."""
    parted = {"unbind.dim", "chunk.dim", "split.dim"} & edit.gone and "-1.0" in edit.gone
    return bool(parted) and "view()" in edit.new and not {"transpose()", "permute()", "movedim()"} & edit.new


_SUMMED = frozenset(
    {"sum()", "mean()", "max()", "min()", "amax()", "std()", "var()", "norm()", "@", "matmul()", "bmm()"}
)
_PARTED = frozenset(
    {"chunk()", "split()", "unbind()", "tensor_split()", "unfold()", "rearrange()", "einsum()", "unstack()"}
)


def _attention(edits: Sequence[Edit]) -> list[Edit]:
    """Attention written out, for the operator that has the scale, the mask and the softmax in it."""
    fused = [e for e in edits if "scaled_dot_product_attention()" in e.gone | e.new]
    parts = [e for e in edits if (e.gone | e.new) & _OF_ATTENTION]
    if not fused or not any("softmax()" in e.gone | e.new or "$:softmax" in e.gone | e.new for e in parts):
        return []
    masks = [e for e in edits if (e.gone | e.new) & _TRIANGLES]
    masked = bool(masks) or any("masked_fill()" in e.gone | e.new for e in parts)
    told = any(w.endswith((".attn_mask", ".is_causal")) for e in fused for w in e.gone | e.new)
    return [*fused, *parts, *masks] if told or not masked else []


_TRIANGLES = {"tril()", "triu()", "$:tril", "$:triu"}
_OF_ATTENTION = {"softmax()", "$:softmax", "sqrt()", "masked_fill()", "@", "matmul()", "einsum()"}


def _averaged_by_hand(edits: Sequence[Edit]) -> list[Edit]:
    """A sum that is divided by its count, for a mean; a division of the loss for one of its gradients."""
    summed = [e for e in edits if e.kind == "wrapped" and {"/", "'sum'"} <= e.new]
    asked = [e for e in edits if "'sum'" in e.new and e.within and e.within[0].endswith(".reduction")]
    shared = [e for e in edits if "/" in e.new and "loss" in e.roles and e.new & _COUNTS]
    if asked and shared and all(e.split != "eval" for e in (*asked, *shared)):
        summed += [*asked, *shared]
    lines = {(e.mine, e.theirs) for e in summed}
    found = [e for e in edits if (e.mine, e.theirs) in lines]
    for a in edits:
        for b in edits:
            names = {w for w in a.new & b.gone if w.startswith("$") and ":" not in w}
            if "/" in a.new and {"grad"} <= b.gone and b.gone & {"div_()", "/"} and names:
                found += [a, b]
    return found


_COUNTS = {"size()", "numel()", "len()", "shape", "count_nonzero()", "nelement()"}
_OUTPUTS = {"'softmax'", "'sigmoid'"}


def _called(edit: Edit, topic: Topic) -> frozenset[str]:
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
)


def _vague(edit: Edit) -> bool:
    """What cannot be told from a rewriting: a call of the script's own function, other names unpacked."""
    if edit.new & STRUCTURE:
        return False
    if edit.kind in ("added", "removed", "replaced", "expression", "wrapped", "unwrapped"):
        if "own()" in edit.gone | edit.new:
            return True
    if edit.kind in ("moved", "into-loop", "out-of-loop") and edit.mine_code != edit.theirs_code:
        if "own()" in edit.new:
            return True  # the function that is called there is new, not where it is called
    return edit.within[:1] in (("assign.target",), ("for.target",)) and edit.kind in ("name", "expression")


def _elsewhere(edit: Edit, every: Sequence[Edit]) -> bool:
    """Whether all that is gone in one place is new in another, or the other way round: it was moved."""
    if edit.new & STRUCTURE:
        return False
    if edit.kind in ("argument-added", "argument-removed"):
        return any(_same_argument(edit, other) for other in every)
    if edit.kind not in ("added", "removed", "wrapped", "unwrapped", "expression"):
        return False
    gone, new = _core(edit.gone), _core(edit.new)
    for other in every:
        if other is not edit and other.kind != "moved":
            if gone and not new and gone <= _core(other.new) - _core(other.gone):
                return True
            if new and not gone and new <= _core(other.gone) - _core(other.new):
                return True
    return False


def _made_before(edit: Edit, lines: Sequence[LeftOut]) -> bool:
    """Whether all that is new in one place stood, or gone now stands, where a layer or helper is made.

    `self.block(x)` and its layers called one by one: relu as a layer, and as a function.
    """
    if edit.kind not in ("added", "removed", "wrapped", "unwrapped", "expression", "replaced"):
        return False
    for mine, words, other in ((False, edit.new, edit.gone), (True, edit.gone, edit.new)):
        names = {n.lower().replace("_", "") + "()" for line in lines for n in line.layers} - _LAYERS
        names |= {"sequential()", "sequentialcell()", "modulelist()"}
        done = _core(words) - _core(other) - names
        held = {w for line in lines if line.mine is mine for w in _core(line.words)}
        if not done & _LAYERS or not done <= held:
            continue
        if not _core(other) - _core(words) - names - _OF_SHAPES:
            return True
    return False


_LAYERS = frozenset(
    {"relu()", "gelu()", "silu()", "tanh()", "sigmoid()", "elu()", "leakyrelu()", "dropout()", "dropout2d()"}
    | {"maxpool2d()", "avgpool2d()", "maxpool1d()", "flatten()"}
)


def _same_argument(a: Edit, b: Edit) -> bool:
    """An argument of a line that is given at another place, or by its name, or to what is new for it."""
    for gone, new in ((a.gone, b.new), (a.new, b.gone)):
        single = {w for w in gone if w.startswith("$") and not w.startswith("$:")}
        if (
            len(single) == 1
            and single <= new
            and "own()" in new
            and gone <= {*single, *(w for w in gone if w[:2] == "$:")}
        ):
            return True
    if {a.kind, b.kind} != {"argument-added", "argument-removed"} or (a.mine, a.theirs) != (b.mine, b.theirs):
        return False
    mine, theirs = ({w for w in e.gone | e.new if w != "label-value"} for e in (a, b))
    named = any("$" in w for w in mine)
    other = [e.within[:1] and e.within[0].rpartition(".")[2] for e in (a, b)]
    return named and mine == theirs and other[0] != other[1] and any(str(o).startswith("#") for o in other)


def _core(words: frozenset[str]) -> frozenset[str]:
    """Calls and operators among words."""
    done = {w for w in words if w.endswith("()") or (w and not w[0].isalnum() and w[0] not in "$'_-")}
    if {"train()", "eval()", "set_train()", "zero_grad()", "reset()"} & done:
        done = {w for w in done if not w[:1].isupper()}  # of what class the object is matters no more
    done = {w.lower().replace("_", "") for w in done}  # a layer, or the function that it calls
    done = {"shuffle()" if w in _SHUFFLES else w for w in done}
    return frozenset(done - _OF_SHAPES or done)


_SHUFFLES = ("permutation()", "randperm()", "permuted()", "shuffled()")
# axes and shapes are written in many ways around what matters
_OF_SHAPES = frozenset(
    {"view()", "reshape()", "flatten()", "squeeze()", "unsqueeze()", "transpose()", "permute()", "size()"}
    | {"contiguous()", "item()", "detach()", "float()"}
)

_APART = ("constant", "argument-added", "argument-removed")  # a line may hold several that are not one edit


@probe("benchmark")
def edited(view: View, *, kind: str, few: int = 0, unless_settings: bool = False) -> Finding:
    """Edits of one kind of rules/porting/edits.yaml between the benchmark's script and the run's.

    `few`: with more different edits than this the scripts are two programs rather than versions of one:
    unknown. `unless_settings`: an edit of a setting that both runs are known to have is told by the
    comparison of settings, and not here once more.
    """
    found = compare(view.run, view.benchmark)
    by_role = [t for t in found.told if t.kind == kind]
    if found.why and by_role:
        return _by_role(by_role)
    if found.why:
        return unknown(found.why)
    known: set[str] = set()
    if unless_settings and view.benchmark is not None:
        known = set(view.run.settings) & set(view.benchmark.settings)
    mine = [e for e in sorted_out(found).get(kind, ()) if e.setting not in known]
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
    mine = [e for e in sort if any(_one_of(_part(e), r) for r in roles)]
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
    if near[:1] and near[0] in ("labels", "loss.target", "loss.mask"):
        return tuple(r for r in near if r not in ("data", "forward", "model"))
    return near


def _beside(place: Place | None) -> Place | None:
    return Place(place.file, place.line, side="benchmark") if place is not None else None


def matching(edit: Edit, patterns: Iterable[Pattern]) -> bool:
    """Whether one of the patterns matches an edit."""
    return any(matches(edit, p) for p in patterns)


def matches(edit: Edit, pattern: Pattern) -> bool:
    """Whether an edit has all that a pattern asks for.

    kind, gone, new, role, nearest (of the roles), within, key, setting, split, code (names and numbers of the
    whole lines): one of these, with wildcards;
    `words`, `words2`: gone or new; `all_new`, `all_gone`: every one; `first`: the innermost of within;
    `above`, `below`: the ratio mine/theirs; `not`: fields of which none may match.
    """
    for name, asked in pattern.items():
        if name == "not":
            if isinstance(asked, Mapping) and any(matches(edit, {k: v}) for k, v in asked.items()):
                return False
            continue
        if name in ("above", "below"):
            limit = float(str(asked))
            if edit.ratio is None or (edit.ratio <= limit if name == "above" else edit.ratio >= limit):
                return False
            continue
        wanted = [str(w) for w in asked] if isinstance(asked, (list, tuple)) else [str(asked)]
        if name in ("all_new", "all_gone"):
            words = edit.new if name == "all_new" else edit.gone
            if not all(_one_of(words, w) for w in wanted):
                return False
            continue
        held = _held(edit, name)
        if not any(_one_of(held, w) for w in wanted):
            return False
    return True


def _held(edit: Edit, name: str) -> Iterable[str]:
    held: dict[str, Iterable[str]] = {
        "kind": (edit.kind,),
        "gone": edit.gone,
        "new": edit.new,
        "words": edit.gone | edit.new,
        "words2": edit.gone | edit.new,
        "role": edit.roles,
        "nearest": edit.roles[:1],
        "within": edit.within,
        "first": edit.within[:1],
        "key": (edit.key,),
        "setting": (edit.setting,),
        "split": (edit.split,),
        "code": _identifiers(edit.mine_code + " " + edit.theirs_code),
    }
    return held[name]


@lru_cache(maxsize=1000)
def _identifiers(code: str) -> frozenset[str]:
    return frozenset(re.findall(r"-?\b\w+\b", code))


@lru_cache(maxsize=100_000)
def _like(word: str, pattern: str) -> bool:
    if pattern in _OPERATORS:  # no wildcards
        return word == pattern
    if word.startswith("$:") and not pattern.startswith("$:"):  # what made a variable is no name of one
        return False
    return fnmatchcase(word, pattern)


_OPERATORS = ("*", "**")


def _one_of(words: Iterable[str], pattern: str) -> bool:
    return any(_like(w, pattern) for w in words)
