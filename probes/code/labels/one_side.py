"""Labels of training samples that a script writes anew by what they are, and of held-out samples not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.numbers import known
from ..shared.one_side import (
    classifies,
    comes_out_of,
    done_to_held_out,
    has_held_out,
    loss_targets,
    training_loops,
)
from ..shared.roles import INPUT_WORDS, TARGET_WORDS, is_random, targets
from ..shared.sides import side

_MEANT = re.compile(
    r"(?i)poison|backdoor|unlearn|anomal|one_?class|novelty|out_of_dist|open_?set|pseudo|self_?train"
    r"|semi_?sup|weak_?sup|positive_unlabel|pu_?learn|noisy_?label|label_?noise|noise_?rate|adversar|attack"
    r"|control_?task|domain_?label"
)
_MADE = re.compile(r"(?i)^(?:np\.|numpy\.|torch\.)?(?:zeros|ones|empty|full)$")
_LIKE = ("zeros_like", "ones_like", "full_like")


@dataclass(frozen=True)
class Written:
    """Labels that are written: the statement, their text, what is done, and if classes only change names."""

    node: ast.stmt
    label: str
    exchanged: bool = False


def labels_written(source: Script) -> Finding | None:
    """`train_y[train_y == 3] = 2`, `train_y[:2000] = 0`, `y = torch.zeros_like(y)` of a batch in training.

    Told where held-out labels keep what they are: nothing does the same to them, nor are they cut out of
    these labels afterwards. False positive: label noise that is studied under another name.
    """
    one = next((w for w in _told(source) if not w.exchanged), None)
    if one is None:
        return None
    return at(source, one.node, "labels of training samples alone are overwritten with a class")


def classes_exchanged(source: Script) -> Finding | None:
    """`train_y = np.where(train_y == 1, 2, np.where(train_y == 2, 1, train_y))`: held-out labels are not."""
    one = next((w for w in _told(source) if w.exchanged), None)
    if one is None:
        return None
    return at(source, one.node, "classes of the training labels change their numbers, of held-out labels not")


@lru_cache(maxsize=16)
def _told(source: Script) -> tuple[Written, ...]:
    return tuple(_each_told(source))


def _each_told(source: Script) -> Iterator[Written]:
    if not classifies(source) or _MEANT.search(source.code):
        return
    held = has_held_out(source)
    for one in _written(source):
        function = source.function_around(one.node)
        if function is not None and re.search(r"(?i)corrupt|noise|make|generat|synth", function.name):
            continue
        if side(one.label) is True:
            if held and not done_to_held_out(source, one.node):
                if not comes_out_of(source, one.label, one.node.lineno):
                    yield one
        elif (
            _in_training_alone(source, one)
            or _of_training_items(source, one)
            or (held and function is not None and _called_in_training_alone(source, function, one.label))
        ):
            yield one


def _in_training_alone(source: Script, one: Written) -> bool:
    """It stands in a loop that trains, is done to what the loop hands out, and nowhere else."""
    text = unparse(one.node)
    for loop, names in training_loops(source):
        if loop in source.above(one.node) and one.label in names:
            return not any(
                unparse(n) == text and loop not in source.above(n) for n in source.of(type(one.node))
            )
    return False


def _called_in_training_alone(source: Script, function: Function, label: str) -> bool:
    """`def relabel(y): ...`, and all that is ever handed to it is of training: `relabel(train_y)`."""
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    if label not in names:
        return False
    place, calls = names.index(label), flow(source).calls_of(function)
    given = [c.args[place] if place < len(c.args) else keyword(c, label) for c in calls]
    if not given or any(g is None or side(unparse(g)) is not True for g in given):
        return False
    return not any(comes_out_of(source, unparse(g), g.lineno) for g in given if g is not None)


def _of_training_items(source: Script, one: Written) -> bool:
    """It stands in `__getitem__` under a test of the side: `if self.train and label == 3: label = 2`."""
    function = source.function_around(one.node)
    if function is None or function.name not in ("__getitem__", "__iter__", "__init__"):
        return False
    for above in source.above(one.node):
        if isinstance(above, ast.If) and one.node in set(of(above, ast.stmt)) - set(above.orelse):
            told = [
                n for n in of(above.test, ast.Name, ast.Attribute) if last_name(n) in ("train", "is_train")
            ]
            if told or re.search(r"['\"]train(?:ing)?['\"]", unparse(above.test)):
                return "not " not in unparse(above.test) and "!=" not in unparse(above.test)
    return False


# ---------------------------------------------------------------------------------------- what is written


def _is_label(source: Script, text: str) -> bool:
    word = re.split(r"[.\[]", text)[-1].strip("'\"]").lower()
    if INPUT_WORDS.search(word) or re.search(r"(?i)mask|weight|pred|hat|prob|logit|loss|pad|score", text):
        return False
    if re.search(r"\.tensors\[(?:1|-1)\]$", text):
        return True
    return TARGET_WORDS.search(word) is not None or text in loss_targets(source) or word in targets(source)


def _written(source: Script) -> Iterator[Written]:
    ignored = _ignored(source)
    for node in source.of(ast.Assign, ast.AugAssign, ast.Expr):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            place, value = node.targets[0], node.value
            field = _field(place)
            if field is not None:
                yield from _of_field(source, node, place, field)
            elif isinstance(place, ast.Subscript) and _is_label(source, unparse(place.value)):
                number = _class(source, value)
                if number is not None and number not in ignored and _some(source, place):
                    yield Written(node, unparse(place.value))
            elif isinstance(place, (ast.Name, ast.Attribute)) and _is_label(source, unparse(place)):
                label = unparse(place)
                if _all_alike(source, value, label):
                    yield Written(node, label)
                elif (told := _turned(source, value, label, ignored)) is not None:
                    yield Written(node, label, told)
                elif _one_by_one(source, node, label):
                    yield Written(node, label)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            if known(source, node.value) == 0.0 and _is_label(source, unparse(node.target)):
                yield Written(node, unparse(node.target))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if last_name(call.func) not in ("fill", "fill_", "zero_", "masked_fill_"):
                continue
            if isinstance(call.func, ast.Attribute) and _is_label(source, unparse(call.func.value)):
                number = _class(source, call.args[-1]) if call.args else 0
                if number is not None and number not in ignored:
                    if not _made_empty(source, call.func.value):
                        yield Written(node, unparse(call.func.value))


def _class(source: Script, value: ast.expr) -> int | None:
    """The number of a class that is written out."""
    number = known(source, value)
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def _ignored(source: Script) -> set[int]:
    """Numbers that a loss leaves out; 255 is what it usually is."""
    found = {255}
    for call, _ in losses(source):
        built = [v for v in flow(source).values(call.func, 3) if isinstance(v, ast.Call)]
        for one in (call, *built):
            number = known(source, keyword(one, "ignore_index"))
            found |= {int(number)} if number is not None else set()
    return found


def _made_empty(source: Script, array: ast.expr) -> bool:
    """It was made of zeros, to be filled afterwards."""
    ways = flow(source).values(array, 3) if isinstance(array, (ast.Name, ast.Attribute)) else []
    return any(isinstance(w, ast.Call) and _MADE.match(unparse(w.func)) for w in ways) or any(
        isinstance(w, (ast.List, ast.Dict, ast.ListComp)) for w in ways if not of(w, ast.Subscript)
    )


def _some(source: Script, place: ast.Subscript) -> bool:
    """Rows by their class, a range of rows, drawn rows, or every second one of a loop."""
    text, index = unparse(place.value), place.slice
    if _made_empty(source, place.value):
        return False
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.Slice) or (isinstance(first, ast.Constant) and first.value is ...):
        # `y[:, 1] = 0` is a column, `y[1:] = 0` may begin a sequence
        return not isinstance(index, ast.Tuple) and not _begins_anew(first)
    if isinstance(first, (ast.Constant, ast.UnaryOp)) and not of(first, ast.Compare):
        return False
    ways = [first, *(flow(source).values(first, 3) if isinstance(first, ast.Name) else [])]
    for way in ways:
        if any(unparse(n) == text for c in of(way, ast.Compare) for n in of(c.left, ast.Name, ast.Attribute)):
            return _by_label_alone(way, text)
        if any(unparse(a) == text for c in of(way, ast.Call) if last_name(c.func) == "isin" for a in c.args):
            return True
        if is_random(way) or any(_equals(c, text) for c in of(way, ast.Call)):
            return True
    return _by_its_number(source, place)


def _equals(call: ast.Call, text: str) -> bool:
    """`y.eq(3)`, `torch.eq(y, 3)`"""
    held = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
    return last_name(call.func) == "eq" and text in map(unparse, held) and any(map(_constant, call.args))


def _begins_anew(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is not None and part.step is None and part.upper is None


def _by_label_alone(way: ast.expr, text: str) -> bool:
    """No other array takes part in the condition: `y[(y == 1) & (age < 3)] = 0` mends labels."""
    root = text.split(".")[0].split("[")[0]
    others = {n for n in names_in(way) if n not in (root, "np", "torch", "numpy", "pd", "int", "len")}
    plain = all(_constant(c.comparators[0]) for c in of(way, ast.Compare) if len(c.ops) == 1)
    return plain and not {n for n in others if not n.isupper()}


def _constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _by_its_number(source: Script, place: ast.Subscript) -> bool:
    """`for i in range(0, n, 2): y[i] = 0`, `for i in range(len(y)): if y[i] == 3: y[i] = 2`."""
    if not isinstance(place.slice, ast.Name):
        return False
    for above in source.above(place):
        if isinstance(above, ast.If):
            tests = of(above.test, ast.Compare)
            if any(unparse(t.left) == unparse(place) and _constant(t.comparators[0]) for t in tests):
                return True
        if isinstance(above, ast.For) and unparse(above.target) == place.slice.id:
            return isinstance(above.iter, ast.Call) and last_name(above.iter.func) == "range"
    return False


def _all_alike(source: Script, value: ast.expr, label: str) -> bool:
    """`torch.zeros_like(y)`, `np.full(len(y), 3)`, `y * 0`, of labels that were there before."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in ("to", "long", "int", "astype", "cuda", "type"):
            break
        value = value.func.value
    if isinstance(value, ast.Call):
        name = last_name(value.func)
        if name in _LIKE and value.args and unparse(value.args[0]) == label:
            return True
        if name in ("zeros", "ones", "full", "new_zeros", "new_full") and label in unparse(value):
            return True
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        sides = (value.left, value.right)
        return label in map(unparse, sides) and any(known(source, s) == 0.0 for s in sides)
    return False


