"""Train and eval mode in a symbolic run: told where a model next runs, not where the mode is set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .lines import Line
from .terms import Term
from .vocabulary import word_set

SETS = word_set("train set_train eval")
# what is done to a module, or with it, in either mode alike
EITHER_WAY = word_set(
    "step zero_grad backward state_dict load_state_dict save save_checkpoint save_pretrained load apply "
    "clip_grad_norm_ clip_grad_value_ to cuda float half double requires_grad_ set_grad register_buffer"
)
# what may make a module in eval mode (transformers, torch.hub, torch.jit, pickled modules)
MADE_OTHERWISE = word_set("from_pretrained load load_model load_checkpoint")
# with these in a program its own modules need not be made in train mode (a MindSpore Cell is not)
BORN_OTHERWISE = word_set("from_pretrained load_model load_checkpoint set_train")


@dataclass
class Modes:
    """Which modules were put into which mode, and what of it was told.

    `put`: (module, mode) in the order in which they were set, as the mode of a module is set in its parts as
    well; `born`: modules that were made in this run, in train mode; `asked`: all whose mode was ever set.
    """

    put: list[tuple[int, Any]] = field(default_factory=list)
    born: set[int] = field(default_factory=set)
    asked: set[int] = field(default_factory=set)
    told: tuple[object, ...] = ()
    shaky: bool = False

    def set(self, module: int, mode: Any) -> None:
        """Put a module into a mode: True, False, or the mark of what is not known."""
        self.asked.add(module)
        if self.mode(module) is not mode or not isinstance(mode, bool):
            self.put = [(x, m) for x, m in self.put if x != module] + [(module, mode)]

    def mode(self, module: int) -> Any:
        """The mode that a module and all its parts are in; None: not known."""
        places = [i for i, (x, _) in enumerate(self.put) if x == module]
        if not places and module not in self.born:
            return None
        mode = self.put[places[-1]][1] if places else True
        return mode if all(m is mode for _, m in self.put[places[-1] if places else 0 :]) else None

    def untold(self) -> tuple[object, ...] | None:
        """The modes in which everything is, where they are others than when they were told last.

        Modules of one mode stand in any order.
        """
        groups: list[tuple[Any, list[int]]] = []
        for module, mode in self.put:
            if not groups or groups[-1][0] is not mode:
                groups.append((mode, []))
            groups[-1][1].append(module)
        now = tuple((mode, tuple(sorted(modules))) for mode, modules in groups)
        if now == self.told:
            return None
        self.told = now
        return now


def asks_mode(line: Line) -> bool:
    """Whether a condition is nothing but the mode of a module: `if was_training:`."""
    test = line.term.part("test")
    if test is not None and (test.kind, test.label) == ("operation", "not"):
        test = test.part("left")
    if test is None or test.kind not in ("name", "attribute"):
        return False
    values = [x.term.part("value") for x in line.unit.lines if test.label in x.targets]
    told: list[Term | None] = [*values] if test.kind == "name" else [test]
    return bool(told) and all(t is not None and (t.kind, t.label) == ("attribute", "training") for t in told)


def sets_mode(line: Line) -> bool:
    """Whether a line has a call by the name of one that sets a mode."""
    return any(t.kind == "call" and t.label in SETS for t in line.term.walk())
