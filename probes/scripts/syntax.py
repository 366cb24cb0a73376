"""What a training script does, as far as its syntax tree tells. Nothing is executed.

`Script` answers structural questions (which loop trains, which class is the model, what reaches the loss);
`probes/code/` decides with them. A script may be put together of several files (see `project.py`); names
are followed inside a function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, KeysView
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from ...engine.model import Place
from ..readers import notebook
from ..readers._tree import A, B, C, below, names_in, of, unparse, walk
from ..readers.script import OPTIMIZERS, frameworks, last_name

Loop = ast.For | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef
_FORWARD = ("forward", "construct", "call", "__call__")
_MODULES = frozenset(
    ("Module", "Cell", "LightningModule", "Model", "Layer", "PreTrainedModel", "BaseModule", "Block")
)
_OPTIMIZER_WORDS = ("opt", "optim", "optimizer", "scaler", "engine", "accelerator")


def lines_of(text: str) -> list[str]:
    """The lines of a source text, split where Python's parser splits them."""
    return re.split(r"\r\n|\r|\n", text)


@dataclass(frozen=True, eq=False)
class Script:
    """A parsed script with the questions that probes ask.

    `pieces` says which files it was put together of: (lines before the file, path), in order. `loose`: it
    imports a file of its own project that is not in the run directory. `left_out`: what stands at the top of
    its modules and nothing of the program names. `among`: how many files the program has that it belongs to,
    also where it was too large to be put together; `entry`: the file of those that imports the others.
    """

    path: str
    text: str
    tree: ast.Module
    pieces: tuple[tuple[int, str], ...] = ()
    loose: bool = False
    left_out: tuple[ast.stmt, ...] = ()
    among: int = 1
    entry: str = ""

    def place(self, node: ast.AST | int | None) -> Place:
        """The file and line of a node, or of a line of the whole; in a notebook the cell and its line."""
        line = node if isinstance(node, int) or node is None else getattr(node, "lineno", None)
        if line is None:
            return Place(self.path)
        before, path = next(p for p in reversed(self.pieces or ((0, self.path),)) if p[0] < line)
        if path.endswith(notebook.SUFFIX):
            cell, line_there = notebook.cell_at(self.lines, line)
            return Place(notebook.label(path, cell) if cell else path, line_there)
        return Place(path, line - before)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, from the top down."""
        return tuple(walk(self.tree))

    @overload
    def of(self, first: type[A], /) -> tuple[A, ...]: ...

    @overload
    def of(self, first: type[A], second: type[B], /) -> tuple[A | B, ...]: ...

    @overload
    def of(self, first: type[A], second: type[B], third: type[C], /) -> tuple[A | B | C, ...]: ...

    @overload
    def of(self, *types: type[ast.AST]) -> tuple[ast.AST, ...]: ...

    def of(self, *types: Any) -> tuple[ast.AST, ...]:
        """Every node of these types, from the top down."""
        return of(self.tree, *types)

    @cached_property
    def code(self) -> str:
        """The whole as Python writes it: without comments, in one style."""
        return unparse(self.tree)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of the source."""
        return tuple(lines_of(self.text))

    @cached_property
    def frameworks(self) -> tuple[str, ...]:
        """The training frameworks that it imports, in order."""
        return tuple(frameworks(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Each node's parent."""
        return {child: node for node in self.nodes for child in below(node)}

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """All calls, in source order."""
        found = self.of(ast.Call)
        return tuple(sorted(found, key=lambda c: (c.lineno, c.col_offset)))

    def named(self, *names: str) -> tuple[ast.Call, ...]:
        """Calls whose last name is one of these."""
        if len(names) == 1:
            return tuple(call for _, call in self._by_name.get(names[0], ()))
        found = [pair for name in dict.fromkeys(names) for pair in self._by_name.get(name, ())]
        return tuple(call for _, call in sorted(found, key=lambda pair: pair[0]))

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[int, ast.Call]]]:
        """Last name -> calls of it, each with its place among all calls."""
        found: dict[str, list[tuple[int, ast.Call]]] = {}
        for place, call in enumerate(self.calls):
            found.setdefault(last_name(call.func), []).append((place, call))
        return found

    @cached_property
    def mentions(self) -> dict[str, list[ast.Attribute | ast.Constant]]:
        """Attributes by their name, and texts that say nothing else: `x.norm`, `getattr(x, "norm")`."""
        found: dict[str, list[ast.Attribute | ast.Constant]] = {}
        for node in self.of(ast.Attribute, ast.Constant):
            if isinstance(node, ast.Attribute):
                found.setdefault(node.attr, []).append(node)
            elif isinstance(node.value, str):
                found.setdefault(node.value, []).append(node)
        return found

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The node's ancestors, nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def loops_around(self, node: ast.AST) -> list[Loop]:
        """The loops that a node stands in, innermost first, up to its function."""
        found: list[Loop] = []
        for parent in self.above(node):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                break
            if isinstance(parent, (ast.For, ast.While)):
                found.append(parent)
        return found

    def function_around(self, node: ast.AST) -> Function | None:
        """The function that a node stands in."""
        return self._functions.get(node)

    @cached_property
    def _functions(self) -> dict[ast.AST, Function]:
        """The function around each node that stands in one."""
        found: dict[ast.AST, Function] = {}
        for node, parent in self.parents.items():  # from the top down
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[node] = parent
            elif parent in found:
                found[node] = found[parent]
        return found

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """The class that a node stands in."""
        return self._classes_around.get(node)

    @cached_property
    def _classes_around(self) -> dict[ast.AST, ast.ClassDef]:
        """The class around each node that stands in one."""
        found: dict[ast.AST, ast.ClassDef] = {}
        for node, parent in self.parents.items():  # from the top down
            if isinstance(parent, ast.ClassDef):
                found[node] = parent
            elif parent in found:
                found[node] = found[parent]
        return found

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is, or is a part of."""
        return next((p for p in (node, *self.above(node)) if isinstance(p, ast.stmt)), None)

    def line(self, node: ast.AST) -> str:
        """The source line of a node, stripped."""
        number = getattr(node, "lineno", 0)
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""

    # ---------------------------------------------------------------------------------- the training loop

    @cached_property
    def backwards(self) -> tuple[ast.Call, ...]:
        """Calls of backward: loss.backward(), accelerator.backward(loss), self.manual_backward(loss).

        Left out is one that seeks the gradient of an input, as attacks and saliency maps do, and what turns
        values back: a `backward` of the program's own that is a formula, `pred = scale.backward(pred)`.
        """
        own = [f for f in self.of(ast.FunctionDef) if f.name == "backward"]
        formula = bool(own) and all(
            len(f.body) == 1 and isinstance(f.body[0], ast.Return) and isinstance(f.body[0].value, ast.BinOp)
            for f in own
        )
        return tuple(
            c
            for c in self.named("backward", "manual_backward")
            if self.function_name(c) not in ("backward", "forward", "manual_backward")
            and not self.seeks_input(self.function_around(c))
            and not (formula and c.args and not isinstance(self.parents.get(c), ast.Expr))
        )

    def seeks_input(self, function: Function | None) -> bool:
        """The gradient of what the function is given or draws is read in it, and nothing takes a step."""
        if function is None or any(last_name(c.func) == "step" for c in of(function, ast.Call)):
            return False
        given = {a.arg for a in (*function.args.posonlyargs, *function.args.args)} - {"self", "cls"}
        leaves = set()
        for node in of(function, ast.Assign):
            asks = any(last_name(c.func) == "requires_grad_" for c in of(node.value, ast.Call))
            if asks and given & names_in(node.value):
                leaves |= {unparse(t) for t in node.targets}
        for call in of(function, ast.Call):
            if last_name(call.func) == "requires_grad_" and self.owner(call) in given:
                leaves.add(self.owner(call))
        for attribute in of(function, ast.Attribute):
            if attribute.attr == "requires_grad" and isinstance(attribute.ctx, ast.Store):
                leaves |= given & {unparse(attribute.value)}
        leaves |= self._probes(function)
        return any(a.attr == "grad" and unparse(a.value) in leaves for a in of(function, ast.Attribute))

    def _probes(self, function: Function) -> set[str]:
        """`x = randn(n, requires_grad=True)`, where no gradient changes it: weights by hand are changed."""
        made = {
            unparse(t)
            for n in of(function, ast.Assign)
            if isinstance(n.value, ast.Call)
            and any(k.arg == "requires_grad" and unparse(k.value) == "True" for k in n.value.keywords)
            for t in n.targets
        }
        for node in of(function, ast.Assign, ast.AugAssign):
            if any(a.attr == "grad" for a in of(node.value, ast.Attribute)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                made -= {unparse(t).removesuffix(".data") for t in targets}
        return made - {
            self.owner(c).removesuffix(".data")
            for c in of(function, ast.Call)
            if last_name(c.func) in ("sub_", "add_", "copy_", "addcmul_", "addcdiv_", "lerp_", "mul_")
        }

    @cached_property
    def train_loop(self) -> Loop | None:
        """The innermost loop around the first backward call that stands in one."""
        for call in self.backwards:
            loops = self.loops_around(call)
            if loops:
                return loops[0]
        return None

    @cached_property
    def train_scope(self) -> ast.AST | None:
        """Where one training step is written: the training loop, or the function that holds backward."""
        if self.train_loop is not None:
            return self.train_loop
        return self.function_around(self.backwards[0]) if self.backwards else None

    @cached_property
    def loss_methods(self) -> tuple[Function, ...]:
        """Methods that hand their loss to a trainer, which calls backward: Lightning's, Hugging Face's."""
        return tuple(
            f
            for c in self.classes.values()
            for f in c.body
            if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
            and f.name in ("training_step", "compute_loss")
        )

    @cached_property
    def trains_by_trainer(self) -> bool:
        """Say whether a trainer object runs the training step: `Trainer(...)` with `.fit()` or `.train()`."""
        built = any(last_name(c.func).endswith("Trainer") and not self._is_own(c) for c in self.calls)
        return bool(self.loss_methods) or (built and bool(self.named("fit", "train")))

    def _is_own(self, call: ast.Call) -> bool:
        """A class of the script that derives from nothing is made: `class Trainer:` holds its own loops."""
        made = self.classes.get(last_name(call.func))
        return made is not None and all(last_name(b) in ("object", "ABC", "Generic") for b in made.bases)

    @cached_property
    def trains(self) -> bool:
        """Say whether the script trains in any of the ways that are known here."""
        functional = (
            "value_and_grad",
            "filter_value_and_grad",
            "GradOperation",
            "TrainOneStepCell",
            "GradientTape",
            "apply_gradients",
        )
        compiled = bool(self.named("compile")) and bool(self.named("fit"))
        fits = ("minimize", "train_and_evaluate", "create_train_op", "optimize_loss")
        graph = "tensorflow" in self.frameworks and bool(self.named(*fits))
        by_hand = bool(self.backwards or self.named(*functional))
        fitted = compiled or graph or self._trains_in_mindspore
        return by_hand or self.trains_by_trainer or fitted

    @cached_property
    def _trains_in_mindspore(self) -> bool:
        """`Model(net, loss, optimizer).train(...)`, or a cell that does one step of training."""
        if "mindspore" not in self.frameworks:
            return False
        cells = [b for c in self.classes.values() for b in c.bases if last_name(b).startswith("TrainOneStep")]
        steps = [c for c in self.calls if last_name(c.func).startswith("TrainOneStep")]
        return bool(cells or steps) or bool(self.named("Model") and self.named("train", "fit"))

    @property
    def trains_by_hand(self) -> bool:
        """Say whether the script writes out its training step (no Trainer, no fit)."""
        return bool(self.backwards) and bool(self.steps)

    @cached_property
    def steps(self) -> tuple[ast.Call, ...]:
        """Calls of an optimizer's step."""
        return tuple(c for c in self.named("step") if self.is_optimizer_step(c))

    def is_optimizer_step(self, call: ast.Call) -> bool:
        """`optimizer.step()`, `scaler.step(optimizer)`, not `scheduler.step()`."""
        owner = self.owner(call).lower()
        if any(w in owner for w in ("sched", "lr_", "warmup", "env", "profil", "prof")):
            return False
        if any(w in owner for w in _OPTIMIZER_WORDS) or owner in self.optimizers:
            return True
        return self.is_scaler(call.func) and bool(call.args)

    @cached_property
    def scalers(self) -> dict[str, ast.Call]:
        """Names that a gradient scaler was given, whatever they are called, with the call that makes it."""
        return {
            unparse(target): value
            for target, value in self._each_given()
            if isinstance(value, ast.Call) and last_name(value.func).endswith("GradScaler")
        }

    def is_scaler(self, method: ast.expr) -> bool:
        """Whether a method is one of a gradient scaler, by its name or by what the name was given."""
        owner = unparse(method.value) if isinstance(method, ast.Attribute) else ""
        return "scaler" in owner.lower() or owner in self.scalers

    @cached_property
    def optimizer_calls(self) -> tuple[ast.Call, ...]:
        """Calls that build an optimizer, in source order: by class, by a name in a module, by a table."""
        return tuple(c for c in self.calls if (c.args or c.keywords) and self._builds_optimizer(c.func))

    def _builds_optimizer(self, made: ast.expr, depth: int = 6) -> bool:
        if depth == 0:
            return False
        if last_name(made).lower() in OPTIMIZERS:
            return True
        if isinstance(made, ast.Call):  # getattr(torch.optim, name), table.get(name)
            if last_name(made.func) == "getattr" and made.args:
                owner = unparse(made.args[0])
                return owner.split(".")[-1] in ("optim", "optimizers")
            if last_name(made.func) == "get" and isinstance(made.func, ast.Attribute):
                return self._builds_optimizer(made.func.value, depth - 1)
            return False
        if isinstance(made, ast.Dict):
            return any(self._builds_optimizer(v, depth - 1) for v in made.values)
        if isinstance(made, ast.Subscript):
            return self._builds_optimizer(made.value, depth - 1)
        if isinstance(made, ast.Name):
            if made.id in self.classes:
                return any(last_name(b) == "Optimizer" for b in self.classes[made.id].bases)
            given = self._named_once.get(made.id)
            tables = (ast.Dict, ast.Call, ast.Attribute, ast.Subscript)
            return isinstance(given, tables) and self._builds_optimizer(given, depth - 1)
        return False

    @cached_property
    def _named_once(self) -> dict[str, ast.expr]:
        """The last value that is assigned to each plain name anywhere."""
        return {
            target.id: node.value
            for node in self.of(ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    @cached_property
    def optimizers(self) -> frozenset[str]:
        """Names that an optimizer was assigned to: one that is built, or those of Lightning's module."""
        return frozenset(
            unparse(one).lower()
            for target, value in self._each_given()
            if isinstance(value, ast.Call)
            if self._builds_optimizer(value.func) or unparse(value) == "self.optimizers()"
            for one in (target.elts if isinstance(target, ast.Tuple) else [target])
        )

    def owner(self, call: ast.Call) -> str:
        """What a method is called on: `a.b.step()` -> "a.b"."""
        return unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""

    def function_name(self, node: ast.AST) -> str:
        """The name of the function around a node, or ""."""
        found = self.function_around(node)
        return found.name if found else ""

    # ---------------------------------------------------------------------------------------- the model

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Classes of this file by name."""
        return {n.name: n for n in self.of(ast.ClassDef)}

    @cached_property
    def forwards(self) -> tuple[Function, ...]:
        """The forward methods of this file's modules."""
        return tuple(
            f
            for c in self.classes.values()
            for f in c.body
            if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) and f.name in _FORWARD
        )

    @cached_property
    def passes(self) -> tuple[Function, ...]:
        """The forward methods, and the methods of the same class that they run: `self.attend(x)`."""
        found = dict.fromkeys(self.forwards)
        waiting = list(self.forwards)
        while waiting:
            function = waiting.pop()
            owner = self.parents.get(function)
            methods = {
                f.name: f
                for f in (owner.body if isinstance(owner, ast.ClassDef) else ())
                if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
            }
            for call in of(function, ast.Call):
                on_self = isinstance(call.func, ast.Attribute) and unparse(call.func.value) == "self"
                method = methods.get(last_name(call.func)) if on_self else None
                if method is not None and method not in found:
                    found[method] = None
                    waiting.append(method)
        return tuple(found)

    @cached_property
    def modules(self) -> KeysView[ast.ClassDef]:
        """Classes that are modules of a network, by what they derive from, in the order of `classes`."""
        found: dict[ast.ClassDef, None] = {}
        for _ in range(3):  # a class may derive from another one of this script
            names = {c.name for c in found} | _MODULES
            found = {c: None for c in self.classes.values() if any(last_name(b) in names for b in c.bases)}
        return found.keys()

    @cached_property
    def models(self) -> tuple[ast.ClassDef, ...]:
        """Classes whose instance is the model: assigned to a name and called on data, or put on a device."""
        built = {last_name(c.func) for c in self.calls}
        nested = {
            last_name(n.func)
            for c in self.classes.values()
            for n in of(c, ast.Call)
            if last_name(n.func) != c.name
        }
        holds = [c for n, c in self.classes.items() if n in built and any(f in c.body for f in self.forwards)]
        top = [c for c in holds if c.name not in nested]
        return tuple(top or holds)

    def assigned(self, name: str, scope: ast.AST, before: int | None = None) -> ast.expr | None:
        """The last value assigned to a name in a scope (above a line, if given)."""
        found: ast.expr | None = None
        at = 0
        for node in of(scope, ast.Assign):
            if (before is None or node.lineno < before) and node.lineno >= at:
                for target in node.targets:
                    if unparse(target) == name:
                        found, at = node.value, node.lineno
        return found

    def output_of(self, function: Function) -> list[ast.expr]:
        """The expressions a forward method returns, with a returned name replaced by its last value."""
        found = []
        for node in of(function, ast.Return):
            if node.value is not None:
                value = node.value
                if isinstance(value, ast.Name):
                    value = self.assigned(value.id, function, node.lineno + 1) or value
                found.append(value)
        return found

    def attribute(self, owner: ast.ClassDef, name: str) -> ast.expr | None:
        """What a class assigns to `self.<name>`."""
        return self.assigned(f"self.{name}", owner)

    # ---------------------------------------------------------------------------------------- the loss

    @cached_property
    def criteria(self) -> dict[str, str]:
        """Names of loss objects -> class, lower case: {"criterion": "crossentropyloss"}."""
        from ..readers.script import LOSSES

        found = {}
        for target, value in self._each_given():
            made = moved(value)
            if isinstance(made, ast.Call):
                kind = last_name(made.func).lower()
                if kind in LOSSES:
                    found[unparse(target)] = kind
        return found

    def _each_given(self) -> Iterator[tuple[ast.expr, ast.expr]]:
        """What is assigned, with its value: each for itself in `net, opt = Net(), Adam(weights)`."""
        for node in self.of(ast.Assign):
            for target in node.targets:
                mine, theirs = target, node.value
                if isinstance(mine, ast.Tuple) and isinstance(theirs, ast.Tuple):
                    yield from zip(mine.elts, theirs.elts, strict=False)
                else:
                    yield mine, theirs

    @cached_property
    def losses(self) -> tuple[tuple[ast.Call, str], ...]:
        """Calls that compute a loss, with the kind of loss."""
        from ..readers.script import LOSSES

        found = []
        for call in self.calls:
            name = unparse(call.func)
            if name in self.criteria and call.args:
                found.append((call, self.criteria[name]))
            elif last_name(call.func).lower() in LOSSES and len(call.args) >= 2:
                found.append((call, last_name(call.func).lower()))
            elif isinstance(call.func, ast.Call) and last_name(call.func.func).lower() in LOSSES:
                found.append((call, last_name(call.func.func).lower()))
        return tuple(found)

    def loss_input(self, call: ast.Call) -> ast.expr | None:
        """The prediction a loss call gets, with a name replaced by its last value in the function."""
        if not call.args:
            return None
        value = call.args[0]
        if isinstance(value, ast.Name):
            scope = self.function_around(call) or self.tree
            return self.assigned(value.id, scope, call.lineno) or value
        return value


def moved(node: ast.expr) -> ast.expr:
    """What was made before it was put on a device: `nn.MSELoss()` of `nn.MSELoss().to(device)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in ("to", "cuda", "npu", "cpu", "xpu", "mlu") or not isinstance(
            node.func.value, ast.Call
        ):
            break
        node = node.func.value
    return node


def outermost_call(node: ast.expr) -> str:
    """The last name of the outermost call of an expression, views and squeezes looked through."""
    while isinstance(node, ast.Call):
        made = node.func.func if isinstance(node.func, ast.Call) else node.func  # `Softmax(axis=1)(x)`
        name = last_name(made)
        if name in (
            "view",
            "squeeze",
            "reshape",
            "float",
            "flatten",
            "contiguous",
            "transpose",
            "permute",
            "to",
        ):
            if not isinstance(node.func, ast.Attribute):
                return name
            node = node.func.value
            continue
        return name
    return ""
