"""The choice of the best model in scripts: its direction, what is kept of it, and whether it is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..mindspore.cells import last_tested_on_mindspore
from ..model.pretrained import saved_here, unused
from ..resume.asked_and_left import best_against_its_sense
from ..resume.taken_up import overwritten_before_scored
from ..shared.checks import at, first, ok, scripts
from ..shared.nodes import bare, is_negative
from ..shared.sides import either, literal, words
from ..tensorflow.slips import watched_metric_unknown
from ..trainers.configured import best_in_configuration
from ..trainers.fastai_learner import keeps_the_worst, loads_another_file
from ..trainers.trainer_settings import best_by_default, best_not_loaded
from .asked_way import by_mode, from_infinity, harms, nothing_below
from .best_extremes import UP, extreme_against_comparison
from .best_in_files import figure_replaced, other_file_scored
from .best_kept import (
    best_read_in_vain,
    chosen_by_training,
    last_read_for_best,
    last_weights_tested,
    never_better,
    raised_before,
)
from .choices import (
    figure_forgotten,
    figure_never_raised,
    figure_out_of_reach,
    kept_alive,
    kept_in_vain,
    other_figure_kept,
)
from .kept_beside import kept_beside_scored
from .kept_sums import best_left_in_memory
from .kept_unasked import kept_and_unasked
from .keras_best import best_left_on_disk, training_watched
from .lightning_scores import best_of_idle_callback, best_of_nothing, last_of_monitored, monitored_in_training
from .round_files import best_file_each_round, file_each_round, scored_without_the_best
from .rows_apart import weights_of_another_fold
from .tf_best import best_never_restored
from .watched import HIGHER, better_when_higher, mode_reversed


@probe()
@unframed
def best_is_chosen_wrongly(view: View) -> Finding:
    """The checkpoint that is kept as the best one is the worst, the latest, or changes after it was kept."""
    return first(
        view,
        either(
            mode_reversed,
            _comparison_reversed,
            extreme_against_comparison,
            _never_raised,
            _kept_by_reference,
            _never_restored,
            _read_and_dropped,
            never_better,
            raised_before,
            chosen_by_training,
            shows("alias", "kept-for-more"),
            training_watched,
            monitored_in_training,
            partial(watched_metric_unknown, names=("ModelCheckpoint", "EarlyStopping")),
            best_by_default,
            partial(best_in_configuration, view),
            kept_alive,
            figure_forgotten,
            figure_never_raised,
            *(other_figure_kept, keeps_the_worst, loads_another_file, best_against_its_sense),
            weights_of_another_fold,
            kept_beside_scored,
            figure_out_of_reach,
            best_file_each_round,
            file_each_round,
            figure_replaced,
        ),
        "the scripts choose no best model",
    )


# --------------------------------------------------------------------------------------------- the direction


def _comparisons(source: Script) -> Iterator[tuple[ast.If, ast.Compare, ast.expr, ast.expr, bool]]:
    """`if score > best:`: (if, comparison, the new value, the best one, the new one has to be higher)."""
    for node in source.of(ast.If):
        for test in _tests(source, node):
            if len(test.ops) != 1 or type(test.ops[0]) not in UP:
                continue
            up = UP[type(test.ops[0])]
            left, right = bare(test.left), bare(test.comparators[0])
            if (parted := _difference(left)) is not None:
                left, right = parted  # `score - best > delta`
            elif (parted := _difference(right)) is not None and isinstance(left, ast.Constant):
                right, left = parted  # `0 < score - best`
            if _is_best(right) and not _is_best(left):
                new, best = left, right
            elif _is_best(left) and not _is_best(right):
                new, best, up = right, left, not up
            elif _raises(node, left, right):
                new, best = left, right
            else:
                continue
            yield node, test, new, best, up


def _difference(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """`score - best`, one of which is the best so far: what is subtracted from what."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    return (node.left, node.right) if _is_best(node.left) != _is_best(node.right) else None


def _raises(node: ast.If, new: ast.expr, old: ast.expr) -> bool:
    """The branch saves weights and makes the new figure the one to beat, whatever that is called."""
    sets = any(
        unparse(t) == unparse(old) and unparse(n.value) == unparse(new)
        for s in node.body
        for n in of(s, ast.Assign)
        for t in n.targets
    )
    return sets and any(_saves(c) for s in node.body for c in of(s, ast.Call))


