"""Orders: folders of classes that are learnt from one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..journal import Asked, Round
from ..machine import Machine
from ..values import Data
from .verdict import Verdict, taught

_FOLDERS = frozenset(
    ("ImageFolder", "DatasetFolder", "ImageFolderDataset", "image_dataset_from_directory",
     "text_dataset_from_directory", "audio_dataset_from_directory")
)  # fmt: skip
_FEWEST = 4  # batches of a round


def folder_by_folder(machine: Machine) -> Iterator[Verdict]:
    """The samples of a folder with a folder for each class are learnt from in their order, in every round."""
    learnt = taught(machine)
    held = {}
    for event in machine.journal.of(Round):
        held.update({o.table: event.loader for o in _sources(event.loader.data) if o.name in _FOLDERS})
    rounds: dict[tuple[int, object, object], list[Asked]] = {}
    for ask in machine.asks.values():
        if ask.number in learnt and ask.rows is not None and ask.table in held:
            rounds.setdefault((ask.table, ask.node, ask.loops[:-1]), []).append(ask)
    tables = {t for t, _, _ in rounds}
    for table in tables:
        mine = [asks for (t, _, _), asks in rounds.items() if t == table]
        if len(mine) < 2 or any(len(a) < _FEWEST or a[0].guessed for a in mine):
            continue
        if all(bool(np.all(np.diff(np.concatenate([_rows(one) for one in asks])) > 0)) for asks in mine):
            yield Verdict(
                "folder-by-folder", held[table].node,
                "the samples are learnt from in the order of their folders, one class after the other",
            )  # fmt: skip
            return


def _rows(ask: Asked) -> np.ndarray:
    return ask.rows if ask.rows is not None else np.zeros(0)


def _sources(data: object, depth: int = 4) -> Iterator[Data]:
    """A data set and what it is a part of."""
    if isinstance(data, Data):
        yield data
        if depth:
            yield from _sources(data.of, depth - 1)
