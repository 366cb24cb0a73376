"""What a stranger's function would make large is not made."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from traindoctor.probes.by_hand.interpreter import Interpreter
from traindoctor.probes.by_hand.sizes import Unfit
from traindoctor.probes.scripts.syntax import Script


def call(body: str) -> object:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"import math\nimport numpy as np\nimport torch\n\ndef score(x):\n{lines}"
    tree = ast.parse(text)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef))
    return Interpreter(Script("train.py", text, tree), {}).call(function, [], {"x": np.arange(4.0)})


@pytest.mark.parametrize(
    "body",
    [
        "return pow(10, 10**10)",
        "return 10**10**10",
        "return '%1000000000d' % 3",
        "return math.factorial(10**8)",
        "return np.eye(10**6)",
        "return np.full((10**6, 10**6), 1)",
        "return np.linspace(0, 1, 10**9)",
        "return np.arange(10**12)",
        "return np.bincount(x * 10**10)",
        "return np.where(np.ones((100000, 1)), np.ones((1, 100000)), 0)",
        "return np.ones((100000, 1)) == np.ones((1, 100000))",
        "return np.ones((100000, 1)) @ np.ones((1, 100000))",
        "return np.corrcoef(np.zeros((300000, 1)))",
        "return np.stack([np.ones(300000)] * 9000)",
        "return np.array([np.ones(300000)] * 9000)",
        "return np.random.rand(10**10)",
        "return np.random.permutation(10**11)",
        "return ''.join(['a' * 5000] * 9000)",
        "return ('a' * 9000).replace('a', 'b' * 9000)",
        "a = [1]\nwhile True:\n    a.extend(a)",
        "a = []\nfor i in range(40):\n    a = [a, a]\nreturn str(a)",
        "a = []\nfor i in range(40):\n    a = [a, a]\nreturn np.array(a)",
        "a, b = [], []\nfor i in range(40):\n    a, b = [a, a], [b, b]\nreturn a == b",
        "a = (1,)\nfor i in range(40):\n    a = (a, a)\nreturn {a: 1}",
        "kept = []\nfor i in range(10000):\n    kept.append(np.zeros(300000))",
    ],
)
def test_nothing_large_is_made(body: str) -> None:
    with pytest.raises(Unfit):
        call(body)


def test_what_is_small_is_made() -> None:
    assert call("return pow(2, 10) + math.comb(5, 2) + len(','.join(['a', 'b']))") == 1037
    assert call("return np.where(x > 1, x, 0).sum() + np.eye(3).sum()") == 8.0
    assert call("return np.bincount(x).sum() + np.arange(1, 4).sum() + np.linspace(0, 1, 3).sum()") == 11.5
