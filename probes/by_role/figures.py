"""Numbers and words that stand in one place of either program: limits, parts, factors, masks, pools."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from ..code.shared.roles import split_of, trains
from ..readers._tree import walk
from ..readers.script import argument, keyword, last_name
from .side import Side, Told

_USUAL = (0.0, 1.0, -1.0, -100.0)


def compared_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """One number that values are compared with is another one, and all others are the benchmark's."""
    here, there = _compared(mine), _compared(theirs)
    counts = [Counter({key: len(nodes) for key, nodes in held.items()}) for held in (here, there)]
    new, gone = counts[0] - counts[1], counts[1] - counts[0]
    if sum(new.values()) != 1 or sum(gone.values()) != 1:
        return
    (rows, value), (of_rows, before) = next(iter(new)), next(iter(gone))
    if rows is not of_rows:
        return
    at, beside = here[rows, value], there[of_rows, before]
    text = f"rows are parted at {value:g} here, at {before:g} in the benchmark"
    if not rows:
        text = f"what is measured is compared with {value:g} here, with {before:g} in the benchmark"
        if not all(_judges(s, n) for s, n in ((mine, at[0]), (theirs, beside[0]))):
            return
    yield Told("split" if rows else "metric", text, mine.place(at[0]), theirs.place(beside[0]))


def _compared(side: Side) -> dict[tuple[bool, float], list[ast.AST]]:
    """Numbers that arrays are compared with -> where; the first of a key: whether rows are picked so."""
    found: dict[tuple[bool, float], list[ast.AST]] = {}
    for node in side.source.of(ast.Compare):
        above = tuple(side.source.above(node))
        asked = any(
            isinstance(p, (ast.Assert, ast.While))
            or (isinstance(p, (ast.If, ast.IfExp)) and node in set(walk(p.test)))
            for p in above
        )
        if asked or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
            continue
        value = side.number(node.comparators[0])
        if value is None or value in _USUAL:
            continue
        rows = any(isinstance(p, ast.Subscript) and node in set(walk(p.slice)) for p in above)
        found.setdefault((rows, value), []).append(node)
    return found


def _judges(side: Side, node: ast.AST) -> bool:
    """Whether a node stands in what evaluates: by the function's name, or where no gradient is kept."""
    function = side.source.function_around(node)
    if function is None:
        return False
    return (
        re.search(r"(?i)val|test|eval|metric|score|f1|accura|predict|recall|precis|within", function.name)
        is not None
    )


# ------------------------------------------------------------------------------------- parts of the data


def judged_on_test(mine: Side, theirs: Side) -> Iterator[Told]:
    """Each epoch is judged on the test data here, on validation data in the benchmark."""
    here, there = _asked_in_epochs(mine), _asked_in_epochs(theirs)
    if here is None or there is None:
        return
    tests, others = here.get("test"), there.get("val")
    if tests is None or others is None or "val" in here or "test" in there:
        return
    text = "each epoch is judged on the test data here, on the validation data in the benchmark"
    yield Told("evaluates-other-part", text, mine.place(tests), theirs.place(others))


def _asked_in_epochs(side: Side) -> dict[str, ast.AST] | None:
    """Which parts of the data, "val" or "test", the loop over epochs goes through; None without one."""
    loops = [
        n
        for n in side.source.of(ast.For)
        if isinstance(n.target, ast.Name) and re.search(r"(?i)epoch|^e$|^ep$", n.target.id)
    ]
    if len(loops) != 1 or side.source.loose:
        return None
    found: dict[str, ast.AST] = {}
    for statement in loops[0].body:
        for node in walk(statement):
            given = (
                [node.iter]
                if isinstance(node, ast.For)
                else [*node.args]
                if isinstance(node, ast.Call)
                else []
            )
            for one in given:
                word = _part_of(one)
                if word and trains(word) is False:
                    found.setdefault("test" if word.startswith("test") else "val", one)
    return found


