"""What was measured of a set of data files. Readers fill it, probes look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...engine.model import Place
from ..run import Floats

if TYPE_CHECKING:
    from .boxes import Boxes

Hashes = NDArray[np.int64]
Split = Literal["", "train", "eval", "test"]
PartKind = Literal["table", "array", "batches", "images", "masks", "audio", "records", "manifest"]

LIMIT = 200_000  # samples of one part that are looked at
UNIQUE = 64.0  # bits of a column, or a row, of which no two are equal by chance
SAMPLE = 20_000  # values or rows that are kept for medians and neighbours


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is looked at: `samples` of a part, `bytes` and `seconds` in all; `seed` draws the rest.

    `label`: the column of labels, where a user names it.
    """

    samples: int = LIMIT
    bytes: int = 1024**3
    seconds: float = 60.0
    seed: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or row that cannot be read as what it claims to be."""

    place: Place
    what: str  # "ends in its header", "not UTF-8", ...


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column, field or channel.

    `values` is a sample of its finite numbers [k]; `mean`, `std`, `low` and `high` are over all that were
    looked at. Missing: an empty cell or one that stands for none; `infinite` counts infinities.
    """

    name: str
    number: bool
    count: int = 0  # cells looked at
    missing: int = 0
    infinite: int = 0
    missing_at: Place | None = None
    infinite_at: Place | None = None
    low: float = np.nan
    high: float = np.nan
    low_at: Place | None = None
    high_at: Place | None = None
    mean: float = np.nan
    std: float = np.nan
    values: Floats = field(default_factory=lambda: np.empty(0))
    integral: bool = False  # all of them whole numbers
    constant: bool = False  # one value wherever there is any
    free_text: bool = False  # named like the text that a model reads
    dtype: str = ""
    entries: int = 0  # numbers, where a sample carries many of them; else as `count`
    codes: tuple[tuple[float, float], ...] = ()  # (number that stands for a missing value, its share)
    code_at: Place | None = None
    written: int = 0  # numbers among the cells of a column that is read as texts
    words: tuple[str, ...] = ()  # what stands among them, where it is few words
    words_at: Place | None = None
    commas: int = 0  # numbers with a decimal comma among these cells
    commas_at: Place | None = None
    garbled: int = 0  # texts that were decoded in another encoding than they were written in
    garbled_at: Place | None = None
    garbled_as: str = ""  # what tells it, of the first one
    dates: Mapping[str, int] = field(default_factory=dict)  # way of writing a date, by an example -> cells
    dates_at: Mapping[str, Place] = field(default_factory=dict)  # the same -> the first of them
    counting: bool = False  # it numbers the rows: one more in each
    capitals: int = 0  # of a text that a model reads: cells with a capital letter
    marks: int = 0  # and with a mark between words
    tagged: int = 0  # and with tags of HTML
    ended: int = 0  # and that end with a mark
    longest: int = 0  # characters of the longest
    cut: int = 0  # of as many (or one less), and without a mark at their end


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The labels of one part, in file order.

    `counts`: label -> samples, of those looked at. `runs` counts stretches of equal labels in file order
    within the blocks that were read one after the other, `pairs` the neighbours compared.
    """

    name: str
    counts: Mapping[str, int]
    runs: int = 0
    pairs: int = 0
    integral: bool = False
    low: float = np.nan
    high: float = np.nan
    low_at: Place | None = None
    high_at: Place | None = None
    by_folder: bool = False
    classes: bool = True  # few different values: classes, not quantities
    all_ignored: tuple[Place, ...] = ()  # batches with nothing but the ignore index
    batches: int = 0  # label arrays, or lists of labels, that were looked at whole
    ignored: int = 0  # lists of labels with nothing but the ignore index
    maps: bool = False  # one for each pixel, voxel or token: they tell no class of a sample


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """The points in time of a part's rows, in file order, in seconds [n]; every row has one."""

    name: str
    values: Floats


@dataclass(frozen=True, slots=True)
class Still:
    """A stretch of one sensor's rows in which a column does not change, where it changes in all others."""

    column: str
    sensor: str  # "" where the table is of one
    rows: int
    of: int  # rows of that sensor
    value: float
    place: Place


