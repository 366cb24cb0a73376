"""The steps by which a value was made of its source: scaling as figures, calls, look-ups."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import lru_cache

from ..code.shared.sides import stem
from ..readers._tree import unparse
from ..script_diff.vocabulary import word_set
from .evaluate import Evaluator
from .items import apply
from .values import GENERATORS, Term, draws

# what leaves the values as they are
NEUTRAL = word_set(
    "to cuda cpu npu float double half long int bool astype type numpy asnumpy tolist array asarray "
    "tensor as_tensor from_numpy Tensor FloatTensor LongTensor contiguous clone copy deepcopy detach "
    "squeeze unsqueeze expand_dims view reshape flatten ravel requires_grad_ item list tuple stack cat "
    "concatenate concat hstack vstack constant convert_to_tensor cast ensure_shape set_shape "
    "ascontiguousarray values to_numpy from_array fromarray Image pin_memory expand repeat tile "
    "numpy_function py_function pad_sequence default_collate join float32 int64 int32 PILToTensor "
    "ToImage ToDtype ToPILImage to_pil_image TypeCast asarray_chkfinite reset_index fillna nan_to_num "
    "PackedSequence column_stack broadcast_to iter next str enumerate zip with_sharding_constraint "
    "device_put BatchEncoding dict set_index convert as_numpy_iterator unwrap "
    "checkpoint_sequential identity Identity"
)
_MOVES = re.compile(
    r"(?i)crop|resiz|flip|rotat|^pad|_pad$|padd|pool|interpolat|transpose|permute|^roll$|affine|cut_?out|erase|^mask|"
    r"resample|thumbnail|zoom|warp|^shift$|hwc2chw|^HWC|^take$|^gather$|narrow|clip|clamp|truncat|moveaxis|swapaxes|"
    r"rearrange|where|select|slice|window|unfold|scale_?jitter|drop_last|^dropna|collat|batch"
)
_TURNS = re.compile(r"(?i)^(?:[hv]?flip(?:lr|ud)?|rot90|mirror|(?:horizontal|vertical)_flip)$")
_READS = re.compile(r"(?i)^(?:open|imread|load|read|loads?_\w+|read_\w+|loadtxt|genfromtxt|memmap)$")
# what changes the values, for both sides or none
_VALUES = re.compile(
    r"(?i)^(?:log(?:1p|10|2)?|exp(?:m1)?|sqrt|tanh|arcsinh|asinh|square|"
    r"normali[sz]e\w*|standardi[sz]e\w*|rescale|Rescaling|Normalization|preprocess_input|per_image_standardization|"
    r"equali[sz]e\w*|lower|upper|casefold|cvtColor|neg|invert|LowerCase|CaseFold|NormalizeUTF8|whiten\w*|"
    r"\w*scaler?|scale_\w+|transform|power_to_db|amplitude_to_db|AmplitudeToDB)$"
)
_PARTS = re.compile(
    r"(?i)^(?:decode\w*|parse\w*|sorted|len|range|glob|listdir|split|\w*_split|from_\w+|Dataset\w*|\w+Dataset|get|__getitem__)$"
)
_CHANNELS = re.compile(r"^(?:\.\.\.|:, :), ::-1$|(?:^|, )\[2, 1, 0\]")
# places or columns of each sample in another order: `x[:, ::-1]`, `x[:, [3, 4, 5, 0, 1, 2]]`
_TURNED = re.compile(r"^(?:\.\.\.|:(?:, :)*), (?:::-1|\[\d+(?:, \d+)+\])(?:, :)*$")
_BACK = re.compile(r"(?i)inverse|denorm|unnorm|de_norm|un_norm|unscale|to_image|plot|vis|show|draw")
_MAPS = re.compile(
    r"(?i)^(?:transform|encode|normalize|standardize|scale|lookup|tokenize|predict|index|__call__)$"
)
_STATS = word_set(
    "mean nanmean average std nanstd var median nanmedian percentile nanpercentile quantile fit adapt "
    "moments mean_std"
)
_NUMBERS = word_set(
    "unique factorize Counter value_counts set cat codes fromkeys fit fit_on_texts get_vocabulary"
)
# What occurs on one side is held against what occurs on the other: a warning, no preparation.
_COMPARE_SETS = word_set(
    "difference symmetric_difference intersection isdisjoint issubset issuperset setdiff1d intersect1d"
)
UNIT = 255.0


_UNITS = (10, 60, 100, 127.5, 128, 255, 256, 1000, 3.6, 57.2958, 3600, 32767, 32768, 65535)
_RANGES = {(2, -1), (0.5, 0.5), (-1, 1), *((1, s * b) for s in (-1, 1) for b in (0.5, 1, 127.5, 128))}


@dataclass(frozen=True)
class Figures:
    """`a * x + b`, number by number."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def idle(self) -> bool:
        """Nothing is changed."""
        return all(abs(a - 1) < 0.02 for a in self.a) and all(abs(b) < 1e-6 for b in self.b)

    def like(self, other: Figures) -> bool:
        """The same figures, up to rounding."""
        if max(len(self.a), len(self.b)) != max(len(other.a), len(other.b)):
            if 1 not in (max(len(self.a), len(self.b)), max(len(other.a), len(other.b))):
                return False
        return _near(self.a, other.a, 0.03) and _near(self.b, other.b, 0.03)

    def and_then(self, other: Figures) -> Figures:
        """One after the other."""
        scaled = _each(self.b, other.a, lambda x, y: x * y)
        return Figures(_each(self.a, other.a, lambda x, y: x * y), _each(scaled, other.b, lambda x, y: x + y))

    @property
    def usual(self) -> bool:
        """A range or a unit is changed as people do, and not by any figures."""
        a, b = self.a[0], self.b[0]
        if len(self.a) + len(self.b) > 2 or (round(a, 3), round(b, 3)) in _RANGES:
            return True
        by = max(abs(a), 1 / abs(a)) if a else 0.0
        return any(abs(by - u) < 1e-3 * u for u in _UNITS) or abs(abs(b) - 273.15) < 0.2

    def then(self, sign: str, number: tuple[float, ...], turned: bool) -> Figures | None:
        """With one more operation; `turned`: the number stands on the left."""
        if sign == "+":
            return Figures(self.a, _each(self.b, number, lambda x, y: x + y))
        if sign == "-" and not turned:
            return Figures(self.a, _each(self.b, number, lambda x, y: x - y))
        if sign == "-":
            return Figures(tuple(-a for a in self.a), _each(number, self.b, lambda x, y: x - y))
        if sign == "*" or (sign == "/" and not turned and all(number)):
            by = number if sign == "*" else tuple(1 / n for n in number)
            return Figures(_each(self.a, by, lambda x, y: x * y), _each(self.b, by, lambda x, y: x * y))
        return None


