"""Scaling of inputs in scripts: made ready and never used, in the wrong range, or in one branch alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..mindspore.map_steps import random_for_held_out
from ..mindspore.ports import normalised_along_other_axis
from ..shared.checks import at, first, ok
from ..shared.roles import is_random
from ..shared.sides import either, given, literal, side
from ..shared.transforms import telling
from ..shared.uses import calls_behind
from ..splits.flags import scaled_by_switch
from ..splits.handed_random import handed_random
from ..splits.side_switches import augmented_on_other_side, transform_unused
from ..splits.slipped import drawn_for_both_sides
from ..splits.split_steps import own_figures
from ..tensorflow.data import held_out_drawn
from ..tensorflow.keras_model import prepared_for_other
from ..tensorflow.keras_slips import never_adapted
from .again import divided_again, normalised_again, rescaled_again, step_made
from .by_hand import range_by_hand
from .left_over import divided_before_taken_off, figures_left, fitted_left
from .mapped_sides import random_beside_training, scaled_and_prepared, switched_on_for_held_out
from .never_read import figures_never_read
from .own_fits import one_part_left, own_fits

_SPREAD = re.compile(r"(?i)(?:^|_)(?:std|stdev|stddev|sigma|scale)(?:_|$)")
_CENTRE = re.compile(r"(?i)(?:^|_)(?:mean|mu|avg)(?:_|$)")


@probe()
def scaling_unused(view: View) -> Finding:
    """Mean and deviation of the inputs, or a scaling function, are there, and none of it is used."""
    return first(
        view,
        either(
            *(_figures_unused, _function_unused, figures_left, fitted_left, never_adapted),
            figures_never_read,
        ),
        "the scripts prepare no scaling of inputs",
    )


_FIGURES_OF = re.compile(r"(?i)score|loss|resid|decision|error|pred|reward|time|grad|param|latent|\blog")


def _figures_unused(source: Script) -> Finding | None:
    made: dict[str, ast.AST] = {}
    for node in source.of(ast.Assign, ast.keyword):
        targets: list[ast.expr] = []
        named = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if isinstance(node, ast.Assign) and not named and not _FIGURES_OF.search(unparse(node.value)):
            for target in node.targets:
                targets += target.elts if isinstance(target, ast.Tuple) else [target]
        for target in targets:
            name = (
                target.id
                if isinstance(target, ast.Name)
                else target.attr
                if isinstance(target, ast.Attribute)
                else ""
            )
            inside = isinstance(target, ast.Name) and source.function_around(node) is not None
            if (
                name
                and not inside
                and not re.search(r"(?i)loss|weight|init|grad|reward|y_|_y|target|label", name)
            ):
                if _SPREAD.search(name) or _CENTRE.search(name):
                    made.setdefault(name, node)
        if (
            isinstance(node, ast.keyword)
            and node.arg in ("mean", "std")
            and isinstance(node.value, (ast.List, ast.Tuple))
        ):
            holder = source.parents.get(node)
            if isinstance(holder, ast.Call) and re.search(
                r"(?i)config|dict|cfg|namespace", last_name(holder.func)
            ):
                if _handed_on_whole(source, holder):
                    return None
                made.setdefault(node.arg, node.value)
    spreads = [n for n in made if _SPREAD.search(n) and not re.search(r"(?i)scale", n)]
    centres = [n for n in made if _CENTRE.search(n)]
    if not spreads or not centres or len(spreads) > 2:  # of many sets: a store that others take from
        return None
    read = {
        n.id if isinstance(n, ast.Name) else n.attr
        for n in source.of(ast.Name, ast.Attribute)
        if isinstance(n.ctx, ast.Load)
        if not _is_called(source, n)
    }
    read |= {
        n.slice.value
        for n in source.of(ast.Subscript)
        if isinstance(n.slice, ast.Constant)
        and isinstance(n.slice.value, str)
        and isinstance(n.ctx, ast.Load)
    }
    looked_up = [a for c in source.named("get", "getattr", "pop") for a in c.args]
    read |= {a.value for a in looked_up if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    used = [n for n in (*spreads, *centres) if n in read]
    if used:
        return ok(source, made[used[0]], "mean and deviation are used")
    if source.loose or re.search(r"(\w+) - \1\.mean\(", source.code):
        return None
    return at(source, made[spreads[0]], "mean and deviation of the inputs are there, and nothing uses them")


def _handed_on_whole(source: Script, made: ast.Call) -> bool:
    """`norm = dict(mean=..., std=...)`, then `Normalize(**norm)`, which is read with its entries written."""
    entries = {(k.arg, unparse(k.value)) for k in made.keywords}
    return any(
        call is not made
        and last_name(call.func) != last_name(made.func)
        and entries <= {(k.arg, unparse(k.value)) for k in call.keywords}
        for call in source.calls
    )


_ROWS = re.compile(
    r"(?i)norm|instance|image|img|signal|window|spectr|utter|cmvn|audio|wave|pixel|embed|feat_vec|l2"
)


@probe()
def scaled_by_row(view: View) -> Finding:
    """A table's rows are standardised one by one, over columns that stand for different things.

    `(x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)` in a program that takes statistics by column
    of a table elsewhere. Images, signals and embeddings, whose rows are of one kind, are left aside by name.
    """
    return first(view, _by_row, "the scripts standardise no table")


def _by_row(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        shape = re.fullmatch(
            r"\((\w+) - \1\.mean\((.*?)\)\) / \(?\1\.std\((.*?)\)(?: \+ \S+\))?", unparse(node)
        )
        function = source.function_around(node)
        if shape is None or function is None or function in source.forwards:
            continue
        axes = [re.sub(r"(?:axis|dim)=|, ?keep\w+=True", "", shape.group(i)).strip() for i in (2, 3)]
        if axes == ["0", "0"]:
            seen = seen or node
        if axes not in (["1", "1"], ["-1", "-1"]) or _ROWS.search(function.name + shape.group(1)):
            continue
        columns = re.search(r"(?:nan)?(?:mean|std|median|quantile|percentile)\([^()]*axis=0\)", source.code)
        if columns and source.function_name(node) != "forward":
            return at(
                source, node, "each row is standardised over its columns, which stand for different things"
            )
    return ok(source, seen, "tables are standardised by column") if seen is not None else None


def _is_called(source: Script, node: ast.AST) -> bool:
    """`x.mean()`: the method, not the figure."""
    parent = source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _function_unused(source: Script) -> Finding | None:
    """`def scale(img): return preprocess_input(img)` that nobody calls."""
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        if len(function.body) > 3 or source.class_around(function) is not None:
            continue
        text = unparse(function)
        if not re.search(r"preprocess_input|per_image_standardization|/ 255|/ 127\.5", text):
            continue
        used = [
            n
            for n in source.of(ast.Name, ast.Attribute)
            if (n.id if isinstance(n, ast.Name) else n.attr) == function.name and isinstance(n.ctx, ast.Load)
        ]
        seen = seen or function
        others = len(re.findall(r"preprocess_input|/ 255|/ 127\.5|Rescaling|Normalization", source.code))
        if (
            not used
            and others <= len(re.findall(r"preprocess_input|/ 255|/ 127\.5", text))
            and not source.loose
        ):
            return at(source, function, "this scaling is written and nobody calls it")
    return ok(source, seen, "the scaling is called") if seen is not None else None


# --------------------------------------------------------------------------------------------------- ranges

_KERAS_UNIT = re.compile(r"preprocess_input")


@probe()
def range_does_not_fit(view: View) -> Finding:
    """Mean and deviation, or a scaling function, are for another range of values than they get."""
    return first(
        view,
        either(
            *(_after_unit, _before_unit, _twice, normalised_again, divided_again, rescaled_again),
            *(prepared_for_other, scaled_and_prepared, normalised_along_other_axis),
            *(divided_before_taken_off, _by_hand),
        ),
        "the scripts do not normalise by given figures",
    )


@lru_cache(maxsize=16)
def _pipelines(source: Script) -> tuple[list[ast.expr], ...]:
    """The steps of each pipeline, as far as it is written out."""
    return tuple(_each_pipeline(source))


def _each_pipeline(source: Script) -> Iterator[list[ast.expr]]:
    for node in source.of(ast.List, ast.Tuple, ast.Call):
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
            steps = [step_made(source, e) for e in node.elts]
            if sum(isinstance(e, ast.Call) for e in steps) > 1:
                yield steps
        elif (
            isinstance(node, ast.Call)
            and last_name(node.func) in ("Compose", "Sequential")
            and len(node.args) > 1
        ):
            yield node.args
    for both in source.of(ast.BinOp):
        if isinstance(both.op, ast.Add) and isinstance(both.right, ast.List):
            yield from _added_up(source, both.left, both.right)


def _added_up(source: Script, first_: ast.expr, last: ast.List) -> Iterator[list[ast.expr]]:
    """`steps + [Normalize(...)]`: a pipeline for each list that may stand behind the name."""
    lists = [first_] if isinstance(first_, ast.List) else [g.value for g in flow(source).all_given(first_)]
    for one in lists:
        if isinstance(one, ast.List):
            yield [step_made(source, e) for e in (*one.elts, *last.elts)]


def _by_hand(source: Script) -> Finding | None:
    return range_by_hand(source, _figures)


def _mean_of(source: Script, step: ast.expr) -> float | None:
    """The largest mean that a Normalize step is given."""
    if not isinstance(step, ast.Call) or last_name(step.func).lower() not in ("normalize", "normalise"):
        return None
    value = keyword(step, "mean") or (step.args[0] if step.args else None)
    numbers = _figures(source, value)
    return max(numbers) if numbers else None


def _figures(source: Script, value: ast.expr | None, depth: int = 4) -> list[float]:
    if value is None or depth == 0:
        return []
    if isinstance(value, (ast.List, ast.Tuple)):
        found = [_number(e) for e in value.elts]
        return [f for f in found if f is not None] if None not in found else []
    if (
        isinstance(value, ast.Call)
        and value.args
        and last_name(value.func)
        in ("tuple", "list", "array", "tensor", "asarray", "constant", "Tensor", "float32")
    ):
        return _figures(source, value.args[0], depth - 1)
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("view", "reshape", "to", "astype", "cuda", "unsqueeze", "float")
    ):
        return _figures(source, value.func.value, depth)
    if isinstance(value, (ast.Name, ast.Attribute)):
        ends = [v for v in flow(source).values(value, 4) if v is not value]
        if not ends and isinstance(value, ast.Attribute):
            ends = [
                k.value
                for c in source.calls
                for k in c.keywords
                if k.arg == value.attr and k.value is not value
            ]
            ends = [e for e in ends if unparse(e) != unparse(value)] or _fields(source, value)
        given_ = [f for v in ends if (f := _figures(source, v, depth - 1))]
        return given_[0] if len(given_) == 1 else []
    return []


def _fields(source: Script, value: ast.Attribute) -> list[ast.expr]:
    """What classes of the script hold under the name: `CFG.mean`, or the default of a dataclass's field."""
    found: list[ast.expr] = []
    for name, owner in source.classes.items():
        for node in owner.body:
            if isinstance(node, ast.Assign) and unparse(value.value) == name:
                found += [node.value] if unparse(node.targets[0]) == value.attr else []
            if (
                not isinstance(node, ast.AnnAssign)
                or unparse(node.target) != value.attr
                or node.value is None
            ):
                continue
            made = keyword(node.value, "default_factory") if isinstance(node.value, ast.Call) else None
            plain = keyword(node.value, "default") if isinstance(node.value, ast.Call) else node.value
            found += [made.body] if isinstance(made, ast.Lambda) else [plain] if plain is not None else []
    return found


