"""Events of a symbolic run, and the marks of all values: what is compared of two programs."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from . import values as v
from .lines import Line, Program, Unit
from .modes import BORN_OTHERWISE, EITHER_WAY, MADE_OTHERWISE, SETS, Modes
from .objects import Chain, Enough, Frame, Instance, Key, Own, Routine, TooLong
from .values import Tensor, Thing, mark
from .vocabulary import DEFAULTS, word_set

MAX_STEPS = 60_000  # expressions evaluated in one run; a longer one says nothing
MAX_NESTED = 40
_SCALARS = word_set("kl_div ctc_loss")
_CLEARS = word_set("zero_grad clear_grad clear_gradients")
_READS_GRADIENTS = word_set("backward manual_backward clip_grad_norm_ clip_grad_value_ unscale_ step")


class Events:
    """One run under one guess of the tensors' shape."""

    def __init__(
        self,
        program: Program,
        shape: tuple[int, ...],
        seed: int,
        same: Mapping[str, str] | None = None,
        mixed: bool = False,
        salt: int = 0,
        lazy: bool = False,
    ) -> None:
        """`same`: names of this program -> the other one's, where they are known to be renamed.

        `mixed`: about half of all unknown values have one axis less than `shape`. `salt`: another draw of all
        unknown values. `lazy`: modes are told where a module next runs, not where they are set.
        """
        self.program = program
        self.shape = shape
        self.mixed = mixed
        self.salt = salt
        self.seed = seed
        self.same = same or {}
        self.events: list[tuple[int, bool, str]] = []
        self.beside: Sequence[tuple[int, bool, str]] = ()  # events of the other run: it ends where they part
        self.most = MAX_STEPS + 1  # events after which the run ends
        self.cleared: dict[int, tuple[int, str, bool]] = {}  # gradients that nothing has read since: by owner
        self.stepped: set[int] = set()
        self.modes = Modes()
        self.mode_notes: set[int] = set()  # the places among the events where modes are told
        self.lazy = lazy
        self.partial = False  # modes are set where this run does not follow who runs then
        self.behaving = 0
        self.backwards = 0
        self.fresh = False  # no gradient can have been taken yet
        self.unsure = False  # a condition was decided by a value that did not fit the assumed shapes
        self.covered: set[Line] = set()
        self.steps = 0
        self.depth = 0
        self.under: tuple[int, ...] = ()
        self.inside: list[tuple[int, bool]] | None = None  # calls of layers in a forward pass, in any order
        self.often: Counter[int] = Counter()
        self.instances: list[Instance] = []
        self.looped: set[int] = set()
        self.options: dict[str, Any] = {}
        self.places = 0  # of options without a name
        self.touched: set[Unit] = set()
        self.told: dict[tuple[int, int, int], int] = {}
        self.held: list[Routine] = []
        self.branches: set[tuple[int, bool]] = set()
        self.units: dict[str, Unit] = {}
        for unit in program.units:
            self.units[unit.name] = unit
        self.top = Frame(program.units[0])
        self.read_names = program.read_names
        self.called_names = program.called_names
        self._inside: dict[Unit, dict[tuple[Line | None, str], list[Line]]] = {}

    @abstractmethod
    def behaviour(self, routine: Routine) -> int:
        """The mark of a function that is handed on."""

    def shape_of(self, made: int) -> tuple[int, ...]:
        """The shape that an unknown value is assumed to have, by the mark of its like."""
        return self.shape[:-1] if self.mixed and mark("rank", made, self.seed) % 2 else self.shape

    def name_of(self, name: str) -> str:
        """A name, in the other program's words."""
        return self.same.get(name, name)

    def step(self) -> None:
        """Count."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooLong

    def note(self, label: str, made: int, shaky: bool) -> None:
        """Write an event down."""
        self.events.append((mark(label, made, self.under), shaky, "" if self.unsure else label))
        count = len(self.events)
        if count > MAX_STEPS:
            raise TooLong
        if count >= self.most or (
            count <= len(self.beside) and self.beside[count - 1][0] != self.events[-1][0]
        ):
            raise Enough

    def event(self, label: str, given: Sequence[Any], named: Mapping[str, Any], owner: Any = None) -> Thing:
        """A call of something that is not followed; what it gives is new each time."""
        usual = {**DEFAULTS.get("*", {}), **DEFAULTS.get(label, {})}
        parts, shaky = self._given(given, {k: x for k, x in named.items() if not _as_usual(x, usual.get(k))})
        first = self.mark(owner) if owner is not None else 0
        made = mark(label, first, parts)
        self.often[made] += 1
        shaky = shaky or self.shaky(owner)
        if self.inside is None and (label == "call" or self._runs_module(label, owner, given, named)):
            self.tell_modes()
        if label in _READS_GRADIENTS and self.cleared:
            self._clear_before(label, first, given)
        if label in ("backward", "manual_backward"):
            self.backwards, self.fresh = self.backwards + 1, False
        elif label == "step":
            self.stepped |= {first, *(self.mark(x) for x in given)}
        if label in _CLEARS:
            self.cleared.setdefault(first, (made, label, shaky))
        elif label == "call" and self.inside is not None:
            self.inside.append((mark(made, self.under), shaky))
        else:
            self.note(label, made, shaky)
        tensor = not label[:1].isupper()
        like = mark(label, first, tuple(self.like(x) for x in given))
        thing = Thing(mark(made, self.often[made], self.under), shaky, tensor, like=like)
        if label not in MADE_OTHERWISE:
            self.modes.born.add(thing.mark)
        return thing

    def module(self, value: Any) -> int:
        """What a module is called among the modes: the same while it changes."""
        return mark("module", value.order) if isinstance(value, Instance) else self.mark(value)

    def born(self, made: Instance) -> None:
        """A module of the program was made."""
        if not BORN_OTHERWISE & self.read_names:
            self.modes.born.add(self.module(made))

    def puts_into_mode(
        self, label: str, owner: Any, name: str, given: Sequence[Any], named: Mapping[str, Any]
    ) -> bool:
        """Whether a call sets the mode of a module; `name`: what the owner is called, as a module is."""
        if label not in SETS or not self.lazy:
            return False
        if self.behaving or self.inside is not None:
            self.partial = True
            return False
        if given or not set(named) <= {"mode"}:
            return False
        if not isinstance(owner, (Thing, Chain, Instance)):
            return False
        if label != "eval" and name not in self.called_names:
            return False  # `trainer.train()` trains
        mode: Any = False if label == "eval" else named.get("mode", True)
        self.modes.shaky = self.modes.shaky or self.shaky(owner) or self.shaky(mode)
        self.modes.set(self.module(owner), mode if isinstance(mode, bool) else self.mark(mode))
        return True

    def mode_of(self, owner: Thing | Instance) -> Any:
        """The mode of a module; None: not known, or no module."""
        module = self.module(owner)
        if not self.lazy or self.behaving:
            return None
        return self.modes.mode(module) if module in self.modes.asked or isinstance(owner, Instance) else None

    def tell_modes(self) -> None:
        """Tell the modes in which a module now runs, if they are others than before."""
        if not self.behaving and (now := self.modes.untold()) is not None:
            under, self.under = self.under, ()
            self.mode_notes.add(len(self.events))
            self.note("mode", mark(now), self.modes.shaky)
            self.under = under

    def _runs_module(self, label: str, owner: Any, given: Sequence[Any], named: Mapping[str, Any]) -> bool:
        """Whether a call may run a module whose mode was set."""
        if label in EITHER_WAY or not self.modes.put:
            return False
        known = (x for x in (owner, *given, *named.values()) if isinstance(x, (Thing, Instance, Chain)))
        return any(self.module(x) in self.modes.asked for x in known)

    def _clear_before(self, label: str, owner: int, given: Sequence[Any]) -> None:
        """Tell that gradients are cleared where they are next read: where before that makes no difference."""
        if label == "step":
            steps = {owner, *(self.mark(x) for x in given)}
            if not steps & self.cleared.keys() and self.cleared.keys() <= self.stepped:
                return  # a schedule, after the optimizer's step
        if not (self.fresh and label in ("backward", "manual_backward")):
            self.clear()
        self.cleared.clear()

    def clear(self) -> None:
        """Tell of all gradients that were cleared and not read since."""
        under, self.under = self.under, ()
        for made, label, shaky in sorted(self.cleared.values()):
            self.note(label, made, shaky)
        self.under = under
        self.cleared.clear()

    def pure(self, label: str, given: Sequence[Any], named: Mapping[str, Any], owner: Any = None) -> Thing:
        """A call without effect: equal arguments, equal value."""
        parts, shaky = self._given(given, named)
        first = self.mark(owner) if owner is not None else 0
        scalar = label in _SCALARS and named.get("reduction", "mean") in ("mean", "sum", "batchmean")
        return Thing(mark(label, first, parts, self.under), shaky or self.shaky(owner), True, scalar)

    def like(self, value: Any) -> int:
        """The mark of what has as many axes as a value."""
        if isinstance(value, Thing):
            return value.like or value.mark
        return mark("axes", value.array.ndim) if isinstance(value, Tensor) else 0

    def _given(self, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[object, bool]:
        marks = tuple(self.mark(x) for x in given)
        pairs = tuple((k, self.mark(x)) for k, x in sorted(named.items()))
        return (marks, pairs), any(self.shaky(x) for x in (*given, *named.values()))

    def mark(self, value: Any, depth: int = 0) -> int:
        """The hash of any value."""
        if isinstance(value, (Thing, Tensor, Key)):
            return value.mark
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return mark("constant", value)
        if isinstance(value, (int, float)):
            return v.number_mark(float(value))
        if depth > MAX_NESTED:
            raise TooLong
        self.step()
        if isinstance(value, (list, tuple)):
            return mark("list", tuple(self.mark(x, depth + 1) for x in value))
        if isinstance(value, dict):
            return mark("dict", tuple((self.mark(k), self.mark(x, depth + 1)) for k, x in value.items()))
        if isinstance(value, slice):
            return mark("slice", tuple(self.mark(x) for x in (value.start, value.stop, value.step)))
        if isinstance(value, Chain):
            return mark("chain", tuple(self.mark(x, depth + 1) for x in value.items))
        if isinstance(value, Instance):
            if value.order < 0:
                return mark("settings", sorted((k, self.mark(x)) for k, x in value.attributes.items()))
            return mark("instance", value.order, self.holds(value))
        if isinstance(value, Own):
            return mark("class", self.name_of(value.unit.name))
        if isinstance(value, Routine):
            return self.behaviour(value)
        return mark("other", repr(value))

    def shaky(self, value: Any, depth: int = 0) -> bool:
        """Whether a value depends on an operation that did not fit the assumed shapes."""
        if isinstance(value, (Thing, Tensor)):
            return value.shaky
        self.step()
        if isinstance(value, (list, tuple)) and depth < 4:
            return any(self.shaky(x, depth + 1) for x in value)
        if isinstance(value, dict) and depth < 4:
            return any(self.shaky(x, depth + 1) for x in value.values())
        return False

    def holds(self, instance: Instance, depth: int = 0) -> int:
        """What an object holds: layers by what they are, settings that only a framework reads by name."""
        found: list[int] = []
        for name, value in instance.attributes.items():
            parts = self._registered(value, depth)
            plain = isinstance(value, (bool, str, float, int)) or value is None
            if parts:
                found += parts
            elif plain and name not in self.read_names:
                found.append(mark(name, self.mark(value)))
            elif isinstance(value, Thing) and "__function__" in value.attributes:
                continue  # a layer without state
            elif not plain and depth < 4 and not isinstance(value, (Instance, Routine, Chain)):
                found.append(self.mark(value, 30))
        return mark("holds", sorted(found))

    def kept(self, instance: Instance) -> int:
        """All that an object holds, for a look at it alone: what is done with it is not seen then."""
        values = [x for x in instance.attributes.values() if not isinstance(x, Routine)]
        return mark("kept", sorted(self.mark(x) for x in values))

    def _registered(self, value: Any, depth: int) -> list[int]:
        if depth > 6:
            return []
        if isinstance(value, Chain):
            return [m for x in value.items for m in self._registered(x, depth + 1)]
        if isinstance(value, Instance):
            return [mark("part", value.order, self.holds(value, depth + 1))] if value.order >= 0 else []
        if isinstance(value, Thing) and not value.item and "__function__" not in value.attributes:
            return [value.mark]
        return []


def _as_usual(value: Any, usual: str | None) -> bool:
    """Whether an argument says what is so without it; a flag that nobody sets is off."""
    if isinstance(value, Thing) and "__off__" in value.attributes:
        return usual in (None, "False")
    return (usual or "") == repr(value)
