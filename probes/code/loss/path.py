"""The way back from the loss to the parameters, in scripts: where it is cut, or has no slope."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import Flow, flow, losses, objectives
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_block, untaped_function
from ..model.compact_values import gradient_by_nothing
from ..model.cut_layers import layer_cut_off
from ..shared.checks import at, first, is_evaluation, ok
from ..shared.nodes import only_shown
from ..shared.rounds import Round, rounds
from ..shared.sides import either
from ..tensorflow.applied import output_taken_for_loss
from ..tensorflow.graph_gradient import cut_in_graph
from ..tensorflow.keras_slips import array_under_tape
from ..tensorflow.tape import loss_beside_tape
from ..tensorflow.tape_steps import run_beside_tape
from ..trainers.trainer_settings import output_made_anew
from .adversarial import generator_cut_off, penalty_without_slope
from .cuts import (
    MADE_ANEW,
    cut_by,
    is_cut,
    is_packed,
    is_size,
    of_model,
    on_purpose,
    origin,
    owner_class,
    reached,
    runs_model,
    straight_through,
    walked,
)
from .divergence import drawn_without_slope
from .left_graph import only_compared, through_numpy
from .meant_cuts import (
    changes_in_place,
    copies_input,
    drawn_to_other,
    goes_nowhere,
    handed_beside,
    is_chosen_by,
    is_fixed_table,
    is_meant,
    is_place,
    is_worth_of_actions,
    keeps_to_itself,
    kept_to_be_told,
    made_of_other_side,
    only_aims,
    prepares_inputs,
    runs_frozen,
    runs_twin,
    says_pretrained,
    slope_by_inputs,
    takes_part,
)
from .policy import ratio_cut_off
from .quiet_runs import output_always_cut, trained_without_gradients
from .taken_uncut import made_beside, taken_uncut
from .term_cut import term_cut_off


@probe()
def gradient_path_cut(view: View) -> Finding:
    """detach, no_grad, .data, numpy or item between the parameters and what gradients are taken of.

    Followed back from the objective through names, methods and functions. Left aside: straight-through
    estimators, a value that takes part uncut as well, targets, teachers, states and advantages by their
    names, and objectives of several networks.
    """
    checks = either(
        _path_cut,
        term_cut_off,
        loss_beside_tape,
        output_taken_for_loss,
        array_under_tape,
        run_beside_tape,
        cut_in_graph,
        through_numpy,
        only_compared,
        output_made_anew,
        trained_without_gradients,
        drawn_without_slope,
        layer_cut_off,
        generator_cut_off,
        gradient_by_nothing,
        output_always_cut,
        penalty_without_slope,
        ratio_cut_off,
        shows("unreached", "reaches-nothing", "duel-cut", "code-not-drawn", "noise-time"),
        shows("preference-itself"),
    )
    return first(view, checks, "the scripts hold no model or loss")


def _in_a_stage(source: Script, owner: ast.ClassDef | None, node: ast.AST) -> bool:
    """`if self.warmed_up:`, which another method of the class sets: a stage of the training asks for it."""
    tests = [p.test for p in source.above(node) if isinstance(p, ast.If)]
    states = {unparse(t) for t in tests if isinstance(t, ast.Attribute) and unparse(t.value) == "self"}
    return owner is not None and any(
        unparse(t) in states
        for f in owner.body
        if isinstance(f, ast.FunctionDef) and f.name != "__init__"
        for n in of(f, ast.Assign)
        for t in n.targets
    )


def _path_cut(source: Script) -> Finding | None:
    if not source.forwards and not source.losses:
        ends = (_cut_at_the_end(source, one) for one in rounds(source))
        cut = next((c for c in ends if c is not None), None)
        return at(source, cut, _CUT_OFF) if cut is not None else None
    for function in source.forwards:
        owner = owner_class(source, function)
        if owner not in source.modules and (function.name == "__call__" or _is_trainer(owner)):
            continue
        if _own_gradient(owner):
            continue
        for node in walk(function):
            if isinstance(node, ast.Call) and last_name(node.func) in ("detach", "stop_gradient"):
                asked = any(
                    re.search(r"(?i)detach|froz|freez|fixed|stop_grad", unparse(p.test))
                    for p in source.above(node)
                    if isinstance(p, ast.If)
                )
                if not (
                    asked
                    or _in_a_stage(source, owner, node)
                    or isinstance(source.parents.get(node), ast.Expr)  # what it gives back is not used
                    or straight_through(node)
                    or is_meant(source, node)
                    or goes_nowhere(source, function, node)
                    or handed_beside(source, node)
                    or copies_input(source, node)
                    or is_fixed_table(source, node)
                    or kept_to_be_told(source, function, node)
                    or slope_by_inputs(source, function, node)
                    or takes_part(source, node)
                    or made_of_other_side(source, function, node)
                    or taken_uncut(source, function, node)
                    or made_beside(source, function, node)
                ):
                    return at(source, node, "the gradient path is cut inside the model")
            if isinstance(node, ast.With) and untaped_block(node):
                if not (
                    any(on_purpose(unparse(s)) for s in node.body)
                    or prepares_inputs(node)
                    or changes_in_place(node)
                    or keeps_to_itself(function, node)
                    or runs_twin(function, node)
                    or runs_frozen(source, node)
                    or says_pretrained(source, node)
                ):
                    return at(source, node, "part of the forward pass runs without gradients")
    for call, _ in source.losses:
        value = source.loss_input(call)
        if value is None or is_evaluation(source, call):
            continue
        if re.search(r"(?i)target|teacher", unparse(value)):
            continue  # `mse_loss(target.detach(), output)`: what is aimed at stands first
        if (
            is_cut(value)
            and not only_shown(source, call)
            and not is_packed(flow(source), value)
            and not made_of_other_side(source, source.function_around(call), value)
        ):
            return at(source, value, "the loss is computed on a value cut off from the model")
    for one in rounds(source):
        if (cut := _cut_at_the_end(source, one)) is not None:
            return at(source, cut, _CUT_OFF)
    taken = objectives(source)
    if len({call for call, _ in taken}) == 1:
        for _, objective in taken:
            for node, why in _cuts(source, objective):
                return at(source, node, why)
    node = source.forwards[0] if source.forwards else source.losses[0][0]
    return ok(source, node, "nothing cuts the gradient path")


_CUT_OFF = "what gradients are taken of has been cut off from the model"


def _cut_at_the_end(source: Script, one: Round) -> ast.AST | None:
    """The objective of a function that steps is itself a copy, or a loss of an output without gradients.

    `loss.detach().requires_grad_()`, `tensor(loss.item(), requires_grad=True)`; an output that comes out of a
    block without gradients. Asked function by function, so that other training steps of the program do not
    matter. Left aside where gradients are read (`.grad`): they are handed on by hand.
    """
    function = source.function_around(one.backward)
    if not one.steps or _reads_gradients(function or source.tree):
        return None
    mine, standard = flow(source), {c for c, _ in losses(source)}
    for objective in [o for c, o in objectives(source) if c is one.backward]:
        ends = [objective] if not isinstance(objective, ast.Name) else _given_here(mine, objective)
        for end in ends:
            inside = _copied(mine, end)
            if isinstance(inside, ast.Call) and last_name(inside.func) == "scale" and inside.args:
                inside = inside.args[0]  # of a gradient scaler
            if inside is not None and not on_purpose(unparse(inside).replace("loss", "")):
                return end
            if isinstance(end, ast.UnaryOp):
                end = end.operand  # a likelihood that is maximised
            known = isinstance(end, ast.Call) and (end in standard or _is_loss(end))
            if (
                isinstance(end, ast.Call)
                and end.args
                and (known or _told(objective, function or source.tree))
            ):
                output = _same_values(end.args[0])
                if (block := _made_without_gradient(source, mine, output, function)) is not None:
                    if not any(_has_gradient(mine, a) for a in end.args[1:]):
                        return block
    return None


def _told(objective: ast.expr, function: ast.AST) -> bool:
    """`loss.requires_grad_(True)`, `loss.requires_grad = True` of what gradients are taken of."""
    name = unparse(objective)
    set_ = {unparse(t) for n in of(function, ast.Assign) for t in n.targets}
    called = {unparse(c.func) for c in of(function, ast.Call)}
    return f"{name}.requires_grad_" in called or f"{name}.requires_grad" in set_


def _same_values(node: ast.expr) -> ast.expr:
    """What is given to a loss before it got another shape: `out.flatten(0, 1).float()` -> `out`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPED:
        node = node.func.value
    return node


