"""Made answers and truth for every row of a rehearsal, so that figures come out as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

ROWS = 1024
KINDS = 4  # classes


@dataclass(frozen=True)
class Numbers:
    """Numbers of one task ("kinds", "yes", "reals") in one layout ("n n", "n1 n", "n1 n1") by a seed.

    "n n two" is a layout of two classes, which figures of a program of two may need.

    `truth_mark`: the place of a batch that holds the truth, as tensors of batches carry it in `held`.
    """

    task: str
    layout: str
    seed: int
    truth_mark: str

    def answers(self, rows: np.ndarray) -> np.ndarray:
        """What a network says to these rows: scores of classes, a score, or a number each."""
        return self._laid(_made(self.task, self.seed, self.kinds)[0][rows % ROWS], 0)

    def truth(self, rows: np.ndarray) -> np.ndarray:
        """What is true of these rows."""
        return self._laid(_made(self.task, self.seed, self.kinds)[1][rows % ROWS], 1)

    @property
    def kinds(self) -> int:
        """How many classes there are."""
        return 2 if self.layout.endswith("two") else KINDS

    @property
    def plain(self) -> Numbers:
        """The same numbers, one for each row."""
        return Numbers(self.task, "n n two" if self.kinds == 2 else "n n", self.seed, "")

    def _laid(self, numbers: np.ndarray, which: int) -> np.ndarray:
        return numbers[:, None] if self.layout.split()[which] == "n1" else numbers


@lru_cache(maxsize=8)
def _made(task: str, seed: int, kinds: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng([seed, 77])
    if task == "kinds":
        answers = draw.normal(0.3, 1.3, (ROWS, kinds))
        shift = draw.integers(0, kinds, ROWS)
        return answers, np.where(draw.random(ROWS) < 0.55, answers.argmax(1), shift)
    answers = draw.normal(0.4, 1.3, ROWS)
    if task == "yes":
        return answers, ((answers + draw.normal(0, 1.2, ROWS)) > 0.1).astype(float)
    return answers, answers * 0.8 + draw.normal(0.2, 0.9, ROWS)


LAYOUTS = {"kinds": ("n n", "n n two"), "yes": ("n1 n1", "n n", "n1 n"), "reals": ("n1 n1", "n n", "n1 n")}
