"""Library calls that are documented as equal: precision, schedules, groups, casts, einsum, thresholds."""

from __future__ import annotations

import math

from .equal_masks import masked, where
from .terms import Term

_LONG = ("int64", "long", "int")
_FLOAT = ("float32", "float")
_CASTS = ("long", "float")
_AXES = "abcdefghijklmnopqrstuvwxyz"


def equal_call(term: Term) -> Term:
    """The term in the form that all equal ones are given; itself where no other form is known."""
    if term.kind == "operation":
        return _last_of(_threshold(_summed_pool(term)))
    if term.kind != "call":
        return term
    made = _FORMS.get(term.label)
    term = made(term) if made is not None else term
    term = _pretrained(term)
    return _weights(term) if term.kind == "call" and term.part("weights") is not None else term


def _last_of(term: Term) -> Term:
    """`i % n == n - 1` is `(i + 1) % n == 0`: the last of n."""
    left, right = term.part("left"), term.part("right")
    if term.label not in ("==", "!=") or left is None or right is None:
        return term
    if left.label != "%" or right.label != "-" or left.kind != "operation" or right.kind != "operation":
        return term
    count, of, by = left.part("right"), right.part("left"), right.part("right")
    over = left.part("left")
    if count is None or of is None or by is None or over is None or count.key != of.key or by.label != "1.0":
        return term
    more = Term("operation", "+", (("left", over), ("right", by)), over.node)
    rest = Term("operation", "%", (("left", more), ("right", count)), left.node)
    none = Term("number", "0.0", node=right.node)
    return Term("operation", term.label, (("left", rest), ("right", none)), term.node)


def _anew(term: Term, label: str, parts: list[tuple[str, Term]]) -> Term:
    named = [p for p in parts if p[0] != "self" and p[0][:1] != "#"]
    plain = [p for p in parts if p not in named]
    return Term("call", label, (*plain, *sorted(named, key=lambda p: p[0])), term.node)


def _given(term: Term, *edges: str) -> Term | None:
    return next((p for e, p in term.parts if e in edges), None)


def _without(term: Term, *edges: str) -> list[tuple[str, Term]]:
    return [(e, p) for e, p in term.parts if e not in edges]


def _mixed(term: Term) -> Term:
    """`torch.autocast("cuda", dtype=torch.float16)` is `torch.cuda.amp.autocast()`; a scaler likewise."""
    device, dtype = _given(term, "#0", "device_type"), term.part("dtype")
    if _given(term, "self", "#1") is not None or (device is not None and "cpu" in device.label):
        return term
    left = ["#0", "device_type"] + (["dtype"] if dtype is not None and dtype.label == "float16" else [])
    return _anew(term, term.label, _without(term, *left))


def _one_cycle(term: Term) -> Term:
    """`OneCycleLR(epochs=a, steps_per_epoch=b)` takes `a * b` steps."""
    epochs, steps = term.part("epochs"), term.part("steps_per_epoch")
    if epochs is None or steps is None or term.part("total_steps") is not None:
        return term
    total = Term("operation", "*", (("left", epochs), ("right", steps)), epochs.node)
    return _anew(term, term.label, [*_without(term, "epochs", "steps_per_epoch"), ("total_steps", total)])


def _each_epoch(term: Term) -> Term:
    """`StepLR(step_size=1, gamma=g)` is `ExponentialLR(gamma=g)`."""
    size = term.part("step_size")
    if size is None or size.label != "1.0" or term.part("gamma") is None:
        return term
    return _anew(term, "ExponentialLR", _without(term, "step_size"))


def _single_group(term: Term) -> Term:
    """`AdamW([{"params": p, "weight_decay": w}], lr=r)` is `AdamW(p, lr=r, weight_decay=w)`."""
    groups = term.part("params")
    if groups is None or groups.kind != "sequence" or len(groups.parts) != 1:
        return term
    group = groups.parts[0][1]
    if group.kind != "mapping" or group.part("params") is None:
        return term
    held = dict(group.parts)
    if not all(e.isidentifier() for e in held):
        return term
    return _anew(term, term.label, [*((e, p) for e, p in term.parts if e not in held), *held.items()])