_SHAPED = ("view", "reshape", "flatten", "float", "contiguous", "squeeze", "transpose", "permute", "double")


def _reads_gradients(function: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Attribute) and n.attr == "grad" and isinstance(n.ctx, ast.Load)
        for n in walk(function)
        if not (isinstance(n, ast.Attribute) and unparse(n.value) in ("torch.autograd", "autograd"))
    )


def _given_here(mine: Flow, name: ast.Name) -> list[ast.expr]:
    """What a name was given last, divisions and scalings of itself looked through."""
    found: list[ast.expr] = []
    for given in mine.all_given(name):
        if given.places:
            continue
        value = given.value
        while isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Div, ast.Mult)):
            value = value.left
        again = isinstance(value, ast.Name) and value.id == name.id
        found += [g.value for g in mine.all_given(value)] if again else [value]
    return found


def _copied(mine: Flow, node: ast.expr) -> ast.expr | None:
    """What was cut off and told to take gradients again: `x` of `x.detach().requires_grad_()`."""
    told = False
    inside: ast.expr | None = None
    while isinstance(node, (ast.Call, ast.Attribute)):
        name = last_name(node.func) if isinstance(node, ast.Call) else node.attr
        if isinstance(node, ast.Call) and name == "requires_grad_" and isinstance(node.func, ast.Attribute):
            told, node = True, node.func.value
            continue
        if isinstance(node, ast.Call) and name in ("Variable", *MADE_ANEW) and node.args:
            if not any(k.arg == "requires_grad" for k in node.keywords):
                return None
            told, inside, node = True, node.args[0], node.args[0]
            continue
        following = cut_by(node)
        if following is None:
            break
        inside, node = following, following
    calls = inside is not None and isinstance(inside, (ast.Name, ast.Attribute, ast.Call))
    if inside is None or not told or not calls:
        return None
    made = [v for v in (inside, *mine.values(inside, 2)) if isinstance(v, ast.Call)]
    named = re.search(r"(?i)loss", unparse(inside)) is not None
    return inside if named or any(map(_is_loss, made)) else None


