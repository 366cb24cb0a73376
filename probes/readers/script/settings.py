"""The settings that a script fixes, under canonical names where its calls say what is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ...run import IMPLIED, Setting
from .._tree import names_in, of, unparse
from .ascend import graph_options
from .by_place import by_place, rate_first
from .calls import (
    LOSSES,
    OPTIMIZERS,
    SCHEDULERS,
    SOUGHT_TENSOR,
    UNTAPED,
    argument,
    first_given,
    is_of_the_script,
    is_stream,
    is_training_loader,
    keyword,
    last_name,
    moves_one_tensor,
    nth_given,
)
from .cast import cast_parameters
from .shares import STRONG, heavy_decay, largest_share, nearly_all
from .syntax import frameworks
from .values import Value, Values, declared

LITERAL = 60  # the code that lies there most likely ran
DEFAULT = 35  # a default of the command line may have been overridden
_WITH_DROPOUT = {"transformerencoderlayer", "transformerdecoderlayer", "transformer"}
# of what comes first
_DROPPED_BY_CALL = ("F.dropout", "nn.functional.dropout", "torch.nn.functional.dropout")
# the function and the class of one loss
_FUNCTIONAL = {
    "cross_entropy": "crossentropyloss",
    "binary_cross_entropy": "bceloss",
    "binary_cross_entropy_with_logits": "bcewithlogitsloss",
    "mse_loss": "mseloss",
    "nll_loss": "nllloss",
    "l1_loss": "l1loss",
    "smooth_l1_loss": "smoothl1loss",
    "huber_loss": "huberloss",
}
# parameter of a call -> canonical setting
_ARGUMENTS: dict[str, dict[str, str]] = {
    "optimizer": {
        "lr": "learning_rate",
        "learning_rate": "learning_rate",
        "weight_decay": "weight_decay",
        "momentum": "momentum",
        "nesterov": "nesterov",
        "eps": "adam_epsilon",
        "epsilon": "adam_epsilon",
        "beta1": "adam_beta1",
        "beta_1": "adam_beta1",
        "beta2": "adam_beta2",
        "beta_2": "adam_beta2",
        "loss_scale": "optimizer_loss_scale",
    },
    "scheduler": {
        "T_max": "lr_decay_steps",
        "total_steps": "lr_decay_steps",
        "num_training_steps": "lr_decay_steps",
        "step_size": "lr_decay_steps",
        "gamma": "lr_gamma",
        "milestones": "lr_milestones",
        "eta_min": "min_learning_rate",
        "num_warmup_steps": "warmup_steps",
        "pct_start": "warmup_ratio",
    },
    "scaler": {
        "init_scale": "initial_loss_scale",
        "growth_interval": "loss_scale_window",
        "growth_factor": "loss_scale_growth_factor",
    },
    "loader": {"batch_size": "batch_size", "num_workers": "num_workers"},
    "batchnorm": {
        "momentum": "batch_norm_momentum",
        "eps": "batch_norm_epsilon",
        "epsilon": "batch_norm_epsilon",
    },
    "layernorm": {"eps": "layer_norm_epsilon", "epsilon": "layer_norm_epsilon"},
    "fit": {"epochs": "epochs", "batch_size": "batch_size"},
    "trainer": {  # Lightning's
        "max_epochs": "epochs",
        "accumulate_grad_batches": "gradient_accumulation_steps",
        "gradient_clip_val": "max_grad_norm",
    },
}


@dataclass(eq=False)
class Extractor(Values):
    """Collects what calls fix."""

    def settings(self) -> Iterator[Setting]:
        """Everything the script fixes, under canonical names where calls say what is meant."""
        yield from self._constants()
        for node in of(self.tree, ast.Call, ast.For):
            yield from self._call(node) if isinstance(node, ast.Call) else self._epochs(node)
        for test in of(self.tree, ast.If, ast.For):
            yield from self._accumulated(test) if isinstance(test, ast.If) else self._micro_batches(test)
        yield from graph_options(self.tree, self.file)
        yield from cast_parameters(self.tree, self.file)
        yield from self._implied()

    def _implied(self) -> Iterator[Setting]:
        """What a script that writes out its own training step does by saying nothing (PyTorch 2 defaults)."""
        calls = of(self.tree, ast.Call)
        arguments = [c for c in calls if last_name(c.func).endswith("TrainingArguments") and c.keywords]
        half = ("fp16", "bf16", "half", "float16", "deepspeed", "accelerat", "autocast")
        if arguments and all(k.arg for c in arguments for k in c.keywords):
            if not any(w in unparse(self.tree).lower() for w in half):  # fp16 and bf16 are off by default
                yield Setting("precision", "fp32", self.file, arguments[0].lineno, IMPLIED)
            if not any(
                k.arg in ("optim", "optimizers", "optim_target_modules") for c in calls for k in c.keywords
            ):
                yield Setting("optim", "adamw_torch", self.file, arguments[0].lineno, IMPLIED)
        named = {last_name(c.func).lower() for c in calls}
        if "backward" not in named or not named & {"sgd", "adam", "adamw"} or _imports_own_files(self.tree):
            return
        words = unparse(self.tree).lower()
        if (
            "drop" not in re.sub("drop_?last|dropna|drop_dup|drop_rem", "", words)
            and not named & _WITH_DROPOUT
        ):
            yield Setting("dropout", 0.0, self.file, None, IMPLIED)
        if not any(n.startswith(("clip_grad", "clip_by", "clipgradby")) for n in named):
            yield Setting("max_grad_norm", 0.0, self.file, None, IMPLIED)
        if not any(w in words for w in ("autocast", "half", "bfloat16", "float16", "fp16", "bf16", "amp")):
            yield Setting("precision", "fp32", self.file, None, IMPLIED)
        groups = any(
            "'params'" in unparse(d) and "weight_decay" in unparse(d) for d in of(self.tree, ast.Dict)
        )
        for call in calls:
            kind = last_name(call.func).lower()
            if kind in ("sgd", "adam", "adamw") and all(k.arg for k in call.keywords):
                if (
                    keyword(call, "weight_decay") is None
                    and "param_groups" not in unparse(call)
                    and not groups
                ):
                    value = 0.01 if kind == "adamw" else 0.0
                    yield Setting("weight_decay", value, self.file, call.lineno, IMPLIED)
                if kind == "sgd" and keyword(call, "momentum") is None:
                    yield Setting("momentum", 0.0, self.file, call.lineno, IMPLIED)

    def _accumulated(self, node: ast.If) -> Iterator[Setting]:
        """`if (i + 1) % n == 0: optimizer.step()`: gradients of n batches are added up."""
        body = node.body
        if len(body) == 1 and isinstance(body[0], ast.Continue):  # `if (i + 1) % n: continue`
            loops = [n for n in of(self.tree, ast.For, ast.While) if node in n.body]
            body = loops[0].body[loops[0].body.index(node) + 1 :] if loops else body
        steps = {last_name(c.func) for s in body for c in of(s, ast.Call)}
        if not steps & {"step", "zero_grad"} or "step" not in steps:
            return
        for term in of(node.test, ast.BinOp):
            if isinstance(term.op, ast.Mod):
                known, value, default = self.value(term.right)
                if known and isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1024:
                    trust = DEFAULT if default else LITERAL
                    yield Setting("gradient_accumulation_steps", value, self.file, node.lineno, trust)

    def _micro_batches(self, loop: ast.For) -> Iterator[Setting]:
        """`for _ in range(n): ... backward()` before one step: gradients of n batches are added up."""
        if not isinstance(loop.iter, ast.Call) or last_name(loop.iter.func) != "range":
            return
        inside = {last_name(c.func) for s in loop.body for c in of(s, ast.Call)}
        if "backward" not in inside or inside & {"step", "zero_grad"} or len(loop.iter.args) != 1:
            return
        known, value, default = self.value(loop.iter.args[0])
        if known and isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1024:
            trust = DEFAULT if default else LITERAL
            yield Setting("gradient_accumulation_steps", value, self.file, loop.lineno, trust)

    def defaults(self) -> Iterator[Setting]:
        """What a module declares for others: fields of its classes, options of its command line."""
        yield from self._constants()

    def _fields(self) -> Iterator[Setting]:
        """The defaults of a class that holds settings: a dataclass, or one that is called so."""
        for node in of(self.tree, ast.ClassDef):
            for name, one in declared([node]):
                known, value, _ = self.value(one.value)
                if not known or _of_a_part(node.name, name) or self._explores(name):
                    continue
                yield Setting(name, value, self.file, one.lineno, DEFAULT)

    def _constants(self) -> Iterator[Setting]:
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                known, value, _ = self.value(statement.value)
                if known and not isinstance(value, str) and not self._explores(statement.targets[0].id):
                    yield Setting(statement.targets[0].id, value, self.file, statement.lineno, DEFAULT)
        for name, (node, line) in self.members.items():
            known, value, _ = self.value(node)
            if known and name not in self.names and not self._explores(name):
                yield Setting(name, value, self.file, line, DEFAULT)
        yield from self._fields()

    def _explores(self, name: str) -> bool:
        """An epsilon that no optimizer is given: the share of random moves, a floor of a division."""
        if name.lower() not in ("eps", "epsilon"):
            return False
        made = [c for c in of(self.tree, ast.Call) if last_name(c.func).lower() in OPTIMIZERS and c.args]
        if any(k.arg is None for c in made for k in c.keywords):
            return False
        read = {last_name(n) for c in made for n in of(c, ast.Name, ast.Attribute)}
        texts = {n.value for c in made for n in of(c, ast.Constant)}
        return bool(made) and name not in read | texts

    def _call(self, call: ast.Call) -> Iterator[Setting]:
        name = last_name(call.func)
        lower = name.lower()
        if lower in OPTIMIZERS and (call.args or call.keywords) and name != "momentum":
            if call in self._side_optimizers or moves_one_tensor(call) or self._moves_inputs:
                return
            if self._one_of_several(call):  # its kind is not known to be in force, nor what is the kind's own
                for canonical, word in (("learning_rate", "lr"), ("weight_decay", "weight_decay")):
                    yield from self._one(call, canonical, keyword(call, word))
                return
            yield self._set("optimizer", lower, call)
            yield from self._keywords(call, "optimizer")
            yield from self._positional_rate(call)
            yield from self._decay_of_groups(call)
            yield from self._betas(call, keyword(call, "betas"))
            if not rate_first(self.tree, call):
                for word, given in by_place(call, lower):
                    yield from self._betas(call, given) if word == "betas" else self._one(call, word, given)
        elif lower == "linearlr" and self._rises(call):
            return  # a warm-up alone: what comes after it is told by itself
        elif lower in SCHEDULERS:
            if call in self._scheduler_choices:
                return
            each = lower == "steplr" and self.value(keyword(call, "step_size") or nth_given(call, 1))[1] == 1
            yield self._set("lr_scheduler", "exponentiallr" if each else lower, call)
            yield from self._keywords(call, "scheduler")
        elif lower == "gradscaler":
            yield from self._keywords(call, "scaler")
        elif lower == "dataloader":
            yield from self._loader(call)
        elif lower in LOSSES:
            if call in self._measured:
                return
            yield self._set("loss_function", _FUNCTIONAL.get(lower, lower), call)
            yield from self._one(call, "label_smoothing", keyword(call, "label_smoothing"))
        elif lower in ("dropout", "dropout2d", "dropout1d"):
            yield from self._dropped(call)
        elif lower in ("l2", "l1_l2") and "regularizers" in unparse(call.func):  # Keras, of one layer
            share = keyword(call, "l2") or nth_given(call, 1 if lower == "l1_l2" else 0)
            if isinstance(share, ast.Constant) and isinstance(share.value, float) and share.value >= 1:
                yield from self._one(call, "weight_decay", share)
        elif lower in ("lstm", "gru", "simplernn", "from_pretrained") or lower.endswith("config"):
            least = 0.0 if lower.endswith("config") else STRONG
            yield from self._one(call, "dropout", largest_share(call, least))
        elif lower.startswith(("batchnorm", "syncbatchnorm")):
            yield self._set("normalization_layer", "batch_norm", call)
            yield from self._keywords(call, "batchnorm")
        elif lower in ("layernorm", "layernormalization"):
            yield from self._keywords(call, "layernorm")
        elif lower in ("clip_grad_norm_", "clip_grad_norm", "clip_by_global_norm", "clipgradbyglobalnorm"):
            place = 0 if lower.startswith("clipgrad") else 1  # Paddle's is made without the gradients
            found = keyword(call, "max_norm") or keyword(call, "clip_norm") or nth_given(call, place)
            yield from self._one(call, "max_grad_norm", found)
        elif lower in ("manual_seed", "set_seed", "seed_everything", "set_random_seed"):
            yield from self._one(call, "seed", first_given(call) or keyword(call, "seed"))
        elif lower in ("trainingarguments", "seq2seqtrainingarguments", "sftconfig"):
            for item in call.keywords:
                if item.arg:
                    yield from self._one(call, item.arg, item.value)
        elif lower == "fit":
            yield from self._keywords(call, "fit")
        elif lower == "trainer" and keyword(call, "args") is None:
            yield from self._keywords(call, "trainer")
        elif lower == "normalize":
            yield from self._one(call, "mean", keyword(call, "mean") or first_given(call))
            yield from self._one(call, "std", keyword(call, "std") or nth_given(call, 1))
        elif lower == "autocast":
            yield from self._autocast(call)
        elif lower == "enable_mixed_precision_graph_rewrite":  # TensorFlow 1, with a scale that adapts
            yield self._set("precision", "fp16", call)
            yield self._set("dynamic_loss_scale", keyword(call, "loss_scale") is None, call)
        elif lower in ("normal_", "trunc_normal_") and call.args and not _of_table(call):
            target = unparse(call.args[0])
            if "bias" not in target:
                for one in self._one(call, "init_std", keyword(call, "std") or nth_given(call, 2)):
                    if (
                        isinstance(one.value, (int, float)) and one.trust != DEFAULT
                    ):  # of a class that others are made of with values of their own
                        yield one
        else:
            yield from self._one(call, "dropout", nearly_all(call))
            yield from self._one(call, "weight_decay", heavy_decay(call))

    def _dropped(self, call: ast.Call) -> Iterator[Setting]:
        """The share to drop; MindSpore's `nn.Dropout` (not that of `mint`) takes the share to keep first."""
        dropped, kept = keyword(call, "p") or keyword(call, "rate"), keyword(call, "keep_prob")
        if dropped is None and kept is None:
            first = nth_given(call, 1 if unparse(call.func) in _DROPPED_BY_CALL else 0)
            keeps = last_name(call.func) == "Dropout" and self._keeps
            dropped, kept = (None, first) if keeps else (first, None)
        yield from self._one(call, "dropout", dropped)
        if dropped is None:
            for one in self._one(call, "dropout", kept):
                if isinstance(one.value, (int, float)) and 0 <= one.value <= 1:
                    yield replace(one, value=round(1 - one.value, 9))

    @cached_property
    def _keeps(self) -> bool:
        """A program of MindSpore alone, without its PyTorch-like `mint`."""
        used = frameworks(self.tree)
        modules = {n.module or "" for n in of(self.tree, ast.ImportFrom)}
        names = names_in(self.tree)
        mint = "mint" in names or any(m.startswith("mindspore.mint") for m in modules)
        return "mindspore" in used and "torch" not in used and not mint

    @cached_property
    def _measured(self) -> frozenset[ast.Call]:
        """Losses that are taken where nothing learns, in a script that takes others elsewhere."""
        every = {c for c in of(self.tree, ast.Call) if last_name(c.func).lower() in LOSSES}
        blocks: list[ast.AST] = [
            f
            for f in of(self.tree, ast.FunctionDef)
            if any(last_name(d.func if isinstance(d, ast.Call) else d) in UNTAPED for d in f.decorator_list)
        ]
        blocks += [
            b
            for b in of(self.tree, ast.With)
            for i in b.items
            if isinstance(i.context_expr, ast.Call) and last_name(i.context_expr.func) in UNTAPED
        ]
        held = {c for b in blocks for c in of(b, ast.Call) if c in every} if every else set()
        return frozenset(held) if every - held else frozenset()

    @cached_property
    def _moves_inputs(self) -> bool:
        """Keras: gradients are applied to inputs of a finished model alone: an image that excites it."""
        applied = [c for c in of(self.tree, ast.Call) if last_name(c.func) == "apply_gradients" and c.args]
        pairs = [c.args[0] for c in applied if isinstance(c.args[0], ast.Call)]
        moved = [p.args[1] for p in pairs if last_name(p.func) == "zip" and len(p.args) == 2]
        return (
            bool(moved)
            and len(moved) == len(applied)
            and all(isinstance(m, (ast.Name, ast.Attribute, ast.List)) for m in moved)
            and all(SOUGHT_TENSOR.search(unparse(m)) and "train" not in unparse(m) for m in moved)
        )

    @cached_property
    def _side_optimizers(self) -> list[ast.Call]:
        """Optimizers without a schedule beside one that has one: of a warm start, a probe, a critic."""
        homes = {n: f for f in of(self.tree, ast.FunctionDef) for n in of(f, ast.Assign, ast.Call)}
        made: dict[tuple[ast.AST | None, str], list[ast.Call]] = {}  # (function, name): two may use one name
        scheduled = {(home, name) for home in {None, *homes.values()} for name in self._rated_by_hand}
        for node in of(self.tree, ast.Assign, ast.Call):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                if last_name(node.value.func).lower() in OPTIMIZERS:
                    name = unparse(node.targets[0])
                    home = None if "." in name else homes.get(node)
                    made.setdefault((home, name), []).append(node.value)
            elif isinstance(node, ast.Call) and last_name(node.func).lower() in SCHEDULERS and node.args:
                name = unparse(node.args[0])
                scheduled.add((None if "." in name else homes.get(node), name))
        if len(made) < 2 or not scheduled.intersection(made):
            return []
        return [call for key, calls in made.items() if key not in scheduled for call in calls]

    @property
    def _rated_by_hand(self) -> set[str]:
        """Optimizers whose groups are given rates: `for g in sgd.param_groups: g["lr"] = rate`."""
        loops = {
            x.target.id: unparse(x.iter.value)
            for x in of(self.tree, ast.For)
            if isinstance(x.target, ast.Name)
            and isinstance(x.iter, ast.Attribute)
            and x.iter.attr == "param_groups"
        }
        found: set[str] = set()
        for node in of(self.tree, ast.Subscript):
            rate = isinstance(node.slice, ast.Constant) and node.slice.value == "lr"
            if not (rate and isinstance(node.ctx, ast.Store)):
                continue
            group = node.value
            if isinstance(group, ast.Name) and group.id in loops:
                found.add(loops[group.id])
            elif isinstance(group, ast.Subscript) and isinstance(group.value, ast.Attribute):
                found.add(unparse(group.value.value))  # `sgd.param_groups[0]["lr"] = rate`
        return found

    def _one_of_several(self, call: ast.Call) -> bool:
        """Optimizers of several kinds stand to choose from, and which is taken is told at run time.

        A table of them (`{"adam": optim.Adam, "sgd": optim.SGD}[name]`), or one in each branch.
        """
        return call in self.choices

    @cached_property
    def choices(self) -> frozenset[ast.Call]:
        """Calls that build optimizers of which only one is in force."""
        made = [n for n in of(self.tree, ast.Call) if last_name(n.func).lower() in OPTIMIZERS]
        made = [c for c in made if c.args or c.keywords]
        values = [v for n in of(self.tree, ast.Dict) for v in n.values]
        values += [n.value for n in of(self.tree, ast.Assign)]
        named = {
            last_name(v).lower()
            for v in values
            if isinstance(v, (ast.Name, ast.Attribute)) and last_name(v).lower() in OPTIMIZERS
            if last_name(v)[:1].isupper()
        }
        if named and len(named | {last_name(c.func).lower() for c in made}) > 1:
            return frozenset(made)
        built = set(made)
        found = self._in_branches(built)
        homes = {n: f for f in of(self.tree, ast.FunctionDef) for n in of(f, ast.Assign)}
        first: dict[str, ast.AST | None] = {}
        for given in of(self.tree, ast.Assign):
            if given.value in built:
                name, home = unparse(given.targets[0]), homes.get(given)
                if name.startswith("self.") and first.setdefault(name, home) is not home:
                    found.add(given.value)  # of a later phase of training
        return frozenset(found)

    def _in_branches(self, built: set[ast.Call]) -> set[ast.Call]:
        """Those of these calls that make another kind of thing in each branch of a condition."""
        held = [
            {c for s in branch for c in of(s, ast.Call) if c in built}
            for node in (of(self.tree, ast.If) if built else ())
            if node.orelse
            for branch in (node.body, node.orelse)
        ]
        found: set[ast.Call] = set()
        for one, other in zip(held[::2], held[1::2], strict=True):
            kinds = {last_name(c.func).lower() for c in one}, {last_name(c.func).lower() for c in other}
            if one and other and kinds[0] != kinds[1]:
                found |= one | other
        return found

    @cached_property
    def _scheduler_choices(self) -> set[ast.Call]:
        """Calls that build schedules of which only one is in force: which one is told at run time."""
        made = {c for c in of(self.tree, ast.Call) if last_name(c.func).lower() in SCHEDULERS}
        return self._in_branches(made)

    @cached_property
    def _sets_rates(self) -> bool:
        """The script gives the optimizer its rates itself: `group["lr"] = rate`."""
        return any(
            isinstance(n.ctx, ast.Store) and isinstance(n.slice, ast.Constant) and n.slice.value == "lr"
            for n in of(self.tree, ast.Subscript)
        )

    def _keywords(self, call: ast.Call, kind: str) -> Iterator[Setting]:
        for word, canonical in _ARGUMENTS[kind].items():
            yield from self._one(call, canonical, keyword(call, word))

    def _positional_rate(self, call: ast.Call) -> Iterator[Setting]:
        if keyword(call, "lr") is None and keyword(call, "learning_rate") is None:
            led = rate_first(self.tree, call)
            position = 1 if call.args and _is_parameters(call.args[0]) and not led else 0
            given = nth_given(call, position)
            if given is None and (highest := self._highest_of_groups(call)) is not None:
                yield Setting("learning_rate", highest, self.file, call.lineno, LITERAL)
            yield from self._one(call, "learning_rate", given)

    def _decay_of_groups(self, call: ast.Call) -> Iterator[Setting]:
        """The highest decay of groups that each name their own: biases and norms are given none."""
        if keyword(call, "weight_decay") is None and (
            highest := self._highest_of_groups(call, "weight_decay")
        ):
            yield Setting("weight_decay", highest, self.file, call.lineno, LITERAL)

    def _highest_of_groups(self, call: ast.Call, name: str = "lr") -> float | None:
        """The highest rate (or decay) of groups that each name their own; None where one is not known."""
        given = first_given(call)
        if isinstance(given, ast.Name) and given.id in self.names:
            given = self.names[given.id][0]
        found: list[float] = []
        for group in given.elts if isinstance(given, (ast.List, ast.Tuple)) else ():
            pairs = zip(group.keys, group.values, strict=True) if isinstance(group, ast.Dict) else ()
            own = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == name]
            known, value, _ = self.value(own[0]) if own else (False, None, False)
            if not known or not isinstance(value, (int, float)) or isinstance(value, bool):
                return None
            found.append(float(value))
        return max(found, default=None)

    @cached_property
    def _peak_of_cycle(self) -> float | None:
        """The highest rate of `OneCycleLR`, which takes the place of what the optimizer is given.

        Where several are made they have to have one.
        """
        made = [c for c in of(self.tree, ast.Call) if last_name(c.func) == "OneCycleLR"]
        given = {unparse(g) for c in made if (g := keyword(c, "max_lr") or nth_given(c, 1)) is not None}
        if len(given) != 1:
            return None
        known, value, _ = self.value(keyword(made[0], "max_lr") or nth_given(made[0], 1))
        good = known and isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if good else None  # type: ignore[arg-type]

    def _betas(self, call: ast.Call, pair: ast.expr | None) -> Iterator[Setting]:
        known, value, default = self.value(pair)
        if known and isinstance(value, tuple) and len(value) == 2:
            trust = DEFAULT if default else LITERAL
            yield Setting("adam_beta1", value[0], self.file, call.lineno, trust)
            yield Setting("adam_beta2", value[1], self.file, call.lineno, trust)

    def _loader(self, call: ast.Call) -> Iterator[Setting]:
        if not is_training_loader(call, self.tree):
            return
        yield from self._keywords(call, "loader")
        if is_of_the_script(call, self.tree):  # its order of arguments and its defaults are its own
            yield from self._one(call, "shuffle", keyword(call, "shuffle"))
            return
        if keyword(call, "batch_size") is None:
            yield from self._one(call, "batch_size", nth_given(call, 1))
        shuffle = keyword(call, "shuffle") or nth_given(call, 2)
        if shuffle is not None:
            yield from self._one(call, "shuffle", shuffle)
        elif any(k.arg is None for k in call.keywords):
            return  # whoever calls the function says so: `DataLoader(rows, size, **more)`
        elif not (keyword(call, "sampler") or keyword(call, "batch_sampler") or is_stream(call, self.tree)):
            yield self._set("shuffle", False, call)  # PyTorch's default

    def _epochs(self, loop: ast.For) -> Iterator[Setting]:
        target = loop.target.id.lower() if isinstance(loop.target, ast.Name) else ""
        call = loop.iter
        if isinstance(call, ast.Call) and last_name(call.func) in ("tqdm", "trange") and call.args:
            call = call.args[0] if isinstance(call.args[0], ast.Call) else call
        if isinstance(call, ast.Call) and last_name(call.func) in ("range", "trange") and call.args:
            known, end, default = self.value(call.args[-1] if len(call.args) < 3 else call.args[1])
            known0, start, _ = self.value(call.args[0]) if len(call.args) > 1 else (True, 0, False)
            if known and known0 and isinstance(end, (int, float)) and isinstance(start, (int, float)):
                key = {"epoch": "epochs", "ep": "epochs", "step": "max_steps", "it": "max_steps"}.get(target)
                if key:
                    trust = DEFAULT if default else LITERAL
                    yield Setting(key, end - start, self.file, loop.lineno, trust)

    def _rises(self, call: ast.Call) -> bool:
        """`LinearLR(optimizer, 0.1, total_iters=500)`: by default it goes from a third to the whole rate."""
        given = [keyword(call, f"{n}_factor") or nth_given(call, k) for k, n in ((1, "start"), (2, "end"))]
        ends = [d if g is None else self.value(g)[1] for g, d in zip(given, (1 / 3, 1.0), strict=True)]
        numbers = [e for e in ends if isinstance(e, (int, float))]
        return len(numbers) == 2 and numbers[0] < numbers[1]

    def _autocast(self, call: ast.Call) -> Iterator[Setting]:
        given = keyword(call, "enabled")
        switch = given or first_given(call)
        if isinstance(switch, ast.Constant) and switch.value is False:
            return  # full precision, in this place at least
        dtype = keyword(call, "dtype")
        word = dtype.attr if isinstance(dtype, ast.Attribute) else ""
        found = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16"}.get(word)
        if found and given is not None and not (isinstance(given, ast.Constant) and given.value is True):
            known, value, _ = self.value(given)
            if known and value is False:
                return
            # a setting turns it on: this is the format where it does
            yield Setting("amp_dtype", found, self.file, call.lineno, DEFAULT)
        elif found:
            yield self._set("precision", found, call)

    def _one(self, call: ast.Call, key: str, node: ast.expr | None) -> Iterator[Setting]:
        known, value, default = self.value(node)
        if key == "learning_rate" and value == 0 and self._sets_rates:
            return  # a value to start from
        peak = self._peak_of_cycle if key == "learning_rate" and known else None
        if peak is not None and isinstance(value, (int, float)):
            if peak > max(value, _LOW_PEAK) or peak >= _FAR_PEAK * value:
                value = peak
        if known and value is not None:
            yield Setting(key, value, self.file, call.lineno, DEFAULT if default else LITERAL)

    def _set(self, key: str, value: Value, call: ast.Call) -> Setting:
        return Setting(key, value, self.file, call.lineno, LITERAL)


