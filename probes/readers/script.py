"""Training scripts (.py, .ipynb): settings that stand in the code as literals. Never run, only parsed.

What a call such as `SGD(model.parameters(), lr=0.1)` fixes is as good as a configuration file; names are
followed to simple constants, argparse defaults, class attributes and dict literals of the same file.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from ..files import RunFile, decode
from ..run import FileContent, Setting
from . import Gives, _python_config, notebook
from ._spelled_out import spell_out
from ._tree import below, of, unparse, walk

FORMAT = "python-script"
GIVES = Gives(
    title="Training scripts",
    files="`.py`, `.ipynb`",
    lacks="What the program was given when it started, and whether it is what ran.",
    lines="yes",
    settings="yes",
    environment="some",
)
MAX_SIZE = 512 * 1024
MAX_DEPTH = 200  # levels of the syntax tree; of 14,000 files of 39 published packages none has more than 48
LITERAL = 60  # the code that lies there most likely ran
DEFAULT = 35  # a default of the command line may have been overridden
IMPLIED = 30  # what the framework does where a hand-written script says nothing

Value = bool | int | float | str | None | tuple[bool | int | float | str | None, ...]

_FRAMEWORKS = {
    "torch": "pytorch",
    "tensorflow": "tensorflow",
    "keras": "keras",
    "mindspore": "mindspore",
    "jax": "jax",
    "paddle": "paddle",
    "transformers": "pytorch",
    "lightning": "pytorch",
    "pytorch_lightning": "pytorch",
}
FRAMEWORKS_SAID = (
    "PyTorch",
    "Lightning",
    "Transformers",
    "TensorFlow",
    "Keras",
    "MindSpore",
    "JAX",
    "Paddle",
)
OPTIMIZERS = frozenset(
    [
        "sgd",
        "adam",
        "adamw",
        "rmsprop",
        "adagrad",
        "adadelta",
        "nadam",
        "radam",
        "adamax",
        "lbfgs",
        "lamb",
        "momentum",
        "adamweightdecay",
        "lion",
        "adafactor",
        "asgd",
        "sparseadam",
    ]
)
LOSSES = frozenset(
    [
        "crossentropyloss",
        "bcewithlogitsloss",
        "bceloss",
        "mseloss",
        "nllloss",
        "l1loss",
        "smoothl1loss",
        "huberloss",
        "kldivloss",
        "cross_entropy",
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy",
        "mse_loss",
        "nll_loss",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "softmaxcrossentropywithlogits",
        "sparsecategoricalcrossentropy",
        "categoricalcrossentropy",
        "binarycrossentropy",
    ]
)
SCHEDULERS = frozenset(
    [
        "steplr",
        "multisteplr",
        "exponentiallr",
        "cosineannealinglr",
        "cosineannealingwarmrestarts",
        "onecyclelr",
        "lambdalr",
        "linearlr",
        "reducelronplateau",
        "polynomiallr",
        "cycliclr",
        "constantlr",
        "get_linear_schedule_with_warmup",
        "get_cosine_schedule_with_warmup",
        "get_constant_schedule_with_warmup",
        "cosinedecaylr",
        "exponentialdecay",
        "cosinedecay",
        "piecewiseconstantdecay",
    ]
)
UNTAPED = ("no_grad", "inference_mode")
_WITH_DROPOUT = {"transformerencoderlayer", "transformerdecoderlayer", "transformer"}
# the function and the class of one loss
_STRONG = 0.65  # a share of dropout that few mean
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


def sniff(file: RunFile) -> bool:
    """Any Python file or notebook; what is no training script gives nothing."""
    return file.suffix in (".py", notebook.SUFFIX)


def read(file: RunFile) -> FileContent:
    """Return the settings of a script that imports a training framework, and the text of any script.

    Raises ValueError with one sentence about what is no Python.
    """
    text, notes = source(file)
    tree = parsed(text)
    framework = frameworks(tree)
    if framework:
        settings = tuple(Extractor(tree, file.path).settings())
    elif _python_config.is_config(tree, file.path):
        settings = tuple(_python_config.settings(tree, file.path))
    elif _python_config.is_named_so(file.path):
        settings = tuple(Extractor(tree, file.path).defaults())
    else:
        settings = ()
    if file.suffix == notebook.SUFFIX:
        settings = tuple(_in_cells(settings, text))
    facts = {"framework": framework[0]} if framework else {}
    return FileContent(FORMAT, settings=settings, facts=facts, notes=notes, script=text)


def _in_cells(found: Iterable[Setting], text: str) -> Iterator[Setting]:
    """Settings of a notebook with their cells in place of lines of the whole."""
    lines = text.split("\n")
    for setting in found:
        cell, line = notebook.cell_at(lines, setting.line or 0)
        yield replace(setting, file=notebook.label(setting.file, cell), line=line) if cell else setting


def source(file: RunFile) -> tuple[str, tuple[str, ...]]:
    """The Python text of a file, of a notebook its code cells; and what was left out of it.

    Raises ValueError with one sentence about what cannot be a script.
    """
    notes: tuple[str, ...] = ()
    if file.suffix == notebook.SUFFIX:
        if file.size > notebook.MAX_SIZE:
            raise ValueError(f"notebook larger than {notebook.MAX_SIZE // 1024**2} MiB")
        text, notes = notebook.python_of(file.read_bytes(notebook.MAX_SIZE))
        if len(text) > MAX_SIZE:
            raise ValueError(f"notebook with more than {MAX_SIZE // 1024} KiB of code")
        return text, notes
    if file.size > MAX_SIZE:
        raise ValueError(f"script larger than {MAX_SIZE // 1024} KiB")
    return _decoded(file.read_bytes(MAX_SIZE)), notes


def _decoded(data: bytes) -> str:
    """Source text in the encoding that it declares (PEP 263), else as any text."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, ValueError, LookupError):
        return decode(data)


@lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module:
    """Like `parse`, for those who only read the tree: it is shared."""
    return parse(text)


def parse(text: str) -> ast.Module:
    """Parse source text; ValueError says in one sentence why it is no Python that can be looked at."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python warns of (invalid escapes) is not our finding
            tree = ast.parse(text)
        if "**" in text:
            spell_out(tree)
    except (RecursionError, MemoryError) as error:
        raise ValueError("nested too deeply to be read") from error
    except (SyntaxError, ValueError) as error:
        raise ValueError(_why_not(error, text)) from error
    if _deeper(tree, MAX_DEPTH):
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    _call_it_self(tree)
    return tree


def _call_it_self(tree: ast.Module) -> None:
    """Give the first argument of methods its usual name, where an author calls it `s` or `this`."""
    for owner in of(tree, ast.ClassDef):
        for method in owner.body:
            if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or not method.args.args:
                continue
            mine = method.args.args[0]
            wrapped = any(last_name(d) in ("staticmethod", "classmethod") for d in method.decorator_list)
            if wrapped or mine.arg in ("self", "cls", "mcs") or method.name == "__new__":
                continue
            inside = tuple(walk(method))
            held = {n.id for n in inside if isinstance(n, ast.Name)}
            again = sum(isinstance(n, ast.arg) and n.arg == mine.arg for n in inside) > 1
            stored = any(
                isinstance(n, ast.Name) and n.id == mine.arg and not isinstance(n.ctx, ast.Load)
                for n in inside
            )
            if "self" in held or again or stored:
                continue
            for node in inside:
                if isinstance(node, ast.Name) and node.id == mine.arg:
                    node.id = "self"
            mine.arg = "self"


_PYTHON_2 = re.compile(
    r"^\s*(?:print\s+[^=(\s]|print\s*>>|exec\s+[^=(\s]|raise\s+[\w.]+\s*,|except\s+[\w.()]+\s*,\s*\w+\s*:)|<>|\bur[\"']"
)


def _why_not(error: SyntaxError | ValueError, text: str) -> str:
    line = getattr(error, "lineno", None)
    if "\0" in text:
        return "binary, no Python source"
    if not line:
        return "no Python"
    lines = text.splitlines()
    faulty = lines[line - 1] if line <= len(lines) else ""
    if _PYTHON_2.search(faulty):
        return f"Python 2, which is not read: `{faulty.strip()[:60]}` (line {line})"
    said = str(getattr(error, "msg", "")).split(". ")[0][:80]
    return f"no Python that this version reads (line {line}: {said})" if said else f"no Python (line {line})"


def _deeper(tree: ast.AST, most: int) -> bool:
    """Whether a tree has more than `most` levels; counted without recursion."""
    layer: list[ast.AST] = [tree]
    for _ in range(most):
        layer = [child for node in layer for child in below(node)]
        if not layer:
            return False
    return True


def frameworks(tree: ast.Module) -> list[str]:
    """The training frameworks a script imports, in order."""
    found = []
    for node in of(tree, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            found += [_FRAMEWORKS.get(a.name.split(".")[0], "") for a in node.names]
        elif not node.level:
            found.append(_FRAMEWORKS.get((node.module or "").split(".")[0], ""))
    return [f for f in dict.fromkeys(found) if f]


@dataclass(eq=False)
class Extractor:
    """Follows names to constants and collects what calls fix."""

    tree: ast.Module
    file: str
    names: dict[str, tuple[ast.expr, int]] = field(default_factory=dict)
    members: dict[str, tuple[ast.expr, int]] = field(
        default_factory=dict
    )  # class attributes, dict keys, argparse

    parameters: dict[str, ast.expr] = field(default_factory=dict)  # of constructors, where one value is known
    options: set[str] = field(default_factory=set)  # members that the command line declares
    open: set[str] = field(default_factory=set)  # members that a command line or a configuration file may set

    classes: dict[str, ast.ClassDef] = field(init=False)

    def __post_init__(self) -> None:
        self.classes = {n.name: n for n in reversed(of(self.tree, ast.ClassDef))}
        self.parameters = _constructed(self.tree)
        self.open = {name for name, _ in _declared(self.classes.values())}
        for node in of(self.tree, ast.Assign, ast.AnnAssign, ast.Call):
            if isinstance(node, ast.Assign):
                if len(node.targets) == 1:
                    self._remember(node.targets[0], node.value)
            elif isinstance(node, ast.AnnAssign):
                if node.value is not None:
                    self._remember(node.target, node.value)
            elif last_name(node.func) == "add_argument":
                self._argument(node)
            elif last_name(node.func) in _FLAGS and len(node.args) > 1:
                flag = node.args[0]
                if isinstance(flag, ast.Constant) and isinstance(flag.value, str):
                    self.members[flag.value] = (node.args[1], node.lineno)
                    self.open.add(flag.value)
        self._filled_in()

    def _filled_in(self) -> None:
        """Fields that the program itself gives one constant, as in `Config(lr=0.1)`: no longer a default."""
        given: dict[str, list[ast.expr]] = {}
        for node in of(self.tree, ast.Call):
            owner = self.classes.get(last_name(node.func))
            if owner is not None and _holds_settings(owner):
                for word in node.keywords:
                    if word.arg:
                        given.setdefault(word.arg, []).append(word.value)
        for name, values in given.items():
            if name in self.open and len(values) == 1 and isinstance(values[0], ast.Constant):
                self.members[name] = (values[0], values[0].lineno)
                self.open.discard(name)

    def _remember(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.names.setdefault(target.id, (value, value.lineno))
            self.members.setdefault(target.id, (value, value.lineno))
            if isinstance(value, ast.Dict):
                keys = {k.value for k in value.keys if isinstance(k, ast.Constant)}
                plateau = bool(keys & {"patience", "threshold_mode"})
                if _is_table_of_ranges(value):
                    return
                for key, item in zip(value.keys, value.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        if plateau and key.value == "eps":
                            continue  # of a scheduler, which waits for a plateau
                        self.members.setdefault(key.value, (item, item.lineno))
            elif isinstance(value, ast.Call) and last_name(value.func).lower() in _HOLDERS:
                for word in value.keywords:
                    if word.arg:
                        self.members.setdefault(word.arg, (word.value, word.value.lineno))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, item in zip(target.elts, value.elts, strict=False):
                self._remember(one, item)

    def _argument(self, call: ast.Call) -> None:
        flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        default = keyword(call, "default")
        if flags and default is not None:
            name = max(flags, key=len).lstrip("-").replace("-", "_")
            if name not in self.options:  # the entry's own comes first
                self.members[name] = (default, call.lineno)
                self.options.add(name)
            self.open.add(name)

    # -------------------------------------------------------------------------------------- values

    def value(self, node: ast.expr | None, depth: int = 0) -> tuple[bool, Value, bool]:
        """Return (known, value, is a default that the command line or a configuration file may replace)."""
        if node is None or depth > 8:
            return False, None, False
        if isinstance(node, ast.Constant):
            return _plain(node.value)
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.value(self.names[node.id][0], depth + 1)
        if isinstance(node, ast.Attribute) and node.attr in self.members:
            known, value, _ = self.value(self.members[node.attr][0], depth + 1)
            return known, value, node.attr in self.open and last_name(node.value) not in self.classes
        if isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) in self.parameters:
            known, value, _ = self.value(self.parameters[last_name(node)], depth + 1)
            return known, value, True
        if isinstance(node, ast.Call):
            given = self._stands_for(node)
            return self.value(given, depth + 1) if given is not None else (False, None, False)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            if isinstance(key, str) and key in self.members:
                return self.value(self.members[key][0], depth + 1)
            return False, None, False
        if isinstance(node, (ast.Tuple, ast.List)):
            parts = [self.value(e, depth + 1) for e in node.elts]
            if all(p[0] and not isinstance(p[1], tuple) for p in parts):
                return True, tuple(p[1] for p in parts), any(p[2] for p in parts)  # type: ignore[misc]
            return False, None, False
        return self._computed(node, depth)

    def _stands_for(self, call: ast.Call) -> ast.expr | None:
        """The default of a dataclass field, or the first rate of a schedule that is given as a rate."""
        name = last_name(call.func)
        if name in ("field", "Field"):
            return keyword(call, "default") or (_first(call) if name == "Field" else None)
        if name in _KERAS_SCHEDULES:
            warm = keyword(call, "warmup_target")  # where it is given, the first rate is that of the warm-up
            return warm or keyword(call, "initial_learning_rate") or _first(call)
        if name in _MINDSPORE_SCHEDULES and name not in self.classes:
            place, word = _MINDSPORE_SCHEDULES[name]
            return keyword(call, word) or (call.args[place] if place < len(call.args) else None)
        owner = self.classes.get(name)
        if owner is None or not any(last_name(b) == "LearningRateSchedule" for b in owner.bases):
            return None
        made = next((f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
        names = [a.arg for a in made.args.args[1:]] if made is not None else []
        given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        if any(_WIDTH.search(k) for k in given):
            return (
                None  # a factor of the schedule of Vaswani et al. (2017), which divides by the width's root
            )
        rates = [v for k, v in given.items() if re.search(r"peak|rate|(?:^|_)lr|base|initial|max_l", k)]
        return rates[0] if len(rates) == 1 else None

    def _computed(self, node: ast.expr, depth: int) -> tuple[bool, Value, bool]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            known, value, default = self.value(node.operand, depth + 1)
            good = known and isinstance(value, (int, float))
            return good, -value if good else None, default  # type: ignore[operator]
        if isinstance(node, ast.BinOp):
            left = self.value(node.left, depth + 1)
            right = self.value(node.right, depth + 1)
            if (
                left[0]
                and right[0]
                and isinstance(left[1], (int, float))
                and isinstance(right[1], (int, float))
            ):
                result = _arithmetic(node.op, float(left[1]), float(right[1]))
                return result is not None, result, left[2] or right[2]
        return False, None, False

    # ------------------------------------------------------------------------------------ settings

    def settings(self) -> Iterator[Setting]:
        """Everything the script fixes, under canonical names where calls say what is meant."""
        yield from self._constants()
        for node in of(self.tree, ast.Call, ast.For):
            yield from self._call(node) if isinstance(node, ast.Call) else self._epochs(node)
        for test in of(self.tree, ast.If, ast.For):
            yield from self._accumulated(test) if isinstance(test, ast.If) else self._micro_batches(test)
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
        if not any(n.startswith(("clip_grad", "clip_by")) for n in named):
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
        steps = {last_name(c.func) for s in node.body for c in of(s, ast.Call)}
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
            for name, one in _declared([node]):
                known, value, _ = self.value(one.value)
                if not known or _of_a_part(node.name, name):
                    continue
                yield Setting(name, value, self.file, one.lineno, DEFAULT)

    def _constants(self) -> Iterator[Setting]:
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                known, value, _ = self.value(statement.value)
                if known and not isinstance(value, str):
                    yield Setting(statement.targets[0].id, value, self.file, statement.lineno, DEFAULT)
        for name, (node, line) in self.members.items():
            known, value, _ = self.value(node)
            if known and name not in self.names:
                yield Setting(name, value, self.file, line, DEFAULT)
        yield from self._fields()

    def _call(self, call: ast.Call) -> Iterator[Setting]:
        name = last_name(call.func)
        lower = name.lower()
        if lower in OPTIMIZERS and (call.args or call.keywords) and name != "momentum":
            if call in self._side_optimizers or moves_one_tensor(call) or self._moves_inputs:
                return
            if self._one_of_several(call):  # its kind is not known to be in force, nor what is the kind's own
                for word, argument in (("learning_rate", "lr"), ("weight_decay", "weight_decay")):
                    yield from self._one(call, word, keyword(call, argument))
                return
            yield self._set("optimizer", lower, call)
            yield from self._keywords(call, "optimizer")
            yield from self._positional_rate(call)
            yield from self._betas(call)
        elif lower in SCHEDULERS:
            each = lower == "steplr" and self.value(keyword(call, "step_size") or _nth(call, 1))[1] == 1
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
        elif lower in ("lstm", "gru", "simplernn"):
            for word in ("dropout", "recurrent_dropout"):
                share = keyword(call, word)
                if (
                    isinstance(share, ast.Constant)
                    and isinstance(share.value, float)
                    and share.value > _STRONG
                ):
                    yield from self._one(call, "dropout", share)
        elif lower.startswith(("batchnorm", "syncbatchnorm")):
            yield self._set("normalization_layer", "batch_norm", call)
            yield from self._keywords(call, "batchnorm")
        elif lower in ("layernorm", "layernormalization"):
            yield from self._keywords(call, "layernorm")
        elif lower in ("clip_grad_norm_", "clip_grad_norm", "clip_by_global_norm"):
            found = keyword(call, "max_norm") or keyword(call, "clip_norm") or _nth(call, 1)
            yield from self._one(call, "max_grad_norm", found)
        elif lower in ("manual_seed", "set_seed", "seed_everything", "set_random_seed"):
            yield from self._one(call, "seed", _first(call) or keyword(call, "seed"))
        elif lower in ("trainingarguments", "seq2seqtrainingarguments", "sftconfig"):
            for item in call.keywords:
                if item.arg:
                    yield from self._one(call, item.arg, item.value)
        elif lower == "fit":
            yield from self._keywords(call, "fit")
        elif lower == "trainer" and keyword(call, "args") is None:
            yield from self._keywords(call, "trainer")
        elif lower == "normalize":
            yield from self._one(call, "mean", keyword(call, "mean") or _first(call))
            yield from self._one(call, "std", keyword(call, "std") or _nth(call, 1))
        elif lower == "autocast":
            yield from self._autocast(call)
        elif lower in ("normal_", "trunc_normal_") and call.args and not _of_table(call):
            target = unparse(call.args[0])
            if "bias" not in target:
                for one in self._one(call, "init_std", keyword(call, "std") or _nth(call, 2)):
                    if (
                        isinstance(one.value, (int, float)) and one.trust != DEFAULT
                    ):  # of a class that others are made of with values of their own
                        yield one

    def _dropped(self, call: ast.Call) -> Iterator[Setting]:
        """The share to drop; MindSpore's `nn.Dropout` (not that of `mint`) takes the share to keep first."""
        dropped, kept = keyword(call, "p") or keyword(call, "rate"), keyword(call, "keep_prob")
        if dropped is None and kept is None:
            first = _first(call)
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
        names = {n.id for n in of(self.tree, ast.Name)}
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
            and all(_TENSOR.search(unparse(m)) and "train" not in unparse(m) for m in moved)
        )

    @cached_property
    def _side_optimizers(self) -> list[ast.Call]:
        """Optimizers without a schedule beside one that has one: of a warm start, a probe, a critic."""
        made: dict[str, list[ast.Call]] = {}
        scheduled: set[str] = set()
        for node in of(self.tree, ast.Assign, ast.Call):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                if last_name(node.value.func).lower() in OPTIMIZERS:
                    made.setdefault(unparse(node.targets[0]), []).append(node.value)
            elif isinstance(node, ast.Call) and last_name(node.func).lower() in SCHEDULERS and node.args:
                scheduled.add(unparse(node.args[0]))
        if len(made) < 2 or not scheduled.intersection(made):
            return []
        return [call for name, calls in made.items() if name not in scheduled for call in calls]

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
        held = [
            {c for s in branch for c in of(s, ast.Call) if c in built}
            for node in (of(self.tree, ast.If) if made else ())
            if node.orelse
            for branch in (node.body, node.orelse)
        ]
        pairs = zip(held[::2], held[1::2], strict=True)
        found: set[ast.Call] = set()
        for one, other in pairs:
            kinds = {last_name(c.func).lower() for c in one}, {last_name(c.func).lower() for c in other}
            if one and other and kinds[0] != kinds[1]:
                found |= one | other
        homes = {n: f for f in of(self.tree, ast.FunctionDef) for n in of(f, ast.Assign)}
        first: dict[str, ast.AST | None] = {}
        for given in of(self.tree, ast.Assign):
            if given.value in built:
                name, home = unparse(given.targets[0]), homes.get(given)
                if name.startswith("self.") and first.setdefault(name, home) is not home:
                    found.add(given.value)  # of a later phase of training
        return frozenset(found)

    @cached_property
    def _sets_rates(self) -> bool:
        """The script gives the optimizer its rates itself: `group["lr"] = rate`."""
        return any(
            isinstance(n.ctx, ast.Store) and isinstance(n.slice, ast.Constant) and n.slice.value == "lr"
            for n in of(self.tree, ast.Subscript)
        )

    def _keywords(self, call: ast.Call, kind: str) -> Iterator[Setting]:
        for argument, canonical in _ARGUMENTS[kind].items():
            yield from self._one(call, canonical, keyword(call, argument))

    def _positional_rate(self, call: ast.Call) -> Iterator[Setting]:
        if keyword(call, "lr") is None and keyword(call, "learning_rate") is None:
            keras = any(n.id in ("keras", "tf", "optimizers") for n in of(call.func, ast.Name))
            position = 1 if call.args and _is_parameters(call.args[0]) and not keras else 0
            yield from self._one(call, "learning_rate", _nth(call, position))

    def _betas(self, call: ast.Call) -> Iterator[Setting]:
        known, value, default = self.value(keyword(call, "betas"))
        if known and isinstance(value, tuple) and len(value) == 2:
            trust = DEFAULT if default else LITERAL
            yield Setting("adam_beta1", value[0], self.file, call.lineno, trust)
            yield Setting("adam_beta2", value[1], self.file, call.lineno, trust)

    def _loader(self, call: ast.Call) -> Iterator[Setting]:
        if not is_training_loader(call, self.tree):
            return
        yield from self._keywords(call, "loader")
        if keyword(call, "batch_size") is None:
            yield from self._one(call, "batch_size", _nth(call, 1))
        shuffle = keyword(call, "shuffle") or _nth(call, 2)
        if shuffle is not None:
            yield from self._one(call, "shuffle", shuffle)
        elif not (keyword(call, "sampler") or keyword(call, "batch_sampler")):
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

    def _autocast(self, call: ast.Call) -> Iterator[Setting]:
        switch = keyword(call, "enabled") or _first(call)
        if isinstance(switch, ast.Constant) and switch.value is False:
            return  # full precision, in this place at least
        dtype = keyword(call, "dtype")
        word = dtype.attr if isinstance(dtype, ast.Attribute) else ""
        found = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16"}.get(word)
        if found:
            yield self._set("precision", found, call)

    def _one(self, call: ast.Call, key: str, node: ast.expr | None) -> Iterator[Setting]:
        known, value, default = self.value(node)
        if key == "learning_rate" and value == 0 and self._sets_rates:
            return  # a value to start from
        if known and value is not None:
            yield Setting(key, value, self.file, call.lineno, DEFAULT if default else LITERAL)

    def _set(self, key: str, value: Value, call: ast.Call) -> Setting:
        return Setting(key, value, self.file, call.lineno, LITERAL)


