"""The first operator whose cosine against the benchmark falls, however much rounding lies before it.

precision_tool's `vcs -c 0.98` lists what lies below that cosine. In a whole network rounding grows from layer
to layer, so that the first difference beyond a type's own rounding may stand far before the operator that is
wrong.
"""

from __future__ import annotations

from ...engine.model import ComparedOperator, ComparedTensor, DumpComparison
from ..registry import Finding, View, absent, present, probe, unknown
from ..tensors.knowledge import knowledge
from .dumps import CLEAN, OTHER_CALL, Ranks, _missing, by_bits, comparison, ranks_of, subject, where_of

LOADED = 3  # operators with weights that agree: then both sides hold the same weights
GROWTH = 10.0  # times that the angle opens from the inputs to the outputs (msprobe's warning rule)


def _cosine(tensors: list[ComparedTensor]) -> float | None:
    """The least cosine among these; None where none is known."""
    found = [t.figures.cosine for t in tensors if t.figures is not None and t.figures.cosine is not None]
    return min(found) if found else None


def _side(one: ComparedOperator, *roles: str) -> list[ComparedTensor]:
    return [t for t in one.tensors if t.name.partition(".")[0] in roles]


def _holds_weights(one: ComparedOperator, inputs: list[ComparedTensor]) -> bool:
    """Whether an operator takes weights of which nothing is recorded: these may be what differs."""
    return knowledge().kind(one.kind) in knowledge().weights and len(inputs) < 2


def fallen(found: DumpComparison) -> ComparedOperator | str:
    """The first operator that falls below the guide's cosine from inputs above it; or why none is named."""
    limit = knowledge().tolerances.cosine
    known = knowledge()
    lowest = 1.0  # of the outputs before, where an operator's own inputs are not recorded
    rank: object = None
    asked = weighted = 0
    for one in found.operators:
        if (one.rank, one.step) != rank:
            lowest, rank = 1.0, (one.rank, one.step)
        outputs = _cosine(_side(one, "output"))
        if outputs is None or one.state == "unmatched":
            continue
        asked += 1
        inputs = _side(one, "input", "parameter")
        into = _cosine(inputs)
        into = lowest if into is None else into
        if into < limit:
            return f"{one.name} is given inputs of cosine {into:.4g}"
        if outputs < limit and GROWTH * (1 - into) < 1 - outputs:
            if known.is_random(one.kind) or known.is_collective(one.name, one.kind):
                return f"{one.name}, whose values others make, is the first below cosine {limit:g}"
            if known.is_uninitialised(one.kind) or (_holds_weights(one, inputs) and weighted < LOADED):
                return (
                    f"{one.name} is the first below cosine {limit:g}, and not all that it takes is recorded"
                )
            if found.kind in OTHER_CALL and found.first is not None and found.first.name == one.name:
                return found.verdict
            if ranks_of(found, one).one_alone:
                return f"{one.name} falls on rank {one.rank} alone: the device may be wrong"
            return one
        if outputs < limit:
            return f"the cosine comes down to {outputs:.4g} at {one.name} little by little"
        weighted += known.kind(one.kind) in known.weights
        lowest = min(lowest, outputs)
    return f"no output lies below cosine {limit:g}" if asked else "no cosine is recorded"


@probe()
def cosine_falls(view: View) -> Finding:
    """An operator's outputs lie below the guide's cosine (rules/porting/operators.yaml), its inputs above."""
    found = comparison(view)
    if found is None:
        return unknown(_missing(view))
    one = fallen(found)
    if isinstance(one, ComparedOperator):
        cosine = _cosine(_side(one, "output"))
        into = _cosine(_side(one, "input", "parameter"))
        taken = "outputs before it that lie above" if into is None else f"inputs of {into:.6g}"
        return present(
            f"{one.name} is the first of the network to fall, to a cosine of {cosine:.4g} from {taken}",
            value=cosine,
            threshold=knowledge().tolerances.cosine,
            step=one.step,
            where=where_of(one),
            subject=subject(one),
        )
    clean = found.kind in CLEAN or one.startswith("no output")
    return (
        absent(one)
        if clean and not found.from_statistics and one != "no cosine is recorded"
        else unknown(one)
    )


PRODUCTS = frozenset({"linear", "matmul", "convolution"})
LEAST = 3  # products that are rounded, and other operators that agree