def _tests(source: Script, node: ast.If) -> list[ast.Compare]:
    test: ast.expr = node.test
    if isinstance(test, ast.Name):  # is_best = score > best
        found = flow(source).given(test)
        test = found.value if found is not None else test
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return [p for p in parts if isinstance(p, ast.Compare)]


def _is_best(node: ast.expr) -> bool:
    text = unparse(node)
    return (
        re.search(r"(?i:best|(?:^|_)(?:min|max|lowest|highest|top)_)|\b(?:lowest|highest)(?:[A-Z]|$)", text)
        is not None
        and _NO_FIGURE.search(text) is None
    )


# counts, rates and what they are held against: `waited >= max_stale`
_NO_FIGURE = re.compile(
    r"(?i)epoch|patience|stale|(?:^|[_.])(?:max|min)_(?:wait|steps?|iters?|lr|delta|depth|len|size|norm|grad)"
)


def _keeps(body: list[ast.stmt], best: str) -> bool:
    """The branch stores the new best value, or the weights."""
    return _sets_best(body, best) or any(_saves(c) for s in body for c in of(s, ast.Call))


def _sets_best(body: list[ast.stmt], best: str) -> bool:
    """The other way takes the new figure: `if loss >= lowest: wait += 1 ... else: lowest = loss`."""
    return any(unparse(t) == best for s in body for n in of(s, ast.Assign) for t in n.targets)


def _saves(call: ast.Call) -> bool:
    name = last_name(call.func)
    return re.match(r"save|state_dict$|deepcopy$|dump$|get_weights$|snapshot", name) is not None


_NO_WAY = re.compile(r"(?i)^(?:\w+\.)*(?:val_|valid_|test_)?(?:score|metric|value|current)s?$")
_SCORED = re.compile(r"(?i)(?:^|[._])(?:score|metric|value|current)s?(?:_\w+)?$")
_END = re.compile(r"(?:^|[._])(min|max|lowest|highest)_")