def _near(one: tuple[float, ...], other: tuple[float, ...], slack: float) -> bool:
    size = max(len(one), len(other))
    pairs = zip(_wide(one, size), _wide(other, size), strict=True)
    return all(abs(x - y) <= slack * max(abs(x), abs(y)) + 1e-3 * slack for x, y in pairs)


def _wide(one: tuple[float, ...], size: int) -> tuple[float, ...]:
    return one * size if len(one) == 1 else (*one, *[0.0] * (size - len(one)))


def _each(one: tuple[float, ...], other: tuple[float, ...], f) -> tuple[float, ...]:  # type: ignore[no-untyped-def]
    size = max(len(one), len(other))
    return tuple(f(x, y) for x, y in zip(_wide(one, size), _wide(other, size), strict=True))


@dataclass(frozen=True)
class Step:
    """One step: `kind` is figures, value, lookup, phi or unknown; `name` what is called."""

    kind: str
    name: str
    node: ast.AST
    rest: tuple[Term, ...] = ()
    kw: dict[str, Term] = field(default_factory=dict)
    figures: Figures | None = None
    parts: tuple[tuple[ast.AST, Figures], ...] = ()  # of figures, one by one

    @property
    def one_by_one(self) -> tuple[tuple[ast.AST, Figures], ...]:
        """The operations with figures that this step stands for."""
        return self.parts or (((self.node, self.figures),) if self.figures is not None else ())

    @property
    def tells(self) -> tuple[str, str]:
        """What two steps are put side by side by."""
        return self.kind, self.name