@probe()
def products_rounded(view: View, least: float, most: float) -> Finding:
    """Of operators in fp32 whose inputs agree products alone deviate, by what a shorter mantissa rounds.

    `least` and `most` bound the relative error of a product: TF32 and hf32 keep 10 bits of the mantissa.
    """
    found = comparison(view)
    if found is None:
        return unknown(_missing(view))
    rounded, others, agree = [], [], 0
    for one in found.operators:
        outputs = [t for t in _side(one, "output") if t.figures is not None and not t.figures.from_statistics]
        inputs = _side(one, "input", "parameter")
        if not outputs or not inputs or any(t.state == "differs" for t in inputs):
            continue
        if {t.dtype for t in outputs} | {t.benchmark_dtype for t in outputs} != {"float32"}:
            continue
        if knowledge().kind(one.kind) in PRODUCTS:
            if least <= one.output_error <= most:
                rounded.append(one)
        elif any(t.state == "differs" for t in outputs):
            others.append(one)
        else:
            agree += 1
    if len(rounded) < LEAST or agree < LEAST:
        return unknown("too few products of matrices with known inputs deviate a little")
    if others:
        return absent(f"{others[0].name} deviates as well, which is no product")
    first = rounded[0]
    return present(
        f"of agreeing inputs {len(rounded)} products in fp32 deviate by up to"
        f" {max(o.output_error for o in rounded):.1e} (first {first.name}), {agree} other operators agree",
        value=max(o.output_error for o in rounded),
        step=first.step,
        where=where_of(first),
    )


def _blamed(view: View) -> Ranks | str:
    found = comparison(view)
    if found is None:
        return _missing(view)
    if found.kind != "operator" or found.first is None or by_bits(found):
        return found.verdict
    return ranks_of(found, found.first)


@probe()
def deviates_clearly(view: View, least: float) -> Finding:
    """The operator to blame is off by `least` and more, and by ten times what its inputs are off.

    bf16 rounds by 0.4 % at most, TF32 by 0.05 %: what is off by several of the coarsest roundings is none.
    Where one rank alone is wrong the device may be, and nothing is said.
    """
    blamed = _blamed(view)
    if isinstance(blamed, str):
        return unknown(blamed)
    first = blamed.first
    words = f"{first.name} is off by {first.output_error:.2g}, its inputs by {first.input_error:.2g}"
    if first.output_error < least or first.output_error <= GROWTH * first.input_error:
        return absent(words, value=first.output_error, threshold=least)
    if blamed.one_alone:
        return unknown(f"{words}, on rank {first.rank} alone")
    return present(
        words,
        value=first.output_error,
        threshold=least,
        step=first.step,
        where=where_of(first),
        subject=subject(first),
    )


@probe()
def bad_on_one_rank(view: View) -> Finding:
    """Of several ranks one alone computes an operator otherwise, from inputs that agree; the others agree."""
    blamed = _blamed(view)
    if isinstance(blamed, str):
        return unknown(blamed)
    first = blamed.first
    if blamed.one_alone:
        return present(
            f"{first.name} is wrong on rank {first.rank} alone, and right on {len(blamed.right)} other ranks",
            step=first.step,
            where=where_of(first),
            subject=subject(first),
        )
    if len(blamed.bad) < 2:
        return unknown(f"{first.name} is known to be right on {len(blamed.right)} other ranks")
    return absent(f"operators deviate on {len(blamed.bad)} ranks", value=len(blamed.bad))


@probe()
def far_off_on_one_rank(view: View, least: float) -> Finding:
    """One rank alone is off by `least` and more, by ten times what its inputs are off: no rounding does that.

    Every device runs the same program. What a value of the inputs brings about is small, or seen elsewhere.
    """
    blamed = _blamed(view)
    if isinstance(blamed, str):
        return unknown(blamed)
    first = blamed.first
    words = f"{first.name} is off by {first.output_error:.2g}, its inputs by {first.input_error:.2g}"
    if not blamed.one_alone:
        return unknown(f"{words}; it is known to be right on {len(blamed.right)} other ranks")
    if first.output_error < least or first.output_error <= GROWTH * first.input_error:
        return absent(words, value=first.output_error, threshold=least)
    return present(
        f"{words}, on rank {first.rank} alone of {len(blamed.right) + 1}",
        value=first.output_error,
        threshold=least,
        step=first.step,
        where=where_of(first),
        subject=subject(first),
    )