def _is_loss(call: ast.Call) -> bool:
    return re.search(r"(?i)criterion|loss", last_name(call.func)) is not None


def _made_without_gradient(
    source: Script, mine: Flow, node: ast.expr, function: Function | None
) -> ast.AST | None:
    """The block without gradients that an output comes out of, or where it is cut off before the loss."""
    if isinstance(node, ast.Call) and last_name(node.func) == "requires_grad_":
        return node if cut_by(_base_of(node)) is not None and not is_meant(source, _base_of(node)) else None
    if not isinstance(node, ast.Name):
        return None
    for given in mine.all_given(node)[:1]:
        if source.function_around(given.value) is not function or not isinstance(given.value, ast.Call):
            continue
        if _given_again(function or source.tree, node, given.statement):
            continue
        for above in source.above(given.statement):
            if isinstance(above, ast.With) and untaped_block(above):
                inside = any(n is node for n in walk(above))
                purpose = on_purpose(unparse(given.statement)) or on_purpose(unparse(node))
                return above if not inside and not purpose else None
    return None


def _given_again(function: ast.AST, name: ast.Name, statement: ast.AST) -> bool:
    """The name gets another value between a statement and where it is used."""
    first_line = getattr(statement, "lineno", 0)
    return any(
        n.id == name.id and isinstance(n.ctx, ast.Store) and first_line < n.lineno < name.lineno
        for n in of(function, ast.Name)
    )