def _turned(source: Script, value: ast.expr, label: str, ignored: set[int]) -> bool | None:
    """True of `where(y == 1, 2, where(y == 2, 1, y))`, False of `where(y == 3, 2, y)`, None of all else."""
    pairs: list[tuple[object, object]] = []
    value = _unwrapped(value)
    if isinstance(value, ast.BinOp) and _counted_on(value, label):
        return True
    if isinstance(value, ast.ListComp) and len(value.generators) == 1:
        over = value.generators[0]
        if unparse(over.iter) != label or over.ifs or not isinstance(over.target, ast.Name):
            return None
        label, value = over.target.id, value.elt
        if isinstance(value, ast.Call) and last_name(value.func) == "get" and len(value.args) == 2:
            table = getattr(value.func, "value", value)
            if [unparse(a) for a in value.args] != [label, label]:
                return None
            pairs += _table(source, table)
            value = ast.Name(label, ast.Load())
    value = _unwrapped(value)
    if isinstance(value, ast.Call) and last_name(value.func) in ("replace", "map", "apply"):
        if isinstance(value.func, ast.Attribute) and unparse(value.func.value) == label and value.args:
            if len(value.args) == 2 and last_name(value.func) == "replace":
                if any(isinstance(a, ast.Constant) and a.value == "" for a in value.args):
                    return None  # a part of a text is taken out: `path.replace(".keras", "")`
                pairs.append((_plain(source, value.args[0]), _plain(source, value.args[1])))
            elif isinstance(value.args[0], ast.Lambda):
                return _one_lambda(source, value.args[0], ignored)
            else:
                pairs += _table(source, value.args[0])
            value = value.func.value
    for _ in range(6):
        value = _unwrapped(value)
        if isinstance(value, ast.IfExp):
            test, then, value = value.test, value.body, value.orelse
        elif isinstance(value, ast.Call) and last_name(value.func) == "where" and len(value.args) == 3:
            test, then, value = value.args
        elif isinstance(value, ast.Call) and last_name(value.func) in ("masked_fill", "mask"):
            if len(value.args) != 2 or not isinstance(value.func, ast.Attribute):
                return None
            (test, then), value = value.args, value.func.value
        else:
            break
        tests = of(test, ast.Compare)
        if len(tests) != 1 or len(tests[0].ops) != 1 or not isinstance(tests[0].ops[0], ast.Eq):
            return None
        if unparse(tests[0].left) != label:
            return None
        pairs.append((_plain(source, tests[0].comparators[0]), _plain(source, then)))
    if unparse(value) != label or not pairs or any(None in p for p in pairs):
        return None
    told = [(a, b) for a, b in pairs if a != b]
    numbers = {b for _, b in told}
    if not told or numbers & ignored or any(isinstance(n, float) and n < 0 for n in numbers):
        return None
    return {a for a, _ in told} == numbers


