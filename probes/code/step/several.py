"""Training steps with several optimizers (adversarial training, manual optimization): each one's own round.

A block of statements is read as a row of events: gradients are cleared, taken, clipped, applied. What stands
under a condition or in a loop is left aside, and where a helper may do the same nothing is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at, imports_locals
from ..shared.rounds import CLEARS
from ..shared.units import EPOCH
from ..trainers.hooks import hook_runs_per, lightning, methods

_CLIPS = ("clip_gradients", "clip_grad_norm_", "clip_grad_value_")
_HELPS = re.compile(r"(?i)backward|grad|closure|optim|update|minimi[sz]e|apply")
_TOGGLES = (
    *("toggle_optimizer", "untoggle_optimizer", "manual_backward", "optimizers", "autograd"),
    *("requires_grad_", "no_grad", "enable_grad"),
)


@dataclass(frozen=True)
class _Event:
    kind: str  # "clear", "take", "clip", "step"
    owner: str  # of the optimizer; "" where it is not told
    node: ast.Call


def _blocks(source: Script) -> Iterator[tuple[list[_Event], list[ast.stmt]]]:
    """The events of each block of statements in which several optimizers step."""
    seen: set[int] = set()
    for step in source.steps:
        statement = source.statement(step)
        around = source.parents.get(statement) if statement is not None else None
        for block in (getattr(around, "body", None), getattr(around, "orelse", None)):
            if not isinstance(block, list) or statement not in block or id(block) in seen:
                continue
            seen.add(id(block))
            events = list(_events(source, block))
            if len({e.owner for e in events if e.kind in ("step", "clear")}) > 1:
                yield events, block


def _events(source: Script, block: list[ast.stmt]) -> Iterator[_Event]:
    for statement in block:
        if isinstance(statement, ast.With):
            yield from _events(source, statement.body)
            continue
        apart = not isinstance(statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign))
        for call in sorted(of(statement, ast.Call), key=lambda c: (c.lineno, c.col_offset)):
            kind, owner = _kind(source, call)
            if kind:
                yield _Event("unknown" if apart else kind, owner, call)


def _kind(source: Script, call: ast.Call) -> tuple[str, str]:
    name = last_name(call.func)
    if call in source.backwards:
        return "take", ""
    if call in source.steps:
        owner = source.owner(call)
        if source.is_scaler(call.func) and call.args:
            owner = unparse(call.args[0])
        elif call.args:
            return "unknown", ""
        return "step", owner
    if name in CLEARS:
        return "clear", source.owner(call)
    if name in _CLIPS:
        return "clip", unparse(call.args[0]) if call.args else ""
    known = name in flow(source).functions  # what it does is seen, whatever it is called
    if _helps(source, name) if known else (_HELPS.search(name) and name not in _TOGGLES):
        return "unknown", ""
    return "", ""


def _helps(source: Script, name: str) -> bool:
    """A function of the script takes gradients, clears or applies them."""
    return any(
        c in source.backwards or c in source.steps or last_name(c.func) in CLEARS
        for f in flow(source).functions[name]
        for c in of(f, ast.Call)
    )


def _turns(source: Script) -> Iterator[tuple[list[_Event], list[ast.stmt]]]:
    """The events of each function in which several optimizers step, one of them in some batches alone."""
    for function in dict.fromkeys(source.function_around(s) for s in source.steps):
        if function is None:
            continue
        events = list(_whole(source, function.body))
        if len({e.owner for e in events if e.kind == "step"}) > 1:
            yield events, function.body


def _whole(source: Script, block: list[ast.stmt]) -> Iterator[_Event]:
    """As `_events`, with what stands under conditions and in loops."""
    for statement in block:
        inner = [b for b in (getattr(statement, "body", None), getattr(statement, "orelse", None)) if b]
        if inner and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            for one in inner:
                yield from _whole(source, one)
        else:
            yield from _events(source, [statement])


def one_never_cleared(source: Script) -> Finding | None:
    """Of several optimizers one steps, and its gradients are cleared nowhere."""
    for events, block in (*_blocks(source), *_turns(source)):
        steps = {e.owner: e.node for e in events if e.kind == "step"}
        function = source.function_around(block[0]) or source.tree
        if len(steps) < 2 or any(e.kind == "unknown" for e in events):
            continue
        if imports_locals(source) or not all(re.fullmatch(r"[\w.]+", o) for o in steps):
            continue
        owner = source.parents.get(function)
        near = owner if isinstance(owner, ast.ClassDef) else function
        clears = [c for c in of(near, ast.Call) if last_name(c.func) in CLEARS]
        # where it stands beside the step it runs as often as that, whatever the condition is
        beside = {id(source.parents.get(source.statement(s) or s)) for s in steps.values()}
        clears = [
            c
            for c in clears
            if hook_runs_per(source, c) != EPOCH or id(source.parents.get(source.statement(c) or c)) in beside
        ]
        others = [c for c in source.named(*CLEARS) if c not in clears and hook_runs_per(source, c) != EPOCH]
        cleared = {source.owner(c) for c in clears}
        if others or not cleared <= set(steps) or ".grad = None" in unparse(near):
            continue
        for name, step in steps.items():
            if name not in cleared and _taken_for(events, step):
                return at(source, step, f"nothing clears the gradients of {name}, which pile up")
    return None


def _taken_for(events: list[_Event], step: ast.Call) -> bool:
    place = next(i for i, e in enumerate(events) if e.node is step)
    return any(e.kind == "take" for e in events[:place])


def one_cleared_early(source: Script) -> Finding | None:
    """`backward; a.zero_grad(); a.step()` among the rounds of several optimizers: it meets no gradients."""
    for events, _ in _blocks(source):
        for i, event in enumerate(events):
            if event.kind != "step" or not event.owner:
                continue
            before = [e for e in events[:i] if e.kind in ("take", "unknown") or e.owner == event.owner]
            last = before[-1] if before else None
            taken = any(e.kind == "take" for e in events[:i])
            if last is not None and last.kind == "clear" and taken and not _without_gradients(source, event):
                return at(source, last.node, "gradients are cleared between backward and the optimizer step")
    return None


def _without_gradients(source: Script, step: _Event) -> bool:
    """An optimizer whose step moves weights by an operator of its own (proximal), and reads no gradients."""
    held = getattr(step.node.func, "value", None)
    made = flow(source).whole_given(held) if isinstance(held, ast.expr) else None
    if not isinstance(made, ast.Call):
        return False
    owner = source.classes.get(last_name(made.func))
    if owner is not None:
        return ".grad" not in unparse(owner)
    told = [last_name(made.func), *(k.arg or "" for k in made.keywords)]
    return any(re.search(r"(?i)^prox|proximal|_prox", t) for t in told)


def one_never_steps(source: Script) -> Finding | None:
    """Of several optimizers that are cleared one never steps."""
    for events, block in _blocks(source):
        function = source.function_around(block[0]) or source.tree
        stepping = {e.owner for e in events if e.kind == "step"}
        cleared = {e.owner: e.node for e in events if e.kind == "clear"}
        if not stepping or any(e.kind == "unknown" for e in events):
            continue
        for name, node in cleared.items():
            if not name.isidentifier() or name in stepping or not _is_optimizer(source, function, name):
                continue
            uses = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
            if all(_only_clears(source, n) for n in uses) and f"{name}.step" not in source.code:
                return at(source, node, f"{name} is cleared and never steps: what it holds does not learn")
    return None


def _is_optimizer(source: Script, function: ast.AST, name: str) -> bool:
    if name.lower() in source.optimizers:
        return True
    return any(
        name in {n.id for t in node.targets for n in of(t, ast.Name)}
        and any(last_name(c.func) == "optimizers" for c in of(node.value, ast.Call))
        for node in of(function, ast.Assign)
    )


def _only_clears(source: Script, use: ast.Name) -> bool:
    parent = source.parents.get(use)
    if isinstance(parent, ast.Attribute):
        return parent.attr in CLEARS or parent.attr == "param_groups"
    if isinstance(parent, ast.Call) and use in parent.args:
        return last_name(parent.func) in (*_TOGGLES, *_CLIPS)
    return False


def one_clipped_astray(source: Script) -> Finding | None:
    """`self.clip_gradients(a)` where the gradients of `a` are not there yet, or are not used any more."""
    for events, _ in _blocks(source):
        for i, event in enumerate(events):
            if event.kind != "clip" or last_name(event.node.func) != "clip_gradients" or not event.owner:
                continue
            if any(e.kind == "unknown" for e in events):
                continue
            before = [
                e for e in events[:i] if e.kind == "take" or (e.owner == event.owner and e.kind != "clip")
            ]
            after = [e for e in events[i + 1 :] if e.owner == event.owner and e.kind in ("step", "clear")]
            if before and before[-1].kind == "clear":
                return at(source, event.node, "gradients are clipped before they are taken")
            if before and before[-1].kind == "step":
                return at(source, event.node, "gradients are clipped after the step, when the update is done")
            if after and after[0].kind == "clear":
                return at(source, event.node, f"{event.owner} clears what is clipped here before it steps")
    return None


def unpacked_in_another_order(source: Script) -> Finding | None:
    """`b, a = self.optimizers()`, and `configure_optimizers` gives `[a, b]`."""
    for owner in lightning(source):
        made = methods(owner)["configure_optimizers"]
        ends = returns(made)
        end: ast.expr | None = ends[0] if len(ends) == 1 else None
        if isinstance(end, ast.Tuple) and end.elts and isinstance(end.elts[0], (ast.List, ast.Tuple)):
            end = end.elts[0]
        if not isinstance(end, (ast.Tuple, ast.List)):
            continue
        given = [unparse(e) for e in end.elts]
        for function in methods(owner).values():
            for node in of(function, ast.Assign):
                target, value = node.targets[0], node.value
                if isinstance(target, ast.Tuple) and unparse(value) == "self.optimizers()":
                    names = [unparse(t) for t in target.elts]
                    if names != given and sorted(names) == sorted(given):
                        return at(source, node, f"configure_optimizers gives them as {', '.join(given)}")
    return None


def one_holds_another(source: Script) -> Finding | None:
    """`Adam(self.critic.parameters())` beside `Adam(self.parameters())`, which moves the critic as well."""
    for owner in lightning(source):
        made = methods(owner)["configure_optimizers"]
        built = [c for c in of(made, ast.Call) if c in source.optimizer_calls and c.args]
        if any(isinstance(p, ast.If) for c in built for p in source.above(c)):
            continue
        wholes = [c for c in built if unparse(c.args[0]) == "self.parameters()"]
        parts = [c for c in built if _of_part(c) is not None]
        if len(built) == 2 and wholes and parts and "automatic_optimization" in source.text:
            why = f"this optimizer moves all parameters, {_of_part(parts[0])} among them, which has its own"
            return at(source, wholes[0], why)
    return None


def one_network_held_twice(source: Script) -> Finding | None:
    """`Adam(judge.parameters())` twice where `maker` is asked with gradients, and no optimizer holds it."""
    for function in dict.fromkeys(source.function_around(c) for c in source.optimizer_calls):
        built = [c for c in source.optimizer_calls if source.function_around(c) is function and c.args]
        held = [re.fullmatch(r"(\w+)\.parameters\(\)", unparse(c.args[0])) for c in built]
        names = [h[1] for h in held if h is not None]
        if len(built) != 2 or len(names) != 2 or len(set(names)) != 1 or not source.trains_by_hand:
            continue
        around = source.tree if function is None else function
        for node in of(around, ast.Assign):
            targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * len(targets)
            for target, value in zip(targets, values, strict=False):
                made = flow(source).made(value)
                name = target.id if isinstance(target, ast.Name) else ""
                if made not in source.modules or not name or name in names or _ASIDE.search(name):
                    continue
                asked = [c for c in of(around, ast.Call) if unparse(c.func) == name]
                if asked and f"{name}.parameters()" not in source.code.replace(f"in {name}.parameters()", ""):
                    return at(source, built[1], f"two optimizers hold {names[0]}, and none holds {name}")
    return None


_ASIDE = re.compile(
    r"(?i)teacher|ema|target|momentum|frozen|pretrain|vgg|lpips|inception|clip|perceptual|metric|loss|crit(?:erion)?$"
    r"|augment|transform|accuracy|f1|auroc|fid|psnr|ssim|backbone"
)
_LEARNS = re.compile(r"Linear\(|Conv\w*\(|Embedding\(|LSTM\(|GRU\w*\(|Parameter\(|Attention\(|TransformerEnc")


def part_without_optimizer(source: Script) -> Finding | None:
    """A network of a Lightning module is in no optimizer: each gets another part by name."""
    for owner in lightning(source):
        if "__init__" not in methods(owner) or source.named("add_param_group"):
            continue
        made = methods(owner)["configure_optimizers"]
        built = [c for c in of(made, ast.Call) if c in source.optimizer_calls]
        covered = [_of_part(c) for c in built]
        if not built or None in covered or any(isinstance(p, ast.If) for c in built for p in source.above(c)):
            continue
        for node in of(methods(owner)["__init__"], ast.Assign):
            target, value = node.targets[0], node.value
            if not isinstance(target, ast.Attribute) or unparse(target.value) != "self":
                continue
            part = source.classes.get(last_name(value.func)) if isinstance(value, ast.Call) else None
            if part is None or part not in source.modules or _LEARNS.search(unparse(part)) is None:
                continue
            name = unparse(target)
            if _ASIDE.search(target.attr) or _frozen(owner, name) or not _runs(owner, name):
                continue
            parts = [c for c in covered if c is not None and (c == name or c.startswith(f"{name}."))]
            if not parts:
                return at(source, built[-1], f"no optimizer gets the parameters of {name}")
            if name not in parts and len(parts) == 1 and len(built) > 1:
                return at(source, built[covered.index(parts[0])], f"of {name} only {parts[0]} is trained")
    return None


def _of_part(call: ast.Call) -> str | None:
    """`self.generator` of `Adam(self.generator.parameters())`."""
    given = argument(call, position=0)
    if not isinstance(given, ast.Call) or last_name(given.func) != "parameters" or given.args:
        return None
    text = unparse(given.func).removesuffix(".parameters")
    return text if text.startswith("self.") else None


def _frozen(owner: ast.ClassDef, name: str) -> bool:
    text = unparse(owner)
    return (
        re.search(
            rf"{re.escape(name)}\.(?:requires_grad_|eval\(\)|load_state_dict)|freeze\w*\({re.escape(name)}",
            text,
        )
        is not None
        or f"in {name}.parameters()" in text
        or f"({name}" in re.sub(r"Adam\w*\(|SGD\(", "", text).replace(f"({name}(", "")
    )


def _runs(owner: ast.ClassDef, name: str) -> bool:
    """The part is called where the module computes."""
    return any(unparse(c.func) == name for c in of(owner, ast.Call))
