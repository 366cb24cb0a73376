"""What part of training a line belongs to: by the calls it makes, and by what its values reach.

`reach(line)` follows a line's values forward, through names, attributes, settings, functions and what they
return, to the calls that say what a value is for: a loss's target, an optimizer's learning rate, a loader.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from ..code.shared.roles import split_of, trains
from ..readers.script import last_name
from .lines import Line, Program, Unit
from .terms import Term
from .vocabulary import word_set

MAX_STEPS = 300  # lines that a value is followed through
MAX_RETURNS = 4  # callers that hand a value on; functions of one name may call each other in a circle
MAX_FAR = 6  # assignments in a row

_LOSS = word_set(
    "cross_entropy mse_loss l1_loss smooth_l1_loss huber_loss nll_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits kl_div triplet_margin_loss cosine_embedding_loss ctc_loss "
    "margin_ranking_loss poisson_nll_loss gaussian_nll_loss softmax_cross_entropy_with_integer_labels "
    "softmax_cross_entropy sigmoid_binary_cross_entropy SoftmaxCrossEntropyWithLogits "
    "sparse_categorical_crossentropy categorical_crossentropy SparseCategoricalCrossentropy "
    "CategoricalCrossentropy BinaryCrossentropy MeanSquaredError criterion loss_fn loss_func loss_function "
    "criterion_fn compute_loss"
)
_OPTIMIZER = word_set(
    "SGD Adam AdamW RMSprop RMSProp Adagrad Adadelta NAdam RAdam Adamax LBFGS Lamb LAMB Lion Adafactor "
    "Momentum AdamWeightDecay sgd adam adamw"
)
_LOADER = word_set("DataLoader GeneratorDataset batch NumpySlicesDataset DistributedSampler")
_METRIC = word_set(
    "argmax argmin topk accuracy_score f1_score roc_auc_score average_precision_score precision_score "
    "recall_score confusion_matrix accuracy mean_squared_error mean_absolute_error r2_score eq"
)
_MODEL = word_set("model net network module ddp_model classifier")
_LABELS = re.compile(
    r"(?:^|_)(?:y|ys|labels?|targets?|masks?|answers?|gt|boxes|lbl|tgt|cls|classes|tags?)(?:_|$)"
)
_INPUTS = re.compile(
    r"(?:^|_)(?:x|xs|imgs?|images?|inputs?|features?|feats?|pixels?|waves?|audio|frames?|ids|tokens)(?:_|$)"
)
_MEASURES = ("metric", "score", "accuracy", "iou", "confusion", "precision_at", "recall", "measure")
_METER = re.compile(
    r"[a-z0-9]Meter$|^Meter$"
)  # AverageMeter; `MeterData` may hold what meters of a house read
_KEEPS_DATA = ("__getitem__", "__iter__", "train_dataloader", "setup", "prepare_data")
_GETS_DATA = re.compile(r"^_?(?:read|load|fetch|parse|simulate|generate)_")
_PREPARES = re.compile(
    r"augment|transform|preprocess|collate|jitter|normali[sz]e|tokeni[sz]e|^load_|^read_|^encode"
)
_MAPS = (
    "map",
    "collate_fn",
    "transform",
    "transforms",
    "preprocess",
    "apply",
    "with_transform",
    "set_transform",
)
_FIGURES = ("#1", "#2", "mean", "std", "mean_vec", "std_vec")  # of `normalize(image, mean, std)`
_SPLITS = word_set("train_test_split random_split Subset KFold StratifiedKFold GroupKFold TimeSeriesSplit")


_DRAWS = word_set(
    "rand randn randint random randrange uniform normal integers random_integers bernoulli rand_like "
    "randn_like standard_normal beta gauss triangular"
)
_HOOK = re.compile(
    r"^(?:training|validation|test|predict|train|eval)_(?:step|epoch)|^configure_|^on_|_dataloader$|^setup$|"
    r"^prepare_data$|^fit$|^compute_loss$"
)
_FORWARD = ("forward", "construct", "call")
_IS_LOSS = re.compile(
    r"(?:Loss|Losses|Criterion|Objective|LossBase|_loss|_criterion)$|^(?:Loss|Criterion)[A-Z]"
)
_GIVES_LOSS = ("training_step", "compute_loss")  # methods that hand their loss to a trainer
# functions that are called after a loss, and steps of training
_MINIMISED = re.compile(r"^(?:shared_step|_step|train_step)$|(?:^|_)(?:loss|losses|objectives?)(?:_|$)")
_SCHEDULES = (
    "LR",
    "Scheduler",
    "_schedule",
    "lr_scheduler",
    "_decay_lr",
    "_constant_lr",
    "Decay",
    "DecayRestarts",
)
# what trains or evaluates a model by itself -> what its arguments are
_RUNS = {
    "fit": {"#0": "inputs", "x": "inputs", "#1": "labels", "y": "labels", "epochs": "length"}
    | {"validation_data": "inputs"},
    "train": {"#0": "length", "epoch": "length", "#1": "loader.dataset", "train_dataset": "loader.dataset"},
    "evaluate": {"#0": "inputs", "x": "inputs", "#1": "labels", "y": "labels"},
}
_FLAGS = word_set("split stage phase subset fold is_train training train is_training fit mode is_val is_test")
_SHARED = ("forward", "construct", "call", "__init__", "__call__", "__getitem__", "__iter__", "__len__")


class Roles:
    """Questions on the parts of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def _units(self) -> dict[str, list[Unit]]:
        found: dict[str, list[Unit]] = defaultdict(list)
        for unit in self.program.units:
            found[unit.last].append(unit)
        return found

    @cached_property
    def _classes(self) -> frozenset[str]:
        """Units that are classes with a forward method, by name; Flax has it in `__call__`.

        A module of a network may have methods of other names alone: two towers, an encoder and a decoder.
        """
        modules = {c.name for c in self.program.source.modules}
        return frozenset(
            u.owner
            for u in self.program.units
            if (u.owner and u.last in _FORWARD)
            or (u.owner in modules and (u.last == "__call__" or u in self._computing))
            if u.owner not in self._losses
        )

    def part_of_another(self, name: str) -> bool:
        """Whether another class of layers makes one of this class."""
        return any(
            x.unit.owner not in ("", name) and x.unit.owner in self._classes for x in self._calls[name]
        )

    @cached_property
    def _losses(self) -> frozenset[str]:
        """Classes that compute a loss: by their name, or what they derive from."""
        return frozenset(
            name
            for name, node in self.program.source.classes.items()
            if _IS_LOSS.search(name) or any(_IS_LOSS.search(last_name(b)) for b in node.bases)
        )

    @cached_property
    def _computing(self) -> frozenset[Unit]:
        """Methods that hand values to layers of their object and give a value back: part of a model."""
        made = {
            t.removeprefix("self.")
            for x in self.program.lines
            if x.unit.last in ("__init__", "setup", "build") and x.term.kind == "assign"
            for t in x.targets
            if t.startswith("self.")
        }
        return frozenset(
            unit
            for unit in self.program.units
            if unit.owner
            and unit.parameters[:1] == ("self",)
            and not unit.last.startswith("__")
            and not _HOOK.search(unit.last)
            and any(x.term.kind == "return" and x.term.parts for x in unit.lines)
            and any(t.kind == "call" and t.label in made for x in unit.lines for t in x.term.walk())
            and not any(
                t.kind == "call" and (t.label in _LOSS or t.label in ("backward", "step"))
                for x in unit.lines
                for t in x.term.walk()
            )
        )

    @cached_property
    def _applied(self) -> frozenset[Line]:
        """Lines of a functional model: `x = Dense(10)(x)`, and calls of functions that are made of these."""
        if not {"keras", "tensorflow", "tf_keras"} & set(self.program.source.frameworks):
            return frozenset()
        found = {x for x in self.program.lines if any(map(_applies_layer, x.term.walk()))}
        names = {x.unit.last for x in found if _is_function(x.unit) and len(x.unit.parameters) > 0}
        names -= {"__init__", "main", *_FORWARD}
        around = {x.unit for x in found}
        for name in names:
            found |= {x for x in self._calls.get(name, ()) if x.unit in around}
        return frozenset(found)

    def _is_forward(self, line: Line) -> bool:
        """Whether values go through a model in a line."""
        unit = line.unit
        if unit.last == "__call__":
            return unit.owner in self._classes
        if unit in self._computing and unit.owner in self._classes:
            return True
        return (unit.last in _FORWARD and unit.owner not in self._losses) or line in self._applied

    @cached_property
    def _uses(self) -> dict[str, list[tuple[Line, tuple[tuple[str, str], ...]]]]:
        """Name, attribute or key -> lines that read it, with what it is handed to, innermost first."""
        found: dict[str, list[tuple[Line, tuple[tuple[str, str], ...]]]] = defaultdict(list)
        for line in self.program.lines:
            for edge, part in line.term.parts:
                if edge != "target":
                    for name, chain in _leaves(part, ((line.term.kind, edge),)):
                        found[name].append((line, chain))
        return found

    @cached_property
    def _calls(self) -> dict[str, list[Line]]:
        """Callee -> lines that call it."""
        found: dict[str, list[Line]] = defaultdict(list)
        for line in self.program.lines:
            for term in line.term.walk():
                if term.kind == "call":
                    found[term.label].append(line)
        return found

    @cached_property
    def layers(self) -> dict[str, str]:
        """Attribute or name -> the class or function that it was made by: {"bn1": "BatchNorm2d"}."""
        found: dict[str, str] = {}
        for line in self.program.lines:
            value = line.term.part("value")
            if (
                value is not None and value.kind == "choice"
            ):  # reducer = Reducer(...) if distributed else Identity()
                value = value.part("then")
            if line.term.kind == "assign" and value is not None and value.kind == "call":
                for target in line.targets:
                    found.setdefault(target.removeprefix("self."), value.label)
        return found

    @cached_property
    def dead(self) -> frozenset[Line]:
        """Lines whose values reach nothing but logging."""
        gives: dict[str, list[Line]] = defaultdict(list)
        waiting: list[Line] = []
        found: set[Line] = set()
        for line in self.program.lines:
            plain = line.targets and line.term.kind in ("assign", "do", "default")
            if (
                plain
                and not any("." in t for t in line.targets)
                and not _acts(line)
                and not self._fills(line)
                and not self._trains_when_called(line)
            ):
                found.add(line)
                for target in line.targets:
                    gives[target].append(line)
            else:
                waiting.append(line)
        seen: set[str] = set()
        while waiting:
            line = waiting.pop()
            read = {name for name, _ in _leaves(line.term, ())}
            read |= {t.label for t in line.term.walk() if t.kind == "call"}
            for name in read - seen:
                alive = [x for x in gives.get(name, ()) if x in found]
                found.difference_update(alive)
                waiting += alive
            seen |= read
        return frozenset(found)

    def _trains_when_called(self, line: Line) -> bool:
        """Whether a line calls a function of the program that takes gradients: it gives more than a value."""
        return any(t.kind == "call" and t.label in self._learning for t in line.term.walk())

    @cached_property
    def _learning(self) -> frozenset[str]:
        """Functions that take gradients."""
        return frozenset(
            x.unit.last
            for x in self.program.lines
            if x.unit.name and _is_function(x.unit) and x.unit.last not in _SHARED
            if any(t.kind == "call" and t.label == "backward" for t in x.term.walk())
        )

    def scores(self, line: Line) -> bool:
        """Whether what a line gives is taken a softmax of, a few lines on in its function."""
        names, seen = set(line.targets), {line}
        if self._weighs(line.term):
            return True
        for _ in range(4):
            further: set[str] = set()
            for name in names:
                for use, _ in self._uses.get(name, ()):
                    if use.unit is not line.unit or use in seen:
                        continue
                    if self._weighs(use.term):
                        return True
                    seen.add(use)
                    further |= set(use.targets)
            names = further
        return False

    def _weighs(self, term: Term) -> bool:
        calls = {t.label for t in term.walk() if t.kind == "call"}
        return "softmax" in calls or any(self.layers.get(c) in ("softmax", "Softmax") for c in calls)

    def _views(self, line: Line) -> list[str]:
        """What a line writes into under another name: `column = table[:, j]`."""
        found = []
        for x in line.unit.lines:
            value = x.term.part("value")
            if set(x.targets) & set(line.targets) and value is not None and value.kind == "item":
                of = value.part("of")
                if of is not None and of.kind == "name":
                    found.append(of.label)
        return found[:3]

    def _fills(self, line: Line) -> bool:
        """Whether a line writes into what came from outside, or is a part of something: `column[:] = 0`."""
        target = line.term.part("target")
        if target is None or target.kind != "item" or not line.targets:
            return False
        name = line.targets[0]
        if name in line.unit.parameters:
            return True
        made = [
            x.term.part("value") for x in line.unit.lines if name in x.targets and x.term.kind == "assign"
        ]
        loops = any(name in x.targets for x in line.unit.lines if x.term.kind == "for")
        return loops or any(v is not None and v.kind in ("item", "attribute") for v in made[:1])

    # ------------------------------------------------------------------------------------------- the split

    def split(self, line: Line) -> str:
        """ "train", "eval" or "": which data a line deals with."""
        for target in line.targets:
            if (side := _side(target)) and not _is_mask(line.term):
                return side
        if self.evaluates(line):
            return "eval"
        for head in reversed(line.around):
            if head.term.kind == "if" and line.branch == "body" and (side := _asked_side(head.term)):
                return side
            if head.term.kind == "for":
                value = head.term.part("value")
                for name in sorted(value.names) if value is not None else ():
                    if side := _side(name):
                        return side
        sides = {_side(n) for n in line.term.names} - {""}
        if len(sides) == 1 and not line.unit.owner:
            return sides.pop()
        if "train" in line.unit.last.lower():
            return "train"
        return ""

    def evaluates(self, line: Line) -> bool:
        """Whether a line stands where a model is evaluated: by its function, or without gradients."""
        name = line.unit.name.lower()
        if line.unit.owner in self._classes and line.unit.last in (*_FORWARD, "__init__", "build"):
            return False  # a model that is named `Scorer`, or predicts
        sides = name.replace("retriev", "")
        if any(w in sides for w in ("eval", "valid", "test_", "_test", "predict", "infer")):
            return True
        if not self._about_data(line.unit) and any(w in name for w in _MEASURES):
            return True
        if _METER.search(line.unit.owner):
            return True
        if {"val", "test", "f1", "auc", "map"} & set(re.split(r"[_.]", name)):
            return True
        if any(
            h.term.kind == "with" and any(t.label == "no_grad" for t in h.term.walk()) for h in line.around
        ):
            return line.unit.last not in ("forward", "construct", "__init__") and "init" not in name
        if any(
            edge in ("compute_metrics", "metrics")
            for _, chain in self._uses.get(line.unit.last, ())
            for _, edge in chain
        ):
            return True
        return line.unit in self._measuring

    def _about_data(self, unit: Unit) -> bool:
        """Whether a function gets or keeps data: a score in its name is then what they are about."""
        return bool(_GETS_DATA.match(unit.last)) or any(
            other.owner == unit.owner
            for last in _KEEPS_DATA
            for other in self._units.get(last, ())
            if unit.owner
        )

    @cached_property
    def _measuring(self) -> frozenset[Unit]:
        """Functions that nothing but an evaluation calls: what decodes, scores or counts its predictions."""
        found: set[Unit] = set()
        for _ in range(3):
            before = len(found)
            for unit in self.program.units:
                calls = self._calls.get(unit.last, ())
                if unit in found or not calls or not unit.name or unit.last in _SHARED:
                    continue
                if len(self._units[unit.last]) == 1 and not self._uses.get(unit.last):
                    if all(x.unit in found or (x.unit.name and self._plainly_evaluates(x)) for x in calls):
                        found.add(unit)
            if len(found) == before:
                break
        return frozenset(found)

    @staticmethod
    def _plainly_evaluates(line: Line) -> bool:
        words = re.split(r"[_.]", line.unit.name.lower())
        return bool(
            {"eval", "evaluate", "evaluation", "valid", "validate", "validation", "test"} & set(words)
        )

    # ------------------------------------------------------------------------------------------- the place

    def place(self, line: Line, reached: Sequence[str] = ()) -> list[str]:
        """Roles by where a line stands: in a model, a data set, an evaluation; by names as a last resort."""
        found = []
        if not {"inputs", "labels", "loss.target", "layer", "output"} & set(reached):
            for target in line.targets:
                last = target.rpartition(".")[2].lower()
                if last in self._taken_in:
                    found.append("inputs")
                elif _LABELS.search(last):
                    found.append("labels")
                elif _INPUTS.search(last):
                    found.append("inputs")
        owner, last = line.unit.owner, line.unit.last
        top = owner.split(".")[0]
        hook = bool(_HOOK.search(last))  # of a framework's module: it is not what a sample goes through
        applied = line in self._applied
        if owner in self._losses and last != "__init__":
            found.append("loss")
        elif applied or last in _FORWARD or (owner in self._classes and last != "__init__" and not hook):
            found.append("forward")
        if applied or top in self._classes:
            found.append("model")
        if (
            last in ("__getitem__", "__iter__", "__len__")
            or "Dataset" in top
            or _PREPARES.search(last.lower())
        ):
            found.append("data")
        if self.evaluates(line):
            found.append("evaluation")
        elif any(
            call in _MAPS or edge in _MAPS
            for _, chain in self._uses.get(last, ())
            for call, edge in chain[:1]
        ):
            found.append("data")
        if (any(h.term.kind == "for" for h in line.around) and self._trains_in(line)) or (
            line.unit in self._stepping and "evaluation" not in found
        ):
            found.append("step")
        if any(
            w in last.lower()
            for w in ("init_weights", "_init_weights", "reset_parameters", "weights_init", "init_params")
        ):
            found.append("init")
        return found

    @cached_property
    def _training(self) -> frozenset[Line]:
        """Loops that gradients are taken in."""
        return frozenset(
            head
            for line in self.program.lines
            for head in line.around
            if head.term.kind in ("for", "while")
            and any(
                t.kind == "call"
                and t.label
                in (
                    "backward",
                    "zero_grad",
                    "value_and_grad",
                    "apply_gradients",
                    "minimize",
                    "train_step",
                    "training_step",
                    "train_on_batch",
                )
                for t in line.term.walk()
            )
        )

    def by_side(self, test: Term, unit: Unit) -> bool:
        """Whether a condition asks which data it deals with: by a word, or by what its callers give."""
        for term in test.walk():
            if term.kind in ("name", "attribute", "key", "constant"):
                plain = term.label.strip("'").lower()
                if plain in _FLAGS or (_side(plain) and term.kind != "number"):
                    return True
                if (
                    term.kind == "name"
                    and term.label in unit.parameters
                    and self._differs_by_side(unit, term.label)
                ):
                    return True
        return False

    def _differs_by_side(self, unit: Unit, name: str) -> bool:
        """Whether a function's callers give an argument another value for training than for the rest."""
        given: dict[str, set[int]] = defaultdict(set)
        called = unit.owner if unit.last == "__init__" else unit.last
        for line in self._calls.get(called, ())[:12]:
            for term in line.term.walk():
                if term.kind == "call" and term.label == called:
                    value = term.part(name)
                    given[self.split(line)].add(value.key if value is not None else 0)
        return bool(given["train"] and given["eval"] and not given["train"] & given["eval"])

    def labels_in(self, term: Term, line: Line) -> bool:
        """Whether a term reads what a sample is to be told as: a label, a mask, a target."""
        for one in term.walk():
            if one.kind in ("name", "key") and one.label not in line.targets and not one.label.isupper():
                if _LABELS.search(one.label.lower()):
                    return True
                if one.kind == "name":
                    given = [x for x in line.unit.lines if one.label in x.targets and x is not line]
                    if given and self.reach(given[0], [one.label])[:1] in (["labels"], ["loss.target"]):
                        return True
        return False

    @cached_property
    def _stepping(self) -> frozenset[Unit]:
        """Functions that take gradients: one step of training, written by itself."""
        return frozenset(
            unit
            for unit in self.program.units
            if unit.name
            and _is_function(unit)
            and not any(x.term.kind in ("for", "while") and x in self._training for x in unit.lines)
            and any(
                t.kind == "call"
                and t.label
                in (
                    "backward",
                    "zero_grad",
                    "value_and_grad",
                    "manual_backward",
                    "apply_gradients",
                    "minimize",
                )
                for x in unit.lines
                for t in x.term.walk()
            )
        )

    def trains_under(self, head: Line) -> bool:
        """Whether gradients are taken, or epochs of training run, under a loop."""
        return head in self._training or head in self._outer

    @cached_property
    def _outer(self) -> frozenset[Line]:
        """Loops that call what trains, directly or one function further off."""
        stepping = {u.last for u in self._stepping} | {h.unit.last for h in self._training if h.unit.name}
        for _ in range(2):
            stepping |= {x.unit.last for s in stepping for x in self._calls.get(s, ()) if x.unit.name}
        stepping.discard("__init__")
        return frozenset(
            head
            for s in stepping
            for x in self._calls.get(s, ())
            for head in x.around
            if head.term.kind in ("for", "while")
        )

    def _trains_in(self, line: Line) -> bool:
        return any(h in self._training for h in line.around)

    # ------------------------------------------------------------------------------------------- the reach

    def called(self, name: str) -> bool:
        """Whether a function of this name is called, or handed on, anywhere."""
        return name in self._calls or name in self._uses

    def reach(
        self, line: Line, names: Sequence[str] = (), within: tuple[tuple[str, str], ...] = ()
    ) -> list[str]:
        """What the values that a line gives are for, the nearest first; `within`: where in the line."""
        found: dict[str, None] = {}
        seen: set[tuple[str, int]] = set()
        steps = 0
        near = [(line, name) for name in (names or line.targets)]
        target = line.term.part("target")
        if target is not None and target.kind == "item":
            near += [(line, base) for base in self._views(line)]
        if within:
            role, on = self._role(line, within)
            if role and role not in ("layer", "output"):
                found[role] = None
            if on:
                near += self._on(line, within)
        if line.term.kind == "return":
            near += self._given_back(line)
            for use, chain in self._uses.get(line.unit.last, ())[:6]:  # handed on: LambdaLR(optimizer, rate)
                if role := self._role(use, chain)[0]:
                    found.setdefault(role)
            for use, chain in self._handed(line.unit):  # called in place: SGD(net.slow_parameters())
                if role := self._role(use, chain)[0]:
                    found.setdefault(role)
            if line.unit.owner in self._losses:
                found["loss"] = None
            elif line.unit.last in _FORWARD or (line.unit.last == "__call__" and self._is_forward(line)):
                found["output"] = None
            elif (not names or "loss" in names) and self._is_minimised(line, within):
                found["loss"] = None
            elif line.unit.last == "__getitem__":
                found["inputs"] = None
        last = MAX_FAR
        for far in range(MAX_FAR):
            if far > last:
                break  # what lies further on than what a value is for is no part of it
            further: list[tuple[Line, str]] = []
            for start, name in near:
                key = (name, id(start.unit))
                if key in seen:
                    continue
                seen.add(key)
                for use, chain in self._of(start, name):
                    steps += 1
                    if steps > MAX_STEPS:
                        return list(found)
                    role, on = self._role(use, chain)
                    if not role and chain and (use, name) in self._parts_of_data:
                        role = "split"
                    if role:
                        found.setdefault(role)
                    if on:
                        further += self._on(use, chain)
            near = further
            if found:
                last = min(last, far + 1)
            if not near:
                break
        return list(found)

    def _of(self, start: Line, name: str) -> Iterator[tuple[Line, tuple[tuple[str, str], ...]]]:
        """Uses of a name that a line gives a value to: in its function, or everywhere for what is global."""
        plain = name.removeprefix("self.").split(".")[-1]
        everywhere = (
            name != plain
            or start.unit.name == ""
            or start.term.kind in ("do",)
            or not _is_function(start.unit)
        )
        for line, chain in self._uses.get(plain, ()):
            if line is start and (name in line.targets or plain in line.targets):
                continue
            if everywhere or line.unit is start.unit or line.unit.name.startswith(start.unit.name + "."):
                yield line, chain

    def _role(self, line: Line, chain: tuple[tuple[str, str], ...]) -> tuple[str, bool]:
        """(the role that a use gives, whether the value goes on from there)."""
        for call, edge in chain:
            if call in ("len", "size", "isinstance", "get_dataset_size", "cardinality"):
                return "", False
            if call in _RUNS and call not in self._units and (role := _RUNS[call].get(edge)):
                return role, False
            if call in _LOSS or call.endswith(("_loss", "Loss")):
                if edge.endswith(("lengths", "length", "mask", "ignore_index")):
                    return ("loss.target" if self._answers(call) == edge else "loss.mask"), False
                if edge in ("input", "#0"):
                    return "loss.prediction", False
                if edge in ("target", "#1"):
                    return "loss.target", False
                return "loss", False
            if call in _OPTIMIZER:
                return f"optimizer.{edge}", False
            if call.endswith(_SCHEDULES) or (call.startswith("get_") and "schedule" in call):
                return "schedule", False
            if call == "DistributedSampler":
                return ("loader.dataset" if edge in ("dataset", "#0") else "sharding"), False
            if call == "map" and edge in ("operations", "#0") and _maps_columns(line.term):
                return "data", False
            if call == "DataLoader":
                return f"loader.{edge}", False
            if call in ("TensorDataset", "ArrayDataset", "from_tensor_slices"):
                return ("inputs" if edge == "#0" else "labels"), False
            if call in _MODEL and edge.startswith("#"):
                return "inputs", False
            if call in ("Dropout", "Dropout2d", "dropout") and edge == "p":
                return "dropout", False
            if call == "Normalize" or (call == "normalize" and edge in _FIGURES and call not in self._units):
                return (
                    "normalisation",
                    False,
                )  # what the data are scaled by; else vectors of length one are made
            if call in ("clip_grad_norm_", "clip_grad_value_"):
                return "clip", False
            if call in _METRIC:
                return "metric", False
            if call == "backward":
                return "loss", False
            if call in ("load_state_dict", "from_pretrained"):
                return "weights", False
            if call in ("manual_seed", "seed", "set_seed", "seed_everything", "default_rng", "RandomState"):
                return "seed", False
            if call in _SPLITS:
                return "split", False
            if call == "autocast" or call == "GradScaler":
                return f"precision.{edge}", False
            if call == "range" and line.term.kind == "for":
                return ("length" if self.trains_under(line) else "count"), False
        if line.term.kind == "return":
            for use, way in self._uses.get(line.unit.last, ())[:4]:  # handed on: LambdaLR(optimizer, rate)
                if use.term.kind != "return" and (role := self._role(use, way)[0]):
                    return role, False
            for use, way in self._handed(line.unit):
                if use.term.kind != "return" and (role := self._role(use, way)[0]):
                    return role, False
            plain = all(c in ("return", "sequence", "mapping") for c, _ in chain)
            if line.unit.owner in self._losses and line.unit.last in (*_FORWARD, "__call__"):
                return "loss", False
            if (
                (line.unit.last in _FORWARD or line.unit.last == "__call__")
                and plain
                and self._is_forward(line)
            ):
                return "output", False
            if self._is_minimised(line, chain):
                return "loss", False
            if line.unit.last == "__getitem__":
                last = [e for c, e in chain if c == "sequence"]
                if last and self._is_input(line, last[0]):
                    return "inputs", False
                return ("inputs" if last[:1] == ["#0"] else "labels" if last else "inputs"), False
        if line.term.kind == "assign" and _sets_rate(line.term.part("target")):
            return "schedule", False
        if any(c in _DRAWS for c, _ in chain):
            return "random", True
        if any(c in ("append", "extend") for c, _ in chain) and line.targets:
            name = line.targets[0].lower()
            if _LABELS.search(name):
                return "labels", True
            if _INPUTS.search(name):
                return "inputs", True
        if self._is_forward(line) and ("", "self") not in chain:  # `Dense(n)(x)`: n is no value of the model
            inner = [c for c, _ in chain if c not in ("assign", "return", "+", "*")]
            return "layer", not inner
        return "", True

    def _answers(self, call: str) -> str:
        """The mask that a loss of the program compares with: `dice_loss(scores, mask)`; "" of another."""
        units = self._units.get(call, ())
        if len(units) != 1:
            return ""
        names = units[0].parameters[units[0].parameters[:1] in (("self",), ("cls",)) :]
        others = [n for n in names[1:] if "mask" not in n and _LABELS.search(n)]
        return names[1] if len(names) > 1 and re.search(r"(?:^|_)masks?$", names[1]) and not others else ""

    @cached_property
    def _taken_in(self) -> frozenset[str]:
        """What the forward methods of the models take."""
        return frozenset(
            name
            for unit in self.program.units
            if unit.last in _FORWARD and unit.owner in self._classes
            for name in unit.parameters[1:]
            if name not in ("labels", "label", "targets", "target", "y")
        )

    def _is_input(self, line: Line, edge: str) -> bool:
        """Whether an item of a sample goes by a name that the model takes, and is not last."""
        for t in line.term.walk():
            item = t.part(edge) if t.kind == "sequence" and len(t.parts) > 2 else None
            if item is not None and edge != f"#{len(t.parts) - 1}":
                return item.kind == "name" and item.label in self._taken_in
        return False

    def _is_minimised(self, line: Line, chain: tuple[tuple[str, str], ...]) -> bool:
        """Whether a returned value is a loss, by the name of the function, and no line says what for.

        Of several values the first, of a mapping the entry "loss": `compute_objectives` of a framework's
        class, a closure that is differentiated, a function of another module.
        """
        unit = line.unit
        if any(edge not in ("#0", "loss") for call, edge in chain if call in ("sequence", "mapping")):
            return False
        if unit.last in _GIVES_LOSS:
            return True
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", unit.last).lower()
        if not _MINIMISED.search(words) or unit.last in self._calls or self.evaluates(line):
            return False  # what its callers do with it tells
        plain = ("return", "+", "-", "*", "/", "mean", "sum", "choice", "sequence", "mapping")
        return all(call in plain for call, _ in chain)

    @cached_property
    def _parts_of_data(self) -> frozenset[tuple[Line, str]]:
        """Where a name is taken in two parts: `x[:n]` and `x[n:]`, `in x` and `not in x`."""
        ends: dict[tuple[int, str, int], dict[str, set[Line]]] = defaultdict(lambda: defaultdict(set))
        for line in self.program.lines:
            for term in line.term.walk():
                of, index, right = term.part("of"), term.part("index"), term.part("right")
                if term.kind == "item" and of is not None and index is not None and of.kind == "name":
                    if index.kind == "slice" and len(index.parts) == 1:
                        edge, value = index.parts[0]
                        ends[id(line.unit), of.label, value.key][edge].add(line)
                elif term.label in ("in", "not in") and right is not None and right.kind == "name":
                    ends[0, right.label, 0][term.label].add(line)
        return frozenset(
            (x, name)
            for (_, name, _), edges in ends.items()
            if len(edges) > 1
            for held in edges.values()
            for x in held
        )

    def _on(self, line: Line, chain: tuple[tuple[str, str], ...]) -> list[tuple[Line, str]]:
        found = [(line, t) for t in line.targets]
        for call, edge in chain:
            if call == "mapping" and not edge.startswith("#"):
                found.append((line, f"self.{edge}"))  # read by its key wherever the mapping goes
            for unit in self._units.get(call, ())[:3]:
                if edge[:1] == "#" and edge[1:].isdigit():
                    names = unit.parameters[unit.parameters[:1] in (("self",), ("cls",)) :]
                    edge = names[int(edge[1:])] if int(edge[1:]) < len(names) else edge
                if edge in unit.parameters and unit.lines:
                    found.append((unit.lines[0], edge))
            if call in self._classes or (call and call[0].isupper()):
                for unit in self._units.get("__init__", ()):
                    if unit.owner == call and edge in unit.parameters and unit.lines:
                        found.append((unit.lines[0], edge))
        if line.term.kind == "return":
            places = [e for c, e in chain if c == "sequence" and e[1:].isdigit()]
            found += self._given_back(line, int(places[0][1:]) if places else None)
        return found

    def _handed(self, unit: Unit) -> list[tuple[Line, tuple[tuple[str, str], ...]]]:
        """Where what a function gives is an argument at once: the line, and what it is handed to."""
        if unit.last in _SHARED or unit.last in _FORWARD or len(self._units[unit.last]) != 1:
            return []
        found: list[tuple[Line, tuple[tuple[str, str], ...]]] = []
        for line in self._calls.get(unit.last, ())[:6]:
            waiting: list[tuple[Term, tuple[tuple[str, str], ...]]] = [
                (part, ((line.term.kind, edge),)) for edge, part in line.term.parts if edge != "target"
            ]
            while waiting:
                term, chain = waiting.pop()
                if term.kind == "call" and term.label == unit.last:
                    if any(call not in ("assign", "return", "do", "for") for call, _ in chain):
                        found.append((line, chain))
                    continue
                label = term.label if term.kind in ("call", "operation") else term.kind
                waiting += [(part, ((label, edge), *chain)) for edge, part in term.parts]
        return found[:6]

    def _given_back(self, line: Line, place: int | None = None, deep: int = 0) -> list[tuple[Line, str]]:
        """What the callers call a returned value, or the item of it at a place."""
        found: list[tuple[Line, str]] = []
        if deep > MAX_RETURNS:
            return found
        for use in self._calls.get(line.unit.last, ())[:6]:
            several = len(use.targets) > 1 and place is not None and place < len(use.targets)
            found += [(use, t) for t in (use.targets[place : place + 1] if several else use.targets)]  # type: ignore[operator]
            if use.term.kind == "return":
                found += self._given_back(use, place, deep + 1) if use.unit is not line.unit else []
        return found[:12]