def steps_of(run: Evaluator, held: Term) -> tuple[list[Step], Term]:
    """The steps from the source to a value, the first one first, and the source. Raises OutOfSteps."""
    found: list[Step] = []
    for _ in range(200):
        run.tick()
        inner, step = _one_back(run, held)
        if step is not None:
            found.append(step)
        if inner is None:
            break
        held = inner
    steps = found[::-1]
    read = max((i for i, s in enumerate(steps) if s.kind == "read"), default=-1)
    # what is looked up before a file is read is the file, no value of the data
    return _folded([s for i, s in enumerate(steps) if s.kind != "lookup" or i > read]), held


def _one_back(run: Evaluator, held: Term) -> tuple[Term | None, Step | None]:
    """What a value was made of, and by which step, if it is one that counts."""
    head, node, args = held.head, held.node, held.args
    if head in GENERATORS:
        return None, None  # numbers of one seed and of another are as good as each other
    if head.startswith("op:") and len(args) == 2:
        return _operation(held)
    if head in ("each", "list_of", "starred") or head.startswith("attr:"):
        return (args[0] if args else None), None
    if head == "setitem":
        if (rewritten := _columns_rewritten(run, held)) is not None:
            return args[0], rewritten
        tables = [
            t.args[0]
            for t in inside(args[1], closed=True)
            if t.head == "item" and t.args[0].head == "dict_of"
        ]
        return args[0], Step("lookup", "[]", node, tuple(tables[:1])) if tables else None
    if head == "slice":
        if _CHANNELS.match(str(held.value).strip("()")):
            return args[0], Step("value", "[::-1]", node)
        if _TURNED.match(text := str(held.value).strip("()")):
            return args[0], Step("value", f"[{text}]", node)
        return args[0], None
    if head == "item":
        if (part := _part_of_pair(held)) is not None:
            return part, None
        orders = args[0].head.startswith("call:") and args[0].name in ("argsort", "cumsum", "searchsorted")
        picks = args[1].head == "const"  # `loaders["train"]`: which of them, no value of the data
        if orders or ((_is_table(args[0]) or _is_list_of_numbers(args[0])) and not picks):
            return args[1], Step("lookup", "[]", node, (args[0],))
        return args[0], None
    if head == "phi":
        both = [steps_of(run, a)[0] for a in args]
        if [s.tells for s in both[0]] == [s.tells for s in both[1]] and not any(
            x.figures is not None and y.figures is not None and not x.figures.like(y.figures)
            for x, y in zip(*both, strict=True)
        ):
            return args[1], None
        return None, Step("phi", str(held.value), node, args)
    if head.startswith("call:"):
        return _call(run, held)
    if head.startswith("other:") and args:
        return args[0], Step("unknown", head, node)
    return None, None


def _part_of_pair(held: Term) -> Term | None:
    """`row, answer = pairs[i]` of a list of pairs: the first of the pair, not the pair."""
    row, place = held.args[:2]
    if place.head != "const" or row.head != "item" or row.args[0].head != "list_of":
        return None
    pair = row.args[0].args[0] if row.args[0].args else None
    if pair is None or pair.head != "tuple" or row.args[1].head == "const":
        return None
    at = place.value
    return pair.args[at] if type(at) is int and -len(pair.args) <= at < len(pair.args) else None


def _columns_rewritten(run: Evaluator, held: Term) -> Step | None:
    """`x[:, 0] = np.log1p(x[:, 0])`: what is done to a part of an array, told by its place and its steps."""
    before, node = held.args[0], held.node
    if not isinstance(node, ast.Subscript) or len(held.args) != 3:
        return None
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if _is_columns(held.args[1]):
        return _of_columns(run, held)
    if not any(isinstance(p, ast.Slice) for p in places):
        return None
    value = held.args[2]
    if not any(t.head == "slice" and t.args[0].key == before.key for t in inside(value, 80)):
        return None
    made = steps_of(run, value)[0][len(steps_of(run, before)[0]) :]
    if not made or any(s.kind not in ("value", "figures") for s in made):
        return None
    told = [f"{s.name} {_rounded(s.figures)}" if s.figures is not None else s.name for s in made]
    return Step("value", f"[{unparse(node.slice)}] {' '.join(told)}", node)


