"""Labels of positions in scripts: what holds them, what marks those without one, what losses leave out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import losses
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.roles import TARGET_WORDS
from ..shared.sides import literal

USUAL = -100  # ignore_index of torch.nn.functional.cross_entropy
_LABELS = re.compile(
    r"(?:^|_)(?:masks?|segm?|segmentation|tags?|annotations?|gts?|lbls?|anns?|tgts?|trgs?)(?:_|$)"
)


def is_label(text: str) -> bool:
    """Say whether a name is that of labels, and of no mask of attention."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.lower())
    plain = not re.search(r"attention|padding_mask|src_|key_|causal|attn|valid_mask|loss_mask", name)
    return plain and (TARGET_WORDS.search(name) is not None or _LABELS.search(name) is not None)


def ignored_labels(source: Script) -> set[int] | None:
    """Label values that the losses leave out; None where one is not known."""
    found: set[int] = set()
    calls = [c for c, _ in losses(source)] + list(
        source.named("CrossEntropyLoss", "NLLLoss", "cross_entropy")
    )
    # what an evaluation leaves out says nothing of the loss that is learnt from
    calls = [c for c in calls if not is_evaluation(source, c)] or calls
    told = [v for c in calls if (v := keyword(c, "ignore_index")) is not None]
    told += [v for c in source.calls for v in [keyword(c, "ignore_label")] if v is not None]
    for value in told:
        number = literal(source, value)
        if not isinstance(number, int):
            return None
        found.add(number)
    return found


_LAYERS_PADDING = re.compile(r"\bpadding(?:_mode)?=|\b(?:F|np|nn\.functional)\.pad\(")


def real_class_ignored(source: Script) -> Finding | None:
    """`ignore_index=0` where a vocabulary is numbered from zero and no place of it is kept for padding."""
    if source.loose or not ({0} & (ignored_labels(source) or set())):
        return None
    if (outside := _outside_ignored(source)) is not None:
        return outside
    if re.search(
        r"(?i)pad|blank|background|unk|['\"]<|void|mask_?id|special", _LAYERS_PADDING.sub("", source.code)
    ):
        return None
    if (found := _drawn_class_ignored(source)) is not None:
        return found
    for call in source.named("enumerate"):
        start = argument(call, "start", position=1)
        made = next((p for p in source.above(call) if isinstance(p, (ast.DictComp, ast.stmt))), None)
        over = made.generators[0].iter if isinstance(made, ast.DictComp) else None
        if start is None and over is call:
            for told in source.calls:
                value = keyword(told, "ignore_index")
                if value is not None and literal(source, value) == 0:
                    return at(source, told, "class 0 is a real one here, and the loss leaves it out")
    return None


def _outside_ignored(source: Script) -> Finding | None:
    """`ignore_index=0` where "O", the tag of words outside of all spans, has number 0: an answer as well."""
    first_tags = [n.elts[0] for n in source.of(ast.List, ast.Tuple) if n.elts]
    lists = any(isinstance(e, ast.Constant) and e.value == "O" for e in first_tags)
    numbered = any(
        isinstance(k, ast.Constant) and k.value == "O" and isinstance(v, ast.Constant) and v.value == 0
        for node in source.of(ast.Dict)
        for k, v in zip(node.keys, node.values, strict=True)
    )
    counted = any(argument(c, "start", position=1) is None for c in source.named("enumerate"))
    spans = re.search(r"['\"](?:[BI]-\w*)['\"]|f['\"][^'\"]*-\{", source.code) is not None
    if not spans or not (numbered or (lists and counted)):
        return None
    for call in source.calls:
        value = keyword(call, "ignore_index")
        if value is not None and literal(source, value) == 0:
            return at(source, call, "tag 0 is `O` here, and the loss leaves it out: spans never end")
    return None


_SAMPLES = re.compile(
    r"\b(?:CIFAR10|CIFAR100|MNIST|FashionMNIST|KMNIST|SVHN|STL10|load_digits|load_iris|load_wine)\b"
)