_SHORT = {
    "tr": "train",
    "trn": "train",
    "va": "eval",
    "vl": "eval",
    "te": "eval",
    "tst": "eval",
    "ev": "eval",
}


def _side(name: str) -> str:
    """The data that a name tells: "train", "eval" or ""."""
    if (side := trains(split_of(name))) is not None:
        return "train" if side else "eval"
    return next((_SHORT[w] for w in name.lower().split("_") if w in _SHORT), "")


def _is_mask(term: Term) -> bool:
    """`valid = ~isnan(values)`: what is true or false of each value is no part of the data."""
    value = term.part("value")
    if value is None:
        return False
    if value.kind == "call":
        return value.label in (
            "isnan",
            "isfinite",
            "notna",
            "isna",
            "isin",
            "ne",
            "eq",
            "logical_not",
            "logical_and",
        )
    return value.kind == "operation" and value.label in (
        "not",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "&",
        "|",
        "~",
    )


def _maps_columns(term: Term) -> bool:
    """`data.map(steps, input_columns="image")` of MindSpore."""
    return any(t.label == "map" and t.part("input_columns") is not None for t in term.walk())


def _sets_rate(target: Term | None) -> bool:
    """`group["lr"] = ...`"""
    index = target.part("index") if target is not None and target.kind == "item" else None
    return index is not None and index.kind == "key" and index.label in ("lr", "learning_rate")