def _one_lambda(source: Script, each: ast.Lambda, ignored: set[int]) -> bool | None:
    """`labels.apply(lambda v: 0 if v == 2 else v)`"""
    names = [a.arg for a in each.args.args]
    return _turned(source, each.body, names[0], ignored) if len(names) == 1 else None


def _counted_on(value: ast.BinOp, label: str) -> bool:
    """`(y + 1) % 10`: every class has the next number."""
    left = value.left
    if not isinstance(value.op, ast.Mod) or not isinstance(left, ast.BinOp):
        return False
    return isinstance(left.op, (ast.Add, ast.Sub)) and label in (unparse(left.left), unparse(left.right))


def _unwrapped(value: ast.expr) -> ast.expr:
    """What is in another type: `np.array([...])`, `(...).astype(int)`."""
    for _ in range(4):
        if isinstance(value, ast.Call) and last_name(value.func) in (
            "array",
            "asarray",
            "tensor",
            "as_tensor",
        ):
            if value.args:
                value = value.args[0]
                continue
        if isinstance(value, ast.Call) and last_name(value.func) in ("astype", "long", "to", "int", "copy"):
            if isinstance(value.func, ast.Attribute):
                value = value.func.value
                continue
        break
    return value


def _table(source: Script, node: ast.expr) -> list[tuple[object, object]]:
    ways = [v for v in (node, *flow(source).values(node, 3)) if isinstance(v, ast.Dict)]
    if not ways:
        return [(None, None)]
    pairs = zip(ways[0].keys, ways[0].values, strict=True)
    return [(_plain(source, k) if k is not None else None, _plain(source, v)) for k, v in pairs]


