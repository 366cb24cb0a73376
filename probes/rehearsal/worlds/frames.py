"""Tables in a rehearsal: what is read of files, and what is done to their rows and columns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from ...script_diff.vocabulary import word_set
from ..libraries import Call, function, method
from ..values import Bound, Frame, Routine, Series, Tensor, Unknown
from .columns import BANDS, Column, column_of, derived, query

if TYPE_CHECKING:
    from ..machine import Machine

FRAMES = ("pandas.", "polars.", "cudf.", "modin.", "dask.dataframe.")


def frame(machine: Machine, name: str) -> Frame:
    """A table of a file: the same name gives the same one."""
    number = machine.table(f"file {name}")
    rows = np.arange(machine.tables[number][1])
    return Frame(rows, number, held=frozenset((f"{name}#*",)), labels=rows.copy())


_READS = word_set(
    "read_csv read_parquet read_json read_excel read_table read_feather read_pickle read_sql read_hdf "
    "scan_csv scan_parquet read_fwf read_orc read_stata read_ipc read_ndjson read_sql_query"
)


@function(*sorted(_READS), of=FRAMES)
def _read(call: Call) -> Any:
    held = call.given[0] if call.given else next(iter(call.named.values()), "")
    if isinstance(held, Tensor):
        return held.then("read")
    name = held if isinstance(held, str) else getattr(held, "name", "") or getattr(held, "key", "")
    made = frame(call.machine, name or f"line {getattr(call.node, 'lineno', 0)}")
    columns = _names(call.named.get("usecols"))
    count = call.named.get("nrows")
    if isinstance(count, int):
        made = taken(made, np.arange(min(count, len(made.rows))))  # type: ignore[arg-type]
    return chosen(made, columns) if columns else made


def _names(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return list(value)
    return None


def name_of(held: Tensor) -> str:
    """The name of a table's file, as its columns' names begin."""
    return next((h.partition("#")[0] for h in sorted(held.held) if "#" in h), "")


def series(held: Frame, name: str) -> Tensor:
    """A column of a table."""
    if name in held.made:
        made = held.made[name]
        return made if isinstance(made, Tensor) else Tensor(held.rows, held.table)
    return Series(
        held.rows,
        held.table,
        held=frozenset((f"{name_of(held)}#{name}",)),
        by=held.by,
        vague=held.vague,
        fits=held.fits,
        key=name,
    )


def as_column(held: Any) -> Any:
    """A column whose name is that of a method: `df.split == "val"`."""
    known = isinstance(held, Bound) and isinstance(held.owner, Frame)
    return series(held.owner, held.name) if known else held


def chosen(held: Frame, columns: list[str]) -> Frame:
    """Some columns of a table."""
    made = same(held)
    made.columns = tuple(columns)
    made.without = frozenset()
    made.made = {k: v for k, v in held.made.items() if k in columns}
    inner: frozenset[str] = frozenset()
    for name in columns:
        inner |= series(held, name).held
    made.held = inner
    return made


def same(held: Frame) -> Frame:
    """A table that is as another one, to be changed."""
    made = Frame(held.rows, held.table, held=held.held, done=held.done, fits=held.fits, by=held.by)
    made.vague, made.columns, made.without = held.vague, held.columns, held.without
    made.made, made.labels = dict(held.made), held.labels
    return made


def taken(held: Frame, places: Any, *, by: frozenset[str] = frozenset()) -> Frame:
    """Some rows of a table; None as places: it is not known which."""
    made = same(held)
    made.by = held.by | by
    count = len(held.rows) if held.rows is not None else 0
    try:
        rows = np.atleast_1d(held.rows[places]) if held.rows is not None and places is not None else None
    except (IndexError, TypeError, ValueError):
        rows = None
    if rows is None:
        made.vague = True
        made.made = {k: _doubted(v) for k, v in held.made.items()}
        return made
    made.rows = rows
    if held.labels is not None and len(held.labels) == count:
        made.labels = np.atleast_1d(held.labels[places])
    for name, value in held.made.items():
        if isinstance(value, Tensor) and value.rows is not None and len(value.rows) == count:
            part = value.like(rows=np.atleast_1d(value.rows[places]))
            if isinstance(value.number, np.ndarray) and len(value.number) == count:
                part.number = np.atleast_1d(value.number[places])
            made.made[name] = _as_series(value, part)
    return made


def _as_series(old: Tensor, part: Tensor) -> Tensor:
    if not isinstance(old, Series):
        return part
    made = Series(key=old.key)
    made.become(part)
    return made


def _doubted(value: Any) -> Any:
    return value.like(vague=True) if isinstance(value, Tensor) else value


def mask_places(machine: Machine, index: Any, count: int) -> np.ndarray | None:
    """Which places a mask or a list of places chooses; None where that is not known."""
    if isinstance(index, Series) and index.number is None:
        column = column_of(machine, index) if index.rows is not None and not index.vague else None
        mask = column.is_equal(True, index.rows) if column is not None and index.rows is not None else None
        index = Tensor(number=mask)
    at = index.number if isinstance(index, Tensor) else index
    if isinstance(at, (list, tuple, range)):
        at = np.asarray(at) if all(isinstance(a, (bool, int, np.integer)) for a in at) else None
    if not isinstance(at, np.ndarray) or at.ndim != 1 or at.dtype.kind not in "biu":
        return None
    if at.dtype == bool:
        return np.flatnonzero(at) if len(at) == count else None
    return at


def frame_item(machine: Machine, held: Frame, index: Any) -> Any:
    """`df["c"]`, `df[["a", "b"]]`, `df[mask]`, `df[:100]`."""
    if isinstance(index, Bound):
        index = as_column(index)
    if isinstance(index, str):
        return series(held, index)
    names = _names(index)
    if names is not None:
        return chosen(held, names)
    if isinstance(index, slice):
        one = held.rows is not None and len(held.rows) == 1
        return held if one else taken(held, index)  # of a name or a line in a list: a cut of its text
    if isinstance(index, list) and not all(isinstance(i, (bool, int)) for i in index):
        return _some_of(held)
    if isinstance(index, Unknown):
        return Series(held.rows, held.table, held=frozenset((f"{name_of(held)}#?",)), by=held.by,
                      vague=held.vague, key=f"?{index.key}")  # fmt: skip
    places = mask_places(machine, index, len(held.rows) if held.rows is not None else 0)
    by = index.by if isinstance(index, Tensor) else frozenset()
    if isinstance(index, Series) and index.key:
        by = by | {index.key.partition("|")[0]}
    return taken(held, places, by=by)


def _some_of(held: Frame) -> Frame:
    """Some columns of a table; it is not known which."""
    made = same(held)
    made.columns, made.made, made.held = None, {}, frozenset((f"{name_of(held)}#?",))
    return made


def set_column(held: Frame, name: Any, value: Any) -> None:
    """`df["c"] = ...`."""
    if isinstance(name, str):
        held.made[name] = value if isinstance(value, Tensor) else Tensor(held.rows, held.table, by=held.by)
        held.without -= {name}
    names = _names(name)
    if names is not None and not isinstance(name, str):
        whole = value if isinstance(value, Tensor) else Tensor(held.rows, held.table, by=held.by)
        for one in names:
            old = series(held, one)
            held.made[one] = whole.like(held=old.held)


def _parted(held: Frame) -> Tensor:
    """Columns of a table by their places: it is not known which."""
    made = array(held)
    made.held |= {f"{name_of(held)}#!?"}
    return made


@method(Frame, "select_dtypes", "filter", "get", "melt", "pivot", "stack", "iloc", "pipe", "aggregate", "agg")
def _some_columns(call: Call) -> Any:
    made = _parted(call.callee.owner)
    made.vague = True
    return made


def set_part(owner: Frame | Places, index: Any, value: Any) -> None:
    """Give columns, or some rows of a column, values."""
    held = owner.held if isinstance(owner, Places) else owner
    if isinstance(owner, Places):
        name = index[1] if isinstance(index, tuple) and len(index) > 1 else None
        for one in _names(name) or ():
            old = series(held, one)
            fits = value.fits if isinstance(value, Tensor) else frozenset()
            set_column(held, one, old.then("set", fits=old.fits | fits))
        return
    set_column(held, index, value)


def array(held: Frame) -> Tensor:
    """A table as an array: what it holds are its columns, or all but those that were taken out."""
    made = Tensor(held.rows, held.table, held=held.held, by=held.by, vague=held.vague, done=held.done)
    made.fits = held.fits
    inside = [v for k, v in held.made.items() if k not in held.without and isinstance(v, Tensor)]
    for one in inside:
        made.held |= one.held
        made.fits |= one.fits
        made.vague = made.vague or one.vague
    name = name_of(held)
    made.held |= {f"{name}#!{c}" for c in held.without}
    return made


def as_array(held: Tensor) -> Tensor:
    """What a tensor is made of when it is handed to a function: a table is all of its columns."""
    return array(held) if isinstance(held, Frame) else held


# ------------------------------------------------------------------------------------ methods of tables


@method(Frame, "drop", "pop", "drop_columns")
def _dropped(call: Call) -> Any:
    held: Frame = call.callee.owner
    if call.callee.name == "pop":
        name = call.given[0] if call.given else None
        if not isinstance(name, str):
            return Unknown("column")
        gone = series(held, name)
        take_out(held, [name])
        return gone
    what = call.named.get("columns", call.given[0] if call.given else None)
    along = call.named.get("axis", call.given[1] if len(call.given) > 1 else 0)
    rows = "columns" not in call.named and along not in (1, "columns") and call.callee.name == "drop"
    if rows and "polars" not in getattr(call.callee, "name", ""):
        what = call.named.get("index", what)
        labels = what.number if isinstance(what, Tensor) and not what.vague else None
        places = None
        if isinstance(labels, np.ndarray) and held.labels is not None and labels.dtype.kind in "iu":
            places = np.flatnonzero(~np.isin(held.labels, labels))
        made = taken(held, places, by=what.by if isinstance(what, Tensor) else frozenset())
    else:
        made = same(held)
        names = _names(what)
        if names is None:
            made.held |= {f"{name_of(held)}#!?"}
        else:
            take_out(made, names)
    return _or_in_place(call, held, made)


def take_out(held: Frame, names: list[str]) -> None:
    """Take columns out of a table, in place."""
    held.without |= set(names)
    held.made = {k: v for k, v in held.made.items() if k not in names}
    held.held = frozenset(h for h in held.held if h.partition("#")[2] not in names)
    if any(h.endswith("#*") for h in held.held):
        held.held |= {f"{name_of(held)}#!{c}" for c in names}  # what is made of it has all but those
    if held.columns is not None:
        held.columns = tuple(c for c in held.columns if c not in names)


def _or_in_place(call: Call, held: Frame, made: Frame) -> Any:
    if call.named.get("inplace") is True:
        held.__dict__.update(made.__dict__)
        return None
    return made


@method(
    Frame, "sample", "head", "tail", "sort_values", "sort", "reset_index", "shuffle", "limit", "set_index"
)
def _ordered(call: Call) -> Any:
    held: Frame = call.callee.owner
    name = call.callee.name
    count = len(held.rows) if held.rows is not None else 0
    places: Any = np.arange(count)
    first = call.given[0] if call.given else call.named.get("n")
    if name == "sample":
        seed = call.named.get("random_state", call.named.get("seed"))
        order = seeded(call.machine, seed).permutation(count)
        share = call.named.get("frac", call.named.get("fraction"))
        size = count if share is None and first is None else None
        if isinstance(share, (int, float)):
            size = round(share * count)
        elif isinstance(first, int):
            size = first if first < count else max(1, count // 2)
        if size is None:
            return taken(held, None)
        places = order[:size]
    elif name in ("head", "limit"):
        places = places[: first if isinstance(first, int) else 5]
    elif name == "tail":
        places = places[-(first if isinstance(first, int) else 5) :]
    elif name in ("sort_values", "sort"):
        what = call.named.get("by", first)
        what = what[0] if isinstance(what, (list, tuple)) and what else what
        if not isinstance(what, str) or held.rows is None:
            return _or_in_place(call, held, taken(held, None))
        column = call.machine.columns.get((held.table, what)) or Column(
            what, call.machine.tables[held.table][1]
        )
        places = np.argsort(column.place[held.rows], kind="stable")
        if call.named.get("ascending") is False:
            places = places[::-1]
    made = taken(held, places)
    if name in ("reset_index", "set_index") or call.named.get("ignore_index") is True:
        made.labels = np.arange(count) if name == "reset_index" else None
    return _or_in_place(call, held, made)


def seeded(machine: Machine, seed: Any) -> np.random.Generator:
    """Random numbers by a seed: the same seed gives the same ones."""
    if isinstance(seed, int) and not isinstance(seed, bool):
        return np.random.default_rng(abs(seed) + 1_000)
    if isinstance(seed, Unknown) and seed.key:
        return np.random.default_rng(sum(ord(c) * (i + 7) for i, c in enumerate(seed.key)))
    return machine.draw()


@method(
    Frame, "query", "filter", "dropna", "drop_duplicates", "where", "drop_nulls", "unique", "merge", "join"
)
def _chosen_rows(call: Call) -> Any:
    held: Frame = call.callee.owner
    if call.callee.name == "query" and call.given and isinstance(call.given[0], str):
        made = queried(call.machine, held, call.given[0])
        if made is not None:
            return made
    if call.callee.name in ("dropna", "drop_duplicates", "drop_nulls", "unique", "merge", "join"):
        made = same(held)  # as good as all rows stay, in their order
        if call.callee.name in ("merge", "join"):
            made.without, made.columns = frozenset(), None
            made.held |= {h for o in call.given if isinstance(o, Frame) for h in o.held}
        return _or_in_place(call, held, made)
    masks = [g for g in call.given if isinstance(g, Tensor)]
    return frame_item(call.machine, held, masks[0]) if len(masks) == 1 else taken(held, None)


def queried(machine: Machine, held: Frame, text: str) -> Frame | None:
    """`df.query("year < 2019 and fold != 1")`, where names are columns and the rest is constant."""
    try:
        tree = ast.parse(text.strip().replace("@", ""), mode="eval").body
    except SyntaxError:
        return None
    found = query(machine, lambda name: series(held, name), tree)
    return frame_item(machine, held, found) if isinstance(found, Tensor) else taken(held, None)


@method(Frame, "to_numpy", "values", "to_torch", "to_records", "as_matrix")
def _as_array(call: Call) -> Any:
    return array(call.callee.owner)


_ROWS_STAY = word_set(
    "copy fillna astype assign rename replace map applymap apply ffill bfill clip round interpolate "
    "with_columns to_pandas to_dummies get_dummies infer_objects convert_dtypes collect lazy add sub mul div"
)


@method(Frame, *sorted(_ROWS_STAY))
def _same_rows(call: Call) -> Any:
    held: Frame = call.callee.owner
    made = same(held)
    if call.callee.name not in ("copy", "collect", "lazy", "to_pandas"):
        made.done = (*made.done[-39:], call.callee.name)
    for name, value in call.named.items():
        if call.callee.name in ("assign", "with_columns"):
            given = call.machine.call(value, [held], {}, call.node) if isinstance(value, Routine) else value
            set_column(made, name, given)
    others = [t for t in call.machine.tensors([*call.given, *call.named.values()]) if t is not held]
    for one in others:
        made.fits |= one.fits
    return _or_in_place(call, held, made)


@method(Frame, "select", "loc", "iloc")
def _select(call: Call) -> Any:
    names = _names(call.given[0] if len(call.given) == 1 else list(call.given))
    return chosen(call.callee.owner, names) if names else _some_of(call.callee.owner)


@method(Frame, "take")
def _taken(call: Call) -> Any:
    held: Frame = call.callee.owner
    count = len(held.rows) if held.rows is not None else 0
    return taken(held, mask_places(call.machine, call.given[0] if call.given else None, count))


@method(Frame, "*")
def _any_method(call: Call) -> Any:
    """Any other method: of a table other than the figures of its columns it is not known which rows stay."""
    from .tensors import STATISTICS

    if call.callee.name in STATISTICS:
        return NotImplemented
    made = _parted(call.callee.owner)
    made.vague = made.vague or not (call.callee.name == "reindex" and "columns" in call.named)
    return made


@method(Frame, "groupby", "group_by")
def _grouped(call: Call) -> Any:
    return Groups(call.callee.owner, call.given[0] if call.given else call.named.get("by"))


class Groups:
    """A table in groups."""

    def __init__(self, held: Frame, by: Any) -> None:
        self.held = held
        self.by = by

    def items(self, machine: Machine) -> list[Any]:
        """Some groups: what they are called and their rows."""
        rows = self.held.rows
        if rows is None or not isinstance(self.by, str):
            return [(Unknown("group"), taken(self.held, None)) for _ in range(2)]
        column = machine.columns.get((self.held.table, self.by)) or Column(
            self.by, machine.tables[self.held.table][1]
        )
        bands = [np.flatnonzero(column.band[rows] == b) for b in range(BANDS)]
        return [(Unknown(f"group {i}"), taken(self.held, b)) for i, b in enumerate(bands) if len(b)]


@method(Groups, "*")
def _of_groups(call: Call) -> Any:
    owner: Groups = call.callee.owner
    held = owner.held
    if call.callee.name in (
        "transform",
        "cumsum",
        "cumcount",
        "shift",
        "diff",
        "rank",
        "ffill",
        "bfill",
        "ngroup",
    ):
        return Tensor(held.rows, held.table, by=held.by, vague=held.vague, done=(call.callee.name,))
    if call.callee.name in ("sample", "head", "tail", "filter", "apply"):
        return taken(held, None)
    return Unknown(f"groups.{call.callee.name}")


@method(Frame, "itertuples", "iterrows", "to_dict", "iter_rows", "to_dicts")
def _one_by_one(call: Call) -> Any:
    held: Frame = call.callee.owner
    if held.rows is None or (call.callee.name == "to_dict" and "records" not in call.given):
        return Unknown("rows")
    places = np.linspace(0, len(held.rows) - 1, min(len(held.rows), RECORDS)).astype(int)
    rows = [taken(held, [int(p)]) for p in places]
    if len(places) < len(held.rows):
        for one in rows:
            one.vague = True
    return [(i, r) for i, r in enumerate(rows)] if call.callee.name == "iterrows" else rows


RECORDS = 40  # of a table that a program goes through one by one


def frame_field(machine: Machine, owner: Tensor, name: str) -> Any:
    """A field of a table or a column; None where it is a method."""
    if isinstance(owner, Series) and name in (
        "dt",
        "str",
        "cat",
        "year",
        "month",
        "day",
        "dayofyear",
        "hour",
    ):
        return derived(owner, name)
    if isinstance(owner, Series) and name in ("values", "array"):
        return owner
    if isinstance(owner, Series) and name == "iloc":
        return owner
    if isinstance(owner, Series) and name == "codes":
        return owner.then("codes")
    if not isinstance(owner, Frame):
        return None
    if name == "values":
        return array(owner)
    if name in ("loc", "iloc", "at", "iat"):
        return Places(owner, by_label=name in ("loc", "at"))
    if name == "index":
        return Tensor(number=owner.labels, by=owner.by, vague=owner.vague)
    if name == "columns":
        return list(owner.columns) if owner.columns is not None else Unknown("columns")
    if name == "shape":
        return (len(owner.rows) if owner.rows is not None else Unknown("rows"), Unknown("columns"))
    if name == "T":
        return owner.then("T", rows=None)
    known = owner.columns is None or name in owner.columns or name in owner.made
    from ..libraries import METHODS

    if known and (Frame, name) not in METHODS and name not in _TABLE_METHODS and not name.startswith("_"):
        return series(owner, name)
    return None


_TABLE_METHODS = word_set(
    "mean std var min max median sum quantile describe info corr count nunique isna isnull notna any all "
    "to_csv to_parquet to_json memory_usage pivot pivot_table melt stack unstack rolling shift diff "
    "resample explode items keys get insert equals empty dtypes size ndim plot hist agg aggregate "
    "select_dtypes set_axis to write_csv write_parquet pipe eval update iter_slices"
)


class Places:
    """`df.loc`, `df.iloc`."""

    def __init__(self, held: Frame, *, by_label: bool) -> None:
        self.held = held
        self.by_label = by_label

    def item(self, machine: Machine, index: Any) -> Any:
        """Rows, columns, or both of them."""
        held = self.held
        first, rest = (index[0], list(index[1:])) if isinstance(index, tuple) and index else (index, [])
        if isinstance(first, slice) and first == slice(None):
            made: Any = held
        elif isinstance(first, Tensor) and first.vague and not isinstance(first, Series):
            made = taken(held, None)  # of rows that are not known
        elif self.by_label:
            made = self._labelled(machine, first)
        else:
            at = first.number if isinstance(first, Tensor) else first
            if isinstance(at, (range, list)):
                at = np.asarray(list(at)) if all(isinstance(a, (int, np.integer)) for a in at) else None
            whole = isinstance(at, (int, np.integer, slice, np.ndarray))
            made = taken(held, at if whole else None)
        if rest and isinstance(made, Frame):
            if isinstance(rest[0], slice) and rest[0] == slice(None):
                return made
            return frame_item(machine, made, rest[0]) if isinstance(rest[0], (str, list)) else _parted(made)
        return made

    def _labelled(self, machine: Machine, first: Any) -> Frame:
        held = self.held
        at = first.number if isinstance(first, Tensor) else first
        if isinstance(first, Series) or (isinstance(at, np.ndarray) and at.dtype == bool):
            made = frame_item(machine, held, first)
            return made if isinstance(made, Frame) else taken(held, None)
        if isinstance(at, (int, np.integer)):
            at = np.asarray([at])
        if isinstance(at, (list, range)) and all(isinstance(a, (int, np.integer)) for a in at):
            at = np.asarray(list(at))
        if isinstance(at, slice) and isinstance(at.stop, int) and held.labels is not None:
            ordered = np.array_equal(held.labels, np.arange(len(held.labels)))
            return taken(held, slice(at.start, at.stop + 1) if ordered else None)
        if not isinstance(at, np.ndarray) or held.labels is None or at.dtype.kind not in "iu":
            return taken(held, None)
        where = {int(label): place for place, label in enumerate(held.labels)}
        if not all(int(a) in where for a in at):
            return taken(held, None)
        return taken(held, np.asarray([where[int(a)] for a in at]))
