"""What a run directory says, as plain data: series, settings, events. Readers make it, probes look at it.

A reader turns one file into `FileContent`. `assemble.open_run` puts the contents of all files together
into one `Run`: names become canonical, restarts become segments, ranks become child runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..engine.model import RunInfo, Scalar
from .files import RunFile

if TYPE_CHECKING:
    from .dataset.model import DataSet

Floats = NDArray[np.float64]

RANK_PART = "rank-part"  # group of figures about what one rank holds, which may be a part of the model

# What a step counts. "epoch-step": the step number starts again in each epoch (MindSpore LossMonitor,
# mmcv); readers turn it into a running step where they know the epoch length, and say so.
StepUnit = Literal["step", "epoch", "epoch-step", "iteration", "sample", "call", "row", "unknown"]
# What one value stands for: the value at that step, or a mean (median, sum) over the rows since the last.
Window = Literal["point", "mean-since-last", "epoch-mean", "running-mean", "median", "unknown"]
EventKind = Literal[
    "overflow",  # a scaler saw non-finite gradients; value = the loss scale after it, where printed
    "skipped-step",  # a step said to be skipped (value = how many since the last such row)
    "loss-scale",  # a loss scale was printed (value)
    "scale-at-minimum",  # "Current loss scale already at minimum", fairseq "Minimum loss scale reached"
    "overflow-ignored",  # "overflow, still update"
    "non-finite-loss",  # the framework itself said that the loss is NaN or infinite
    "non-finite-value",  # anomaly mode, numpy RuntimeWarning (overflow, invalid value, divide by zero)
    "masked-nan",  # a value that is no number was written as something else (HF: loss 0.0)
    "traceback",  # an exception ended (part of) the run; text = its last line
    "device-assert",  # CUDA device-side assert, index out of range on a device
    "out-of-memory",
    "resume",  # training went on from a checkpoint (value = step, where printed)
    "restart",  # training started again from the beginning in the same file
    "rewind",  # the step number went back (assembly makes this)
    "weights-newly-initialized",  # "Some weights ... newly initialized"
    "checkpoint-keys-mismatch",  # missing / unexpected keys, size mismatch, 0 keys loaded
    "scheduler-before-optimizer",  # "lr_scheduler.step() before optimizer.step()"
    "no-grad-input",  # "None of the inputs have requires_grad=True"
    "unused-parameters",  # DDP: parameters that received no gradient
    "from-logits",  # Keras: "received from_logits=True, but the output ... sigmoid or softmax"
    "shape-broadcast",  # "Using a target size that is different to the input size"
    "undefined-metric",  # scikit-learn UndefinedMetricWarning
    "token-length",  # "Token indices sequence length is longer than"
    "data-warning",  # missing, corrupt or truncated data files, images, labels
    "known-warning",  # any other warning with a known meaning; `data` says which
    "worked-out",  # nobody said it: a reader worked it out of figures; `data` says what
    "eval",  # an evaluation was done
    "finished",  # the log says that training is over
    "exit",  # value = exit code
]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One logged quantity of one run, in file order.

    `steps` and `values` are float64 arrays of equal length n. A value may be NaN or infinite: that is
    what was logged. A row that was written *without* this value is not in `values`; its step stands in
    `absent`. `masked` marks points whose NaN was written as something else in the file.
    """

    name: str  # canonical after assembly ("train/loss"); the raw name before
    raw: str  # as the file names it
    file: str
    steps: Floats
    values: Floats
    unit: StepUnit = "unknown"
    window: Window = "unknown"
    epochs: Floats | None = None  # [n]
    walls: Floats | None = None  # [n] seconds since the epoch
    lines: NDArray[np.int64] | None = None  # [n] line in `file`, from 1
    absent: Floats = field(default_factory=lambda: np.empty(0))
    masked: NDArray[np.bool_] | None = None  # [n]
    rank: int | None = None
    group: str = ""  # rows that belong together inside the file, e.g. "train" and "eval" rows
    split: Literal["", "train", "eval"] = ""  # the reader knows which data this is about; "": the name tells

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Setting:
    """One configured value. `key` is the dotted raw key; `trust` as in FORMATS A29, higher wins."""

    key: str
    value: Scalar | tuple[Scalar, ...]
    file: str
    line: int | None = None
    trust: int = 50  # 90 recorded by the framework itself, 70 saved by the script, 50 a file lying there


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, as a log says it."""

    kind: EventKind
    file: str
    line: int | None = None
    step: float | None = None
    value: float | None = None
    rank: int | None = None
    text: str = ""  # at most 300 characters of the line, secrets redacted
    data: str = ""  # short machine-readable detail, e.g. an exception's class name
    count: int = 1  # identical lines merged by the reader


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list says of one file or sample: size in bytes, checksum, anything else beside its name."""

    size: int | None = None
    checksum: str = ""
    rest: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DataList:
    """A list of data files or samples that lies in the run; the data themselves are never opened.

    `declared` counts samples per split, `failed` names what a check of checksums found wrong or not there
    among `checked` files. A list is not `complete` where it was cut off.
    """

    file: str
    entries: Mapping[str, Listed]
    split: Literal["", "train", "eval"] = ""
    rank: int | None = None
    declared: Mapping[str, int] = field(default_factory=dict)
    failed: tuple[str, ...] = ()
    checked: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class FileContent:
    """What one reader got out of one file."""

    format: str
    series: tuple[Series, ...] = ()
    settings: tuple[Setting, ...] = ()
    events: tuple[Event, ...] = ()
    facts: Mapping[str, Scalar] = field(default_factory=dict)  # framework, version, world_size, rank, ...
    notes: tuple[str, ...] = ()  # damaged tail, ambiguous unit: one sentence each, without the file name
    script: str | None = None  # the source text, if the file is a Python script
    lists: tuple[DataList, ...] = ()
    histograms: bool = False  # there may be some in it, not yet read


