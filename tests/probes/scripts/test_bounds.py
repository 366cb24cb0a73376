"""What may be worked out of a stranger's program: small outcomes."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from traindoctor.probes.scripts.bounds import MOST_ITEMS, counted, is_small, is_small_nest, is_small_shape


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        (ast.Pow, 10, 10**8),
        (ast.Pow, 10**1000, 10),
        (ast.LShift, 1, 10**10),
        (ast.Mult, 10**1000, 10**1000),
        (ast.Add, 2**5000, 1),
        (ast.Mult, "a", 10**11),
        (ast.Mult, 10**10, [0]),
        (ast.Add, "a" * MOST_ITEMS, "a"),
        (ast.Add, (0,) * MOST_ITEMS, (0,)),
        (ast.Mod, "%1000000000d", 3),
        (ast.Mod, "%*d", 3),
        (ast.Mult, np.zeros((60_000, 1)), np.zeros((1, 60_000))),
        (ast.MatMult, np.zeros((60_000, 1)), np.zeros((1, 60_000))),
    ],
)
def test_a_large_outcome_is_told(operator: type[ast.operator], left: object, right: object) -> None:
    assert not is_small(operator, left, right)


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        (ast.Pow, 2, 20),
        (ast.Pow, 2, -(10**9)),
        (ast.Pow, 0.5, 10**9),
        (ast.LShift, 1, 20),
        (ast.Mult, 3, "-"),
        (ast.Mult, [0.0], 1000),
        (ast.Mult, [0], -(10**10)),
        (ast.Mod, "%.4f and %5d", 3),
        (ast.Mod, 7, 3),
        (ast.Add, "loss ", "is"),
        (ast.Add, np.zeros((8, 1)), 1.0),
        (ast.Add, np.zeros(3), np.zeros(4)),
        (ast.MatMult, np.zeros((8, 4)), np.zeros((4, 2))),
        (ast.Eq, 3, "three"),
    ],
)
def test_a_usual_outcome_is_small(operator: type[ast.operator], left: object, right: object) -> None:
    assert is_small(operator, left, right)


def test_what_holds_itself_or_doubles_is_not_small() -> None:
    doubled: object = 0
    for _ in range(30):
        doubled = (doubled, doubled)
    own: list[object] = []
    own.append(own)
    assert not is_small_nest(doubled)
    assert not is_small_nest(own)
    assert is_small_nest({"rows": [[1, 2], (3, 4)]})


def test_shapes_and_counts() -> None:
    assert is_small_shape((1000, 1000))
    assert not is_small_shape((10**6, 10**6))
    assert is_small_shape(())
    assert counted((10.0,)) == counted((0.0, 10.0)) == counted((0.0, 1.0, 0.1)) == 10.0
    assert counted((5, 0)) == 0.0