def _of_table(call: ast.Call) -> bool:
    """A table of embeddings, drawn with a deviation of up to one, as frameworks draw it by default."""
    std = argument(call, "std", position=2)
    usual = isinstance(std, ast.Constant) and isinstance(std.value, (int, float)) and 0.2 < std.value <= 1
    return (
        usual
        and re.search(r"(?i)(?:^|[._])(?:\w*emb\w*|wte|wpe|tok\w*)\.weight", unparse(call.args[0]))
        is not None
    )


_FAR_PEAK = 50.0  # of a cycle, over its optimizer's rate: that one is where the cycle starts
_LOW_PEAK = 0.1  # of a cycle: what lies below is the rate of its optimizer as often as not
_PART = re.compile(r"(?i)smooth|loss|metric|head|pooler|decoder|discrim|sched|augment|norm")
_OF_PARTS = frozenset({"epsilon", "eps", "alpha", "beta", "gamma", "momentum", "activation"})


def _of_a_part(name: str, field: str) -> bool:
    """A field that means something else in the class of a part: the epsilon of a `LabelSmoother`."""
    return field in _OF_PARTS and _PART.search(name) is not None


def _imports_own_files(tree: ast.Module) -> bool:
    """Another file of the same project may hold what this one does not say."""
    return any(n.level > 0 for n in of(tree, ast.ImportFrom))


def _is_parameters(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant)