def _base_of(call: ast.Call) -> ast.expr:
    return call.func.value if isinstance(call.func, ast.Attribute) else call


def _has_gradient(mine: Flow, node: ast.expr) -> bool:
    """The other side of a loss is an output, too: made by a call that is not cut off."""
    if isinstance(node, ast.Call):
        return True
    found = mine.all_given(node) if isinstance(node, (ast.Name, ast.Attribute)) else []
    return any(isinstance(g.value, ast.Call) and not _is_moved(g.value) for g in found)


def _is_moved(call: ast.Call) -> bool:
    """`y.to(device)`, `y.long()`: the same numbers elsewhere or in another format."""
    return last_name(call.func) in ("to", "cuda", "long", "float", "view", "squeeze", "unsqueeze", "reshape")


def _cuts(source: Script, objective: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    """Where the values that make up the objective are cut off from the model."""
    mine = flow(source)
    uncut, cut = walked(mine, objective)
    if "jax" in source.frameworks and "pytorch" not in source.frameworks:
        # what is differentiated is traced: only stop_gradient cuts there, all else would raise
        cut = [c for c in cut if isinstance(c[0], ast.Call) and last_name(c[0].func) == "stop_gradient"]
    roots = {origin(mine, u) for u in uncut if isinstance(u, (ast.Name, ast.Attribute))}
    for node, inside in cut:
        if straight_through(node) or handed_beside(source, node) or is_meant(source, node):
            continue
        if is_place(source, inside) or is_chosen_by(source, node):
            continue
        if isinstance(inside, (ast.Name, ast.Attribute)) and origin(mine, inside) in roots:
            continue  # it takes part uncut as well
        if isinstance(inside, ast.BinOp) and _answers_count(mine, inside, uncut):
            continue  # the same answers take part uncut: a step of theirs is what the next one sets out from
        if isinstance(inside, ast.Call) and _weighs(source, node) and _answers_count(mine, inside, uncut):
            continue  # weights of the terms that the same answers make
        if _divides(source, node, mine):
            continue  # an error in shares of a size that is taken as it stands
        if _is_asked_untaped(mine, node) or _is_of_world(mine, inside):
            continue  # what is asked under no_grad, or what a world answered: no gradient would pass there
        answer = _whole(inside)
        if isinstance(answer, ast.Call) and _runs_elsewhere(mine, answer, uncut):
            continue  # one of two views is what the other is drawn to
        if is_worth_of_actions(source, node, inside) or only_aims(source, node):
            continue
        if (
            drawn_to_other(mine, node, inside)
            or _had_none(mine, inside)
            or _compared(mine, node)
            or is_size(mine, inside)
        ):
            continue
        around = source.function_around(node)
        if around is not None and untaped_function(around):
            continue  # a summary that is taken beside the loss: no gradient passes here in any case
        tests = [unparse(p.test) for p in source.above(node) if isinstance(p, ast.If)]
        if any(re.search(r"(?i)ndarray|detach|froz|freez|fixed|stop_grad", t) for t in tests):
            continue  # an array comes from no model; a switch asks for it
        if is_packed(mine, node):
            continue  # the values of a packed sequence, whole
        if of_model(mine, node) and not _runs_out_of_sight(mine, inside, uncut):
            yield node, "the gradient path is cut between the model and the loss"
    for call in [u for u in uncut if isinstance(u, ast.Call) and not _behind(source, u, objective)]:
        for function in mine.called(call):
            if (
                owner_class(source, function) in source.modules
                and untaped_function(function)
                and any(runs_model(mine, c) for c in of(function, ast.Call))
                and not _collects(function)
                and not _SAMPLES.search(function.name)
            ):
                yield function, "this part of the model runs without gradients"
        block = next((p for p in source.above(call) if isinstance(p, ast.With) and untaped_block(p)), None)
        if is_evaluation(source, call):
            continue  # the same loss, called by an evaluation too
        frozen = block is not None and re.search(
            r"(?i)set_training|eval|froz", " ".join(unparse(i.context_expr) for i in block.items)
        )
        if frozen:
            continue  # a part that is kept as it is says so
        if block is not None and (_runs_elsewhere(mine, call, uncut) or runs_frozen(source, block)):
            continue
        if block is not None and runs_model(mine, call) and not on_purpose(unparse(block)):
            yield block, "part of the forward pass runs without gradients"


# what is named after drawing answers learns nothing from them
_SAMPLES = re.compile(r"(?i)sampl|generat|infer|roll_?out|evaluat")


def _answers_count(mine: Flow, inside: ast.expr, uncut: list[ast.expr]) -> bool:
    """All answers of the model that went into a sum reach the objective uncut as well."""
    asked = [
        c
        for c in reached(mine, inside)
        if isinstance(c, ast.Call) and runs_model(mine, c)
        # a method of plain arithmetic asks nothing
        if not (own := mine.called(c)) or any(runs_model(mine, n) for f in own for n in of(f, ast.Call))
    ]
    return bool(asked) and all(c in uncut for c in asked)


_SHARES = frozenset(("softmax", "sigmoid", "exp", "softmin"))


def _weighs(source: Script, node: ast.AST) -> bool:
    """`w = scores.softmax(1).detach()`, and `w` stands in products alone: it weighs other terms."""
    statement = source.statement(node)
    shares = isinstance(node, ast.Call) and any(last_name(c.func) in _SHARES for c in of(node, ast.Call))
    if not shares or not isinstance(statement, ast.Assign) or statement.value is not node:
        return False
    name, function = unparse(statement.targets[0]), source.function_around(node) or source.tree
    read = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    above = [source.parents.get(n) for n in read]
    return bool(above) and all(isinstance(p, ast.BinOp) and isinstance(p.op, ast.Mult) for p in above)


def _divides(source: Script, node: ast.AST, mine: Flow) -> bool:
    """`(pred - y).abs() / size.detach()`, `size = pred.abs() + y.abs()`: what is divided has its slope."""
    above = source.parents.get(node)
    if not (isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div) and above.right is node):
        return False
    uncut = {n.id for n in of(above.left, ast.Name)}
    return any(
        uncut & {n.id for end in (n, *mine.values(n, 1)) for n in of(end, ast.Name)}
        for n in of(node, ast.Name)
    )


