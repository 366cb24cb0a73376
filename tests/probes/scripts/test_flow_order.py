"""Which assignment gave a name its value: the last one above, whatever block it stands in."""

import ast

import pytest

from traindoctor.probes.readers._tree import unparse
from traindoctor.probes.scripts.flow import Flow
from traindoctor.probes.scripts.syntax import Script

LOOP = "def forward(x):\n    x = stem(x)\n    for b in blocks:\n        x = b(x)\n"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (LOOP + "    x = fc(x)\n    return x\n", ["fc(x)"]),
        (LOOP + "    return x\n", ["b(x)"]),
        ("def f(x):\n    if deep:\n        x = a(x)\n    x = b(x)\n    return x\n", ["b(x)"]),
        ("def f(x):\n    x = b(x)\n    if deep:\n        x = a(x)\n    return x\n", ["a(x)", "b(x)"]),
        ("def f(x):\n    x = a(x); x = b(x); return x\n", ["b(x)"]),  # on one line
        ("def f(x):\n    return x; x = a(x)\n", []),
    ],
)
def test_the_last_assignment_above_counts(text: str, given: list[str]) -> None:
    source = Script("train.py", text, ast.parse(text))
    (back,) = source.of(ast.Return)

    assert [unparse(g.value) for g in Flow(source).all_given(back.value)] == given