def _asked_side(term: Term) -> str:
    """`if split == "val"`: the data that a condition asks for."""
    test = term.part("test")
    if test is None or test.kind != "operation" or test.label != "==":
        return ""
    sides = {_side(t.label.strip("'")) for t in test.walk() if t.kind == "constant"} - {""}
    return sides.pop() if len(sides) == 1 else ""


def _applies_layer(term: Term) -> bool:
    """`Dense(10)(x)`: what a class makes is called at once, and is no loss."""
    made = term.part("self") if term.kind == "call" and not term.label else None
    if made is None or made.kind != "call" or len(term.parts) < 2:
        return False
    return made.label[:1].isupper() and not made.label.endswith(("Loss", "Error", "entropy", "Compose"))


def _is_function(unit: Unit) -> bool:
    return bool(unit.name) and unit.node.__class__.__name__ != "ClassDef"


def _acts(line: Line) -> bool:
    """A call that does something besides giving a value."""
    return any(
        t.kind == "call"
        and (
            t.label.endswith("_")
            or t.label
            in (
                "step",
                "backward",
                "zero_grad",
                "next",
                "prepare",
                "update",
                "load_state_dict",
                "fit",
                "train",
                "eval",
                "apply",
                "register_buffer",
            )
        )
        for t in line.term.walk()
    )


def _leaves(
    term: Term, chain: tuple[tuple[str, str], ...]
) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Names, attributes and keys of a term, each with what it is handed to, innermost first."""
    waiting = [(term, chain)]
    while waiting:
        one, way = waiting.pop()
        if one.kind in ("name", "attribute", "key"):
            yield one.label, way
        label = one.label if one.kind in ("call", "operation") else one.kind
        for edge, part in one.parts:
            if one.kind == "attribute":
                waiting.append((part, way))
            else:
                waiting.append((part, ((label, edge), *way)))
        if one.kind == "call" and one.part("self") is None and not one.parts:
            continue


leaves = _leaves
