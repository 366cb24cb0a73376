"""Of the modules that a script imports only what it can come to use belongs to its program."""

from __future__ import annotations

import ast

from traindoctor.probes.readers.script import Extractor
from traindoctor.probes.scripts.project import programs, settings
from traindoctor.probes.scripts.reached import reached

LIBRARY = """
import torch
LIMIT = 3

def used(x):
    return helper(x)

def helper(x):
    return x

def unused(x):
    return x.detach()

class Named:
    pass

@MODELS.register_module()
class Registered:
    pass

if __name__ == "__main__":
    unused(1)
"""


def names(entry: str, library: str = LIBRARY) -> tuple[list[str], bool]:
    (body,), _, matters = reached(ast.parse(entry), [ast.parse(library)])
    return [s.name for s in body if isinstance(s, (ast.FunctionDef, ast.ClassDef))], matters


def test_what_is_named_directly_or_through_others_stays() -> None:
    assert names("from lib import used\nused(1)") == (["used", "helper", "Registered"], False)
    assert names("import lib\nlib.used(1)") == (["used", "helper", "Registered"], False)
    assert names("build(config, 'Named')") == (["Named", "Registered"], False)
    assert names("from lib import unused as other\nother(1)")[0] == ["unused", "Registered"]


def test_a_table_of_names_uses_nothing() -> None:
    table = "__all__ = ['unused']\nLAZY = {'lib': ['unused']}\nload(LAZY)\n"

    assert names("import lib\nlib.used(1)", LIBRARY + table)[0] == ["used", "helper", "Registered"]


def test_calls_that_would_be_missed_are_told() -> None:
    library = "def clear(optimizer):\n    optimizer.zero_grad()\n"

    assert names("x = 1", library) == ([], True)
    assert names("clear(optimizer)", library) == (["clear"], False)


def test_the_program_keeps_its_lines_and_its_own_main_block() -> None:
    entry = "import torch\nfrom lib import used\nif __name__ == '__main__':\n    used(torch.ones(3))\n"
    (program,) = programs({"train.py": entry, "lib.py": LIBRARY})
    functions = [n for n in program.nodes if isinstance(n, ast.FunctionDef)]
    call = next(c for c in program.named("used"))

    assert [f.name for f in functions] == ["used", "helper"]
    assert (program.place(functions[0]).file, program.place(functions[0]).line) == ("lib.py", 5)
    assert (program.place(call).file, program.place(call).line) == ("train.py", 4)


def test_settings_of_what_is_not_used_are_none_of_the_program() -> None:
    make = "def {}(p):\n    return torch.optim.SGD(p, lr={})\n\n"
    library = "import torch\n" + make.format("used", 0.1) + make.format("unused", 7.0)
    entry = "import torch\nfrom lib import used\nused([]).step()\n"
    found = [s for path, text in (("lib.py", library),) for s in Extractor(ast.parse(text), path).settings()]
    kept = settings({"train.py": entry, "lib.py": library}, found)

    assert {s.value for s in found if s.key == "learning_rate"} == {0.1, 7.0}
    assert {s.value for s in kept if s.key == "learning_rate"} == {0.1}
