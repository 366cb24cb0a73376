"""Which side of the data a line is of: training, held out, or both."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property

from ..lines import Line, Unit
from ..terms import Term
from .uses import Uses
from .words import FORWARD, SHARED, is_function, side_named

_MEASURES = ("metric", "score", "accuracy", "iou", "confusion", "precision_at", "recall", "measure")
_METER = re.compile(
    r"[a-z0-9]Meter$|^Meter$"
)  # AverageMeter; `MeterData` may hold what meters of a house read
_KEEPS_DATA = ("__getitem__", "__iter__", "train_dataloader", "setup", "prepare_data")
_GETS_DATA = re.compile(r"^_?(?:read|load|fetch|parse|simulate|generate)_")

_TAKES_GRADIENTS = (
    "backward",
    "zero_grad",
    "value_and_grad",
    "manual_backward",
    "apply_gradients",
    "minimize",
    "train_on_batch",
)
_OTHER = re.compile(  # gradients are off there, and nothing is scored
    r"init|sample|generat|update|ema|average|sync|freeze|load|save|reset|queue|teacher|target|augment|step$|encode"
)


def _sides_in_step(line: Line) -> bool:
    """`x_train, x_val = f(x_train), f(x_val)`: one statement for both sides, a value for each."""
    value = line.term.part("value") if line.term.kind == "assign" else None
    return (
        value is not None
        and value.kind in ("tuple", "list")
        and {side_named(t) for t in line.targets} >= {"train", "eval"}
    )


class Sides(Uses):
    """Which side of the data a line is of: training, held out, or both."""

    def split(self, line: Line) -> str:
        """ "train", "eval" or "": which data a line deals with."""
        if _sides_in_step(line):
            return ""
        for target in line.targets:
            if (side := side_named(target)) and not _is_mask(line.term):
                return side
        if side := _part_given(line.term):
            return side
        if self.evaluates(line) or line in self._read_by_evaluation:
            return "eval"
        for head in reversed(line.around):
            if head.term.kind == "if" and line.branch == "body" and (side := _asked_side(head.term)):
                return side
            if head.term.kind == "for":
                value = head.term.part("value")
                for name in sorted(value.names) if value is not None else ():
                    if side := side_named(name):
                        return side
        sides = {side_named(n) for n in line.term.names} - {""}
        if len(sides) == 1 and not line.unit.owner:
            return sides.pop()
        if "train" in line.unit.last.lower():
            return "train"
        return ""

    def evaluates(self, line: Line) -> bool:
        """Whether a line stands where a model is evaluated: by its function, or without gradients."""
        name = line.unit.name.lower()
        if line.unit.owner in self._classes and line.unit.last in (*FORWARD, "__init__", "build"):
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
        return line.unit in self._measuring or line.unit in self._quiet

    @cached_property
    def _read_by_evaluation(self) -> frozenset[Line]:
        """Lines that training takes nothing of, and whose every value is read where a model is evaluated."""
        reading = {line for line in self.program.lines if self.evaluates(line)}
        open_ = {x for x in self.dead if x not in reading and x.term.kind == "assign"}
        found: set[Line] = set()
        for _ in range(4):
            new = {
                x
                for x in open_ - found
                if any(self._read_by(x, n) for n in x.targets)
                and all(use in reading or use in found for n in x.targets for use in self._read_by(x, n))
            }
            if not new:
                break
            found |= new
        return frozenset(found)

    def _read_by(self, line: Line, name: str) -> list[Line]:
        """The other lines of a line's function that read a name."""
        return [use for use, _ in self._uses.get(name, ()) if use is not line and use.unit is line.unit]

    def _about_data(self, unit: Unit) -> bool:
        """Whether a function gets or keeps data: a score in its name is then what they are about."""
        return bool(_GETS_DATA.match(unit.last)) or any(
            other.owner == unit.owner
            for last in _KEEPS_DATA
            for other in self._units.get(last, ())
            if unit.owner
        )

    @cached_property
    def _quiet(self) -> frozenset[Unit]:
        """Functions that switch the model to evaluation, or gradients off, and take none, by whatever name.

        What a network computes, samples or starts from may switch gradients off, too.
        """
        return frozenset(
            unit
            for unit in self.program.units
            if unit.name
            and is_function(unit)
            and unit.owner not in self._classes
            and unit.last not in SHARED
            and not _OTHER.search(unit.last.lower())
            and not self._about_data(unit)
            and not any(
                t.label in _TAKES_GRADIENTS for x in unit.lines for t in x.term.walk() if t.kind == "call"
            )
            and not any(x in self._outer or x in self._training for x in unit.lines)
            and any(_puts_in_evaluation(x.term) for x in unit.lines)
        )

    @cached_property
    def measured(self) -> frozenset[Line]:
        """Lines whose values only get logged, and that give or take a figure of data held out.

        `xte, yte = features(net, "test")` before `accuracy = (head(xte).argmax(1) == yte).mean()`.
        """
        found: set[Line] = set()
        by_unit: dict[Unit, list[Line]] = defaultdict(list)
        for line in self.dead:
            by_unit[line.unit].append(line)
        for lines in by_unit.values():
            known = {x for x in lines if self.split(x) == "eval"}
            near = known
            while near:
                gives = {t for x in near for t in x.targets}
                takes = {n for x in near for n in x.term.names}
                near = {
                    x for x in lines if x not in known and (gives & x.term.names or takes & set(x.targets))
                }
                known |= near
            found |= known
        return frozenset(found)

    @cached_property
    def _measuring(self) -> frozenset[Unit]:
        """Functions that nothing but an evaluation calls: what decodes, scores or counts its predictions."""
        found: set[Unit] = set()
        for _ in range(3):
            before = len(found)
            for unit in self.program.units:
                calls = self._calls.get(unit.last, ())
                if unit in found or not unit.name or unit.last in SHARED or unit.owner in self._classes:
                    continue
                handed = [x for x, _ in self._uses.get(unit.last, ())]
                if not calls and not handed:
                    continue
                if any(u not in found and u.owner in self._classes for u in self._units[unit.last]):
                    continue
                if all(self._scores_alone(x, found) for x in (*calls, *handed)):
                    found.add(unit)
            if len(found) == before:
                break
        return frozenset(found)

    def _scores_alone(self, line: Line, known: set[Unit]) -> bool:
        """Whether a line stands in a function that does nothing but evaluate."""
        unit = line.unit
        return unit in known or unit in self._quiet or (bool(unit.name) and self._plainly_evaluates(line))

    @staticmethod
    def _plainly_evaluates(line: Line) -> bool:
        words = re.split(r"[_.]", line.unit.name.lower())
        return bool(
            {"eval", "evaluate", "evaluation", "valid", "validate", "validation", "test"} & set(words)
        )

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

    @cached_property
    def _stepping(self) -> frozenset[Unit]:
        """Functions that take gradients: one step of training, written by itself."""
        return frozenset(
            unit
            for unit in self.program.units
            if unit.name
            and is_function(unit)
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


def _puts_in_evaluation(term: Term) -> bool:
    """`model.eval()`, `net.set_train(False)`, `with torch.no_grad():` or its decorator."""
    for one in term.walk():
        if one.kind == "call" and one.label in ("eval", "train", "set_train"):
            given = [p for e, p in one.parts if e != "self"]
            off = [p.label for p in given] == ["False"]
            if off if one.label != "eval" else not given and one.part("self") is not None:
                return True
    return term.kind in ("with", "decorator") and any(
        t.label in ("no_grad", "inference_mode") for t in term.walk()
    )


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


def _part_given(term: Term) -> str:
    """`sets["val"] = ...`: the part of the data that a line makes."""
    target = term.part("target") if term.kind == "assign" else None
    index = target.part("index") if target is not None and target.kind == "item" else None
    return (
        side_named(index.label.strip("'")) if index is not None and index.kind in ("key", "constant") else ""
    )


def _asked_side(term: Term) -> str:
    """`if split == "val"`: the data that a condition asks for."""
    test = term.part("test")
    if test is None or test.kind != "operation" or test.label != "==":
        return ""
    sides = {side_named(t.label.strip("'")) for t in test.walk() if t.kind == "constant"} - {""}
    return sides.pop() if len(sides) == 1 else ""