def _part_of(node: ast.expr) -> str | None:
    """The part that `val_loader`, `loaders["valid"]`, `self.val_set` names."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return split_of(str(node.slice.value))
    if isinstance(node, (ast.Name, ast.Attribute)):
        return split_of(last_name(node))
    return None


def part_idle(mine: Side, theirs: Side) -> Iterator[Told]:
    """Test rows are cut off and never read here, and what is called test data is made of validation rows."""
    if mine.source.loose or theirs.source.loose:
        return
    there = {n.id for n in theirs.source.of(ast.Name) if isinstance(n.ctx, ast.Load)}
    read = {n.id for n in mine.source.of(ast.Name) if isinstance(n.ctx, ast.Load)}
    made = {n.id for n in mine.source.of(ast.Name) if isinstance(n.ctx, ast.Store)}
    idle = sorted(name for name in (made & there) - read if split_of(name) == "test")
    for node in mine.source.of(ast.Assign) if idle else ():
        target = node.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)) or split_of(last_name(target)) != "test":
            continue
        words = {split_of(n.id) for n in walk(node.value) if isinstance(n, ast.Name)}
        if "test" not in words and words & {"val", "valid", "validation", "dev"}:
            text = f"{last_name(target)} is made of validation rows, and `{idle[0]}` is never read"
            yield Told("evaluates-other-part", text, mine.place(node), None)
            return


_GROUPED = r"^(?:Stratified)?Group(?:Shuffle|K|TimeSeries)\w*$|^LeaveOneGroupOut$|^LeavePGroupsOut$"


def groups_kept_apart(mine: Side, theirs: Side) -> Iterator[Told]:
    """Rows of one group (a patient) stay in one part in the benchmark, and nothing here names the group."""
    there = theirs.matching(_GROUPED)
    if not there or mine.source.loose:
        return
    names = {
        str(n.value)
        for w in theirs.keywords.get("groups", [])
        for n in theirs.follow(w.value)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.isidentifier()
    }
    said = {str(n.value) for n in mine.source.of(ast.Constant)} | mine.words
    if len(names) != 1 or any(next(iter(names)).lower() in word.lower() for word in said):
        return
    text = (
        f"rows of one {next(iter(names))} stay together in the benchmark; here nothing keeps them in one part"
    )
    cuts = mine.matching(_GROUPED) or mine.matching(
        r"^train_test_split$|^permutation$|^random_split$|^shuffle$"
    )
    yield Told("split", text, mine.place(cuts[0]) if cuts else None, theirs.place(there[0]))


# -------------------------------------------------------------------------------------------- rates and masks

_RATE = re.compile(r"(?i)^(?:base_?|max_?|init_?)?(?:lr|learning_rate)$")


def factor_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The rate of one group of parameters is another multiple of the rate."""
    here, there = _factors(mine), _factors(theirs)
    if len(here) != 1 or len(there) != 1 or set(here) == set(there):
        return
    (new, at), (old, beside) = *here.items(), *there.items()
    if new <= 0 or old <= 0 or 0.6 < new / old < 1.7:
        return
    kind = "rate-raised" if new > old else "rate-lowered"
    text = f"some parameters have {new:g} times the rate here, {old:g} times in the benchmark"
    yield Told(kind, text, mine.place(at), theirs.place(beside))


def _factors(side: Side) -> dict[float, ast.AST]:
    """Numbers that a rate is multiplied with in groups of parameters: `{"params": head, "lr": lr * 10}`."""
    found: dict[float, ast.AST] = {}
    for group in side.source.of(ast.Dict):
        held = {getattr(k, "value", ""): v for k, v in zip(group.keys, group.values, strict=True)}
        rate = held.get("lr", held.get("learning_rate"))
        if "params" not in held or not isinstance(rate, ast.BinOp):
            continue
        if isinstance(rate.op, (ast.Mult, ast.Div)):
            for one, other in ((rate.left, rate.right), (rate.right, rate.left)):
                value = side.number(other)
                if _RATE.match(last_name(one)) and value and side.number(one) != value:
                    found[value if isinstance(rate.op, ast.Mult) else 1 / value] = rate
    return found


def _decays(side: Side) -> list[tuple[float | None, ast.AST]]:
    """Weight decays of groups of parameters; None: a number that is not seen."""
    found: list[tuple[float | None, ast.AST]] = []
    for group in side.source.of(ast.Dict):
        held = {getattr(k, "value", ""): v for k, v in zip(group.keys, group.values, strict=True)}
        if "params" in held and side.runs(group):
            found.append((side.number(held["weight_decay"]) if "weight_decay" in held else None, group))
    return found


def decays_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """One group of parameters has no weight decay in the benchmark, and each one has some here."""
    here, there = _decays(mine), _decays(theirs)
    if len(here) != len(there) or len(here) < 2 or [v for v, _ in there].count(0.0) != 1:
        return
    known = [v for v, _ in here if v is not None]
    unseen = sum(v != 0 for v, _ in there)
    if 0.0 in known or not known or len(here) - len(known) > min(1, unseen):
        return
    off = next(n for v, n in there if v == 0)
    text = "every group of parameters has weight decay here; one of the benchmark's has none"
    yield Told("regularisation-raised", text, mine.place(here[-1][1]), theirs.place(off))


