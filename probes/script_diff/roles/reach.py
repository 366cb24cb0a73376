"""What the values of a line are for: followed forward, through names, attributes, settings and functions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from ..lines import Line, Unit
from ..terms import Term
from ..vocabulary import word_set
from .sides import Sides
from .words import FORWARD, INPUTS, LABELS, LOSS, SHARED, is_function

MAX_STEPS = 300  # lines that a value is followed through
MAX_RETURNS = 4  # callers that hand a value on; functions of one name may call each other in a circle
MAX_FAR = 6  # assignments in a row
_OPTIMIZER = word_set(
    "SGD Adam AdamW RMSprop RMSProp Adagrad Adadelta NAdam RAdam Adamax LBFGS Lamb LAMB Lion Adafactor "
    "Momentum AdamWeightDecay sgd adam adamw"
)
_METRIC = word_set(
    "argmax argmin topk accuracy_score f1_score roc_auc_score average_precision_score precision_score "
    "recall_score confusion_matrix accuracy mean_squared_error mean_absolute_error r2_score eq"
)
_MODEL = word_set("model net network module ddp_model classifier")
# what takes derivatives of a value or of a function -> by which arguments it gets it
_DERIVED = {"gradient": ("target", "#0"), "value_and_grad": ("fn", "#0")}
_FIGURES = ("#1", "#2", "mean", "std", "mean_vec", "std_vec")  # of `normalize(image, mean, std)`
_SPLITS = word_set("train_test_split random_split Subset KFold StratifiedKFold GroupKFold TimeSeriesSplit")
_DRAWS = word_set(
    "rand randn randint random randrange uniform normal integers random_integers bernoulli rand_like "
    "randn_like standard_normal beta gauss triangular"
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
    "compile": {"loss": "loss", "#1": "loss", "loss_weights": "loss"},
    "evaluate": {"#0": "inputs", "x": "inputs", "#1": "labels", "y": "labels"},
}


class Reach(Sides):
    """What the values of a line are for: they are followed to the calls that take them."""

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
            elif line.unit.last in FORWARD or (line.unit.last == "__call__" and self._is_forward(line)):
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
            or not is_function(start.unit)
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
            if call in LOSS or call.endswith(("_loss", "Loss")):
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
            if call == "backward" or (call in _DERIVED and edge in _DERIVED[call]):
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
            if line.unit.owner in self._losses and line.unit.last in (*FORWARD, "__call__"):
                return "loss", False
            if (
                (line.unit.last in FORWARD or line.unit.last == "__call__")
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
            if LABELS.search(name):
                return "labels", True
            if INPUTS.search(name):
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
        others = [n for n in names[1:] if "mask" not in n and LABELS.search(n)]
        return names[1] if len(names) > 1 and re.search(r"(?:^|_)masks?$", names[1]) and not others else ""

    @cached_property
    def _taken_in(self) -> frozenset[str]:
        """What the forward methods of the models take."""
        return frozenset(
            name
            for unit in self.program.units
            if unit.last in FORWARD and unit.owner in self._classes
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
        if unit.last in SHARED or unit.last in FORWARD or len(self._units[unit.last]) != 1:
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


def _maps_columns(term: Term) -> bool:
    """`data.map(steps, input_columns="image")` of MindSpore."""
    return any(t.label == "map" and t.part("input_columns") is not None for t in term.walk())


def _sets_rate(target: Term | None) -> bool:
    """`group["lr"] = ...`"""
    index = target.part("index") if target is not None and target.kind == "item" else None
    return index is not None and index.kind == "key" and index.label in ("lr", "learning_rate")