def _comparison_reversed(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for node, test, new, best, up in _comparisons(source):
        if not _keeps(node.body, unparse(best)) or _sets_best(node.orelse, unparse(best)):
            continue
        higher = better_when_higher(_figure(new))
        if higher is None:
            higher = better_when_higher(unparse(best))
        if higher is None:
            higher = _of_its_function(source, new)
        if higher is None:
            higher = _of_its_place(source, new)
        if _NO_WAY.search(unparse(new)) and _is_parameter(source, new):
            handed = _of_callers(source, new)
            higher = handed.pop() if len(handed) == 1 else None
        if _SCORED.search(unparse(new)) and (told := _END.search(unparse(best).split(" ")[0])) is not None:
            higher = told[1] in ("max", "highest")  # `score <= min_score`: which way is said by the other
        if higher is None and not up and nothing_below(source, test, new, best):
            why = f"`{unparse(best)}` begins at 0, and `{unparse(new)}` is kept only where it is below"
            return at(source, node, why)
        if higher is None or _negated(source, new) or (higher and _is_error(source, new)):
            continue
        if higher and _NO_WAY.search(unparse(new)) and not up and from_infinity(source, unparse(best)):
            continue  # a score that starts at the largest number is one of those that fall
        if by_mode(source, test):
            continue
        seen = seen or test
        if higher != up and not harms(source, node):
            way = "higher" if higher else "lower"
            return at(source, node, f"`{unparse(new)}` is better when {way}; this keeps the worst model")
    return ok(source, seen, "the best value is compared the right way round") if seen is not None else None


def _figure(node: ast.expr) -> str:
    """What a figure is called: `scores["mae"]` by its key, where that tells."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    said = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    return said if better_when_higher(said) is not None else unparse(node)


def _of_its_function(source: Script, new: ast.expr) -> bool | None:
    """Which way a figure gets better by the name of what gives it: `value = validation_loss(model)`."""
    given = flow(source).given(new)
    if given is not None and not given.places and isinstance(given.value, ast.Subscript):
        key = given.value.slice  # `res = model.eval(data)["top_1_accuracy"]`
        return (
            better_when_higher(key.value)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
            else None
        )
    if given is None or given.places or not isinstance(given.value, ast.Call):
        return None
    name = last_name(given.value.func)
    known = name in flow(source).functions or _LIBRARY_SCORE.search(name) is not None
    higher = better_when_higher(name) if known else None
    # a function that gives a score may well give an error
    return (
        higher
        if higher is False
        or re.search(r"(?i)acc(?:uracy)?(?:_|$)|f1|iou|kappa|(?:^|_)auc|ndcg|dice|bleu|psnr", name)
        else None
    )


def _of_its_place(source: Script, new: ast.expr) -> bool | None:
    """Which way a figure gets better by what a function of several calls it: `r, n = ranks(model)`."""
    given = flow(source).given(new)
    if given is None or len(given.places) != 1 or not isinstance(given.value, ast.Call):
        return None
    ends = [e for f in flow(source).called(given.value) for e in returns(f)]
    if not ends or not all(isinstance(e, ast.Tuple) and len(e.elts) > given.places[0] for e in ends):
        return None
    names = [unparse(e.elts[given.places[0]]) for e in ends if isinstance(e, ast.Tuple)]
    told = {better_when_higher(re.sub(r"(?<=\w)s\b", "", n)) for n in names}
    return told.pop() if len(told) == 1 else None


_LIBRARY_SCORE = re.compile(
    r"^(?:\w*accuracy|f1|fbeta|roc_auc|average_precision|precision|recall|jaccard|r2|cohen_kappa)_score$"
)


def _is_parameter(source: Script, node: ast.expr) -> bool:
    """`score` of `def update(self, score)`, as callers hand it over."""
    function = source.function_around(node)
    return (
        function is not None
        and any(a.arg == unparse(node) for a in of(function.args, ast.arg))
        and flow(source).given(node) is None
    )


def _of_callers(source: Script, new: ast.expr) -> set[bool | None]:
    """Which way each thing gets better that is handed over as `score`: `stopper.update(val["loss"])`."""
    found: set[bool | None] = set()
    for one in flow(source).arguments(new):
        turned = is_negative(one)
        higher = better_when_higher(unparse(one))
        found.add(higher if higher is None else higher != turned)
    return found


def _is_error(source: Script, node: ast.expr) -> bool:
    """A score that is made of errors, whatever it is called: `score = errors.mean()`."""
    if _gives_error(source, node):
        return True
    named = {*words(unparse(node)), *re.split(r"[^a-z]+", unparse(node).lower())}
    if named & (HIGHER - {"score", "scores", "metric", "metrics", "result"}):
        return False
    ends = flow(source).values(node, 3)
    if any(last_name(c.func) == "sqrt" for e in ends for c in of(e, ast.Call)):
        return True  # a root of mean squares
    told = {w.removesuffix("s") for e in ends for w in re.split(r"[^a-z]+", unparse(e).lower())}
    return bool(told & _ERRORS)


_ERRORS = {"error", "err", "mae", "mse", "rmse", "smape", "mape", "loss", "losse", "distance", "nll"}


def _gives_error(source: Script, node: ast.expr) -> bool:
    """`r2 = self.evaluate(loader)`, and that function ends with `return rmse`."""
    made = flow(source).whole_given(node)
    ends = [e for f in flow(source).called(made) for e in returns(f)] if isinstance(made, ast.Call) else []
    return bool(ends) and all(isinstance(e, ast.Name) and e.id.lower() in _ERRORS for e in ends)


def _negated(source: Script, node: ast.expr) -> bool:
    """`score = -loss`, `best = 1 - acc`."""
    ends = flow(source).values(node, 3)
    if re.search(r"(?i)(?:^|[_.])(?:r2|r_2|r2_score|kap(?:pa)?|qwk)$", unparse(node)):
        # these are one less a quotient: that is no turn
        ends = [v for v in ends if not re.match(r"1(?:\.0)? - ", unparse(v))]
    # `1e-9` and `[-1]` turn nothing
    return any(isinstance(v, ast.UnaryOp) or "-" in _NO_TURN.sub("", unparse(v)) for v in ends)


_NO_TURN = re.compile(r"\[-1\]|\de-\d|(?:dim|axis)=-1")


def _never_raised(source: Script) -> Finding | None:
    """The best value that is compared with stays at its first value."""
    for node, _, new, best, _ in _comparisons(source):
        name = unparse(best)
        inside = [n for s in node.body for n in walk(s)]
        saves = any(isinstance(n, ast.Call) and _saves(n) for n in inside) or any(map(_waits_anew, inside))
        if not saves or not isinstance(best, (ast.Name, ast.Attribute)) or isinstance(new, ast.Constant):
            continue
        if any(isinstance(n, ast.Call) and source.owner(n) == name for n in inside):
            continue  # `best.assign(score)`, `best.fill_(score)`
        loops = source.loops_around(node)
        if isinstance(best, ast.Name) and not loops:
            continue
        inits = _assignments(source, name)
        if name.startswith("self."):
            line = _line(source, source.class_around(node))
            inits = [
                a for a in inits if source.class_around(a) in line
            ]  # another class has a `best` of its own
        around = source.function_around(node)
        if not inits or (around is not None and any(p.arg == name for p in of(around, ast.arg))):
            continue
        later = [a for a in inits if not _is_start(a)]
        if isinstance(best, ast.Name) and source.function_around(node) is not None:
            later = [a for a in later if loops[-1] in source.above(a)]
        if not later and not any(isinstance(n, (ast.Global, ast.Nonlocal)) for n in walk(node)):
            return at(source, node, f"`{name}` is never set to the new value: what is kept is not the best")
    return None


def _line(source: Script, owner: ast.ClassDef | None) -> list[ast.AST | None]:
    """A class with the classes of the program that it comes from, and those that come from it."""
    if owner is None:
        return [None]
    above = {last_name(b) for b in owner.bases}
    kin = (c for c in source.of(ast.ClassDef) if c.name in above or owner.name in map(last_name, c.bases))
    return [owner, *kin]


def _waits_anew(node: ast.AST) -> bool:
    """`epochs_without_improvement = 0`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant) or node.value.value != 0:
        return False
    return any(re.search(r"(?i)improve|patience|wait|bad_epochs|stale", unparse(t)) for t in node.targets)