def group_left_out(mine: Side, theirs: Side) -> Iterator[Told]:
    """The optimizer is given two groups of parameters in the benchmark, and one of the two here."""
    here, there = _listed(mine), _listed(theirs)
    if len(here) != 1 or len(there) != 1 or mine.source.loose or mine.framework != theirs.framework:
        return
    (one, at), (several, beside) = here[0], there[0]
    if len(several) != 2 or len(one) != 1 or _said_in(one[0]) not in [_said_in(g) for g in several]:
        return
    if mine.calls("add_param_group"):
        return
    text = "the optimizer is given one group of parameters here, two in the benchmark: the others stay"
    yield Told("optimizer-parameters", text, mine.place(at), theirs.place(beside))


def _listed(side: Side) -> list[tuple[list[ast.Dict], ast.AST]]:
    """Lists of groups that are written out: `[{"params": body}, {"params": head, "lr": ...}]`."""
    found: list[tuple[list[ast.Dict], ast.AST]] = []
    for node in side.source.of(ast.List):
        groups = [e for e in node.elts if isinstance(e, ast.Dict)]
        if groups and len(groups) == len(node.elts):
            if all("params" in {getattr(k, "value", "") for k in g.keys} for g in groups):
                found.append((groups, node))
    return found


def _said_in(group: ast.Dict) -> str:
    """What the parameters of a group are called."""
    held = {getattr(k, "value", ""): v for k, v in zip(group.keys, group.values, strict=True)}
    return last_name(held["params"])


def average_not_saved(mine: Side, theirs: Side) -> Iterator[Told]:
    """The averaged weights are saved in the benchmark; here they are kept, and the model's are saved."""
    here, there = (
        [c for c in s.calls("save", "save_checkpoint") if "state_dict" in s.said(c)] for s in (mine, theirs)
    )
    ask = re.compile(r"(?i)(?:^|_)ema(?:_|$)|averag|shadow|polyak|(?:^|_)swa(?:_|$)")
    saved = [any(map(ask.search, s.said(c))) for s, held in ((mine, here), (theirs, there)) for c in held]
    if len(here) != 1 or len(there) != 1 or saved != [False, True] or not mine.mentions(ask.pattern[4:]):
        return
    text = "an average of the weights is kept, and what is saved are those of the model itself"
    yield Told("average-left-out", text, mine.place(here[0]), theirs.place(there[0]))


def whole_in_training(mine: Side, theirs: Side) -> Iterator[Told]:
    """All rows are training's here, and a part of the same rows is held out; no such in the benchmark."""
    here = _whole(mine)
    if here is None or mine.source.loose or _whole(theirs) is not None:
        return
    text = "the training part holds all of the rows of which the held-out part is a part"
    yield Told("split", text, mine.place(here), None)


def _whole(side: Side) -> ast.AST | None:
    """`{"train": rows, "valid": rows[:n]}`: a dict of parts in which training has every row."""
    for node in side.source.of(ast.Dict):
        parts = {
            split_of(str(getattr(k, "value", ""))): v for k, v in zip(node.keys, node.values, strict=True)
        }
        mine = [v for k, v in parts.items() if trains(k)]
        held = [v for k, v in parts.items() if trains(k) is False]
        if len(mine) != 1 or not isinstance(mine[0], ast.Name):
            continue
        for other in held:
            cut = isinstance(other, ast.Subscript) and isinstance(other.slice, ast.Slice)
            owner = other.value if isinstance(other, ast.Subscript) else other
            if isinstance(other, ast.ListComp) and isinstance(other.elt, ast.Subscript):
                cut, owner = True, other.elt.value
            if cut and isinstance(owner, ast.Name) and owner.id == mine[0].id:
                return node
    return None


def plateau_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """`ReduceLROnPlateau` waits for a maximum in the benchmark and for a minimum here, of one figure."""
    here, there = (s.calls("ReduceLROnPlateau") for s in (mine, theirs))
    if len(here) != 1 or len(there) != 1 or mine.framework != "torch" or theirs.framework != "torch":
        return
    modes = [
        s.value(asked) if (asked := argument(c, "mode", position=1)) is not None else "min"
        for s, c in ((mine, here[0]), (theirs, there[0]))
    ]
    stepped = [_stepped_by(s) for s in (mine, theirs)]
    if set(modes) == {"min", "max"} and stepped[0] and stepped[0] == stepped[1]:
        text = f"the rate falls where {stepped[0]} does not get {'lower' if modes[0] == 'min' else 'higher'}"
        text += "; in the benchmark it is the other way round"
        yield Told("schedule-stepped", text, mine.place(here[0]), theirs.place(there[0]))


