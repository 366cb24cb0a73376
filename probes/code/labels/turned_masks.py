"""Masks of labels in scripts that keep the wrong ones: gaps for targets, targets for gaps, or none at all."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import literal
from .marks import ignored_labels, is_label

_MARK = re.compile(
    r"(?i)(?:^|[._])(?:pad|padding|ignored?|void|unlabel\w*|no_?label)(?:_?(?:id|idx|index|label|value))?$"
)
_MASK = re.compile(r"(?i)^(?:\w+_)?(?:loss_?mask|mask|label_mask|target_mask)$")


def tokens_left_out(source: Script) -> Finding | None:
    """`labels[labels != pad_token_id] = -100`: the words are left out of the loss, and padding is learned."""
    seen: ast.AST | None = None
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or literal(source, node.value) != -100:
            continue
        test = target.slice
        if not isinstance(test, ast.Compare) or unparse(test.left) != unparse(target.value):
            continue
        if not re.search(r"(?i)pad(?:_?(?:token|id|idx|token_id))?$", unparse(test.comparators[0])):
            continue
        seen = seen or node
        if isinstance(test.ops[0], ast.NotEq):
            return at(source, node, "all but padding is left out of the loss")
    return ok(source, seen, "padding is left out of the loss") if seen is not None else None


def gaps_kept(source: Script) -> Finding | None:
    """`where(isnan(y), y, filler)`, `select(label == IGNORE, label, 0)`: the gaps stay, the targets go."""
    seen: ast.AST | None = None
    for call in source.named("where", "select"):
        if len(call.args) != 3:
            continue
        test, kept, other = call.args
        gap = _gap(source, test)
        if gap is None:
            continue
        asked, turned = gap
        seen = seen or call
        wrong, right = (other, kept) if turned else (kept, other)
        same = unparse(wrong) == asked and unparse(right) != asked
        if same and not _of(right, asked) and is_label(f"{asked} {_target(source, call)}"):
            return at(source, call, f"`{asked}` stays where it has no label, and its labels are replaced")
    return ok(source, seen, "labels stay, and gaps are replaced") if seen is not None else None


def _gap(source: Script, test: ast.expr, depth: int = 3) -> tuple[str, bool] | None:
    """What is asked for gaps, and whether the answer is turned: `~isnan(y)` -> ("y", True)."""
    if depth == 0:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, (ast.Invert, ast.Not)):
        inner = _gap(source, test.operand, depth)
        return None if inner is None else (inner[0], not inner[1])
    if isinstance(test, (ast.Name, ast.Attribute)):
        given = flow(source).given(test)
        if given is None or given.places or _changed_between(source, given.statement, test):
            return None
        return _gap(source, given.value, depth - 1)
    if isinstance(test, ast.Call):
        name = last_name(test.func)
        owner = receiver(test)
        asked = test.args[0] if test.args else owner
        if name == "logical_not" and asked is not None:
            inner = _gap(source, asked, depth - 1)
            return None if inner is None else (inner[0], not inner[1])
        if asked is not None and name in ("isnan", "isna", "isnull", "is_nan"):
            return unparse(asked), False
        if asked is not None and name in ("isfinite", "notna", "notnull"):
            return unparse(asked), True
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        mark = test.comparators[0]
        named = isinstance(mark, (ast.Name, ast.Attribute)) and _MARK.search(unparse(mark))
        if isinstance(test.ops[0], (ast.Eq, ast.NotEq)) and (named or literal(source, mark) in (-100, 255)):
            return unparse(test.left), isinstance(test.ops[0], ast.NotEq)
    return None


def _changed_between(source: Script, made: ast.AST, used: ast.AST) -> bool:
    """What was asked is not what it was, or the mask was changed in place: it is left aside."""
    first, last = getattr(made, "lineno", 0), getattr(used, "lineno", 0)
    scope = source.function_around(used) or source.tree
    name = unparse(used) if isinstance(used, ast.expr) else ""
    return any(
        first < n.lineno < last
        and name in unparse(n.target if isinstance(n, ast.AugAssign) else n.targets[0])
        for n in of(scope, ast.Assign, ast.AugAssign)
    )


def _of(node: ast.expr, asked: str) -> bool:
    """The other value is worked out of the same labels: `where(isnan(y), y, log(y))`."""
    return any(unparse(n) == asked for n in of(node, ast.Name, ast.Attribute)) and not (
        isinstance(node, ast.Call) and last_name(node.func) in ("zeros_like", "ones_like", "full_like")
    )


def _target(source: Script, call: ast.Call) -> str:
    statement = source.statement(call)
    return unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def labels_marked(source: Script) -> Finding | None:
    """`y[y >= 0] = IGNORE`: every class is written over by the label that the loss leaves out."""
    ignored = ignored_labels(source) or set()
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Compare):
            test, held = target.slice, unparse(target.value)
        else:
            continue
        if len(test.ops) != 1 or unparse(test.left) != held or not is_label(_named(target.value)):
            continue
        if literal(source, node.value) not in ignored | {-100}:
            continue
        least = literal(source, test.comparators[0])
        if (isinstance(test.ops[0], ast.GtE) and least == 0) or (
            isinstance(test.ops[0], ast.Gt) and least == -1
        ):
            return at(source, node, "every class is written over by what the loss leaves out")
    return None


def _named(node: ast.expr) -> str:
    return unparse(node).replace("lab", "label") if unparse(node) == "lab" else unparse(node)


def asked_after_replacing(source: Script) -> Finding | None:
    """`safe = where(y != IGNORE, y, 0)`, then `known = safe != IGNORE`: nothing is left to be found."""
    for test in source.of(ast.Compare):
        if len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            continue
        if not isinstance(test.left, (ast.Name, ast.Attribute)):
            continue
        made = flow(source).whole_given(test.left)
        if not isinstance(made, ast.Call) or last_name(made.func) not in ("where", "select", "masked_fill"):
            continue
        if source.function_around(made) is not source.function_around(test):
            continue
        replaced = _replaced(made)
        if replaced is None or replaced[0] != unparse(test.comparators[0]):
            continue
        if not _MARK.search(replaced[0]) and literal(source, test.comparators[0]) not in (-1, -100, 255):
            continue
        if replaced[1] != replaced[0] and not isinstance(source.statement(test), ast.Assert):
            return at(source, test, "gaps are looked for after they were replaced, so that none is found")
    return None


def _replaced(call: ast.Call) -> tuple[str, str] | None:
    """The mark that a call takes out, and what it puts there: `where(y != IGNORE, y, 0)`."""
    method = isinstance(call.func, ast.Attribute) and len(call.args) == 2
    test = argument(call, position=0)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    mark = unparse(test.comparators[0])
    if method and last_name(call.func) == "masked_fill" and isinstance(test.ops[0], ast.Eq):
        return mark, unparse(call.args[1])
    if len(call.args) != 3:
        return None
    kept, other = (2, 1) if isinstance(test.ops[0], ast.Eq) else (1, 2)
    if not isinstance(test.ops[0], (ast.Eq, ast.NotEq)) or unparse(call.args[kept]) != unparse(test.left):
        return None
    return mark, unparse(call.args[other])


def asked_after_clamping(source: Script) -> Finding | None:
    """`y = y.clamp(min=0)`, then `known = y >= 0` or `y != -1`: no label is left that says no."""
    for test in source.of(ast.Compare):
        if len(test.ops) != 1 or not isinstance(test.left, ast.Name) or not is_label(test.left.id):
            continue
        bound = literal(source, test.comparators[0])
        asks = (isinstance(test.ops[0], ast.GtE) and bound == 0) or (
            isinstance(test.ops[0], (ast.NotEq, ast.Gt)) and bound in (-1, -100)
        )
        given = flow(source).given(test.left) if asks else None
        if given is None or given.places or not isinstance(given.value, ast.Call):
            continue
        if source.function_around(given.value) is not source.function_around(test):
            continue
        if _least_zero(source, given.value) and not isinstance(source.statement(test), ast.Assert):
            return at(source, test, "gaps are looked for after they were clamped to a class")
    return None


def _least_zero(source: Script, call: ast.Call) -> bool:
    """`y.clamp(min=0)`, `relu(y)`, `np.maximum(y, 0)`: no number below 0 is left."""
    name = last_name(call.func)
    if name in ("clamp", "clip", "clamp_min", "clip_by_value"):
        method = isinstance(call.func, ast.Attribute) and unparse(call.func.value) not in _LIBRARIES
        rest = call.args if method else call.args[1:]
        least = keyword(call, "min") or keyword(call, "a_min") or (rest[0] if rest else None)
        return least is not None and literal(source, least) == 0
    return name == "maximum" and any(literal(source, a) == 0 for a in call.args)


_LIBRARIES = ("torch", "np", "numpy", "tf", "ops", "mint", "F", "jnp")


def gaps_counted(source: Script) -> Finding | None:
    """`each[~checked].mean()` with `checked = target >= 0`: the loss goes over what has no label."""
    seen: ast.AST | None = None
    if re.search(r"(?i)pseudo|unlabel|unsup|semi_?sup|consisten", source.code):
        return None  # what has no label is learnt from as well
    for node in source.of(ast.Subscript, ast.BinOp):
        if isinstance(node, ast.Subscript):
            pairs = [(node.value, node.slice)] if isinstance(node.ctx, ast.Load) else []
        else:
            product = isinstance(node.op, ast.Mult)
            pairs = [(node.left, node.right), (node.right, node.left)] if product else []
        for losses, mask in pairs:
            known = _known(source, mask)
            if known is None or not _is_losses(source, losses):
                continue
            seen = seen or node
            if known is False:
                return at(source, node, "the loss counts the places that have no label, and no others")
    return ok(source, seen, "the loss counts the places that have a label") if seen is not None else None


def _known(source: Script, mask: ast.expr, depth: int = 4) -> bool | None:
    """Whether a mask is true where there is a label (True), where there is none (False), or is another."""
    if depth == 0:
        return None
    turned = None
    if isinstance(mask, ast.UnaryOp) and isinstance(mask.op, ast.Invert):
        turned = mask.operand
    elif isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.Sub) and literal(source, mask.left) == 1:
        turned = mask.right
    if turned is not None:
        inner = _known(source, turned, depth - 1)
        return None if inner is None else not inner
    if isinstance(mask, ast.Name):
        given = flow(source).all_given(mask)
        if len(given) != 1 or given[0].places:
            return None
        return _known(source, given[0].value, depth - 1)
    if isinstance(mask, ast.Call):
        if last_name(mask.func) in ("float", "to", "bool", "type_as", "astype", "cast"):
            inner_node = receiver(mask)
            if last_name(mask.func) == "cast" and mask.args:
                inner_node = mask.args[0]
            return _known(source, inner_node, depth - 1) if inner_node is not None else None
        return None
    if not isinstance(mask, ast.Compare) or len(mask.ops) != 1:
        return None
    held = mask.left
    while isinstance(held, ast.Subscript) and not isinstance(held.slice, ast.Constant):
        held = held.value
    if not is_label(unparse(held)):
        return None
    mark, operator = mask.comparators[0], mask.ops[0]
    number = literal(source, mark)
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        named = isinstance(mark, (ast.Name, ast.Attribute)) and _IGNORED.search(unparse(mark))
        return isinstance(operator, ast.NotEq) if named or number in (-1, -100, 255) else None
    if (isinstance(operator, ast.GtE) and number == 0) or (isinstance(operator, ast.Gt) and number == -1):
        return True
    return False if isinstance(operator, ast.Lt) and number == 0 else None


_IGNORED = re.compile(r"(?i)(?:^|[._])ignored?(?:_?(?:id|idx|index|label|value))?$")


def _is_losses(source: Script, node: ast.expr) -> bool:
    """One loss for each place: a loss that is not reduced, or what a name like `losses` holds."""
    for end in [node, *flow(source).values(node, 2)]:
        if isinstance(end, ast.Call) and re.search(r"(?i)entropy|nll|bce|(?:^|_)loss", last_name(end.func)):
            reduction = keyword(end, "reduction")
            return reduction is not None and unparse(reduction).strip("'\"") == "none"
    return False


def batch_mask_unused(source: Script) -> Finding | None:
    """`for x, y, mask in loader:` of training, where `mask` is moved to the device and never looked at.

    Told only where another loop of the script reads the third part of its batches under the same name.
    """
    whole = [c for c in source.named("dropna") if keyword(c, "how") is None]
    loops = [n for n in source.of(ast.For) if _handed(n.target)] if not whole else []
    for loop in loops:
        if not takes_gradients(source, loop):
            continue
        for name in _handed(loop.target):
            if _uses(loop, name):
                continue
            others = [n for n in loops if n is not loop and name in _handed(n.target) and _uses(n, name)]
            if others and not any(n in source.above(loop) for n in loops):
                return at(
                    source, loop, f"`{name}` comes with each batch, and the training step never looks at it"
                )
    return None


def _handed(target: ast.expr) -> list[str]:
    """Masks of labels among the parts of a batch."""
    parts = of(target, ast.Name)
    return [n.id for n in parts if _MASK.match(n.id)] if isinstance(target, ast.Tuple) else []


def _uses(loop: ast.For, name: str) -> bool:
    """The name is read for more than to move it to a device under its own name."""
    inside = [n for s in loop.body for n in walk(s)]
    moved = {n for s in inside if isinstance(s, ast.Assign) and _moves(s, name) for n in walk(s.value)}
    counted = {n for c in inside if isinstance(c, ast.Call) and _counts(c, name) for n in walk(c)}
    divides = {n for d in inside if isinstance(d, ast.BinOp) and isinstance(d.op, ast.Div) for n in walk(d)}
    reads = [n for n in inside if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return any(n not in moved and (n not in counted or n in divides) for n in reads)


def _counts(call: ast.Call, name: str) -> bool:
    """`mask.sum()`: how many labels there are, for a meter."""
    return unparse(call.func) in (f"{name}.sum", f"{name}.count_nonzero") and not call.args


def _moves(node: ast.Assign, name: str) -> bool:
    """`mask = mask.to(device)`, `x, mask = x.cuda(), mask.cuda()`."""
    targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    if len(targets) != len(values):
        return False
    return any(
        unparse(t) == name and re.fullmatch(rf"{name}\.(?:to|cuda|npu|float|bool)\([^()]*\)", unparse(v))
        for t, v in zip(targets, values, strict=True)
    )


def first_piece_hidden(source: Script) -> Finding | None:
    """`elif word == previous: labels.append(label)`, `else: append(-100)`: the first piece has no label."""
    for node in source.of(ast.If):
        test = node.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
            continue
        names = {unparse(test.left), unparse(test.comparators[0])}
        if not any(re.search(r"(?i)prev|last", n) for n in names) or len(node.orelse) == 0:
            continue
        function: Function | ast.Module = source.function_around(node) or source.tree
        if not any(last_name(c.func) == "word_ids" for c in of(function, ast.Call)):
            continue
        if _appends(source, node.orelse) == {-100} and _appends(source, node.body) == {None}:
            return at(source, node, "the first piece of each word is left out, and the others get its label")
    return None


def _appends(source: Script, body: list[ast.stmt]) -> set[object]:
    """What the calls of `append` in a branch add, None for what is no number."""
    calls = [s.value for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    added = [c.args[0] for c in calls if last_name(c.func) == "append" and c.args]
    return {v if isinstance(v := literal(source, a), int) else None for a in added}


def labels_padded_with_a_token(source: Script) -> Finding | None:
    """`DataCollatorForTokenClassification(tokenizer, label_pad_token_id=tokenizer.pad_token_id)`."""
    if source.loose or re.search(r"ignore_index=\S*pad", source.code):
        return None
    for call in source.calls:
        value = keyword(call, "label_pad_token_id")
        if isinstance(value, (ast.Name, ast.Attribute)) and re.search(
            r"tokenizer\.(?:pad|eos|unk)_token_id$", unparse(value)
        ):
            return at(
                source, value, "labels are padded with the id of a token, which the loss counts as a class"
            )
    return None


_PAD = re.compile(r"(?i)(?:^|[._])(?:pad|eos|unk)_?(?:token)?_?(?:id|idx|index)$|^pad$")
_WRITTEN_OVER = re.compile(
    r"masked_fill|(?:==|!=) *[\w.]*pad[^\n]*(?:-100|\] = )|\.eq\(|(?:torch|np)\.where"
    r"|\[[^\]\n]*(?:==|!=|~|mask)[^\n]*\] = "
)
_LABELS = re.compile(r"(?i)(?:^|[._\[\'])(?:labs?|labels?)(?:$|[_.\[\'])|_labels?$|_labs?$")


def labels_lengthened_with_a_token(source: Script) -> Finding | None:
    """`labels.append(lab + [pad_id] * gap)`: what the model's loss counts as targets.

    Silent where a loss of the script is told an `ignore_index`, or -100 is written over the padding later.
    """
    if source.loose or "ignore_index" in source.code or not _own_loss_read(source):
        return None
    if _WRITTEN_OVER.search(source.code):
        return None
    for node in source.of(ast.BinOp):
        added = node.right
        if not isinstance(node.op, ast.Add) or not isinstance(added, ast.BinOp):
            continue
        if not isinstance(added.op, ast.Mult) or not isinstance(added.left, ast.List) or not added.left.elts:
            continue
        value = added.left.elts[0]
        number = literal(source, value)
        token = isinstance(value, (ast.Name, ast.Attribute)) and _PAD.search(unparse(value)) is not None
        wrong = token if number is None else isinstance(number, int) and number >= 0
        if wrong and _of_labels(source, node):
            return at(source, node, "labels are padded with a token, and the model leaves out -100 alone")
    return None


def _own_loss_read(source: Script) -> bool:
    """The loss is the one that a model of transformers works out of its labels."""
    told = any(isinstance(n.value, str) and n.value == "labels" for n in source.of(ast.Constant))
    model = "transformers" in source.code and "from_pretrained" in source.code
    asked = re.search(r"\)\.loss\b|\bout\w*\.loss\b", source.code) is not None or bool(
        source.named("Trainer")
    )
    return told and model and asked


def _of_labels(source: Script, joined: ast.BinOp) -> bool:
    """What is lengthened are labels: by its name, the list that it goes to, or its key."""
    if _LABELS.search(unparse(joined.left)):
        return True
    above: ast.AST | None = source.parents.get(joined)
    one: ast.AST = joined
    while isinstance(above, ast.ListComp) or (
        isinstance(above, ast.Call)
        and last_name(above.func) in ("tensor", "LongTensor", "array", "as_tensor")
    ):
        one, above = above, source.parents.get(above)  # `torch.tensor([y + [pad] * gap for y in rows])`
    if isinstance(above, ast.Call) and last_name(above.func) == "append":
        return _LABELS.search(source.owner(above)) is not None
    if isinstance(above, ast.Assign):
        return any(_LABELS.search(unparse(t)) for t in above.targets)
    if isinstance(above, ast.Dict):
        keys = [k for k, v in zip(above.keys, above.values, strict=True) if v is one]
        return any(isinstance(k, ast.Constant) and k.value == "labels" for k in keys)
    return False
