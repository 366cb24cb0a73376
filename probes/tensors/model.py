"""What a dump says, as plain data: operators in execution order, each with the tensors it took and made.

Readers make these; comparison, determinism, overflow and the weight checks look at them. Nothing here
touches a file until `Tensor.blocks` is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...engine.model import Scalar
from .numbers import Array
from .stored import BLOCK, Stored

# "parameter": a weight (or buffer, or optimizer state) as it stood when the operator ran;
# "gradient": the gradient of a parameter, as its own entry (not an operator's backward output).
Role = Literal["input", "output", "parameter", "gradient"]
# "state": entries that are no operator: parameters and buffers dumped at the end of a step.
Direction = Literal["forward", "backward", "optimizer", "state"]

# Labels of dumps that lie in a run's own tree and are what it is compared with.
BENCHMARKS = frozenset({"tf", "gpu"})


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures over all elements of one tensor, as the dump recorded them; None: not recorded.

    `norm` is the L2 norm: the square root of the sum of squares. `digest` is the dump's own checksum in
    hex (`digest_kind` "crc32" or "md5"; msprobe calls its CRC-32 "md5" too); it says equal or not, no more.
    """

    min: float | None = None
    max: float | None = None
    mean: float | None = None
    norm: float | None = None
    nan: int | None = None  # number of elements that are NaN
    inf: int | None = None  # number of elements that are infinite, of either sign
    zero: int | None = None
    digest: str = ""
    digest_kind: str = ""

    @property
    def known(self) -> bool:
        """Whether any figure was recorded (a checksum alone is none)."""
        return any(v is not None for v in (self.min, self.max, self.mean, self.norm, self.nan, self.inf))

    @property
    def figures(self) -> tuple[float | None, ...]:
        """(min, max, mean, norm)."""
        return (self.min, self.max, self.mean, self.norm)


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """One tensor of one operator. `index` is its place among those of its role: "0", "1.0", "weight".

    `dtype` is the canonical name of `numbers.TYPES` where it is one of those, else as in the source.
    `stored` is None when the dump holds statistics only, or when its values cannot be read (`note` says why).
    """

    operator: str
    role: Role
    index: str
    dtype: str
    shape: tuple[int, ...]
    file: str = ""  # relative to the dump's root
    statistics: Statistics = field(default_factory=Statistics)
    stored: Stored | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """E.g. "input.0"."""
        return f"{self.role}.{self.index}"

    @property
    def count(self) -> int:
        """Number of elements (1 for a scalar)."""
        total = 1
        for n in self.shape:
            total *= n
        return total

    def blocks(self, size: int = BLOCK) -> Iterator[Array] | None:
        """The values, flat, in C order, as float32 or float64 blocks of at most `size` elements.

        None where only statistics exist. See `Stored.raw_blocks` on errors and reuse of memory.
        """
        return None if self.stored is None else self.stored.blocks(size)


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """One call of an operator (or module). `order` is its place in the dump's execution order, from 0."""

    name: str  # as the dump names it
    kind: str  # the type, as the dump names it: "linear", "MatMul", "LayerNorm"
    order: int
    direction: Direction = "forward"
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    parameters: tuple[Tensor, ...] = ()  # weights of a module; entries of role "gradient" stand in outputs
    arguments: Mapping[str, Scalar] = field(
        default_factory=dict
    )  # scalars: "input.4" -> 1e-05, "alpha" -> -0.1
    scope: str = ""  # the module it runs in, without call counters: "b1.ln", "network/_backbone/fc1-Dense"
    source: str = ""  # "train.py:18: h = F.gelu(h)", the innermost frame of the user's own code
    module: bool = False  # a whole module (or cell), that other entries are parts of
    rank: int | None = None
    step: int | None = None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them: inputs, parameters, outputs."""
        return (*self.inputs, *self.parameters, *self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class Dump:
    """One step of one rank: its operators in execution order."""

    format: str  # "msprobe", "mindspore-dump", "precision-tool", "arrays"
    path: str  # its folder, relative to the root that was given ("" for the root itself)
    operators: tuple[Operator, ...]
    framework: str = ""  # "pytorch", "mindspore", "tensorflow", "ascend", "" when the dump does not say
    rank: int | None = None
    step: int | None = None
    label: str = ""  # what tells two dumps of one directory apart besides rank and step: "debug_0", "tf"
    ordered: bool = True  # False: the order of execution is not known, names were sorted
    notes: tuple[str, ...] = ()  # what was passed over or damaged: one sentence each

    @property
    def has_values(self) -> bool:
        """Whether the values of any tensor can be read; else there are statistics only."""
        return any(t.stored is not None for o in self.operators for t in o.tensors)
