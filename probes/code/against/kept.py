"""Edits that the whole of both programs takes back: what is not found again in its line is there by its role.

An edit says that a line is not found again by its form. Before it is told as a fault, what the line stood
for is looked for in the whole program: the parameters in the groups, the layer in the class that replaced a
helper, the rate in a schedule's object, the side of the data behind another name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

from ...by_role.groups import covers_all
from ...by_role.side import Side
from ...by_role.update import clipping, optimizer, optimizers
from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...script_diff.edit import Edit
from ...scripts.flow import flow
from ..optimizer.cover import PARAMETERS, cover_of
from ..shared.roles import split_of
from .kept_model import right_alone
from .kept_ports import port_kept

_ONE_SIDED = ("added", "removed", "replaced", "expression", "wrapped", "unwrapped", "name")


def kept(edits: Sequence[Edit], mine: Side, theirs: Side) -> frozenset[Edit]:
    """The edits that change nothing which a role in the whole program does not make up for."""
    by_role = (e for rule in _BY_ROLE for e in rule(edits, mine, theirs))
    return frozenset((*by_role, *(e for alone in _BY_EDITS for e in alone(edits))))


def _groups(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """Groups of parameters that have all of them between them, for one list or for other groups."""
    told = [e for e in edits if any(_GROUPED.search(w) for w in e.within[:2]) and e.kind != "constant"]
    told += [e for e in edits if e.within[:1] and _FIRST.search(e.within[0]) and _of_optimizer(e)]
    if told and optimizers(theirs) and (covers_all(mine) or _same_whole(mine, theirs)):
        yield from told
        yield from (e for e in edits if e.kind[:8] == "argument" and e.within[:1] and _decay(e.within[0]))


def _decay(within: str) -> bool:
    """The weight decay of all groups, which they have themselves."""
    return re.fullmatch(r"[A-Z]\w*\.weight_decay", within) is not None


def _of_optimizer(edit: Edit) -> bool:
    return edit.kind != "constant" and any(r.startswith("optimizer.") for r in edit.roles[:1])


def _same_whole(mine: Side, theirs: Side) -> bool:
    """Whether mine gives its optimizer all parts of the one model whose parameters theirs gives whole."""
    given = []
    for side in (mine, theirs):
        made = optimizers(side)
        one = argument(made[0], "params", "parameters", position=0) if len(made) == 1 else None
        if one is None or not cover_of(flow(side.source), one, 16).whole:
            return False
        given.append((side, one))
    [(_, here), (_, there)] = given
    if not (isinstance(there, ast.Call) and last_name(there.func) in PARAMETERS):
        return False
    root = theirs.source.owner(there)
    ways = list(mine.follow(here))
    if any(g.ifs for w in ways for c in of(w, ast.ListComp, ast.GeneratorExp) for g in c.generators):
        return False  # `covers_all` says whether conditions complete one another
    lists = [n for way in ways for n in of(way, ast.Call) if last_name(n.func) in PARAMETERS]
    return bool(root and lists) and all(f"{mine.source.owner(n)}.".startswith(f"{root}.") for n in lists)


_FIRST = re.compile(r"^[A-Z]\w*\.#0$")
_GROUPED = re.compile(r"^(?:[A-Z]\w*\.(?:params|parameters)|mapping\.params)$")


def _same_optimizer(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """AdamW without a weight decay is Adam."""
    here, there = optimizer(mine), optimizer(theirs)
    if here is None or there is None or {here[0], there[0]} != {"Adam", "AdamW"}:
        return
    if here[1] == there[1] == 0:
        for e in edits:
            decay = e.within[:1] and e.within[0].endswith(".weight_decay")
            if decay or {"Adam()", "AdamW()"} <= e.gone | e.new:
                yield e


def _one_more(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """Clearing and stepping of an optimizer that the benchmark does not have: both belong to it."""
    there = {n.id for n in theirs.source.of(ast.Name)}
    for e in edits:
        if e.kind != "added" or not e.new & {"step()", "zero_grad()"}:
            continue
        for name in (w[1:] for w in e.new if w[:1] == "$" and w[1:].isidentifier() and w[1:] not in there):
            done = {last_name(c.func) for c in mine.source.calls if mine.source.owner(c) == name}
            if any(w[:2] == "$:" for w in e.new) and {"step", "zero_grad"} <= done:
                yield e


def _precision(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """bf16 for fp16; or half precision with a scaler, where the benchmark has none of it."""
    for asked in edits:
        if asked.within and asked.within[0].endswith((".fp16", ".bf16")) and asked.kind[:8] == "argument":
            beside = [e for e in edits if (e.mine, e.theirs) == (asked.mine, asked.theirs) and e.within]
            gone = {e.within[0].rpartition(".")[2] for e in beside if "True" in e.gone}
            new = {e.within[0].rpartition(".")[2] for e in beside if "True" in e.new}
            if "fp16" in gone and "bf16" in new:
                yield asked
    for e in edits:
        before, after = ({w for w in words if "16" in w} for words in (e.gone, e.new))
        if before and after and not any("bf" in w for w in before) and all("bf" in w for w in after):
            if e.gone | e.new == before | after:
                yield e
        elif e.within[:1] == ("autocast.dtype",) and e.new == {"bfloat16"} and not e.gone:
            yield e  # fp16 is what stands there if nothing is said
    scaled = mine.calls("GradScaler") and mine.source.named("scale")
    half = mine.source.named("autocast") and (scaled or mine.mentions("bfloat16|^bf16"))
    if half and not theirs.mentions(r"autocast|(?:^|_)amp(?:_|$)|GradScaler|fp16|bf16|float16|\bhalf\b"):
        for e in edits:
            if e.kind != "constant" and (e.gone | e.new) & _OF_PRECISION:
                yield e


_OF_PRECISION = frozenset({"autocast()", "GradScaler()", "$:GradScaler", "$scaler", "scaler"})


_BRAIN = "bfloat16|^bf16"


def _without_scaler(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """bf16 without a scaler, for fp16 with one: bf16 has the range of fp32."""
    scaled = theirs.calls("GradScaler") and not _scales(mine)
    if scaled and mine.source.named("autocast") and mine.mentions(_BRAIN) and not theirs.mentions(_BRAIN):
        for e in edits:
            held = e.within[:1] and e.within[0].startswith("GradScaler.")
            if held or (e.gone | e.new) & (_OF_PRECISION | {"scale()", "unscale_()", "bfloat16"}):
                yield e


def _scales(side: Side) -> bool:
    """Whether a scaler that is not switched off for good, or a loss that is scaled without one, is there."""
    scalers = side.source.named("GradScaler")
    asked = [argument(c, "enabled") for c in scalers]
    on = [a is None or unparse(a) != "False" for a in asked]
    return any(on) or bool(not scalers and side.source.named("scale"))


def _scale_adapts(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """A dynamic loss scale that begins elsewhere, or is raised after other steps, within what is usual."""
    scalers = mine.source.named("GradScaler")
    if len(scalers) != 1 or not _scales(mine) or not _scales(theirs):
        return
    for word, low, high in (("init_scale", 2.0**8, 2.0**17), ("growth_interval", 100, 10_000)):
        given = argument(scalers[0], word)
        value = mine.number(given) if given is not None else low
        if value is not None and low <= value <= high:
            yield from (e for e in edits if f"GradScaler.{word}" in e.within)


def _clipped(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """Gradients cut by their norm in both programs, by the optimizer in one and by a call in the other."""
    here, there = clipping(mine), clipping(theirs)
    if here is None or there is None or here[0] != "norm" or there[0] != "norm":
        return
    limits = [_limit(side, at[1]) for side, at in ((mine, here), (theirs, there))]
    if None not in limits and limits[0] != limits[1]:
        return
    for e in edits:
        if e.kind != "constant" and any(_CLIPS.search(w) for w in (*e.gone, *e.new, *e.within[:1])):
            yield e


_CLIPS = re.compile(
    r"^clip_(?:grad_norm_?|by_global_norm)\(\)$|\.(?:global_clipnorm|gradient_clip_val|max_grad_norm)$"
)


def _limit(side: Side, node: ast.AST | None) -> float | None:
    if isinstance(node, ast.keyword):
        return side.number(node.value)
    if isinstance(node, ast.Call):
        return side.number(argument(node, "max_norm", "clip_norm", position=1))
    return side.number(node) if isinstance(node, ast.expr) else None


def _not_more(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """What bounds an output is new in its line, and the whole program has no more of it than the other."""
    for e in edits:
        made = {w for w in e.new - e.gone if w in _BOUNDS}
        if made and e.kind in ("added", "argument-added", "expression", "name", "replaced"):
            if all(_count(mine, w) <= _count(theirs, w) for w in made):
                yield e


_BOUNDS = frozenset({"exp()", "abs()", "square()", "clip()", "round()", "floor()", "int()", "long()"})


def _count(side: Side, word: str) -> int:
    return len(side.source.named(word.removesuffix("()")))


def _course(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """A rate that is set by hand in one program, and by a schedule's object that is stepped in the other."""
    forms = [_by_hand(side) for side in (mine, theirs)]
    if {*forms} != {True, False}:
        return
    for e in edits:
        words = e.gone | e.new
        if e.kind == "constant" and e.ratio is not None:
            continue
        near = e.within[:1] and e.within[0].rpartition(".")[2] in ("scheduler", "sched", "lr_scheduler")
        if near or any(fnmatchcase(w, p) for w in words for p in _SCHEDULED):
            yield e