def _stepped_by(side: Side) -> str:
    """The one name that a schedule's step is given."""
    given = {
        last_name(c.args[0])
        for c in side.calls("step")
        if len(c.args) == 1
        and isinstance(c.func, ast.Attribute)
        and re.search("(?i)sched", last_name(c.func.value))
    }
    return given.pop() if len(given) == 1 else ""


def pure_half(mine: Side, theirs: Side) -> Iterator[Told]:
    """Lightning: weights themselves in 16 bits here, mixed precision in the benchmark."""
    here = [w.value for w in mine.keywords.get("precision", []) if str(mine.value(w.value)).endswith("-true")]
    here = [n for n in here if str(mine.value(n)).startswith(("16", "bf16"))]
    there = [w.value for w in theirs.keywords.get("precision", []) if "mixed" in str(theirs.value(w.value))]
    beside: list[ast.AST] = [*there, *theirs.calls("autocast")]
    if here and beside:
        text = "the weights themselves have 16 bits here; the benchmark trains in mixed precision"
        yield Told("half-precision", text, mine.place(here[0]), theirs.place(beside[0]))


def ignored_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The loss leaves out labels of another number."""
    here, there = (
        {v: w.value for w in s.keywords.get("ignore_index", []) if (v := s.number(w.value)) is not None}
        for s in (mine, theirs)
    )
    if len(here) == len(there) == 1 and set(here) != set(there):
        (new, at), (old, beside) = *here.items(), *there.items()
        if old in {mine.number(n) for n in mine.source.of(ast.UnaryOp, ast.Constant) if n is not at}:
            text = f"the loss leaves out labels of {new:g} here, of {old:g} in the benchmark"
            yield Told("loss-masking", text, mine.place(at), theirs.place(beside))


def mask_turned(mine: Side, theirs: Side) -> Iterator[Told]:
    """`mask=mask == 0` of the benchmark is `mask=mask == 1` or `mask != 0` here."""
    here, there = _masks(mine), _masks(theirs)
    for name in sorted(set(here) & set(there)):
        (one, at), (other, beside) = here[name], there[name]
        if one is not other:
            text = f"{name} says the opposite of the benchmark's: places that are read there are hidden here"
            yield Told("attention-mask", text, mine.place(at), theirs.place(beside))
            return


def _masks(side: Side) -> dict[str, tuple[bool, ast.AST]]:
    """Arguments named masks that compare zeros and ones: whether they are true of zeros."""
    found: dict[str, tuple[bool, ast.AST]] = {}
    for name, words in side.keywords.items():
        if not name.endswith("mask") or len(words) != 1:
            continue
        test = words[0].value
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.ops[0], (ast.Eq, ast.NotEq))
            and len(test.ops) == 1
        ):
            value = side.number(test.comparators[0])
            if value in (0.0, 1.0):
                found[name] = ((value == 0.0) is isinstance(test.ops[0], ast.Eq), test)
    return found


# --------------------------------------------------------------------------------- texts, channels, pools

_LOWER = r"(?i)^lower$|casefold|uncased|lower_?case|^standardize$|to_lower|Tokenizer"


def case_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """Texts are lowered in the benchmark, and nothing does so here."""
    there = [c for c in theirs.calls("lower") if not c.args and _cuts_words(theirs, c)]
    if there and not mine.source.loose and not mine.mentions(_LOWER):
        text = "texts are brought to small letters in the benchmark, and not here"
        yield Told("tokeniser", text, None, theirs.place(there[0]))


def _cuts_words(side: Side, call: ast.Call) -> bool:
    """Whether words are cut out of what is lowered: `re.findall(p, text.lower())`, `text.lower().split()`."""
    names = {last_name(p.func) for p in side.source.above(call) if isinstance(p, ast.Call)}
    return bool(names & {"findall", "finditer", "split", "sub", "word_tokenize", "tokenize", "encode"})


def channels_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """OpenCV's blue, green, red become red, green, blue in the benchmark, and nothing turns them here."""
    there = [c for c in theirs.calls("cvtColor") if any(last_name(a) == "COLOR_BGR2RGB" for a in c.args[1:])]
    read = mine.calls("imread", "imdecode")
    gray = any(re.search("(?i)gray", last_name(a)) for c in read for a in c.args)
    if not there or not read or gray or mine.source.loose:
        return
    turned = any(
        isinstance(n.step, ast.UnaryOp) for n in mine.source.of(ast.Slice) if n.step is not None
    ) or mine.mentions(r"(?i)rgb|cvtColor|^flip$|permute_channels|channel_?swap|^merge$|^unbind$")
    if not turned:
        text = "images stay in the order blue, green, red here; the benchmark turns them to red, green, blue"
        yield Told("channel-order", text, mine.place(read[0]), theirs.place(there[0]))