IMPLIED = 30  # trust of what the framework does where a hand-written script says nothing


@dataclass(frozen=True, slots=True)
class Configured:
    """The value in force of one canonical setting, with where it comes from."""

    key: str  # canonical, e.g. "learning_rate"
    value: Scalar | tuple[Scalar, ...]
    raw: str  # the dotted key as written
    file: str
    line: int | None
    trust: int

    @property
    def unsaid(self) -> bool:
        """Whether a script means it by saying nothing of it."""
        return self.trust == IMPLIED and self.line is None and self.file.endswith((".py", ".ipynb"))


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One training run, put together from everything below its directory.

    `series` maps canonical names to the best curve of that name (after the last restart from scratch,
    with resumed parts joined); `all_series` holds every curve of every file. `settings` maps canonical
    setting names to values in force; `raw_settings` holds everything that was read.
    """

    info: RunInfo
    series: Mapping[str, Series]
    all_series: tuple[Series, ...]
    settings: Mapping[str, Configured]
    raw_settings: tuple[Setting, ...]
    events: tuple[Event, ...]
    facts: Mapping[str, Scalar]
    ranks: Mapping[int, Mapping[str, Series]] = field(default_factory=dict)
    earlier: Mapping[str, Series] = field(default_factory=dict)  # curves of the start before the last
    others: tuple[str, ...] = ()  # further independent runs in the same directory, by path
    scripts: Mapping[str, str] = field(default_factory=dict)  # Python files: path -> source text
    checkpoint_files: tuple[RunFile, ...] = ()  # files of weights and what lies beside them, not yet read
    dump_files: tuple[RunFile, ...] = ()  # files of operator dumps, not yet read
    other_dump_files: tuple[RunFile, ...] = ()  # those of further runs in the same directory
    summary_files: tuple[RunFile, ...] = ()  # event files that may hold histograms beside the scalars
    data: DataSet | None = None  # the data files beside it, or that the user named; measured when asked for
    lists: tuple[DataList, ...] = ()  # of data files and samples
    fact_files: Mapping[str, str] = field(default_factory=dict)  # fact -> path of the file that says it
    beside: tuple[Run, ...] = ()  # runs in the same directory whose names say that they are its benchmark
    unfused: Run | None = None  # the run in the same directory whose name says that fusion was off
    unframed: bool = False  # its scripts are judged also where they train without a framework

    def events_of(self, *kinds: EventKind) -> tuple[Event, ...]:
        """Return the events of these kinds, in order."""
        return tuple(e for e in self.events if e.kind in kinds)