def _behind(source: Script, call: ast.Call, objective: ast.expr) -> bool:
    """It is called when the gradient has been taken: a sample that is drawn at the end of a trial."""
    same = source.function_around(call) is source.function_around(objective)
    again = set(source.loops_around(call)) & set(source.loops_around(objective))
    return same and not again and call.lineno > (objective.end_lineno or objective.lineno)


def _runs_out_of_sight(mine: Flow, inside: ast.expr, uncut: list[ast.expr]) -> bool:
    """Another object is handed the model and gives another part of the objective: `env.run(agent)`."""
    runs = [c for c in reached(mine, inside) if isinstance(c, ast.Call) and runs_model(mine, c)]
    models = {unparse(c.func) for c in runs}
    return any(
        isinstance(u, ast.Call)
        and (not mine.called(u) or (isinstance(u.func, ast.Attribute) and unparse(u.func.value) != "self"))
        and any(unparse(a) in models for a in all_arguments(u))
        for u in uncut
    )


def _collects(function: Function) -> bool:
    """The function puts a model into evaluation mode itself: features of one that is trained already."""
    asked = [unparse(c) for c in of(function, ast.Call) if last_name(c.func) in ("eval", "set_train")]
    return any(a.endswith((".eval()", ".set_train(False)")) for a in asked)