def _groups(term: Term) -> Term:
    """Each collection of parameters is a group of its own: `[*a, *b]`, `list(a) + list(b)`, `chain(a, b)`."""
    term = _single_group(term)
    held = term.part("params")
    if held is None or any(e == "params" and p.kind == "star" for e, p in term.parts):
        return term
    mappings = [p for _, p in held.parts] if held.kind == "sequence" else []
    if mappings and all(p.kind == "mapping" and p.part("params") is not None for p in mappings):
        split = [
            Term("mapping", p.label, tuple((e, one if e == "params" else x) for e, x in p.parts), p.node)
            for p in mappings
            for one in _collections(p.part("params") or p)
        ]
        if all(len(p.parts) == 1 for p in split):  # no group has a setting of its own
            split = [Term("star", "", (("of", p.parts[0][1]),), p.node) for p in split]
    else:
        every = _collections(held)
        split = [Term("star", "", (("of", p),), p.node) for p in every]
        if len(every) < 2:
            return term
    if [p.key for p in split] == [p.key for p in mappings]:
        return term
    whole = Term("sequence", "", tuple((f"#{i}", p) for i, p in enumerate(split)), held.node)
    return Term(
        "call", term.label, tuple((e, whole if e == "params" else p) for e, p in term.parts), term.node
    )


def _collections(term: Term) -> list[Term]:
    """The collections that a list, a sum of lists or `itertools.chain` joins; itself of anything else."""
    parts = [p for _, p in term.parts]
    if term.kind == "sequence" and parts and all(p.kind == "star" for p in parts):
        return [one for p in parts for one in _collections(p.part("of") or p)]
    if term.kind == "operation" and term.label == "+" and len(parts) == 2:
        return [one for p in parts for one in _collections(p)]
    if term.kind == "call" and term.label == "chain" and parts and not any(p.kind == "star" for p in parts):
        return [one for p in parts for one in _collections(p)]
    return [term]


def _weights(term: Term) -> Term:
    """`ResNet18_Weights.IMAGENET1K_V1` is `"IMAGENET1K_V1"`, and so is "DEFAULT" (torchvision, models).

    The second version of the weights was trained longer; whichever is asked for, trained weights are loaded.
    """
    held = term.part("weights")
    if held is None or held.kind not in ("api", "constant", "attribute"):
        return term
    label = held.label.strip("'")
    if label.split("_")[0] not in _WEIGHTS:
        return term
    label = "IMAGENET1K_V1" if label in ("DEFAULT", "IMAGENET1K_V2") else label
    said = Term("constant", repr(label), node=held.node)
    return Term(
        "call", term.label, tuple((e, said if e == "weights" else p) for e, p in term.parts), term.node
    )


_WEIGHTS = ("IMAGENET1K", "DEFAULT", "COCO", "KINETICS400")


def _dtype(term: Term | None) -> str:
    """The cast that a type asks for: "long", "float"; "" of another."""
    if term is None or term.kind not in ("api", "name", "attribute", "constant"):
        return ""
    label = term.label.strip("'")
    return "long" if label in _LONG else "float" if label in _FLOAT else ""


def _tensor(term: Term) -> Term:
    """`tensor(x, dtype=long)` and `tensor(x.astype(int64))` are `tensor(x).long()`."""
    of = term.part("#0")
    if of is None or any(e not in ("#0", "dtype") for e, _ in term.parts):
        return term
    told = term.part("dtype")
    if told is not None and not (cast := _dtype(told)):
        return term
    if of.kind == "call" and of.label in _CASTS and [e for e, _ in of.parts] == ["#0"]:
        inner = of.parts[0][1]
        cast = cast if told is not None else of.label
        if told is not None and cast != of.label:
            return term
        of = inner
    elif told is None:
        return term
    return Term("call", cast, (("#0", Term("call", "tensor", (("#0", of),), term.node)),), term.node)


def _astype(term: Term) -> Term:
    """`x.astype(np.int64)` is a cast."""
    of, told = term.part("self"), _given(term, "#0", "dtype")
    if of is None or not (cast := _dtype(told)) or len([e for e, _ in term.parts if e != "copy"]) != 2:
        return term
    return Term("call", cast, (("#0", of),), term.node)