def _number(node: ast.expr) -> float | None:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        return float(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        left, right = _number(node.left), _number(node.right)
        if left is None or right in (None, 0.0):
            return None
        return left * right if isinstance(node.op, ast.Mult) else left / right
    return None


def _after_unit(source: Script) -> Finding | None:
    """ToTensor gives 0 to 1; a mean above 1 is one of bytes."""
    seen: ast.AST | None = None
    for steps in _pipelines(source):
        names = [last_name(s.func) if isinstance(s, ast.Call) else "" for s in steps]
        for i, step in enumerate(steps):
            mean = _mean_of(source, step)
            of_torch = "ToTensor" in names[:i] and "torchvision" in source.code
            if mean is None or not (of_torch or _to_unit(source, steps[:i])):
                continue
            seen = seen or (step if of_torch else None)
            if mean > 1.5:
                return at(source, step, f"pixels are 0 to 1 here, and the mean is {mean:g}")
    return (
        ok(source, seen, "mean and deviation are for 0 to 1, as the pixels are") if seen is not None else None
    )


def _to_unit(source: Script, steps: list[ast.expr]) -> bool:
    """MindSpore's `ToTensor()` or `Rescale(1 / 255, 0)`."""
    if "mindspore" not in source.code or "torchvision" in source.code:
        return False
    for step in steps:
        name = last_name(step.func) if isinstance(step, ast.Call) else ""
        if name == "ToTensor":
            return True
        if name == "Rescale" and isinstance(step, ast.Call) and step.args:
            factor = _number(step.args[0])
            if factor is not None and 0 < factor < 0.01:
                return True
    return False


def _before_unit(source: Script) -> Finding | None:
    """MindSpore decodes to 0 to 255; a mean below 1 without Rescale or ToTensor is one of 0 to 1."""
    if "mindspore" not in source.code:
        return None
    seen: ast.AST | None = None
    for steps in _pipelines(source):
        names = [last_name(s.func) if isinstance(s, ast.Call) else "" for s in steps]
        for i, step in enumerate(steps):
            mean = _mean_of(source, step)
            decodes = any("Decode" in n for n in names[:i]) or _read_as_bytes(source, step)
            if mean is None or not decodes or {"Rescale", "ToTensor"} & set(names[:i]):
                continue
            seen = seen or step
            if mean <= 1.0:
                return at(source, step, f"pixels are 0 to 255 here, and the mean is {mean:g}")
    return (
        ok(source, seen, "mean and deviation are for bytes, as the pixels are") if seen is not None else None
    )


_IMAGES = re.compile(
    r"^(?:Cifar10|Cifar100|Mnist|FashionMnist|EMnist|QMnist|KMnist|ImageFolder|CelebA|SVHN|STL10)Dataset$"
)


def _read_as_bytes(source: Script, step: ast.expr) -> bool:
    """A published set of images is read, or the data set opens files, and nothing brings them to 0 to 1."""
    scope = source.function_around(step) or source.tree
    reads = any(_IMAGES.match(last_name(c.func)) for c in of(scope, ast.Call))
    if not reads and source.named("GeneratorDataset") and not source.loose:
        opened = [
            c for c in source.named("open", "imread") if source.owner(c) in ("Image", "PIL.Image", "cv2")
        ]
        reads = bool(opened) and all(_in_data_set(source, c) for c in opened)
        reads = reads and not re.search(
            r"astype\(|/ ?\(?[0-9.]+|\* ?0\.00|float\(|normali[sz]e\(", _of_data_sets(source)
        )
    return reads and not re.search(r"Rescale|ToTensor|/ ?255|127\.5|rescale|to_tensor", source.code)


def _in_data_set(source: Script, call: ast.Call) -> bool:
    owner = source.class_around(call)
    return owner is not None and "__getitem__" in {getattr(n, "name", "") for n in owner.body}


def _of_data_sets(source: Script) -> str:
    """The code of the classes that give samples."""
    owners = [
        c for c in source.classes.values() if any(getattr(n, "name", "") == "__getitem__" for n in c.body)
    ]
    return "\n".join(unparse(c) for c in owners)


_SCALES_ITSELF = re.compile(
    r"mobilenet|resnet_v2|inception|xception|nasnet|efficientnet|convnext|densenet|vgg|resnet"
)


def _twice(source: Script) -> Finding | None:
    """`preprocess_input(x / 255)`: the function wants 0 to 255."""
    seen: ast.AST | None = None
    for call in source.named("preprocess_input"):
        if not call.args:
            continue
        seen = seen or call
        value = call.args[0]
        for _ in range(3):
            if isinstance(value, ast.Name):
                found = flow(source).given(value)
                if found is None or found.places:
                    break
                value = found.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
            if (_number(value.right) or 0.0) >= 127.0:
                return at(source, call, "preprocess_input wants pixels of 0 to 255, and gets them divided")
    return ok(source, seen, "preprocess_input gets pixels as they are") if seen is not None else None


# --------------------------------------------------------------------------------------- one branch alone

_FLAG = re.compile(
    r"^(?:self\.)?_?(?:is_|do_|for_|in_|use_)?(?:train(?:ing)?|aug(?:ment)?(?:ation)?)(?:_mode)?$"
)


@probe()
def scaled_apart(view: View) -> Finding:
    """Inputs are scaled for one split alone, or held-out data by statistics of their own."""
    return first(
        view,
        either(_in_one_branch, _refitted, scaled_by_switch, one_part_left),
        "the scripts scale no inputs by split",
    )


def _in_one_branch(source: Script) -> Finding | None:
    """Inputs are scaled by fixed figures only where a switch says that they are for training."""
    seen: ast.AST | None = None
    for node in source.of(ast.If):
        if not _is_flag(node.test):
            continue
        function = source.function_around(node)
        if (
            function is None
            or function in source.forwards
            or (source.backwards and takes_gradients(source, function))
        ):
            continue
        mine, other = _scalings(source, node.body), _scalings(source, node.orelse)
        rest = [s for s in function.body if node not in walk(s)]
        also = _scalings(source, rest)
        if mine or other or also:
            seen = seen or node
        if bool(mine) != bool(other) and not (also and _same_kind((mine or other)[0], also)):
            who = "training" if mine else "held-out data"
            return at(source, (mine or other)[0], f"this scaling is done for {who} alone")
    text = _text_in_one_branch(source)
    if text is not None:
        return at(source, text, "this is done to the text of training alone")
    return ok(source, seen, "both branches scale alike") if seen is not None else None


def _text_in_one_branch(source: Script) -> ast.AST | None:
    """`text.lower() if lower else text`, where callers hand over the switch for training as `lower`."""
    for node in source.of(ast.IfExp):
        if not isinstance(node.test, ast.Name):
            continue
        changed, plain = node.body, node.orelse
        if not isinstance(changed, ast.Call) or last_name(changed.func) not in (
            "lower",
            "upper",
            "casefold",
            "strip",
        ):
            continue
        if source.owner(changed) != unparse(plain):
            continue
        handed = [k.value for c in source.calls for k in c.keywords if k.arg == node.test.id]
        if any(_is_flag(v) for v in handed):
            return node
    return None


def _is_flag(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        text = unparse(test)
        return re.search(r"(?:split|mode|phase|stage|subset) == '(?:train|training)'", text) is not None
    return isinstance(test, (ast.Name, ast.Attribute)) and _FLAG.match(unparse(test)) is not None


def _same_kind(one: ast.AST, others: list[ast.AST]) -> bool:
    """The same scaling stands outside of the branch, too."""
    return any(unparse(one) == unparse(o) for o in others)


_FIXED = re.compile(r"(?i)^(?:self\.|cfg\.|config\.)?(?:\w*_)?(?:means?|stds?|mu|sigma)(?:_\w*)?$")


_SCALERS = ("preprocess_input", "per_image_standardization", "Normalize", "Rescaling", "Standardize")


def _scalings(source: Script, body: list[ast.stmt], depth: int = 2) -> list[ast.AST]:
    """Divisions and subtractions by fixed figures, and calls that scale, in statements and what they call."""
    found: list[ast.AST] = []
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Sub)):
                if (_FIXED.match(unparse(node.right)) and not is_random(node)) or (
                    isinstance(node.op, ast.Div) and (_number(node.right) or 0.0) in (255.0, 127.5)
                ):
                    found.append(node)
            elif isinstance(node, ast.Call):
                if last_name(node.func) in _SCALERS:
                    found.append(node)
                elif depth:
                    handed = [a for a in node.args if isinstance(a, (ast.Name, ast.Attribute))]
                    names = [last_name(node.func)] if last_name(node.func) != "map" else []
                    names += (
                        [unparse(h).split(".")[-1] for h in handed] if last_name(node.func) == "map" else []
                    )
                    for name in names:
                        known = flow(source).functions.get(name, [])
                        for function in known if len(known) == 1 else ():
                            if name not in ("forward", "__init__"):
                                found += _scalings(source, function.body, depth - 1)
    return found