def _own_gradient(owner: ast.ClassDef | None) -> bool:
    """A class that writes its gradient itself (`bprop`, `backward`), or whose weights are set to constants.

    `self.proj.weight = Parameter(torch.ones(shape))`: a fixed sum over each patch of a mask.
    """
    if owner is None:
        return False
    if any(isinstance(s, ast.FunctionDef) and s.name in ("bprop", "backward") for s in owner.body):
        return True
    return any(
        isinstance(n.targets[0], ast.Attribute)
        and n.targets[0].attr == "weight"
        and any(last_name(c.func) == "ones" for c in of(n.value, ast.Call))
        for n in of(owner, ast.Assign)
    )


def _is_asked_untaped(mine: Flow, node: ast.AST) -> bool:
    """`with torch.no_grad(): act = policy(torch.from_numpy(obs))`: it goes into a model without gradients."""
    above = list(mine.source.above(node))
    asked = any(isinstance(p, ast.Call) and runs_model(mine, p) for p in above)
    return asked and any(isinstance(p, ast.With) and untaped_block(p) for p in above)


def _is_of_world(mine: Flow, inside: ast.expr) -> bool:
    """`obs, reward, done = env.step(act)`: what a simulator answers is no function of weights."""
    given = mine.all_given(inside) if isinstance(inside, (ast.Name, ast.Attribute)) else []
    asked = [g.value.func for g in given if isinstance(g.value, ast.Call)]
    return (
        bool(given)
        and len(asked) == len(given)
        and all(isinstance(f, ast.Attribute) and f.attr in ("reset", "step") for f in asked)
    )


def _whole(node: ast.expr) -> ast.expr:
    """What a part is taken of: `policy(obs).mean[0]` of the answer to `policy(obs)`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node


def _runs_elsewhere(mine: Flow, call: ast.Call, uncut: list[ast.expr]) -> bool:
    """The same model runs with gradients as well: what it gave without them is data, or what is aimed at."""
    functions = set(mine.called(call))
    return any(
        other is not call
        and isinstance(other, ast.Call)
        and functions & set(mine.called(other))
        and not any(isinstance(p, ast.With) and untaped_block(p) for p in mine.source.above(other))
        for other in uncut
    )


def _had_none(mine: Flow, node: ast.expr) -> bool:
    """The value was made without gradients, in a block or a function: another cut changes nothing."""
    handed = mine.arguments(node)
    makers = [f for h in handed if isinstance(h, ast.Call) for f in mine.called(h)]
    if handed and len(makers) == len(handed):
        if all(map(untaped_function, makers)):
            return True
    return any(
        isinstance(p, ast.With) and untaped_block(p)
        for given in (mine.all_given(node) if isinstance(node, (ast.Name, ast.Attribute)) else [])
        for p in mine.source.above(given.statement)
    )


def _compared(mine: Flow, node: ast.expr) -> bool:
    """One of two that are compared, of which the other is not cut off: `similarity(p, z.detach())`."""
    parent = mine.source.parents.get(node)
    if not (isinstance(parent, ast.Call) and len(parent.args) > 1 and node in parent.args):
        return False
    similar = re.search(r"(?i)simil|loss|mse|l1|kl|dist|entropy|criterion", last_name(parent.func))
    others = [a for a in parent.args if a is not node]
    return similar is not None and any(cut_by(a) is None and of_model(mine, a) for a in others)


def _is_trainer(owner: ast.ClassDef | None) -> bool:
    """A class that trains a model, whose `forward` is a step of it."""
    names = [owner.name, *map(unparse, owner.bases)] if owner is not None else []
    return any(n.endswith(("Trainer", "Learner", "Engine")) for n in names)
