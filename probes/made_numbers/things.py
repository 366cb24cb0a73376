"""What stands in a program besides numbers while it is worked out: the unknown, functions, objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Env = dict[str, Any]

TRUTH = re.compile(
    r"(?i)^(?:y|ys|yb|by|yy|t|ts|tb|gt|gold|truths?|targets?|tgts?|labels?|lbls?|real|mask|masks|nxt|next_\w+"
    r"|y_?(?:true|train|tr|test|te|val|va|valid|dev|batch|b)|t_?(?:train|test|val)"
    r"|\w*_(?:true|labels?|targets?|gt|truth)|(?:true|target|label|truth|gold)_\w+|answers?_true|label_ids)$"
)
MODEL = re.compile(
    r"(?i)^(?:\w*model\w*|\w*net\w*|network|learner|clf|encoder|student|teacher|fast|slow|backbone|forward_fn)$"
)
LOADER = re.compile(
    r"(?i)loader|(?:^|_)dl$|batches|iterator|(?:^|_)(?:train|val|test|valid)_?(?:ds|data|it)$"
)
SPREAD = re.compile(r"(?i)(?:^|_)(?:std|sigma|sd|scale|spread|deviation|width)s?(?:_|$)")
CENTRE = re.compile(r"(?i)(?:^|_)(?:mean|mu|cent(?:er|re)|avg)s?(?:_|$)")
DEFINES_NET = re.compile(
    r"^(?:Module|Model|Cell|Layer|LightningModule|PreTrainedModel|\w*PreTrainedModel|\w*Module)$"
)
MADE_NET = re.compile(
    r"(?i)^(?:Sequential|SequentialCell|Model|from_pretrained|create_model|resnet\w*|efficientnet\w*|mobilenet\w*"
    r"|vgg\w*|densenet\w*|convnext\w*|vit\w*|unet\w*|AutoModel\w*|load_model|EfficientNet\w*|MobileNet\w*|ResNet\w*)$"
)
WRAPS_NET = frozenset(
    ("DistributedDataParallel", "DataParallel", "DDP", "compile", "prepare", "convert_sync_batchnorm", "jit")
)


@dataclass(eq=False)
class Unknown:
    """What is not known: a batch, a file, a setting. `key` says which; two of one key are one."""

    key: str
    truth: bool = False  # by its name or its place in a batch
    model: bool = False
    pair: bool = False  # a batch, or what a loader gives
    net: str = ""  # the last activation of a model, where the program says it

    def renamed(self, name: str) -> Unknown:
        """The same under a name that may tell what it is."""
        truth = self.truth or (TRUTH.match(name) is not None and not self.model)
        if truth == self.truth:
            return self
        return Unknown(self.key, truth, self.model, self.pair, self.net)


@dataclass(eq=False)
class Routine:
    """A function of the program and the names around it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    around: Env
    owner: Any = None


@dataclass(eq=False)
class Kind:
    """A class of the program."""

    node: ast.ClassDef
    around: Env

    @property
    def bases(self) -> list[str]:
        """The last names of what it derives from."""
        return [b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "") for b in self.node.bases]

    def method(self, *names: str) -> ast.FunctionDef | None:
        """Its method of the first of these names that it has."""
        found = {n.name: n for n in self.node.body if isinstance(n, ast.FunctionDef)}
        return next((found[n] for n in names if n in found), None)

    @property
    def is_net(self) -> bool:
        """Whether it is a network, and no loss or metric."""
        if re.search(r"(?i)loss|criterion|metric|dice|focal|objective|meter", self.node.name):
            return False
        runs = self.method("forward", "construct", "call", "__call__")
        given = len(runs.args.args) if runs is not None else 2
        lightning = self.method("training_step") is not None
        return any(map(DEFINES_NET.match, self.bases)) and (
            lightning or given <= 2 or not self._asks_truth(runs)
        )

    @staticmethod
    def _asks_truth(runs: ast.FunctionDef | None) -> bool:
        return runs is not None and any(TRUTH.match(a.arg) for a in runs.args.args[1:])


@dataclass(eq=False)
class Instance:
    """An object of a class of the program."""

    kind: Kind
    attributes: Env = field(default_factory=dict)


@dataclass(eq=False)
class Library:
    """A name of a library: a module, a function or a class of it."""

    name: str
    of: str = ""  # the module that it is taken from


@dataclass(eq=False)
class Made:
    """A loss or a metric of a library with its settings; metrics gather what they are given."""

    name: str
    given: list[Any]
    named: dict[str, Any]
    seen: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(eq=False)
class Bound:
    """A method that is asked for, of anything but an object of the program."""

    owner: Any
    name: str


@dataclass(eq=False)
class Asked:
    """What Hugging Face's Trainer hands to `compute_metrics`: answers and truth."""

    answers: Any
    truth: Any


class Returned(Exception):
    """A function returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Left(Exception):
    """A loop is left, or goes on: the rest of its body is not run."""


class TooLong(Exception):
    """More was run than is looked at."""


Call = Callable[[Any, list[Any], dict[str, Any]], Any]