@dataclass(frozen=True, slots=True)
class Switch:
    """A column of one sensor that goes on in another unit from a row on."""

    column: str
    sensor: str
    how: str  # "1000 times as large", ...
    place: Place


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """A column that names whom or what a row is about: a hash of its value for each row [n]."""

    name: str
    values: Hashes
    among: int = 1  # such columns in the table


@dataclass(frozen=True, slots=True)
class Chats:
    """What is wrong with conversations or answers to learn from: reason -> how many, with the first place."""

    looked: int
    wrong: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, tuple[Place, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenRows:
    """What is wrong with rows of token ids: reason -> how many, with the first place."""

    name: str
    looked: int
    wrong: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alike:
    """Pictures of an evaluation split that are training pictures saved anew."""

    looked: int
    among: int  # training pictures that were looked at
    count: int = 0
    pairs: tuple[tuple[Place, Place], ...] = ()  # (evaluation, training), the first ones


@dataclass(frozen=True, slots=True)
class SingleArray:
    """The one array of a file that is a sample by itself: its shape, and 2 % and 98 % of its numbers."""

    shape: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Squares:
    """Pictures with a class, reduced to a few squares of grey [m, k], by which neighbours are told."""

    features: Floats
    targets: tuple[str, ...]
    places: tuple[Place, ...]
    before: tuple[
        str, ...
    ] = ()  # the labels that stand one place before and after each, where rows are numbered
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the pictures of one split are like, of those that were looked at.

    `tones`: mean red, green and blue of each picture [n, 3]. `grey`: pictures stored with colours that have
    none, of `coloured` that are stored so. `twins`: pictures that are an earlier one saved anew, of `told`
    ones; `torn`: those of them that lie in another class.
    """

    tones: Floats
    grey: int = 0
    coloured: int = 0
    grey_at: tuple[Place, ...] = ()
    told: int = 0
    twins: tuple[tuple[Place, Place], ...] = ()
    torn: tuple[tuple[Place, Place], ...] = ()


@dataclass(frozen=True, slots=True)
class Masked:
    """What masks hold: values, smoothed borders, and where else than in place they lie on edges of images."""

    looked: int
    values: Mapping[int, int]  # value -> masks that hold it
    smoothed: tuple[Place, ...] = ()
    paired: int = 0  # masks that were held against their image
    elsewhere: str = ""  # "flipped left to right"; "" where they fit, or nothing tells


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The samples of one split in one format."""

    split: Split
    kind: PartKind
    format: str
    files: tuple[str, ...]
    rows: int | None  # samples in it; None: not known
    exact: bool = True  # `rows` was counted, not estimated
    looked: int = 0  # samples that were read
    columns: tuple[Column, ...] = ()
    labels: Labels | None = None
    features: Floats = field(default_factory=lambda: np.empty((0, 0)))  # [m, c], with `targets` [m]
    feature_names: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    target_places: tuple[Place, ...] = ()
    hashes: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # of samples looked at
    inputs: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # the same without labels
    file_of: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    row_of: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0
    notes: tuple[str, ...] = ()
    shapes: Mapping[str, int] = field(default_factory=dict)  # "32x32 RGB" -> images
    masks_empty: tuple[Place, ...] = ()  # attention masks with a row that leaves nothing
    masks: int = 0  # attention masks that were looked at
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # image file -> width, height
    coded: Mapping[str, tuple[str, int]] = field(default_factory=dict)  # image file -> format, JPEG's steps
    folder_classes: Mapping[str, str] = field(default_factory=dict)  # image file -> class of its folder
    field_rows: Mapping[str, int] = field(default_factory=dict)  # inputs of an array file -> samples in them
    label_rows: Mapping[str, int] = field(default_factory=dict)  # its labels, one each -> samples
    gaps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> classes that lack it
    bits: float = 0.0  # of a row: -log2 of the chance that two are equal, if columns did not depend
    blank: tuple[Place, ...] = ()  # pictures of one colour, silent recordings
    filled: int = 0  # pictures or recordings in which something was looked for
    times: Times | None = None
    still: tuple[Still, ...] | None = None  # None: no series of sensors
    switched: tuple[Switch, ...] = ()
    groups: tuple[Grouped, ...] = ()
    chats: Chats | None = None
    token_rows: tuple[TokenRows, ...] = ()
    token_counts: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # [id], of files of ids
    begun: tuple[int, int] = (0, 0)  # entities that are tagged, and how many begin with B (or S, U)
    names: Mapping[str, int] = field(default_factory=dict)  # files that a table names -> line
    names_are_ids: bool = False  # they stand in a column of identifiers, and may be no files
    clipped: tuple[Place, ...] = ()  # recordings that reach the limits again and again
    alike: Alike | None = None
    seen: Seen | None = None
    squares: Squares | None = None
    sample_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # field -> shape of a sample
    single: Mapping[str, SingleArray] = field(default_factory=dict)  # file -> its one array
    named: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # rows with ids and times
    levels: Floats = field(default_factory=lambda: np.empty(0))  # of recordings, in decibels of full scale
    masked: Masked | None = None
    oriented: Mapping[str, int] = field(default_factory=dict)  # image file -> EXIF orientation other than 1
    named_classes: Mapping[str, int] = field(default_factory=dict)  # column -> classes that the set names
    hashed: str = ""  # what a hash stands for: "rows", "files", "samples", "paths"; "" when none were made

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        split = {"train": "training", "eval": "validation", "test": "test"}.get(self.split, "")
        what = {"batches": "batches", "images": "images", "masks": "masks", "audio": "recordings"}.get(
            self.kind, "data"
        )
        return f"{split} {what}".strip()

    @property
    def whole(self) -> bool:
        """Whether every sample of it was read."""
        bad = self.problem_count if self.kind == "table" else 0  # rows that cannot be read were looked at too
        return self.exact and self.rows is not None and self.looked + bad >= self.rows

    def place(self, at: int) -> Place:
        """Where sample `at` of the hashes stands."""
        row = int(self.row_of[at])
        return Place(self.files[int(self.file_of[at])], row if row > 0 else None)


@dataclass(frozen=True, slots=True)
class Shards:
    """The samples or files that each rank gets, as lists or a manifest say."""

    ranks: Mapping[int, frozenset[str]]
    files: tuple[str, ...]
    universe: frozenset[str] | None = None  # everything that there is, where a list says so
    listed: bool = False  # by lists, not by what was drawn


@dataclass(frozen=True, slots=True)
class Listed:
    """What a manifest says against what is there."""

    file: str
    entries: int
    missing: tuple[tuple[str, int], ...] = ()  # (path, line of the manifest), the first ones
    missing_count: int = 0
    changed: tuple[tuple[str, int, str], ...] = ()  # (path, line, what differs)
    changed_count: int = 0
    extra: tuple[str, ...] = ()  # files of the same kinds that it does not list
    extra_count: int = 0
    checked: int = 0  # entries held against a file
    sums: int = 0  # of these, by checksum


@dataclass(frozen=True, slots=True)
class Epochs:
    """The order in which a manifest says that samples were drawn."""

    file: str
    epochs: int
    samples: int  # of the shortest epoch
    same: bool  # every epoch in one and the same order
    same_set: bool


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The samples of one split in the first epoch of its manifests, in their order [n]; 0: not told.

    `names` are hashes of what names a sample, `contents` of its checksum, `labels` of its label; `figures`
    [4, n] are its smallest and largest value, mean and deviation, NaN where they are not told.
    """

    split: Split
    files: tuple[str, ...]
    names: Hashes
    contents: Hashes
    labels: Hashes
    figures: Floats


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """Everything that was measured below one path."""

    path: str
    parts: tuple[Part, ...] = ()
    shards: Shards | None = None
    listed: tuple[Listed, ...] = ()
    epochs: tuple[Epochs, ...] = ()
    gaps: tuple[str, ...] = ()  # numbered shards of a set that are not there
    numbered: int = 0  # files that say "one of N" in their names
    declared: Mapping[str, int] = field(default_factory=dict)  # split -> samples, as a description says
    boxes: tuple[Boxes, ...] = ()
    notes: tuple[str, ...] = ()
    not_read: tuple[tuple[str, str], ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    drawn: tuple[Drawn, ...] = ()  # of manifests that were read whole

    def of(self, *splits: Split) -> list[Part]:
        """Return the parts of these splits."""
        return [p for p in self.parts if p.split in splits]

    @property
    def training(self) -> list[Part]:
        """The parts that a model learns from: of the training split, or of no split at all."""
        return self.of("train", "") if self.of("train") else self.of("")
