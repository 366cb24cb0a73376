"""Trees are walked and written out as `ast` does it, however often they are asked."""

import ast
import inspect

import pytest

from traindoctor.probes.benchmark import settings as benchmark
from traindoctor.probes.code.shared import checks
from traindoctor.probes.readers import script
from traindoctor.probes.readers._tree import below, of, unparse, walk
from traindoctor.probes.scripts import flow, syntax

SOURCES = [inspect.getsource(m) for m in (benchmark, checks, flow, syntax, script)]
TEXTS = [
    "",
    "x = 1",
    "def f():\n    pass\nclass A:\n    'about'\nx = a.b.c",
    "'about'\n@wraps\ndef f(): ...\nasync def g(): await h()",
]


@pytest.mark.parametrize("text", [*SOURCES, *TEXTS])
def test_as_ast_does_it(text: str) -> None:
    """Order of the nodes, nodes of some types, and texts are those of `ast`; contexts are left out."""
    tree = ast.parse(text)
    nodes = [n for n in ast.walk(tree) if not isinstance(n, ast.expr_context)]

    for _ in range(2):  # made, and kept
        assert list(walk(tree)) == nodes
        for types in ((ast.Name,), (ast.Call, ast.Assign), (ast.stmt,), (ast.Pass, ast.FunctionDef)):
            assert list(of(tree, *types)) == [n for n in nodes if isinstance(n, types)]
        assert unparse(tree) == ast.unparse(tree)
    for node in nodes:
        assert list(below(node)) == [
            n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr_context)
        ]
        if isinstance(node, (ast.expr, ast.stmt)):
            assert unparse(node) == ast.unparse(node)
