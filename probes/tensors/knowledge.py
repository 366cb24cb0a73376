"""What is known of operators across frameworks: rules/porting/operators.yaml, read once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from .numbers import type_of

_FUSED = re.compile(
    r"fus(?:ed|ion)|flash|^npu(?:rmsnorm|swiglu|rotarymul|geglu|dropouta)|promptattention", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, eq=False)
class Tolerances:
    """How far two tensors may lie apart; see the file for what each means and where it comes from."""

    relative: Mapping[str, float]
    cosine: float
    rounding: float
    most: float
    growth: float

    def bound(self, *types: str) -> float:
        """The bound on the relative error for the coarser of these types; integers must be equal."""
        return max((self.relative.get(t, 0.0) for t in types), default=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """The table."""

    kinds: Mapping[str, str]  # plain name -> one name for all frameworks
    compositions: tuple[tuple[str, tuple[str, str]], ...]  # a layer, and the operators that make it up
    in_place: frozenset[str]
    random: frozenset[str]
    collective: frozenset[str]
    collective_families: frozenset[str]
    uninitialised: frozenset[str]
    inserted: frozenset[str]
    masks: frozenset[str]
    named_inputs: Mapping[str, Mapping[str, str]]
    setting_names: Mapping[str, str]
    weights: Mapping[str, frozenset[str]]
    step_argument: Mapping[str, str]
    absurd: Mapping[str, float]
    tolerances: Tolerances

    def kind(self, name: str) -> str:
        """One name for what frameworks call differently."""
        word = plain(name)
        return self.kinds.get(word, word)

    def is_in_place(self, name: str) -> bool:
        """Whether an operator changes its first input."""
        return (name.endswith("_") and not name.endswith("__")) or plain(name) in self.in_place

    def is_random(self, name: str) -> bool:
        """Whether an operator draws random numbers."""
        return plain(name) in self.random

    def is_collective(self, name: str, kind: str) -> bool:
        """Whether its values come from other ranks."""
        family = name.partition(".")[0].lower()
        return family in self.collective_families or plain(kind) in self.collective

    def is_weight(self, kind: str, tensor: str, dtype: str) -> bool:
        """Whether a tensor ("input.1", "parameter.weight") of a forward call is one of its weights."""
        role, _, index = tensor.partition(".")
        element = type_of(dtype)
        real = element is None or element.kind == "float"
        return role == "parameter" or (
            role == "input" and real and index in self.weights.get(self.kind(kind), ())
        )

    def is_inserted(self, name: str) -> bool:
        """Whether graph compilers put it in by themselves: it computes nothing."""
        return plain(name) in self.inserted

    def is_uninitialised(self, name: str) -> bool:
        """Whether its result is memory that nobody has written yet."""
        return plain(name) in self.uninitialised


def is_fused(kind: str) -> bool:
    """Whether an operator does by its name what several do elsewhere."""
    return _FUSED.search(plain(kind)) is not None


def plain(name: str) -> str:
    """A kind in lower case, without underscores, version and gradient mark: "MatMulV2" -> "matmul"."""
    word = name.rpartition(".")[2].lower().replace("_", "").replace("-", "")
    word = re.sub(r"(?<=[a-z0-9])v\d{1,2}$", "", word)
    return re.sub(r"(?<=[a-z])grad$", "", word) or word


@lru_cache(maxsize=1)
def knowledge() -> Knowledge:
    """Return the table."""
    import yaml

    text = (files("traindoctor") / "rules" / "porting" / "operators.yaml").read_text(encoding="utf-8")
    table = yaml.load(text, yaml.CSafeLoader)
    limits = table["tolerances"]
    return Knowledge(
        {plain(word): kind for kind, words in table["kinds"].items() for word in words},
        tuple((whole, (parts[0], parts[1])) for whole, parts in table["compositions"].items()),
        frozenset(table["in_place"]),
        frozenset(table["random"]),
        frozenset(table["collective"]),
        frozenset(table["collective_families"]),
        frozenset(table["uninitialised"]),
        frozenset(table["inserted"]),
        frozenset(table["masks"]),
        {op: {str(i): n for i, n in names.items()} for op, names in table["named_inputs"].items()},
        table["setting_names"],
        {kind: frozenset(map(str, slots)) for kind, slots in table["weights"].items()},
        table["step_argument"],
        {name: float(limit["above"]) for name, limit in table["absurd"].items()},
        Tolerances(
            limits["relative"], limits["cosine"], limits["rounding"], limits["most"], limits["growth"]
        ),
    )