def _plain(source: Script, node: ast.expr) -> object:
    """A number or a word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return known(source, node)


def _one_by_one(source: Script, node: ast.Assign, label: str) -> bool:
    """`if y == 3: y = 2`, where it stands under nothing that tells of other things."""
    above = source.parents.get(node)
    if not isinstance(above, ast.If) or node not in above.body or _plain(source, node.value) is None:
        return False
    number = known(source, node.value)
    tests = [t for t in of(above.test, ast.Compare) if unparse(t.left) == label]
    if len(tests) != 1 or not isinstance(tests[0].ops[0], (ast.Eq, ast.In)):
        return False
    return number is None or number >= 0


# ------------------------------------------------------------------------------- a column, or a field of rows


_PLACES = ("loc", "at", "iloc")


def _field(place: ast.expr) -> str | None:
    """The column of `df["label"]`, `df.loc[rows, "label"]` and `row["label"]`."""
    if not isinstance(place, ast.Subscript):
        return None
    index = place.slice
    if isinstance(index, ast.Tuple) and len(index.elts) == 2 and last_name(place.value) in _PLACES:
        index = index.elts[1]
        if isinstance(index, ast.Call) and last_name(index.func) == "get_loc" and index.args:
            index = index.args[0]
    if isinstance(index, ast.Constant) and isinstance(index.value, str):
        return index.value
    return None


def _of_field(source: Script, node: ast.Assign, place: ast.expr, field: str) -> Iterator[Written]:
    if not isinstance(place, ast.Subscript) or not TARGET_WORDS.search(field.lower()):
        return
    if last_name(place.value) in _PLACES and isinstance(place.value, ast.Attribute):
        table = unparse(place.value.value)
        rows = place.slice.elts[0] if isinstance(place.slice, ast.Tuple) else place.slice
        columns = (f"{table}.{field}", f"{table}['{field}']")
        told = any(unparse(t.left) in columns and _constant(t.comparators[0]) for t in of(rows, ast.Compare))
        alone = len(of(rows, ast.Compare)) == 1
        some = (told and alone) or isinstance(rows, ast.Slice) or is_random(rows)
        if some and isinstance(node.value, ast.Constant) and _no_mark(node.value):
            yield Written(node, table)
        return
    table, text = unparse(place.value), unparse(place)
    if isinstance(node.value, ast.Constant) and _no_mark(node.value):
        loop = next((p for p in source.above(node) if isinstance(p, ast.For)), None)
        test = source.parents.get(node)
        if loop is None and side(table) is True:
            yield Written(node, table)
        elif isinstance(test, ast.If) and loop is not None and unparse(loop.target) == table:
            if any(
                unparse(t.left) == text and _constant(t.comparators[0]) for t in of(test.test, ast.Compare)
            ):
                yield Written(node, unparse(loop.iter))
    else:
        told_ = _turned(source, node.value, text, set())
        if told_ is not None:
            yield Written(node, table, told_)


def _no_mark(value: ast.Constant) -> bool:
    """A class, and not the mark of a label that is missing."""
    return (
        isinstance(value.value, (int, str))
        and not isinstance(value.value, bool)
        and value.value not in ("", 255)
    )