def _is_columns(place: Term) -> bool:
    """`"fee"`, or a list of such names."""
    return _is_text(place) or (place.head == "tuple" and bool(place.args) and all(map(_is_text, place.args)))


def _of_columns(run: Evaluator, held: Term) -> Step | None:
    """`table[cols] = scaler.transform(table[cols])`: one step that is done to columns of a table.

    Columns that a script adds to its table are left aside: they may be answers.
    """
    before, place, value = held.args
    own = run.item(before, place, held.node)
    if own.head != "item" and _steps_between(run, None, own) is None:
        return None  # a column that the script adds
    made = _steps_between(run, own, value)
    if not made or any(s.kind not in ("value", "figures", "lookup", "counts") for s in made):
        return None
    told = next((s for s in made if s.kind in ("lookup", "counts")), made[0])
    if told.kind == "figures" or (told.kind == "value" and len(made) > 1):
        names = [f"{s.name} {_rounded(s.figures)}" if s.figures is not None else s.name for s in made]
        return Step("value", f"[{_columns_named(place)}] {' '.join(names)}", held.node)
    if told.kind == "value":
        return Step("value", f"[{_columns_named(place)}] {told.name}", held.node, told.rest, told.kw)
    return Step(told.kind, told.name, held.node, told.rest, told.kw)


def _steps_between(run: Evaluator, first: Term | None, last: Term) -> list[Step] | None:
    """The steps from one value (without one: from any column) to another; None where none lead there."""
    found: list[Step] = []
    for _ in range(40):
        run.tick()
        if last.key == first.key if first is not None else last.head == "item" and _is_columns(last.args[1]):
            return _folded(found[::-1])
        inner, step = _one_back(run, last)
        if step is not None:
            found.append(step)
        if inner is None:
            return None
        last = inner
    return None


def _columns_named(place: Term) -> str:
    return " ".join(str(t.value) for t in (place.args or (place,)))


def _rounded(told: Figures) -> str:
    return " ".join(f"{n:.2g}" for n in (*told.a, *told.b))


def _operation(held: Term) -> tuple[Term | None, Step | None]:
    left, right = held.args
    turned = False
    if left.head == right.head == "call:set":
        return None, None
    if left.drawn and right.drawn and left.sampled != right.sampled:
        return (left if left.sampled else right), None
    if left.drawn != right.drawn and numbers(right if left.drawn else left) is None:
        return (right if left.drawn else left), None
    if numbers(left) is not None and numbers(right) is None:
        left, right, turned = right, left, True
    elif right.sampled and not left.sampled:
        left, right, turned = right, left, held.name in "-/"
    if held.name == "+" and (_is_text(left) != _is_text(right)):
        return (right if _is_text(left) else left), Step("text", "text", held.node)
    told = numbers(right)
    if told is not None and held.name in "+-*/":
        start = Figures((1.0,), (0.0,)).then(held.name, told, turned)
        return left, Step("figures", "scaled", held.node, figures=start)
    value = any(_is_statistic(t) for t in inside(right))
    if held.name == "+" and not value and right.sampled and any(t.drawn for t in inside(right, 80)):
        return left, None  # samples that are blended at random
    if held.name in ("+", "-", "*", "/"):
        return left, Step("value" if value else "unknown", f"op {held.name}", held.node, (right,))
    return left, Step("unknown", f"op {held.name}", held.node, (right,))


def _is_table(held: Term) -> bool:
    """A dict that numbers something, and does not hold data."""
    if held.head == "dict":
        return bool(held.value) and all(v.head == "const" for v in held.value.values())
    if held.head != "dict_of":
        return False
    return held.args[-1].head not in ("list_of", "slice", "call:sorted")  # of numbers, none of files or rows


_LEAST = 2  # figures of a table