_POOL = r"(?i)^(?:adaptive_?)?(?:max|avg|average)_?pool(?:ing)?_?[123]d$"
_SMALLER = r"(?i)pool|stride|interpolate|down_?sampl|^resize|decimat|patch|unfold|reduce_window"


def pools_gone(mine: Side, theirs: Side) -> Iterator[Told]:
    """The benchmark's model makes its maps smaller by pools, and nothing of the kind is named here."""
    there = [c for c in theirs.matching(_POOL) if "adaptive" not in last_name(c.func).lower()]
    convolutions = mine.matching(r"^Conv[123][dD]$")
    if not there or not convolutions or mine.source.loose or mine.mentions(_SMALLER):
        return
    if any(len(c.args) > 3 for c in convolutions):
        return  # a stride by its place
    text = f"the benchmark makes its maps smaller ({last_name(there[0].func)}), and nothing does so here"
    yield Told("pooling", text, mine.place(convolutions[0]), theirs.place(there[0]))


def some_unpadded(mine: Side, theirs: Side) -> Iterator[Told]:
    """As many convolutions as in the benchmark, where each keeps the size; here some cut the border off."""
    here, there = (s.matching(r"^Conv[123][dD]$") for s in (mine, theirs))
    if (
        len(here) != len(there)
        or len(here) < 2
        or mine.matching("^(?:ZeroPad|ZeroPadding|ReflectionPad|Pad)")
    ):
        return
    cut = [
        c
        for c in here
        if mine.value(keyword(c, "pad_mode")) == "valid" or mine.value(keyword(c, "padding")) == "valid"
    ]
    plain = [c for c in there if _kept(theirs, c)]
    if cut and len(cut) < len(here) and len(plain) == len(there):
        text = "a convolution cuts the border off here; each one of the benchmark keeps the size"
        yield Told("padding", text, mine.place(cut[0]), theirs.place(there[0]))


def _kept(side: Side, call: ast.Call) -> bool:
    given = keyword(call, "padding")
    value = side.value(given)
    if isinstance(value, str):
        return value.lower() == "same"
    return isinstance(value, (int, float)) and value > 0


# --------------------------------------------------------------------------- settings of own functions


def warmup_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The length of the warm-up that a schedule of the script's own is given is another one."""
    here, there = _warmups(mine), _warmups(theirs)
    if len(here) != 1 or len(there) != 1:
        return
    (new, at), (old, beside) = *here.items(), *there.items()
    if 0.5 < new / old < 2:
        return
    text = f"the warm-up takes {new:g} steps here, {old:g} in the benchmark"
    yield Told("warmup" if new < old else "schedule-length", text, mine.place(at), theirs.place(beside))


def _warmups(side: Side) -> dict[float, ast.AST]:
    """Numbers that own functions and classes are given for a parameter named like a warm-up."""
    found: dict[float, ast.AST] = {}
    for node in side.source.of(ast.FunctionDef):
        if (node.name in ("construct", "forward", "__call__")) or not node.args.args:
            continue
        names = [a.arg for a in node.args.args]
        owner = side.source.class_around(node) if node.name == "__init__" else None
        called = owner.name if isinstance(owner, ast.ClassDef) else node.name
        names = names[1:] if names[:1] == ["self"] else names
        for at, name in enumerate(names):
            if not re.search(r"(?i)^(?:n_?|num_?)?warm_?up(?:_?(?:steps|iters|updates))?$", name):
                continue
            for call in side.source.named(called):
                given = argument(call, name, position=at)
                value = side.number(given)
                if value and value > 0:
                    found[value] = call
    return found


def all_figures(mine: Side, theirs: Side) -> Iterator[Told]:
    """Every fact of this module."""
    for fact in (
        compared_differs,
        judged_on_test,
        part_idle,
        groups_kept_apart,
        factor_differs,
        ignored_differs,
        mask_turned,
        case_differs,
        channels_differ,
        pools_gone,
        some_unpadded,
        warmup_differs,
        decays_differ,
        group_left_out,
        average_not_saved,
        whole_in_training,
        plateau_differs,
        pure_half,
    ):
        yield from fact(mine, theirs)


__all__ = ["all_figures"]