def _einsum(term: Term) -> Term:
    """`einsum("bn,bn->b", p, t)` is `(p * t).sum(1)`, `einsum("id,jd->ij", a, b)` is `a @ b.T`."""
    if [e for e, _ in term.parts] != ["#0", "#1", "#2"] or term.parts[0][1].kind != "constant":
        return term
    text = term.parts[0][1].label.strip("'").replace(" ", "")
    a, b = term.parts[1][1], term.parts[2][1]
    left, arrow, out = text.partition("->")
    one, _, other = left.partition(",")
    if not arrow or any(not set(x) <= set(_AXES) or len(set(x)) != len(x) for x in (one, other, out)):
        return term
    if one == other and set(out) <= set(one) and out == "".join(x for x in one if x in out):
        times = Term("operation", "*", (("left", a), ("right", b)), term.node)
        gone = [i for i, x in enumerate(one) if x not in out]
        if not gone:
            return times
        over = [Term("number", repr(float(i))) for i in gone]
        dim = (
            over[0]
            if len(over) == 1
            else Term("sequence", "", tuple((f"#{i}", x) for i, x in enumerate(over)))
        )
        return Term("call", "sum", (("#0", times), ("dim", dim)) if out else (("#0", times),), term.node)
    shared = one[:-2]
    if len(one) < 2 or len(one) != len(other) or not other.startswith(shared) or not out.startswith(shared):
        return term
    i, d, x, y, rest = one[-2], one[-1], other[-2], other[-1], out[len(shared) :]
    if d == y and rest == i + x:
        last = ("1.0", "2.0") if len(shared) == 1 else ("-2.0", "-1.0")  # as they are mostly written
        axes = [(f"#{n}", Term("number", x)) for n, x in enumerate(last, 1)] if shared else []
        b = Term("call", "transpose", (("#0", b), *axes), term.node)
    elif d != x or rest != i + y:
        return term
    return Term("operation", "@", (("left", a), ("right", b)), term.node)


def _turned(term: Term) -> Term:
    """`x.t()` is `x.T`."""
    of = term.part("self")
    return (
        Term("call", "transpose", (("#0", of),), term.node)
        if of is not None and len(term.parts) == 1
        else term
    )


def _product(term: Term) -> Term:
    """`matmul(a, b)` is `a @ b`."""
    if [e for e, _ in term.parts] != ["#0", "#1"]:
        return term
    return Term("operation", "@", (("left", term.parts[0][1]), ("right", term.parts[1][1])), term.node)


def _threshold(term: Term) -> Term:
    """`sigmoid(x) > 0.5` is `x > 0`."""
    if term.label not in (">", ">=", "<", "<=") or [e for e, _ in term.parts] != ["left", "right"]:
        return term
    sides = [_as_they_are(p) for _, p in term.parts] if "number" in {p.kind for _, p in term.parts} else []
    for at in (0, 1) if sides else ():
        limit, score = sides[at], sides[1 - at]
        if (
            limit.kind == "number"
            and score.kind == "call"
            and score.label == "sigmoid"
            and len(score.parts) == 1
        ):
            share = float(limit.label)
            if not 0 < share < 1:
                return term
            raw = Term("number", repr(float(round(math.log(share / (1 - share)), 6))), node=limit.node)
            made = {at: raw, 1 - at: score.parts[0][1]}
            return Term("operation", term.label, (("left", made[0]), ("right", made[1])), term.node)
    if sides and any(a is not b for a, (_, b) in zip(sides, term.parts, strict=True)):
        return Term("operation", term.label, (("left", sides[0]), ("right", sides[1])), term.node)
    return term


def _as_they_are(term: Term) -> Term:
    """Numbers before they are cast: what is held against a number does not ask for it."""
    inner = term.parts[0][1] if term.kind == "call" and len(term.parts) == 1 else None
    if inner is None or term.label not in ("float", "sigmoid"):
        return term
    under = _as_they_are(inner)
    return under if term.label == "float" else Term("call", "sigmoid", (("#0", under),), term.node)