# ------------------------------------------------------------------------------------------ syntax helpers


def _of_table(call: ast.Call) -> bool:
    """A table of embeddings, drawn with a deviation of up to one, as frameworks draw it by default."""
    std = keyword(call, "std") or (call.args[2] if len(call.args) > 2 else None)
    usual = isinstance(std, ast.Constant) and isinstance(std.value, (int, float)) and 0.2 < std.value <= 1
    return (
        usual
        and re.search(r"(?i)(?:^|[._])(?:\w*emb\w*|wte|wpe|tok\w*)\.weight", unparse(call.args[0]))
        is not None
    )


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name: `torch.optim.SGD` -> "SGD"."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def all_arguments(call: ast.Call) -> list[ast.expr]:
    """All that a call is given, by place and by name."""
    return [*call.args, *(k.value for k in call.keywords)]


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((k.value for k in call.keywords if k.arg == name), None)


_FOR_TRAINING = re.compile(r"train|(?<![a-z])(?:tr|trn|fit)(?![a-z])")
_FOR_EVALUATION = re.compile(
    r"val|test|eval|holdout|(?<![a-z])(?:va|vl|te|ts|tst|ev|ho|dev|infer|inference|pred|predict|query|gallery)(?![a-z])"
)


def is_training_loader(call: ast.Call, tree: ast.Module) -> bool:
    """Say whether a loader is for training: by the name it is given and the data it takes.

    Where neither says so, a loader in fixed order beside one of its kind that shuffles is for evaluation.
    """
    words = unparse(call.args[0]).lower() if call.args else ""
    others: list[ast.Call] = []
    for node in walk(tree):
        if isinstance(node, ast.Assign) and any(n is call for n in walk(node.value)):
            words = unparse(node.targets[0]).lower() + " " + words
        elif isinstance(node, ast.Call) and last_name(node.func) == last_name(call.func):
            others.append(node)
    if _FOR_EVALUATION.search(words):
        return False
    if _FOR_TRAINING.search(words) or _shuffles(call):
        return True
    return not any(_shuffles(other) for other in others)