def _is_list_of_numbers(held: Term) -> bool:
    """`np.array([2, 0, 1])`, or an order that is drawn of a written number of classes: no rows of data."""
    while held.head.startswith("call:") and held.name in NEUTRAL and held.args:
        held = held.args[0]
    if held.head.startswith("call:") and held.name in ("permutation", "randperm"):
        return any(a.is_number for a in held.args[-1:]) and len(held.args) <= _LEAST
    return held.head == "tuple" and len(held.args) >= _LEAST and all(_is_whole(a) for a in held.args)


def _is_whole(held: Term) -> bool:
    return held.is_number and float(held.value) == int(held.value)


def _is_text(held: Term) -> bool:
    return held.head == "const" and isinstance(held.value, str)


def _is_statistic(t: Term) -> bool:
    if t.head.startswith("call:"):
        return t.name in _STATS
    name = str(t.value) if t.head == "leaf" else t.name if t.head.startswith("attr:") else ""
    return re.search(r"(?i)(?:^|[_.])(?:means?|stds?|mu|sigma|scale|stats)(?:_|$)", name) is not None


def _call(run: Evaluator, held: Term) -> tuple[Term | None, Step | None]:
    name, args, node = held.name, held.args, held.node
    if not args:
        main = next((v for k, v in held.kw.items() if v.sampled), None)
        return (main, Step("unknown", name, node)) if main is not None else (None, None)
    if name in _COMPARE_SETS:
        return None, None
    main, rest = args[0], args[1:]
    if name in ("map", "replace") and rest and _is_table(rest[0]):
        return main, Step("lookup", "[]", node, rest[:1])
    later = [a for a in args[1:] if a.sampled]
    if later and not main.sampled:
        main, rest = later[0], tuple(a for a in args if a is not later[0])
    elif len(args) > 1 and _MAPS.match(name) and not main.sampled and not args[1].plain:
        main, rest = args[1], (args[0], *args[2:])
    if name in ("apply", "map", "cond") and rest and rest[-1].head == "func":
        return apply(run, rest[-1], (main,), node), None
    if name == "get" and rest and _is_table(rest[0]):
        return main, Step("lookup", "[]", node, rest[:1])
    if name in ("take", "gather", "index_select") and rest and _is_list_of_numbers(args[0]):
        return args[-1], Step("lookup", "[]", node, args[:1])
    if name in ("index", "searchsorted", "string_lookup") and rest:
        return main, Step("lookup", "[]", node, rest[:1])
    if draws(name) or "p" in held.kw or any(a.drawn for a in (*rest, *held.kw.values())):
        data = [a for a in args if not a.drawn and a.sampled]
        return (data[0] if data and (main.drawn or not main.sampled) else main), None
    scales = held.kw.get("scale")  # torchvision's ToDtype divides where it is asked to
    if name in ("ToDtype", "to_dtype") and scales is not None and scales.value is not False:
        return main, Step("figures", "scaled", node, figures=Figures((1 / UNIT,), (0.0,)))
    if name in ("ToTensor", "to_tensor", "convert_image_dtype") and len(args) == 1:
        return main, Step("figures", "scaled", node, figures=Figures((1 / UNIT,), (0.0,)))
    if name.lower() in ("normalize", "normalise"):
        mean = held.kw.get("mean") or (rest[0] if rest else None)
        std = held.kw.get("std") or (rest[1] if len(rest) > 1 else None)
        told = (numbers(mean) if mean else None, numbers(std) if std else None)
        if told[0] is not None and told[1] is not None and all(told[1]):
            made = Figures((1.0,), (0.0,)).then("-", told[0], False)
            made = made.then("/", told[1], False) if made is not None else None
            return main, Step("figures", "scaled", node, figures=made)
        return main, Step("value", "normalize", node, rest, held.kw)
    if name in ("where", "select", "cond") and len(args) == 3:
        return args[1], None
    if name in ("factorize", "codes") or (name == "unique" and "return_inverse" in held.kw):
        return main, Step("counts", name, node, (main,))
    if name == "cvtColor" and rest and str(rest[0].value).endswith(("_BGR2RGB", "_RGB2BGR")):
        return main, Step("value", "[::-1]", node)  # as `x[:, :, ::-1]` has it
    if _TURNS.match(name):
        return main, Step("turn", name, node)
    if name in ("transpose", "swapaxes") and [a.value for a in rest if a.is_number] in (
        [1, 2],
        [2, 1],
        [-1, -2],
        [-2, -1],
    ):
        return main, Step("turn", "transpose", node)
    if name in NEUTRAL or _MOVES.search(name):
        return main, None
    if _READS.match(name):
        return main, Step("read", stem(name), node)
    if _PARTS.match(name):
        return main, None
    if _BACK.search(name):
        return main, Step("unknown", name, node, rest, held.kw)
    kind = "value" if _VALUES.match(name) else "unknown"
    return main, Step(kind, name, node, rest, held.kw)