def _drawn_class_ignored(source: Script) -> Finding | None:
    """`ignore_index=0` where labels are drawn with `integers(0, 8)`, or are those of a set of pictures."""
    told = [
        c for c in source.calls if (v := keyword(c, "ignore_index")) is not None and literal(source, v) == 0
    ]
    if not told or re.search(r"(?i)segment|tokens?\b|vocab|seq_?len", source.code):
        return None
    for node in source.of(ast.Assign):
        if not isinstance(node.value, ast.Call) or last_name(node.value.func) not in ("integers", "randint"):
            continue
        names = [n.id for t in node.targets for n in of(t, ast.Name)]
        if not any(
            re.search(r"(?i)^(?:y|labels?|targets?|classes|y_\w+|\w+_(?:y|labels?))$", n) for n in names
        ):
            continue
        given = node.value.args
        numpy_like = last_name(node.value.func) == "integers" or source.owner(node.value) == "torch"
        first_of = literal(source, given[0]) if numpy_like and len(given) > 1 else None
        if first_of == 0:
            return at(source, told[0], "class 0 is drawn like any other here, and the loss leaves it out")
    if _SAMPLES.search(source.code):
        return at(source, told[0], "class 0 is a real one of this data set, and the loss leaves it out")
    return None


def written_over(source: Script, call: ast.Call, values: set[int]) -> bool:
    """Say whether one of these values is put where a padded tensor has no label: `x.masked_fill(m, -100)`.

    Also `where(m, padded, -100)` and `padded[m] = -100`, in the function that pads.
    """
    statement = source.statement(call)
    names = {unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    scope = source.function_around(call) or source.tree
    for node in of(scope, ast.Call, ast.Assign):
        if isinstance(node, ast.Assign):
            held = {unparse(t.value) for t in node.targets if isinstance(t, ast.Subscript)}
            given = [node.value]
        elif last_name(node.func) in ("masked_fill", "masked_fill_", "where"):
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            held = {unparse(a) for a in (*owner, *node.args)}
            given = all_arguments(node)
        else:
            continue
        inside = call in of(node, ast.Call) and node is not call
        if (inside or held & names) and any(literal(source, g) in values for g in given):
            return True
    return False


def _own(source: Script, call: ast.Call) -> bool:
    """`self.pad(ids)`, `pad(ids)`: a method or function of the script itself, not the library's."""
    owner = receiver(call)
    if owner is not None and unparse(owner) not in ("self", "cls", *source.classes):
        return False
    name = last_name(call.func)
    return any(f.name == name for f in source.of(ast.FunctionDef))


def _place_in_batch(source: Script, call: ast.Call) -> str:
    """What a loop over batches calls the part that a collating function gives back here; "" where none tells.

    `return pad_sequence(s), lengths, pad_sequence(t)` beside `for source, lengths, target in loader`.
    """
    row = source.parents.get(call)
    if not isinstance(row, ast.Tuple) or not isinstance(source.parents.get(row), ast.Return):
        return ""
    function = source.function_around(call)
    if function is None or "collate" not in function.name.lower():
        return ""
    loops = [n.target for n in source.of(ast.For) if takes_gradients(source, n)]
    inner = [t.elts[1] if _counts(t) and isinstance(t, ast.Tuple) else t for t in loops]
    names = {
        unparse(t.elts[row.elts.index(call)])
        for t in inner
        if isinstance(t, ast.Tuple) and len(t.elts) == len(row.elts)
    }
    return names.pop() if len(names) == 1 else ""


def _counts(target: ast.expr) -> bool:
    """`for i, (x, y) in enumerate(loader)`."""
    return isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[1], ast.Tuple)


def padded_labels(source: Script) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """Calls that pad labels, with the value that they pad with (None: zero)."""
    for call in source.calls:
        name = last_name(call.func)
        if not call.args or name not in ("pad", "pad_sequence", "copyMakeBorder"):
            continue
        if _own(source, call):
            continue  # what a function of the script pads with is written in it
        statement = source.statement(call)
        target = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        what = unparse(call.args[0])
        plain = isinstance(
            call.args[0], (ast.Name, ast.Attribute, ast.ListComp, ast.GeneratorExp, ast.Subscript)
        )
        told = is_label(what) or (is_label(target) and "," not in target)
        if not plain or not (told or is_label(_place_in_batch(source, call))):
            continue
        if any(k.arg == "mode" and unparse(k.value) not in ("'constant'",) for k in call.keywords):
            continue
        values = [keyword(call, k) for k in ("constant_values", "value", "padding_value", "fill", "pad_val")]
        value = next((v for v in values if v is not None), None)
        if value is None and name == "pad" and len(call.args) > 3:
            value = call.args[3]
        if (
            value is None
            and name == "pad"
            and len(call.args) == 3
            and not isinstance(call.args[2], ast.Tuple)
        ):
            value = call.args[2]
            if isinstance(literal(source, value), str):
                value = None
        if value is None and name == "pad_sequence" and len(call.args) > 2:
            value = call.args[2]
        yield call, value