def _compiled(term: Term) -> Term:
    """Keras: `model.compile(optimizer, loss, metrics)` with its arguments by name."""
    if term.part("self") is None:
        return term
    names = {"#0": "optimizer", "#1": "loss", "#2": "metrics"}
    return _anew(term, "compile", [(names.get(e, e), p) for e, p in term.parts])


_JOINS = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}


def _compare(term: Term) -> Term:
    """`x.gt(0)` is `x > 0`; of masks `logical_and(x, y)` is `x & y`."""
    if [e for e, _ in term.parts] != ["#0", "#1"]:
        return term
    left, right = (p for _, p in term.parts)
    if term.label in _JOINS:
        return Term("operation", _JOINS[term.label], (("left", left), ("right", right)), term.node)
    label = {"gt": ">", "ge": ">=", "lt": ">", "le": ">=", "eq": "==", "ne": "!="}[term.label]
    if term.label in ("lt", "le"):
        left, right = right, left
    return _threshold(Term("operation", label, (("left", left), ("right", right)), term.node))


def _sampled(term: Term) -> Term:
    """`DataLoader(data, sampler=RandomSampler(data))` is `DataLoader(data, shuffle=True)` (torch-docs)."""
    data, sampler = _given(term, "#0", "dataset"), term.part("sampler")
    if data is None or sampler is None or sampler.kind != "call" or len(sampler.parts) != 1:
        return term
    if sampler.parts[0][1].key != data.key or sampler.label not in ("RandomSampler", "SequentialSampler"):
        return term
    left = _without(term, "sampler", "shuffle")
    if sampler.label == "RandomSampler":
        left.append(("shuffle", Term("constant", "True", node=sampler.node)))
    return _anew(term, term.label, left)


_POOLS = {"adaptive_avg_pool": "mean", "adaptive_max_pool": "amax"}
_WITHOUT = ("flatten", "squeeze", "view")  # of axes of one element


def _pooled(term: Term) -> Term:
    """`adaptive_max_pool2d(x, 1).flatten(1)` is `x.amax((2, 3))`; so are views of it."""
    inner = term.part("#0") or term.part("self")
    if inner is None or inner.kind != "call":
        return term
    if inner.label == "squeeze" and term.label == "squeeze":
        inner = inner.part("#0") or inner
    pool = next((p for p in _POOLS if inner.label.startswith(p)), None)
    if term.label in _WITHOUT and pool is not None and inner.label[-2:] in ("1d", "2d"):
        size = _given(inner, "output_size", "#1")
        if size is not None and {t.label for t in size.walk() if t.kind == "number"} == {"1.0"}:
            return _over_places(_POOLS[pool], inner.parts[0][1], inner.label[-2:] == "1d", term)
    return term


def _over_places(label: str, of: Term, one: bool, term: Term) -> Term:
    axes = [Term("number", "2.0"), Term("number", "3.0")]
    dim = axes[0] if one else Term("sequence", "", tuple((f"#{i}", x) for i, x in enumerate(axes)))
    return Term("call", label, (("#0", of), ("dim", dim)), term.node)


def _over_axes(term: Term) -> Term:
    """`x.mean((-2, -1))` is `x.mean((2, 3))` of images, as `x.flatten(2).mean(-1)` is."""
    of, dim = _given(term, "#0"), _given(term, "dim", "#1")
    if of is None or dim is None or any(e not in ("#0", "#1", "dim") for e, _ in term.parts):
        return term
    axes = [t.label for t in dim.walk() if t.kind == "number"]
    if dim.kind == "sequence" and sorted(axes) in (["-1.0", "-2.0"], ["2.0", "3.0"]):
        return _over_places(term.label, of, False, term)
    if dim.kind == "number" and of.kind == "call" and of.label in ("flatten", term.label):
        rest = [(e, p.label) for e, p in of.parts if e not in ("self",)][1:]
        told = [label for _, label in rest]
        if of.label == "flatten" and told in (["2.0"], ["-2.0"]) and axes in (["-1.0"], ["2.0"]):
            return _over_places(term.label, of.parts[0][1], False, term)
        if of.label == term.label and (told, axes) in ((["3.0"], ["2.0"]), (["-1.0"], ["-1.0"])):
            return _over_places(term.label, of.parts[0][1], False, term)
    return term


