"""What part of training a line belongs to: by the calls it makes, and by what its values reach.

`reach(line)` follows a line's values forward, through names, attributes, settings, functions and what they
return, to the calls that say what a value is for: a loss's target, an optimizer's learning rate, a loader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ...scripts.minimised import makers
from ..lines import Line, Unit
from ..terms import Term
from .reach import Reach
from .uses import leaves
from .words import FLAGS, FORWARD, HOOK, INPUTS, LABELS, MAPS, PREPARES, side_named


class Roles(Reach):
    """Questions on the parts of one program."""

    def place(self, line: Line, reached: Sequence[str] = ()) -> list[str]:
        """Roles by where a line stands: in a model, a data set, an evaluation; by names as a last resort."""
        found = []
        if not {"inputs", "labels", "loss.target", "layer", "output"} & set(reached):
            for target in line.targets:
                last = target.rpartition(".")[2].lower()
                if last in self._taken_in:
                    found.append("inputs")
                elif LABELS.search(last):
                    found.append("labels")
                elif INPUTS.search(last):
                    found.append("inputs")
        owner, last = line.unit.owner, line.unit.last
        top = owner.split(".")[0]
        hook = bool(HOOK.search(last))  # of a framework's module: it is not what a sample goes through
        applied = line in self._applied
        if (owner in self._losses and last != "__init__") or line.unit in self._differentiated:
            found.append("loss")
        elif applied or last in FORWARD or (owner in self._classes and last != "__init__" and not hook):
            found.append("forward")
        if applied or top in self._classes:
            found.append("model")
        if (
            last in ("__getitem__", "__iter__", "__len__")
            or "Dataset" in top
            or PREPARES.search(last.lower())
        ):
            found.append("data")
        if self.evaluates(line) or line in self.measured:
            found.append("evaluation")
        elif any(
            call in MAPS or edge in MAPS for _, chain in self._uses.get(last, ()) for call, edge in chain[:1]
        ):
            found.append("data")
        takes_part = any(h.term.kind == "for" for h in line.around) and self._trains_in(line)
        if (takes_part and line not in self.measured) or (
            line.unit in self._stepping and "evaluation" not in found
        ):
            found.append("step")
        if any(
            w in last.lower()
            for w in ("init_weights", "_init_weights", "reset_parameters", "weights_init", "init_params")
        ):
            found.append("init")
        if not reached and not {"forward", "evaluation"} & set(found) and self._makes_loss(line):
            found.insert(0, "loss")
        return found

    def _makes_loss(self, line: Line) -> bool:
        """Whether a line stands in a function that makes what is minimised, or a term of it."""
        return any(line.unit.node is maker for maker in makers(self.program.source))

    def by_side(self, test: Term, unit: Unit) -> bool:
        """Whether a condition asks which data it deals with: by a word, or by what its callers give."""
        for term in test.walk():
            if term.kind in ("name", "attribute", "key", "constant"):
                plain = term.label.strip("'").lower()
                if plain in FLAGS or (side_named(plain) and term.kind != "number"):
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
                if LABELS.search(one.label.lower()):
                    return True
                if one.kind == "name":
                    given = [x for x in line.unit.lines if one.label in x.targets and x is not line]
                    if given and self.reach(given[0], [one.label])[:1] in (["labels"], ["loss.target"]):
                        return True
        return False


__all__ = ["Roles", "leaves"]
