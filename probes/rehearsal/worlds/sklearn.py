"""Parts and statistics of data as scikit-learn makes them, in a rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...made_numbers.arrays import Unfit
from ...made_numbers.measures import SCORES, score
from ...script_diff.vocabulary import word_set
from .. import units
from ..libraries import Call, function, method
from ..values import NOTHING, Data, Frame, Series, Tensor, Unknown
from .frames import seeded, taken
from .known_numbers import plain_of
from .samples import length

if TYPE_CHECKING:
    from ..machine import Machine

_LIBRARIES = ("sklearn.", "cuml.", "iterstrat.", "imblearn.")
_FOLDS = 3  # that are made of any number of folds


def rows_of(machine: Machine, held: Any, places: np.ndarray, count: int) -> Any:
    """The samples at some places, of whatever kind."""
    if isinstance(held, Frame):
        return taken(held, places)
    if isinstance(held, Tensor):
        known = held.rows is not None and len(held.rows) == count
        made = Series(key=held.key) if isinstance(held, Series) else Tensor()
        made.become(held.then("split"))
        made.rows = held.rows[places] if known and held.rows is not None else None
        made.number = None
        if isinstance(held.number, np.ndarray) and held.number.ndim and len(held.number) == count:
            made.number = held.number[places]
        return made
    if isinstance(held, (list, tuple, range)) and len(held) == count:
        return [held[i] for i in places]
    if isinstance(held, Data):
        return Data(places, 0, held.node, held, "part")
    return Unknown(f"part of {getattr(held, 'key', '')}")


@function("train_test_split", of=_LIBRARIES)
def _two_parts(call: Call) -> Any:
    machine = call.machine
    known = [g for g in call.given if isinstance(g, (Tensor, Data, list, range))]
    count = next((length(machine, g, call.node) for g in known), machine.made_rows)
    size, rest = call.named.get("test_size"), call.named.get("train_size")
    share = size if size is not None else 1 - rest if isinstance(rest, float) else 0.25
    share = share if isinstance(share, float) and 0 < share < 1 else 0.25
    order = np.arange(count)
    if call.named.get("shuffle") is not False:
        order = seeded(machine, call.named.get("random_state")).permutation(count)
    cut = min(max(1, round(count * (1 - share))), max(count - 1, 1))
    return [rows_of(machine, g, p, count) for g in call.given for p in (order[:cut], order[cut:])]


_SPLITTERS = word_set(
    "KFold StratifiedKFold GroupKFold StratifiedGroupKFold ShuffleSplit StratifiedShuffleSplit "
    "GroupShuffleSplit TimeSeriesSplit RepeatedKFold RepeatedStratifiedKFold MultilabelStratifiedKFold "
    "PredefinedSplit LeaveOneGroupOut"
)


class Splitter:
    """What cuts data into folds."""

    def __init__(self, name: str, named: dict[str, Any]) -> None:
        self.name = name
        self.named = named


@function(*sorted(_SPLITTERS), of=_LIBRARIES)
def _splitter(call: Call) -> Any:
    return Splitter(call.callee.last, call.named)


@method(Splitter, "split")
def _folds(call: Call) -> Any:
    owner: Splitter = call.callee.owner
    count = length(call.machine, call.given[0], call.node) if call.given else call.machine.made_rows
    order = np.arange(count)
    if "Shuffle" in owner.name or owner.named.get("shuffle") is True:
        order = seeded(call.machine, owner.named.get("random_state")).permutation(count)
    parts = np.array_split(order, _FOLDS + 1)
    found = []
    for place in range(_FOLDS):
        held = parts[place + 1] if owner.name == "TimeSeriesSplit" else parts[place]
        others = [p for i, p in enumerate(parts) if i != place]
        if owner.name == "TimeSeriesSplit":
            others = parts[: place + 1]
        learnt = np.concatenate(others)
        found.append((Tensor(number=np.sort(learnt)), Tensor(number=np.sort(held))))
    return found


@method(Splitter, "get_n_splits")
def _count(call: Call) -> Any:
    return _FOLDS


# ------------------------------------------------------------------------------------ statistics

_SCALERS = word_set(
    "StandardScaler MinMaxScaler RobustScaler MaxAbsScaler QuantileTransformer PowerTransformer PCA "
    "TruncatedSVD SimpleImputer KNNImputer IterativeImputer TfidfVectorizer CountVectorizer FastICA "
    "KBinsDiscretizer OneHotEncoder OrdinalEncoder LabelEncoder LabelBinarizer MultiLabelBinarizer "
    "Normalizer SelectKBest TargetEncoder"
)
NO_STATISTICS = word_set(
    "LabelEncoder LabelBinarizer MultiLabelBinarizer OneHotEncoder OrdinalEncoder Normalizer"
)


class Fitted:
    """A scaler or an encoder, and the statistics that it was fitted to last."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fits: frozenset[int] = NOTHING
        self.sure = True