def _assignments(source: Script, name: str) -> list[ast.expr]:
    found: list[ast.expr] = []
    for node in source.of(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs += list(zip(target.elts, node.value.elts, strict=False))
                elif isinstance(target, ast.Tuple):
                    pairs += [(t, node.value) for t in target.elts]
                else:
                    pairs.append((target, node.value))
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            pairs.append((node.target, node.value))
        found += [v for t, v in pairs if unparse(t) == name]
    return found


def _is_start(value: ast.expr) -> bool:
    """`best = 0.0`, `float("inf")`, `-np.inf`, `tf.Variable(0.0)`, or what a checkpoint holds."""
    if isinstance(value, ast.Call) and last_name(value.func) in ("Variable", "tensor") and value.args:
        value = value.args[0]
    text = unparse(value)
    inf = re.fullmatch(
        r"-?(?:float\(['\"]-?inf(?:inity)?['\"]\)|(?:np|math|torch)\.inf|-?\.?\d[\d.e]*|None)", text
    )
    return inf is not None or re.search(r"ckpt|checkpoint|state|resume", text) is not None


# ------------------------------------------------------------------------------------------- what is kept


def _kept(source: Script) -> Iterator[tuple[ast.Assign, ast.expr, ast.expr]]:
    """Weights put aside in a loop: (statement, name, value)."""
    for node in source.of(ast.Assign):
        if len(node.targets) != 1:
            continue
        target = node.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)) or not re.search(r"(?i)best", unparse(target)):
            continue
        if "state_dict" in unparse(node.value) and (
            source.loops_around(node) or source.function_around(node)
        ):
            yield node, target, node.value


