"""Points in time that the rows of a table carry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from ..run import Floats
from .model import LIMIT, Times

_NAMED = re.compile(r"(?:^|_)(?:date|datetime|timestamp|time|unixtime|unix|epoch_time|ts|day|month)$", re.I)
_FORMS = ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d.%m.%Y", "%d.%m.%Y %H:%M")
_LEAST_SECONDS, _MOST_SECONDS = 1e8, 4e9  # 1973 to 2096: Unix time, in seconds


def of(names: Sequence[str]) -> Dated | None:
    """Return what gathers the times of a table; None where no column is called so, or several are."""
    found = [i for i, n in enumerate(names) if _NAMED.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", n.strip()))]
    return Dated(names[found[0]], found[0]) if len(found) == 1 else None


class Dated:
    """One column of dates, times or Unix times."""

    def __init__(self, name: str, at: int) -> None:
        self.name = name
        self.at = at
        self.kept: list[Floats] = []
        self.held = 0
        self.form: str | None = None
        self.lost = False  # a cell that is no point in time: nothing is said of order then

    def add(self, found: Sequence[Sequence[str]], numbers: Sequence[int], file: int) -> None:
        """Take the next rows, by columns."""
        del numbers, file
        if self.lost or self.held >= LIMIT:
            return
        values = self._seconds(found[self.at])
        if values is None:
            self.lost = True
            self.kept.clear()
            return
        self.kept.append(values)
        self.held += len(values)

    def found(self) -> Times | None:
        """Return the times; None where some cell was none."""
        if self.lost or not self.kept:
            return None
        return Times(self.name, np.concatenate(self.kept))

    def _seconds(self, cells: Sequence[str]) -> Floats | None:
        first = cells[0].strip()
        try:
            number = float(first)
        except ValueError:
            return self._texts(cells)
        scale = next((s for s in (1.0, 1e3, 1e6, 1e9) if _LEAST_SECONDS <= number / s <= _MOST_SECONDS), None)
        if scale is None:
            return None
        try:
            values = np.array([float(c) for c in cells]) / scale
        except ValueError:
            return None
        return values if np.isfinite(values).all() else None

    def _texts(self, cells: Sequence[str]) -> Floats | None:
        try:
            if self.form is None:
                if not re.match(r"\d{4}-\d\d-\d\d", cells[0].strip()):
                    raise ValueError
                plain = [c.strip()[:26].rstrip("Z") for c in cells]
                values = np.array(plain, dtype="datetime64[us]").astype(np.int64) / 1e6
                return None if (values < -6e10).any() else values
        except ValueError:
            pass
        for form in (self.form,) if self.form else _FORMS:
            try:
                read = [datetime.strptime(c.strip(), form) for c in cells]
            except ValueError:
                continue
            self.form = form
            start = datetime(1970, 1, 1)
            return np.array([(d - start).total_seconds() for d in read])
        return None