@function(*sorted(_SCALERS), of=_LIBRARIES)
def _scaler(call: Call) -> Any:
    return Fitted(call.callee.last)


@method(Fitted, "fit", "fit_transform", "partial_fit", "transform", "inverse_transform")
def _fitted(call: Call) -> Any:
    owner: Fitted = call.callee.owner
    held = call.given[0] if call.given else call.named.get("X")
    found = [held] if isinstance(held, Tensor) else list(call.machine.tensors([held]))
    name = call.callee.name
    if "fit" in name and owner.name not in NO_STATISTICS:
        made = call.machine.fit(owner.name, found[0], call.node) if len(found) == 1 else NOTHING
        owner.fits = owner.fits | made if name == "partial_fit" else made
    if name in ("fit", "partial_fit"):
        return owner
    if not found:
        return Unknown(name)
    made_of = call.machine.joined_tensors(f"{owner.name}.{name.removeprefix('fit_')}", found)
    back = name == "inverse_transform"
    step = ("back" if back else "transform", owner.fits) if owner.fits else units.unknown(owner.name)
    made_of.units = units.stepped(made_of.units, step)
    if back:
        return made_of
    made_of.fits |= owner.fits
    if owner.name == "Pipeline":  # it may take columns out
        made_of.held |= {f"{h[:-1]}!?" for h in made_of.held if h.endswith("#*")}
    return made_of


@method(Fitted, "*")
def _of_fitted(call: Call) -> Any:
    return Unknown(call.callee.name)


def fitted_field(owner: Fitted, name: str) -> Any:
    """`scaler.mean_`: made of the rows that it was fitted to."""
    if name.endswith("_") and not name.startswith("_"):
        return Tensor(fits=owner.fits, done=(name,))
    return None


@function("Pipeline", "make_pipeline", "ColumnTransformer", "make_column_transformer", of=_LIBRARIES)
def _pipeline(call: Call) -> Any:
    return Fitted("Pipeline")


@function("*", of=("sklearn.metrics.",))
def _scored(call: Call) -> Any:
    """A score: made of all that it is given; where this is known as numbers, what it comes to."""
    machine = call.machine
    found = list(machine.tensors([*call.given, *call.named.values()], 8))
    if not found:
        return NotImplemented
    made = machine.joined_tensors(call.callee.last, found)
    made.scalar, made.rows, made.deps = True, None, NOTHING
    if machine.numbers is not None:
        made.number = _score(call)
    return made


def _score(call: Call) -> float | None:
    named = dict(call.named)
    truth = named.pop("y_true", call.given[0] if call.given else None)
    said = named.pop("y_pred", call.given[1] if len(call.given) > 1 else None)
    plain = plain_of(truth), plain_of(said)
    if any(p is None for p in plain) or not SCORES.match(call.callee.last):
        return None
    try:
        return score(call.callee.last, *plain, named, cuts=False)
    except (Unfit, ArithmeticError, TypeError, ValueError):
        return None


__all__ = ["Fitted", "Splitter", "fitted_field", "rows_of"]