def _kept_by_reference(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for node, target, value in _kept(source):
        inner = value
        if isinstance(inner, ast.DictComp):
            plain = isinstance(inner.value, ast.Name)
            inner = inner.generators[0].iter if plain else inner
        if isinstance(inner, ast.Call) and last_name(inner.func) in ("items", "dict", "copy", "OrderedDict"):
            owner = receiver(inner)
            given_ = inner.args[0] if inner.args and last_name(inner.func) != "copy" else None
            if last_name(inner.func) in ("items", "copy") and owner is not None and not inner.args:
                given_ = owner
            inner = given_ or inner
        seen = seen or node
        plain_state = isinstance(inner, ast.Call) and last_name(inner.func) == "state_dict" and not inner.args
        if plain_state and _loaded(source, unparse(target)):
            return at(source, node, "state_dict() holds the weights themselves, which go on training")
    return ok(source, seen, "the best weights are kept as a copy") if seen is not None else None


def _loaded(source: Script, name: str) -> bool:
    return any(unparse(a) == name for c in source.named("load_state_dict") for a in c.args)


def _read_and_dropped(source: Script) -> Finding | None:
    """MindSpore: `load_checkpoint("best.ckpt")` gives weights, and nobody puts them into a network."""
    if "mindspore" not in source.frameworks:
        return None
    seen: ast.AST | None = None
    for call in source.named("load_checkpoint"):
        if not re.search(r"^(?:ms|mindspore|train)\.|^load_checkpoint$", unparse(call.func)):
            continue
        seen = seen or call
        alone = isinstance(source.parents.get(call), ast.Expr)
        if len(call.args) != 1 or keyword(call, "net") is not None:
            continue
        if alone or _own_and_dropped(source, call):
            return at(source, call, "the weights that are read are put into no network")
    return ok(source, seen, "the weights that are read are put into a network") if seen is not None else None


def _own_and_dropped(source: Script, call: ast.Call) -> bool:
    """`best = load_checkpoint(path)` of a file that the program wrote, and `best` is handed to nothing."""
    statement = source.parents.get(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    return saved_here(source, call.args[0]) and unused(source, statement, statement.targets[0].id)


def _never_restored(source: Script) -> Finding | None:
    """The best weights are put aside and nobody reads them again."""
    seen: ast.AST | None = None
    for node, target, _ in _kept(source):
        name = unparse(target)
        attr = target.attr if isinstance(target, ast.Attribute) else ""
        reads = [
            n
            for n in source.of(ast.Name, ast.Attribute)
            if isinstance(n.ctx, ast.Load)
            and (unparse(n) == name or (attr and isinstance(n, ast.Attribute) and n.attr == attr))
        ]
        seen = seen or node
        if not reads:
            return at(source, node, "the best weights are put aside and never loaded again")
    return ok(source, seen, "the best weights are used again") if seen is not None else None


# ------------------------------------------------------------------------------------------- what is used


@probe()
def last_instead_of_best(view: View) -> Finding:
    """A best checkpoint is asked for, and the final score is taken with the weights of the last epoch."""
    return other_file_scored(scripts(view.run)) or first(
        view,
        either(
            overwritten_before_scored,
            _test_of_last,
            last_tested_on_mindspore,
            _saved_each_epoch,
            last_weights_tested,
            last_read_for_best,
            best_read_in_vain,
            best_left_on_disk,
            best_never_restored,
            best_of_nothing,
            shows("last-scored"),
            last_of_monitored,
            best_of_idle_callback,
            best_not_loaded,
            kept_in_vain,
            scored_without_the_best,
            best_left_in_memory,
            kept_and_unasked,
        ),
        "the scripts keep no best checkpoint",
    )


def _test_of_last(source: Script) -> Finding | None:
    kept = [c for c in source.named("ModelCheckpoint") if keyword(c, "monitor") is not None]
    tests = [c for c in source.named("test", "validate", "predict") if _runs_trainer(source, c)]
    if not kept or not tests:
        return None
    for call in tests:
        path = keyword(call, "ckpt_path")
        if path is None and last_name(call.func) == "predict":
            continue  # outputs, of the weights that are there: no score is told
        model = bool(call.args) or keyword(call, "model") is not None
        loads = source.named("load_from_checkpoint", "load_state_dict") or "best_model_path" in source.code
        if (path is None and model and not loads) or (
            isinstance(path, ast.Constant) and path.value in (None, "last")
        ):
            return at(source, call, "the last weights are scored, and the best checkpoint was kept for it")
    return ok(source, tests[0], "the best checkpoint is scored")


def _runs_trainer(source: Script, call: ast.Call) -> bool:
    fits = {source.owner(c) for c in source.named("fit")}
    if source.owner(call) not in fits or not isinstance(call.func, ast.Attribute):
        return False
    made = [v for v in flow(source).values(call.func.value, 4) if isinstance(v, ast.Call)]
    return any(last_name(v.func) in ("Trainer", "LightningCLI") for v in made)


def _saved_each_epoch(source: Script) -> Finding | None:
    """Keras: a checkpoint file without save_best_only is overwritten after each epoch."""
    seen: ast.AST | None = None
    for call in source.named("ModelCheckpoint"):
        path = call.args[0] if call.args else keyword(call, "filepath")
        if path is None or keyword(call, "save_top_k") is not None or keyword(call, "dirpath") is not None:
            continue
        loads = [c for c in source.named("load_weights", "load_model") if c.lineno > call.lineno]
        same = [c for c in loads if c.args and unparse(c.args[0]) == unparse(path)]
        if not same or "{epoch" in unparse(path).replace("{{", "{") or "{val" in unparse(path):
            continue
        seen = seen or call
        only = literal(source, keyword(call, "save_best_only"))
        if only is not True and not source.named("BackupAndRestore"):
            asked = keyword(call, "monitor") is not None or bool(source.named("EarlyStopping"))
            if asked:
                return at(
                    source, call, "the file is overwritten after each epoch, so that the last one is loaded"
                )
    return ok(source, seen, "the file holds the best epoch") if seen is not None else None