_ONE_MORE = Figures((1.0,), (1.0,))


def _folded(steps: list[Step]) -> list[Step]:
    """Operations with figures that follow each other as one."""
    out: list[Step] = []
    for step in steps:
        before = next((i for i in range(len(out) - 1, -1, -1) if out[i].kind != "turn"), -1)
        last = out[before] if before >= 0 else None
        if step.figures is not None and last is not None and last.figures is not None:
            made = last.figures.and_then(step.figures)
            parts = (*last.one_by_one, *step.one_by_one)
            out[before] = Step("figures", "scaled", step.node, figures=made, parts=parts)
        elif step.name == "log" and last is not None and last is out[-1] and last.figures == _ONE_MORE:
            out[-1] = Step("value", "log1p", step.node)
        else:
            out.append(step)
    return [s for s in out if s.figures is None or not s.figures.idle]


def numbers(held: Term, depth: int = 6) -> tuple[float, ...] | None:
    """The numbers that a value is written out as."""
    if depth == 0:
        return None
    if held.is_number:
        return (float(held.value),)
    if held.head == "tuple" and 0 < len(held.args) <= 8:
        found = [numbers(a, depth - 1) for a in held.args]
        if all(f is not None and len(f) == 1 for f in found):
            return tuple(f[0] for f in found if f is not None)
        return found[0] if len(found) == 1 else None
    if held.head.startswith("call:") and held.args and held.name in NEUTRAL:
        return numbers(held.args[0], depth - 1)
    if held.head in ("slice", "item") and held.args:
        return numbers(held.args[0], depth - 1)
    if held.head == "list_of" and len(held.args) == 1:
        inner = held.args[0]
        if inner.head.startswith("op:") and isinstance(held.value, tuple):
            over = numbers(held.value[2], depth - 1)
            by = [numbers(a, depth - 1) for a in inner.args]
            if over is not None and by[0] is None and by[1] is not None:
                made = Figures((1.0,), (0.0,)).then(inner.name, by[1], False)
                if made is not None:
                    return _each(_each(over, made.a, lambda x, y: x * y), made.b, lambda x, y: x + y)
    if held.head.startswith("op:") and len(held.args) == 2:
        left, right = (numbers(a, depth - 1) for a in held.args)
        if left is not None and right is not None:
            if held.name == "*" and held.args[0].head == "tuple" and len(right) == 1:
                return left
            made = Figures((1.0,), (0.0,)).then(held.name, right, False) if held.name in "+-*/" else None
            if made is not None:
                return _each(_each(left, made.a, lambda x, y: x * y), made.b, lambda x, y: x + y)
    return None


def inside(held: Term, most: int = 400, closed: bool = False) -> list[Term]:
    """A term and all terms in it, each once; `closed`: but for those in the entries of a list."""
    seen: dict[int, Term] = {}
    waiting = [held]
    while waiting and len(seen) < most:
        one = waiting.pop()
        if one.key in seen:
            continue
        seen[one.key] = one
        if closed and one.head == "list_of":
            continue
        waiting += [*one.args, *one.kw.values()]
        if one.head == "dict":
            waiting += one.value.values()
    return list(seen.values())


@lru_cache(maxsize=1)
def statistics() -> tuple[frozenset[str], frozenset[str]]:
    """Calls that learn figures of data, and calls that number what occurs in them."""
    return frozenset(_STATS), frozenset(_NUMBERS)
