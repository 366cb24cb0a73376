"""Calls of the libraries on made numbers: their arithmetic, losses and scores."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from ..scripts.bounds import counted
from ..scripts.syntax import Script
from . import measures
from .arrays import SAME, WHOLE, Unfit, array, fits, of_arrays, whole
from .expressions import Expressions
from .things import LOADER, MADE_NET, WRAPS_NET, Bound, Instance, Library, Made, Unknown
from .world import ROWS, World

_EMPTY = ("zeros", "ones", "full", "eye", "arange", "scalar", "linspace", "empty")


class Libraries(Expressions):
    """What functions and objects of libraries give."""

    def __init__(self, source: Script, world: World) -> None:
        super().__init__(source, world)
        # `max` along an axis gives values and places
        known = ("torch", "pytorch", "lightning", "transformers")
        self._places = any(f.lower() in known for f in source.frameworks)

    def _number_or_none(self, value: Any) -> Any:
        return value if value is None or isinstance(value, str) else self.numbers(value)

    def _numbers(self, named: dict[str, Any]) -> dict[str, Any]:
        free = ("dtype", "device", "name", "out_type", "output_type")
        return {k: self._number_or_none(v) for k, v in named.items() if k not in free}

    def _computed(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        """A function of arrays."""
        named = self._numbers(named)
        if name in SAME or name in ("long", "int", "size", "type", "astype", "cast"):
            return (
                self.numbers(given[0])
                if name not in ("size",)
                else of_arrays(name, self._all(given), named, places=False)
            )
        first = self.numbers(given[0]) if given else None
        rest = given[1:]
        if (
            isinstance(first, np.ndarray)
            and first.ndim
            and name in ("eq", "equal", "sub", "subtract", "ne", "not_equal")
        ):
            rest = [self.as_truth(r) for r in rest]
        if name in ("gather", "take_along_dim", "take_along_axis"):
            rest = [self.as_truth(r) if isinstance(r, Unknown) else r for r in rest]
        return of_arrays(name, [first, *(self._number_or_none(r) for r in rest)], named, places=self._places)

    def _all(self, given: list[Any]) -> list[Any]:
        return [self._number_or_none(g) for g in given]

    # --------------------------------------------------------------------------------------- libraries

    def _of_library(self, callee: Library, given: list[Any], named: dict[str, Any], node: ast.AST) -> Any:
        name = callee.name
        if name in ("len",) and len(given) == 1:
            return self._length(given[0])
        if name == "range":
            ends = [g for g in given if isinstance(g, (int, float))]
            if len(ends) != len(given) or (len(given) == 3 and whole(given[2]) > 1):
                return Unknown(f"range@{getattr(node, 'lineno', 0)}")
            return range(*(whole(e) for e in ends))
        if name in ("tqdm", "list", "tuple", "iter", "trange", "track", "reversed") and given:
            return given[0] if name != "trange" else range(whole(given[0]))
        if name == "enumerate" and given:
            rounds = self.rounds(given[0])
            if rounds is not None:
                return [(i, v) for i, v in enumerate(rounds)]
            return Unknown(f"enumerate:{getattr(given[0], 'key', 'batch')}")
        if name == "zip" and given:
            if all(isinstance(g, (list, tuple)) for g in given):
                return list(zip(*given, strict=False))
            return Unknown("zip:" + ":".join(_word(g) for g in given))
        if name in ("is_available", "is_initialized"):
            return name == "is_available"
        if name in ("isinstance", "hasattr", "getattr"):
            return Unknown("condition")
        if name == "dict":
            return dict(named)
        if name in ("float", "int", "bool", "round") and len(given) == 1:
            held = float(given[0]) if isinstance(given[0], str) else self.numbers(given[0])
            if name in ("int", "bool"):
                return int(held) if name == "int" else bool(held)
            return held if name == "float" else np.round(held)
        if name == "round" and len(given) == 2:
            return self.numbers(given[0])
        if name == "super":
            return Unknown("super")
        if name in WRAPS_NET and given and isinstance(given[0], (Unknown, Instance)):
            return given[0]
        if name == "deepcopy" and given and isinstance(given[0], (Unknown, Instance)):
            held = given[0].attributes.get("__model__") if isinstance(given[0], Instance) else given[0]
            return Unknown(f"copy of {getattr(held, 'key', '')}", model=getattr(held, "model", False))
        if MADE_NET.match(name):
            return Unknown(f"{name}@{getattr(node, 'lineno', 0)}", model=True)
        if name in ("sum", "max", "min", "abs") and not callee.of:
            return self._builtin(name, given, named)
        if measures.is_loss(name):
            return self._loss(name, given, named)
        if measures.SCORES.match(name):
            return self._score(name, given, named)
        if name in _EMPTY:
            return self._filled(name, given)
        if LOADER.search(name):
            return Unknown(f"{name}@{getattr(node, 'lineno', 0)}", pair=True)
        if name in SAME | WHOLE and given and isinstance(given[0], Unknown):
            return given[0]
        if not given or not any(self._is_number(g) for g in given):
            return Unknown(f"{name}@{getattr(node, 'lineno', 0)}")
        if name in ("cosine_similarity", "kl_div"):
            raise Unfit
        return self._computed(name, given, named)

    def _is_number(self, value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return bool(value) and all(self._is_number(v) for v in value)
        if isinstance(value, Unknown):
            return value.truth
        return isinstance(value, (int, float, np.ndarray, np.generic))

    def _builtin(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        if name == "sum" and isinstance(given[0], (list, tuple)):
            total: Any = given[1] if len(given) > 1 else 0
            for v in given[0]:
                total = self.operation(ast.Add, total, v)
            return total
        if name in ("max", "min") and len(given) > 1:
            ends = [self.numbers(g) for g in given]
            return max(map(float, ends)) if name == "max" else min(map(float, ends))
        return of_arrays(name, self._all(given), self._numbers(named), places=False)

    def _filled(self, name: str, given: list[Any]) -> Any:
        held = [self._number_or_none(g) for g in given]
        if name == "arange":
            ends = [whole(h) for h in held]
            fits(counted(ends))
            return np.arange(*ends)
        if name == "eye":
            rows, columns = whole(held[0]), whole(held[1]) if len(held) > 1 else whole(held[0])
            fits(rows, columns)
            return np.eye(rows, columns)
        if name == "scalar":
            return held[0]
        if name not in ("zeros", "ones", "full"):
            raise Unfit
        shape = held[0] if isinstance(held[0], (list, tuple)) else [held[0]] if name == "full" else held
        fill = {"zeros": 0.0, "ones": 1.0}.get(name, held[-1])
        sizes = [whole(s) for s in shape]
        fits(*sizes)
        return np.full(sizes, fill)

    def _length(self, value: Any) -> Any:
        if isinstance(value, (list, tuple, dict, str)):
            return len(value)
        if isinstance(value, np.ndarray):
            return len(value)
        if isinstance(value, (Unknown, Bound)):
            key = value.key if isinstance(value, Unknown) else value.name
            if isinstance(value, Unknown) and value.truth:
                return self.rows()
            if isinstance(value, Unknown) and value.pair and self.batch is None:
                return len(ROWS)
            if re.search(r"(?i)dataset|_ds$|_set$", key) or isinstance(value, Bound):
                return sum(ROWS)
            return len(ROWS) if LOADER.search(key) else self.rows()
        raise Unfit

    # ------------------------------------------------------------------------------- losses and scores

    def _loss(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        """A loss of a library, or the object that computes it."""
        first = named.pop("input", named.pop("logits", named.pop("y_pred", given[0] if given else None)))
        if name[0].isupper() and not (len(given) >= 2 and self._is_number(given[0])):
            return Made(name, given, named)
        order = list(given)
        second = named.pop(
            "target", named.pop("labels", named.pop("y_true", order[1] if len(order) > 1 else None))
        )
        if measures.TRUTH_FIRST.match(name) and len(order) > 1:
            first, second = second, first
        if len(order) > 2 or "weight" in named:
            raise Unfit
        return measures.loss(name, self.numbers(first), self.as_truth(second), self._settings(named))

    def _settings(self, named: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for key, value in named.items():
            if value is None or key in ("name",):
                continue
            last = value.name if isinstance(value, (Library, Bound)) else value
            if isinstance(last, Unknown):
                raise Unfit
            found[key] = last.lower() if isinstance(last, str) else last
        return found

    def _score(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        if name[0].isupper() and not (len(given) >= 2 and self._is_number(given[0])):
            return Made(name, given, named)
        truth = named.pop("y_true", given[0] if given else None)
        said = named.pop("y_pred", given[1] if len(given) > 1 else None)
        if "task" in named:  # torchmetrics' functions take the answers first
            truth, said = said, truth
        of_library = "task" not in named and not name.startswith(("multiclass", "binary"))
        if of_library and isinstance(said, np.ndarray) and not isinstance(truth, np.ndarray):
            truth = self.as_truth(truth)
        return measures.score(
            name, self.numbers(truth), self.numbers(said), self._settings(named), cuts=not of_library
        )

    def _of_made(self, made: Made, given: list[Any], named: dict[str, Any]) -> Any:
        if measures.is_loss(made.name):
            first = given[0] if given else named.get("y_true", named.get("input"))
            second = given[1] if len(given) > 1 else named.get("y_pred", named.get("target"))
            if measures.TRUTH_FIRST.match(made.name):
                first, second = second, first
            if len(given) > 2 or made.given:
                raise Unfit
            return measures.loss(
                made.name, self.numbers(first), self.as_truth(second), self._settings(made.named)
            )
        return self.of_metric(made, "forward", given)

    def of_metric(self, made: Made, name: str, given: list[Any]) -> Any:
        """A method of a metric: it gathers what it is given, or is read. Raises Unfit."""
        if name in ("update", "update_state", "forward", "__call__"):
            if measures.is_loss(made.name) or made.name == "Mean" or len(given) != 2:
                raise Unfit
            truth_first = name == "update_state"
            said, truth = (given[1], given[0]) if truth_first else (given[0], given[1])
            made.seen.append((self.as_truth(truth), self.numbers(said)))
            return Unknown("of a batch")
        if name in ("compute", "result", "eval"):
            if not made.seen:
                raise Unfit
            truth, said = (np.concatenate([array(p[i]) for p in made.seen]) for i in (0, 1))
            return measures.score(made.name, truth, said, self._settings(made.named), cuts=True)
        if name in ("reset", "reset_states", "reset_state", "clear"):
            made.seen.clear()
            return None
        if name in SAME:
            return made
        raise Unfit


def _word(value: Any) -> str:
    if isinstance(value, Unknown):
        return value.key + ("!" if value.truth else "")
    return "?"