def _refitted(source: Script) -> Finding | None:
    """Held-out data are scaled by their own statistics."""
    seen: ast.AST | None = None
    for call in source.named("fit", "fit_transform", "adapt"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or not call.args:
            continue
        names = " ".join([unparse(owner), *(unparse(v) for v in flow(source).values(owner, 3))])
        if not re.search(
            r"(?i)scal|normaliz|standard|pipeline|preproc|feature|imput|pca|transformer\(", telling(names)
        ):
            continue
        learns = side(unparse(call.args[0]))
        seen = seen or call
        if learns is False:
            return at(source, call, "held-out data are scaled by what is learned from themselves")
    own = _own_statistics(source) or own_figures(source) or own_fits(source)
    if own is not None:
        return at(source, own, "each set is scaled by its own statistics, not by those of training")
    return ok(source, seen, "scaling is learned from the training data") if seen is not None else None


def _own_statistics(source: Script) -> ast.AST | None:
    """`(x - x.mean()) / x.std()` in a transform of tables, whose fit keeps statistics of its own."""
    for owner in source.classes.values():
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        if "fit" not in methods or "transform" not in methods:
            continue
        stored = re.search(r"self\.\w*(?:mean|std|scale|mu|sigma)\w* =", unparse(methods["fit"])) is not None
        if not stored:
            continue
        for node in of(methods["transform"], ast.BinOp):
            if isinstance(node.op, ast.Div):
                text = unparse(node)
                if re.search(r"(\w+) - \1\.mean\(", text) and re.search(r"\w+\.std\(", unparse(node.right)):
                    return node
    return None


@probe()
def evaluation_is_augmented(view: View) -> Finding:
    """Held-out data are made with the switch for training on: cropped, mirrored or disturbed at random."""
    return first(
        view,
        either(
            *(
                _augmented,
                augmented_on_other_side,
                transform_unused,
                held_out_drawn,
                drawn_for_both_sides,
                handed_random,
            ),
            *(random_beside_training, switched_on_for_held_out, random_for_held_out),
        ),
        "the scripts make no data by a switch for training",
    )


def _augmented(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    if (drawn := _random_steps(source)) is not None:
        return drawn
    for value in dict.fromkeys(v for one in given(source) if not one.learns for v in _calls_in(one.value)):
        name = last_name(value.func)
        owner = source.classes.get(name)
        makers: list[Function] = (
            [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
            if owner is not None
            else flow(source).functions.get(name, [])
        )
        for function in makers:
            flag = next((a.arg for a in function.args.args if _FLAG.match(a.arg)), None)
            body = owner if owner is not None else function
            if flag is None or not (_draws_steps(source, body) or _says_random(body)):
                continue
            if owner is None and _only_orders(function, flag):
                continue
            seen = seen or value
            if owner is not None and _never_asked(owner, flag):
                return at(
                    source, function, f"`{flag}` tells training from evaluation, and nothing asks for it"
                )
            if _is_true(source, function, value, flag):
                return at(source, value, f"held-out data are made with {flag}=True")
    return (
        ok(source, seen, "held-out data are made without the switch for training")
        if seen is not None
        else None
    )


def _only_orders(function: Function, flag: str) -> bool:
    """All that the switch does is to shuffle: the samples stay as they are."""
    asked = [n for n in of(function, ast.If) if flag in names_in(n.test)]
    done = {last_name(c.func) for n in asked for s in n.body for c in of(s, ast.Call)}
    return "shuffle" in done and done <= {"shuffle", "repeat", "len", "cardinality"}


def _never_asked(owner: ast.ClassDef, flag: str) -> bool:
    """A class that keeps a switch and draws samples at random whatever it says."""
    kept, asked = False, False
    for node in of(owner, ast.Attribute):
        if unparse(node.value) == "self" and node.attr.strip("_") == flag:
            kept = kept or isinstance(node.ctx, ast.Store)
            asked = asked or isinstance(node.ctx, ast.Load)
    getters = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__getitem__"]
    makers = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
    used = sum(
        isinstance(n, ast.Name) and n.id == flag and isinstance(n.ctx, ast.Load)
        for m in makers
        for n in walk(m)
    )
    draws = any(map(is_random, getters)) or any(
        _AT_RANDOM.match(last_name(c.func)) for m in makers for c in of(m, ast.Call)
    )
    return kept and not asked and used == 1 and not owner.bases[1:] and bool(getters) and draws


_AT_RANDOM = re.compile(
    r"^(?:Random(?!Sampler|Subset)\w+|ColorJitter|RandAugment|AutoAugment|TrivialAugment\w*|AugMix|GaussianBlur"
    r"|(?:Frequency|Time)Masking|SpecAugment\w*)$"
)


def _calls_in(value: ast.expr) -> list[ast.Call]:
    """A call, and the calls whose results it is given: `DataLoader(Photos(names, True))`."""
    found = [value] if isinstance(value, ast.Call) else []
    return [*found, *(a for c in found for a in c.args if isinstance(a, ast.Call))]


def _random_steps(source: Script) -> Finding | None:
    """`CIFAR10(root, train=False, transform=train_tf)`, where `train_tf` crops and mirrors at random.

    Only where other data of the same class get the same steps for training.
    """
    made: dict[str, dict[bool, list[tuple[ast.Call, ast.expr]]]] = {}
    held = {id(c): one.learns for one in given(source) for c in _calls_in(one.value)}
    for call in source.calls:
        steps = keyword(call, "transform") or keyword(call, "transforms")
        if not isinstance(steps, (ast.Name, ast.Attribute)):
            continue
        learns = _asked_for(source, call)
        learns = held.get(id(call)) if learns is None else learns
        if learns is not None:
            made.setdefault(unparse(call.func), {}).setdefault(learns, []).append((call, steps))
    for sides in made.values():
        ours = {unparse(s) for _, s in sides.get(True, [])}
        for call, steps in sides.get(False, []):
            if unparse(steps) in ours and side(unparse(steps)) is not False and _draws_steps(source, steps):
                return at(source, call, "held-out data go through the random steps of training")
    return None


def _asked_for(source: Script, call: ast.Call) -> bool | None:
    """The part of the data that a call asks for: `train=False`, `split="test"`."""
    train, part = literal(source, keyword(call, "train")), literal(source, keyword(call, "split"))
    if isinstance(train, bool):
        return train
    return side(part) if isinstance(part, str) else None


def _draws_steps(source: Script, steps: ast.AST) -> bool:
    return any(_AT_RANDOM.match(last_name(c.func)) for c in calls_behind(source, steps))


def _says_random(body: ast.AST) -> bool:
    return is_random(body) or "random" in unparse(body).lower()


def _is_true(source: Script, function: Function, call: ast.Call, name: str) -> bool:
    names = [a.arg for a in function.args.args if a.arg != "self"]
    values = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    values |= dict(zip(names, call.args, strict=False))
    values |= {k.arg: k.value for k in call.keywords if k.arg}
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    return literal(source, values.get(name)) is True