def _summed_pool(term: Term) -> Term:
    """`avg_pool2d(x, 8) * 64` is `avg_pool2d(x, 8, divisor_override=1)`: sums of squares of 8."""
    left, right = term.part("left"), term.part("right")
    if term.label != "*" or left is None or right is None:
        return term
    for pool, times in ((left, right), (right, left)):
        inner = pool.part("of") if pool.kind == "item" else pool
        if times.kind != "number" or inner is None or inner.kind != "call" or inner.label != "avg_pool2d":
            continue
        size = _given(inner, "#1", "kernel_size")
        if size is None or size.kind != "number" or float(size.label) ** 2 != float(times.label):
            continue
        if inner.part("divisor_override") is None and inner.part("padding") is None:
            one = Term("number", "1.0", node=times.node)
            made = _anew(inner, "avg_pool2d", [*inner.parts, ("divisor_override", one)])
            if pool is inner:
                return made
            parts = tuple((e, made if e == "of" else p) for e, p in pool.parts)
            return Term(pool.kind, pool.label, parts, pool.node)
    return term


def _towards(term: Term) -> Term:
    """`a.copy_(k * a + (1 - k) * b)` and `a.add_((1 - k) * (b - a))` are `a.lerp_(b, 1 - k)`."""
    of, value = _given(term, "self", "#0"), [p for e, p in term.parts if e != "self"]
    if of is None or (term.part("self") is None and len(value) != 2):
        return term
    given = value[-1] if value else None
    if given is None or given.kind != "operation" or any(e == "alpha" for e, _ in term.parts):
        return term
    if term.label == "copy_":
        shares = _shares(given)
        if shares is None:
            return term
        for (k, a), (rest, b) in (shares, shares[::-1]):
            if a.key == of.key and rest is not None and k is not None and _is_rest(rest, k):
                return Term("call", "lerp_", (("self", of), ("#0", b), ("#1", rest)), term.node)
        return term
    factors = _factors(given)
    for share, step in (factors, factors[::-1]) if factors else ():
        if step.kind == "operation" and step.label == "-":
            first, last = step.part("right"), step.part("left")
            old, goal = (first, last) if term.label == "add_" else (last, first)
            if old is not None and goal is not None and old.key == of.key:
                return Term("call", "lerp_", (("self", of), ("#0", goal), ("#1", share)), term.node)
    return term


def _factors(term: Term) -> tuple[Term, Term] | None:
    left, right = term.part("left"), term.part("right")
    if term.kind == "operation" and term.label == "*" and left is not None and right is not None:
        return left, right
    return None


def _shares(term: Term) -> tuple[tuple[Term, Term], tuple[Term, Term]] | None:
    """Of `k * a + m * b`: (k, a) and (m, b), the factors, which make up one, in front."""
    left, right = term.part("left"), term.part("right")
    if term.label != "+" or left is None or right is None:
        return None
    one, other = _factors(left), _factors(right)
    if one is None or other is None:
        return None
    for first in (one, one[::-1]):
        for second in (other, other[::-1]):
            if _is_rest(second[0], first[0]) or _is_rest(first[0], second[0]):
                return first, second
    return None


def _is_rest(rest: Term, share: Term) -> bool:
    """`1 - k` of `k`, also of two numbers."""
    if rest.kind == share.kind == "number":
        return abs(float(rest.label) + float(share.label) - 1) < 1e-9
    one, less = rest.part("left"), rest.part("right")
    return (
        rest.label == "-"
        and one is not None
        and less is not None
        and one.label == "1.0"
        and less.key == share.key
    )