def _shuffles(call: ast.Call) -> bool:
    """Whether a loader may draw in random order: its shuffle is not off, or a sampler draws for it."""
    chosen = keyword(call, "shuffle") or _nth(call, 2)
    if chosen is None:
        return keyword(call, "sampler") is not None or keyword(call, "batch_sampler") is not None
    return not (isinstance(chosen, ast.Constant) and not chosen.value)


_FLAGS = frozenset(
    {"DEFINE_float", "DEFINE_integer", "DEFINE_string", "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum"}
)
# where MindSpore's schedules, as cells and as lists, take their highest rate
_MINDSPORE_SCHEDULES = {
    **dict.fromkeys(("CosineDecayLR", "cosine_decay_lr"), (1, "max_lr")),
    **dict.fromkeys(
        (
            *("ExponentialDecayLR", "PolynomialDecayLR", "NaturalExpDecayLR", "InverseDecayLR", "WarmUpLR"),
            *("exponential_decay_lr", "polynomial_decay_lr", "natural_exp_decay_lr", "inverse_decay_lr"),
            "warmup_lr",
        ),
        (0, "learning_rate"),
    ),
}
_KERAS_SCHEDULES = frozenset(
    {"CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "PolynomialDecay", "InverseTimeDecay"}
)


# One tensor that is sought with a finished model: what explains it, what excites it, what fools it.
_TENSOR = re.compile(
    r"(?i)mask|prompt|noise|delta|image|latent|z$|perturb|embed|\binputs?_|\binputs?$|seed_input"
)


def moves_one_tensor(call: ast.Call) -> bool:
    """Whether an optimizer gets single tensors alone, none of them weights: `Adam([self.mask], lr=0.3)`."""

    def single(node: ast.expr) -> bool:
        if isinstance(node, ast.Dict):
            return any(single(v) for v in node.values if not isinstance(v, ast.Constant))
        return isinstance(node, (ast.Name, ast.Attribute)) and bool(_TENSOR.search(last_name(node)))

    given = call.args[0] if call.args else keyword(call, "params")
    return isinstance(given, ast.List) and bool(given.elts) and all(map(single, given.elts))


def _build_optimizers(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Functions of the module that build an optimizer: their parameters are settings of the training."""
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(last_name(c.func).lower() in OPTIMIZERS for c in of(node, ast.Call))
    }


def _constructed(tree: ast.Module) -> dict[str, ast.expr]:
    """Parameters of constructors here that have one constant value: as passed by name, else by default."""
    defaults: dict[str, list[ast.expr]] = {}
    passed: dict[str, list[ast.expr]] = {}
    classes = {n.name: n for n in of(tree, ast.ClassDef)}
    for owner in classes.values():
        for made in owner.body:
            if isinstance(made, ast.FunctionDef) and made.name == "__init__":
                names = [a.arg for a in made.args.args]
                given = zip(reversed(names), reversed(made.args.defaults), strict=False)
                for name, value in given:
                    defaults.setdefault(name, []).append(value)
                for arg, default in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True):
                    if default is not None:
                        defaults.setdefault(arg.arg, []).append(default)
    functions = _build_optimizers(tree)
    for function in functions.values():
        names = [a.arg for a in function.args.args]
        for name, value in zip(reversed(names), reversed(function.args.defaults), strict=False):
            defaults.setdefault(name, []).append(value)
    for node in of(tree, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in functions:
            for arg, value in zip(functions[node.func.id].args.args, node.args, strict=False):
                passed.setdefault(arg.arg, []).append(value)
        if last_name(node.func) in (*classes, *functions):
            for word in node.keywords:
                same = isinstance(word.value, (ast.Name, ast.Attribute)) and last_name(word.value) == word.arg
                if word.arg and not same:
                    passed.setdefault(word.arg, []).append(word.value)
    found = {}
    for name, values in defaults.items():
        values = passed.get(name, values)
        if all(isinstance(v, ast.Constant) for v in values) and len({unparse(v) for v in values}) == 1:
            found[name] = values[0]
    return found


_HOLDERS = frozenset({"dict", "namespace", "simplenamespace", "easydict", "configdict", "attrdict", "munch"})


def _holds_settings(node: ast.ClassDef) -> bool:
    """A dataclass, a named tuple, a pydantic model, or a class whose name says that it holds settings."""
    marks = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    if any(last_name(d) == "dataclass" for d in marks):
        return True
    if any(last_name(b) in ("NamedTuple", "BaseModel", "BaseSettings") for b in node.bases):
        return True
    return node.name.lower().endswith(
        ("config", "cfg", "args", "arguments", "hparams", "options", "settings")
    )


_PART = re.compile(r"(?i)smooth|loss|metric|head|pooler|decoder|discrim|sched|augment|norm")
_OF_PARTS = frozenset({"epsilon", "eps", "alpha", "beta", "gamma", "momentum", "activation"})


def _of_a_part(name: str, field: str) -> bool:
    """A field that means something else in the class of a part: the epsilon of a `LabelSmoother`."""
    return field in _OF_PARTS and _PART.search(name) is not None


def _declared(classes: Iterable[ast.ClassDef]) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """The fields of the classes that hold settings: name, and where it gets its default."""
    for node in classes:
        for one in node.body if _holds_settings(node) else ():
            if not isinstance(one, (ast.Assign, ast.AnnAssign)):
                continue
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            if isinstance(target, ast.Name):
                yield target.id, one


_WIDTH = re.compile(r"(?i)hidden_(?:size|dim)|d_?model|model_(?:dim|size)|embed(?:ding)?_dim")
_FEW = 3  # entries from which a dict of tuples is a table


def _is_table_of_ranges(node: ast.Dict) -> bool:
    """No settings in force: all values are tuples of numbers (bounds for a search), or numbers in a row."""
    whole = [v.value for v in node.values if isinstance(v, ast.Constant) and type(v.value) is int]
    if len(whole) == len(node.values) > _FEW and len(whole) == len(set(whole)) == max(whole) - min(whole) + 1:
        return True  # chemical elements, words of a vocabulary, names of classes
    rows = [v.elts for v in node.values if isinstance(v, (ast.Tuple, ast.List))]
    same = len(rows) == len(node.values) and len({len(r) for r in rows}) == 1
    return same and len(rows) >= _FEW and len(rows[0]) > 1


def _plain(value: object) -> tuple[bool, Value, bool]:
    if value is None or isinstance(value, (bool, int, float, str)):
        return True, value, False
    return False, None, False


def _arithmetic(op: ast.operator, left: float, right: float) -> float | None:
    try:
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.Div):
            return left / right
        if isinstance(op, ast.FloorDiv):
            return left // right
        if isinstance(op, ast.Pow) and abs(right) <= 64:
            return float(left**right)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None


def _imports_own_files(tree: ast.Module) -> bool:
    """Another file of the same project may hold what this one does not say."""
    return any(n.level > 0 for n in of(tree, ast.ImportFrom))


def _first(call: ast.Call) -> ast.expr | None:
    return _nth(call, 0)


def _nth(call: ast.Call, position: int) -> ast.expr | None:
    return call.args[position] if len(call.args) > position else None


def _is_parameters(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant)