_SCHEDULED = (
    "param_groups",
    "*LR()",
    "get_scheduler()",
    "$:*LR",
    "$*sched*",
    "get_last_lr()",
    "scheduler_step()",
)


def _by_hand(side: Side) -> bool | None:
    """Whether the rate of the groups is set by hand; False: by an object that is stepped; None: neither."""
    objects = side.matching(r"[a-z]LR$|get_\w*schedule")
    stepped = any(re.search(r"(?i)sched", w) for w in side.words) and side.source.named("step")
    hand = re.search(r"param_groups\b[^\n]*(?:\n[^\n]*)?\[.lr.\]\s*=[^=]", side.source.code) is not None
    if hand and not objects:
        return True
    return False if objects and stepped and not hand else None


_LAYERS = ("*Norm*", "batch_norm", "layer_norm", "group_norm", "instance_norm", "*Normalization")
_LOSSES = ("*cross_entropy*", "*_loss", "*Loss", "*crossentropy", "*CrossEntropy*", "kl_div")


def _own_code(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """What a function or class of one's own does now, or did in the benchmark: layers, and losses."""
    for e in edits:
        if e.kind not in ("replaced", "expression") or not e.gone:
            continue
        made = {w for w in e.gone if w.endswith("()")}
        norms = [w for w in made if any(fnmatchcase(w[:-2], p) for p in _LAYERS)]
        own = {w[:-2] for w in e.new if w.endswith("()")} & (mine.own - theirs.own)
        if norms and own and all(mine.calls(w[:-2]) for w in norms):
            yield e
        losses = [w for w in made if any(fnmatchcase(w[:-2], p) for p in _LOSSES)]
        if losses and not any(w.endswith("()") for w in e.new - e.gone) and _moved(edits, e, losses):
            if all(mine.calls(w[:-2]) for w in losses):
                yield e


def _moved(edits: Sequence[Edit], edit: Edit, words: Sequence[str]) -> bool:
    """Whether what is gone in one place is new in another: the loss in what the model returns."""
    return any(e is not edit and set(words) <= e.new - e.gone for e in edits)


def _metrics(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """What judges a model in other words: the model handed in, a mean of a library, an argmax before."""
    for e in edits:
        words = e.gone | e.new
        if e.within[:1] and e.within[0].endswith(".self") and words == {"$self"}:
            yield e  # `self.model(x)` -> `model(x)`
        elif e.kind == "removed" and "/" in e.gone and _averages(mine) > _averages(theirs):
            if not {w for w in e.gone if w.endswith("()")} - {"len()", "max()", "item()", "sum()"}:
                yield e
        elif e.kind == "argument-added" and {w for w in e.new if w.endswith("()")} == {"argmax()"}:
            before = [o for o in edits if o is not e and "argmax()" in o.gone - o.new]
            if any(_one_axis(_axis(o.gone), _axis(e.new)) for o in before):
                yield e


def _one_axis(gone: set[str], new: set[str]) -> bool:
    """Whether both are told of one axis; the last one has a number of its own beside -1."""
    return bool(gone & new) or gone == new or ("-1.0" in new and gone <= {"2.0", "3.0"})


def _axis(words: frozenset[str]) -> set[str]:
    return {w for w in words if re.fullmatch(r"-?\d+\.\d", w)}


def _averages(side: Side) -> int:
    return len(side.source.named("mean", "average", "fmean", "nanmean"))


def _both_sides(edits: Sequence[Edit]) -> Iterator[Edit]:
    """What is handed alike to the loaders of both parts of the data is nothing of the evaluation."""
    loaded = [e for e in edits if e.within[:1] and e.within[0].startswith("DataLoader.")]
    for e in loaded:
        if any(
            (o.kind, o.within[0], o.gone, o.new) == (e.kind, e.within[0], e.gone, e.new)
            and o.split != e.split
            for o in loaded
        ):
            yield e


_SHAPES = frozenset({"view()", "reshape()", "flatten()", "squeeze()", "unsqueeze()", "ravel()"})
_OF_SHAPES = re.compile(r"^-?\d+\.\d$|^(?:squeeze|unsqueeze|view|reshape|flatten)\.\w+$|^\$:?\w+$")


def _reshaped(edits: Sequence[Edit]) -> Iterator[Edit]:
    """An axis that is dropped where the model gives its result, and no longer where that is used; or back."""
    found = [
        e
        for e in edits
        if e.kind in ("wrapped", "unwrapped", "index", "replaced")
        and (e.gone | e.new) & _SHAPES
        and all(w in _SHAPES or _OF_SHAPES.match(w) for w in e.gone | e.new)
    ]
    gone = [e for e in found if e.gone & _SHAPES and not e.new & _SHAPES]
    new = [e for e in found if e.new & _SHAPES and not e.gone & _SHAPES]
    for one, other in ((gone, new), (new, gone)):
        if any("output" in e.roles for e in one) and any("output" not in e.roles for e in other):
            yield from (*one, *other)
            return


def _same_part(edits: Sequence[Edit]) -> Iterator[Edit]:
    """Arrays for a data set, or back: of the same part of the data, by the names on both sides."""
    reads_again = any(e.new & {"load_weights()", "load_model()", "load_state_dict()"} for e in edits)
    for e in edits:
        if e.kind in ("name", "replaced", "expression") and e.mine_code and e.theirs_code:
            here, there = _parts_of(e.mine_code), _parts_of(e.theirs_code)
            if len(here) == 1 and here == there and e.within[:1] and e.within[0].startswith("evaluate."):
                if e.within[0] != "evaluate.self" or reads_again:  # or it is another model
                    yield e


def _parts_of(code: str) -> set[str]:
    """The parts of the data that names of a call tell of."""
    inside = code[code.find("(") :]
    found = {split_of(w) for w in re.findall(r"[A-Za-z_]\w*", inside)} - {None}
    return {str(w)[:3] for w in found}


def _weighed(edits: Sequence[Edit]) -> Iterator[Edit]:
    """Weights of classes that are given by sample now, or by what draws the samples; or back."""
    for e in edits:
        if e.within[:1] and e.within[0].rpartition(".")[2] in ("class_weight", "weight", "pos_weight"):
            words = [w for o in edits if o is not e for w in (o.new - o.gone)]
            if e.kind == "argument-removed" and any(fnmatchcase(w, p) for w in words for p in _BY_SAMPLE):
                yield e


_BY_SAMPLE = ("*sample_weight*", "*class_weight*", "*WeightedRandomSampler*")


def _padded(edits: Sequence[Edit]) -> Iterator[Edit]:
    """How far a batch is padded, where what pads tells the model by a mask; what kind of arrays it gives."""
    for e in edits:
        last = e.within[0].rpartition(".")[2] if e.within else ""
        owner = e.within[0].partition(".")[0] if e.within else ""
        if re.search(r"(?i)token|collator|^pad$|encode", owner):
            collated = last == "max_length" and owner.startswith("DataCollator")
            if last == "return_tensors" or collated or (last == "padding" and e.gone | e.new <= _PADDINGS):
                yield e


_PADDINGS = frozenset({"'max_length'", "'longest'", "True", "False"})
# what carries a value from one place to the next and leaves it as it is
_CARRIES = frozenset(
    {"items()", "zip()", "list()", "tuple()", "dict()", "tensor()", "as_tensor()", "from_numpy()", "float()"}
    | {"squeeze()", "unsqueeze()", "copy()", "contiguous()", "ascontiguousarray()", "asarray()"}
)


def _carried(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """A sample handed on in another container, where a collator or a helper of one's own is new."""
    if not any("collate" in w for e in edits for w in e.within[:1]) and not mine.own - theirs.own:
        return
    for e in edits:
        done = {w for w in e.gone | e.new if w.endswith("()") or not (w[0].isalnum() or w[0] in "$'_-")}
        if e.kind in _ONE_SIDED and done and done <= _CARRIES and "data" in e.roles:
            yield e


def _as_many_samples(edits: Sequence[Edit]) -> Iterator[Edit]:
    """More steps of fewer samples each, or fewer of more: the run sees as many as the benchmark."""
    batches = [e.ratio for e in edits if e.setting == "batch_size" and e.ratio]
    for e in edits:
        if "length" in e.roles and "step" in e.key.lower() and e.ratio:
            if any(0.7 <= e.ratio * b <= 1.4 for b in batches if not 0.9 < b < 1.1):
                yield e


_BY_ROLE: tuple[Callable[[Sequence[Edit], Side, Side], Iterator[Edit]], ...] = (
    _groups,
    _same_optimizer,
    _one_more,
    _precision,
    _without_scaler,
    _scale_adapts,
    _clipped,
    _not_more,
    _course,
    _own_code,
    _metrics,
    _carried,
    right_alone,
    port_kept,
)
_BY_EDITS: tuple[Callable[[Sequence[Edit]], Iterator[Edit]], ...] = (
    _both_sides,
    _reshaped,
    _same_part,
    _weighed,
    _padded,
    _as_many_samples,
)