def _filled(term: Term) -> Term:
    """`w.data.normal_(0, s)` is `init.normal_(w, std=s)`, `b.zero_()` is `init.zeros_(b)`."""
    of = term.part("self")
    label = {"zero_": "zeros_", "fill_": "constant_"}.get(term.label, term.label)
    if of is None:
        kept = [p for p in term.parts if p[0] != "mean" or p[1].label not in ("0.0", "0")]
        return _anew(term, label, kept) if len(kept) < len(term.parts) else term
    given = [p for e, p in term.parts if e != "self"]
    names = {"normal_": ("mean", "std"), "uniform_": ("a", "b"), "constant_": ("val",)}.get(label, ())
    if len(given) > len(names):
        return term
    by_name = {e: p for e, p in term.parts if e in ("std", "from", "to")}
    if by_name and len(given) != len(by_name):
        return term
    told = [*by_name.items()] if by_name else list(zip(names, given, strict=False))
    told = [p for p in told if p[0] != "mean" or p[1].label not in ("0.0", "0")]
    inner = of.part("of") or of.part("self") or (of.part("#0") if of.kind == "call" else None)
    if of.label == "data" and inner is not None:
        of = inner
    return _anew(term, label, [("#0", of), *told])


def _pretrained(term: Term) -> Term:
    """`resnet18(weights="IMAGENET1K_V1")` is `resnet18(weights=ResNet18_Weights.IMAGENET1K_V1)`."""
    weights = term.part("weights")
    if weights is None or weights.kind != "api" or not weights.label.isupper():
        return term
    name = Term("constant", repr(weights.label), node=weights.node)
    parts = tuple((e, name if e == "weights" else p) for e, p in term.parts)
    return Term("call", term.label, parts, term.node)


def _in_a_row(term: Term) -> Term:
    """`chain.from_iterable(rows)` and `chain(*rows)` are `sum(rows, [])`, of lists."""
    given = [p for e, p in term.parts if e != "self"]
    if len(given) != 1 or (term.label == "chain" and given[0].kind != "star"):
        return term
    rows = given[0].part("of") if given[0].kind == "star" else given[0]
    if rows is None:
        return term
    return Term("call", "sum", (("#0", rows), ("dim", Term("sequence", ""))), term.node)


def _joined(term: Term) -> Term:
    """`hstack(xs)` is `cat(xs, dim=1)`, of matrices; what is joined twice is joined once."""
    rows = _given(term, "#0")
    if rows is None or (term.label == "hstack" and len(term.parts) > 1):
        return term
    if term.label == "hstack":
        term = _anew(term, "cat", [("#0", rows), ("dim", Term("number", "1.0", node=term.node))])
    axis = term.part("dim")
    if rows.kind != "sequence" or axis is None:
        return term
    flat: list[Term] = []
    for _, one in rows.parts:
        inner, same = _given(one, "#0"), one.part("dim")
        if one.kind != "call" or one.label != "cat" or inner is None or same is None or same.key != axis.key:
            flat.append(one)
        elif inner.kind == "sequence":
            flat += [p for _, p in inner.parts]
        else:
            flat.append(Term("star", "", (("of", inner),), inner.node))
    if len(flat) == 1 and flat[0].kind == "star" and (whole := flat[0].part("of")) is not None:
        return _anew(term, "cat", [("#0", whole), *_without(term, "#0")])
    parts = tuple((f"#{i}", p) for i, p in enumerate(flat))
    return _anew(term, "cat", [("#0", Term("sequence", rows.label, parts, rows.node)), *_without(term, "#0")])


_FORMS = {
    **dict.fromkeys(("cat", "hstack"), _joined),
    **dict.fromkeys(("chain", "from_iterable"), _in_a_row),
    **dict.fromkeys(("normal_", "uniform_", "zero_", "fill_"), _filled),
    **dict.fromkeys(("autocast", "GradScaler"), _mixed),
    **dict.fromkeys(("SGD", "Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad"), _groups),
    **dict.fromkeys(("gt", "ge", "lt", "le", "eq", "ne", *_JOINS), _compare),
    **dict.fromkeys(_WITHOUT, _pooled),
    **dict.fromkeys(("mean", "amax"), _over_axes),
    **dict.fromkeys(("copy_", "add_", "sub_"), _towards),
    "DataLoader": _sampled,
    "OneCycleLR": _one_cycle,
    "StepLR": _each_epoch,
    "tensor": _tensor,
    "astype": _astype,
    "where": where,
    "masked_fill": masked,
    "einsum": _einsum,
    "t": _turned,
    "matmul": _product,
    "compile": _compiled,
}
